#include "base/errors.h"
#include "json/document.h"
#include "partition/detail/partition_impl.h"
#include "partition/docref_bounds.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

/// The item keys that may belong to a range of EPKs.
struct KeyRange {
    std::string begin;
    std::string end;
};

KeyRange keys_of(storage::PartitionId partition, const PartitionKeyDefinition& definition,
                 const EpkRange& range) {
    const std::string prefix = storage::keys::partition(partition);
    const DocrefBounds bounds = docref_bounds(definition, range);
    return {prefix + bounds.begin,
            bounds.end.empty() ? prefix_successor(prefix) : prefix + bounds.end};
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
        // The next possible key is this one followed by a zero byte.
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
        TRY(const json::Document document, json::decode_document(cursor->value()));
        const json::DocumentHeader& header = document.header;
        if (!request.range.contains(header.epk) ||
            is_expired((*settings)->default_ttl, header.ts, header.own_ttl, now)) {
            ++skipped;
            last = key->docref.bytes();
            continue;
        }
        if (!page.items.empty() && bytes + document.text_bytes() > request.bytes_max) {
            page.resume_after = last;
            return page;
        }
        bytes += document.text_bytes();
        last = key->docref.bytes();
        page.items.push_back({std::make_shared<const std::string>(cursor->value()), key->docref});
    }
    TRY_STATUS(cursor->status());
    return page;
}

}  // namespace orrery::partition::detail
