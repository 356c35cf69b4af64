#include <absl/container/flat_hash_map.h>

#include <map>

#include "base/errors.h"
#include "json/document.h"
#include "partition/detail/partition_impl.h"

namespace orrery::partition::detail {
namespace {

using storage::Count;
using storage::Family;

/// What the log above the marker says of one item.
struct Replayed {
    std::string oldest_key;  ///< in `log` and `images`
    bool had_image = false;  ///< the item existed at the marker
    IndexingDirective image_directive = IndexingDirective::kDefault;
    bool exists = false;  ///< after the newest record
    IndexingDirective directive = IndexingDirective::kDefault;
};

}  // namespace

Status PartitionImpl::replay_index(storage::Lsn covered) {
    const storage::ViewPtr view = deps_.store.view();
    const SettingsStatePtr settings = state();
    std::map<std::string, Replayed, std::less<>> items;  // by docref
    // LSNs of several sources are not comparable. Below the birth, the parts of the birth record
    // say what is covered.
    storage::Lsn first = covered + 1;
    if (covered < birth_.lsn)
        for (const Birth::Part& part : birth_.parts) first = std::min(first, part.covered + 1);
    storage::Lsn up_to = covered;
    const std::string end = prefix_successor(storage::keys::partition(identity_.id));
    const auto cursor = view->scan(Family::kLog, storage::keys::log_from(identity_.id, first), end);
    for (; cursor->valid(); cursor->next()) {
        const auto key = storage::keys::decode_log(cursor->key());
        if (!key)
            return Status(errors::internal("Stored data is damaged: a malformed key in the log."));
        TRY(const LogRecord record, decode_log_record(cursor->value()));
        // What came with the files that the partition began with is in the index.
        if (key->lsn <= birth_.lsn && key->lsn <= birth_.covered_of(record.epk)) continue;
        up_to = std::max(key->lsn, birth_.lsn);
        const auto [found, is_first] = items.try_emplace(std::string(key->docref.bytes()));
        Replayed& item = found->second;
        if (is_first) {
            item.oldest_key = cursor->key();
            item.had_image = record.operation != LogOperation::kCreate;
            item.image_directive = record.previous_directive;
        }
        item.exists = record.operation != LogOperation::kDelete;
        item.directive = record.directive;
    }
    TRY_STATUS(cursor->status());

    storage::IndexDelta delta;
    Count totals;
    std::map<std::string, Count> logical;
    const auto count = [&](const ItemVersion& version, int64_t sign) -> Status {
        TRY(const json::Document document, json::decode_document(*version.document));
        const auto bytes = static_cast<int64_t>(version.text_bytes);
        for (Count* sum : {&totals, &logical[std::string(document.header.epk)]}) {
            sum->items += sign;
            sum->bytes += sign * bytes;
        }
        return {};
    };
    for (const auto& [docref_bytes, item] : items) {
        const auto docref = storage::Docref::from_bytes(docref_bytes);
        ItemVersionPtr before;
        ItemVersionPtr after;
        const auto read = [&](Family family, const std::string& key, IndexingDirective directive,
                              ItemVersionPtr& out) -> Status {
            TRY(std::optional<std::string> bytes, view->get(family, key));
            if (!bytes)
                return Status(errors::internal(
                    "The index cannot be restored: the log names a version that is not "
                    "there. Run `orrery check` on the data folder."));
            TRY(out, version_of_document(settings, std::make_shared<std::string>(std::move(*bytes)),
                                         *docref, directive, true));
            return {};
        };
        if (item.had_image)
            TRY_STATUS(read(Family::kImages, item.oldest_key, item.image_directive, before));
        if (item.exists)
            TRY_STATUS(read(Family::kItems, storage::keys::item(identity_.id, *docref),
                            item.directive, after));
        append_index_changes(identity_.id, before.get(), after.get(), delta);
        append_ts_changes(identity_.id, before.get(), after.get(), delta);
        if (before != nullptr) TRY_STATUS(count(*before, -1));
        if (after != nullptr) TRY_STATUS(count(*after, +1));
    }
    std::vector<std::pair<std::string, Count>> counts;
    counts.emplace_back(counter_keys::totals(identity_.id), totals);
    for (const auto& [epk, sum] : logical)
        counts.emplace_back(counter_keys::logical_partition(identity_.id, epk), sum);
    bytes_.fetch_add(totals.bytes, std::memory_order_relaxed);
    deps_.store.replay(identity_.id, up_to, std::move(delta), counts);
    return {};
}

}  // namespace orrery::partition::detail
