#include "base/errors.h"
#include "json/document.h"
#include "partition/detail/partition_impl.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

/// The item keys that may belong to a range of EPKs. Docrefs hold the first bytes of hashes only,
/// so the EPK in the item decides; but one key, or one hierarchical prefix, is one run.
struct KeyRange {
    std::string begin;
    std::string end;
};

KeyRange keys_of(storage::PartitionId partition, const PartitionKeyDefinition& definition,
                 const EpkRange& range) {
    const std::string prefix = storage::keys::partition(partition);
    if (!range.min.empty() && range == range_of_key(range.min)) {
        const std::string run = prefix + docref_prefix(definition, range.min);
        return {run, prefix_successor(run)};
    }
    constexpr size_t kLevelBytes = 8;
    std::string first = range.min.substr(0, kLevelBytes);
    first.resize(kLevelBytes, '\0');
    std::string last = range.max.substr(0, kLevelBytes);
    last.resize(kLevelBytes, '\xFF');
    return {prefix + first, prefix_successor(prefix + last)};
}

/// A page looks at no more than this many items that it leaves out, so that it ends in bounded
/// time.
constexpr size_t kSkippedMax = 100'000;

}  // namespace

Result<FeedPage> PartitionImpl::read_feed(const storage::View& view, const FeedRequest& request) {
    const SettingsStatePtr settings = state();
    KeyRange keys = keys_of(identity_.id, (*settings)->key, request.range);
    if (!request.resume_after.empty()) {
        const auto after = storage::Docref::from_bytes(request.resume_after);
        if (!after) return errors::bad_request("The continuation token is malformed.");
        // The next key is the same one with a zero byte behind it.
        keys.begin = std::max(keys.begin, storage::keys::item(identity_.id, *after) + '\0');
    }
    const int64_t now = deps_.clock.wall_seconds();
    FeedPage page;
    uint64_t bytes = 0;
    size_t skipped = 0;
    std::string last;
    const auto cursor = view.scan(storage::Family::kItems, keys.begin, keys.end);
    for (; cursor->valid(); cursor->next()) {
        const auto key = storage::keys::decode_item(cursor->key());
        if (!key) return errors::internal("Stored data is damaged: a malformed key of an item.");
        if (page.items.size() >= request.items_max || skipped >= kSkippedMax) {
            page.resume_after = last;
            return page;
        }
        TRY(const json::DocumentView document, json::decode_document(cursor->value()));
        const json::DocumentHeader& header = document.header;
        if (!request.range.contains(header.epk) ||
            is_expired((*settings)->default_ttl, header.ts, header.own_ttl, now)) {
            ++skipped;
            last = key->docref.bytes();
            continue;
        }
        if (!page.items.empty() && bytes + document.text.size() > request.bytes_max) {
            page.resume_after = last;
            return page;
        }
        bytes += document.text.size();
        last = key->docref.bytes();
        page.items.push_back({std::make_shared<const std::string>(cursor->value()), key->docref});
    }
    TRY_STATUS(cursor->status());
    return page;
}

}  // namespace orrery::partition::detail
