#include "base/errors.h"
#include "json/document.h"
#include "json/item.h"
#include "partition/detail/partition_impl.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

using storage::Family;
using storage::keys::TtlKind;

/// Items per commit of a background removal or fill: a client's write never waits for more.
constexpr size_t kRemovalItemsMax = 100;
constexpr size_t kRemovalBytesMax = 2 << 20;

}  // namespace

Result<size_t> PartitionImpl::remove(const SettingsStatePtr& settings,
                                     std::vector<Removal> removals, bool expired_only,
                                     const RemovedWork& removed_work) {
    size_t removed = 0;
    size_t at = 0;
    while (at < removals.size()) {
        std::vector<Removal> some;
        size_t bytes = 0;
        while (at < removals.size() && some.size() < kRemovalItemsMax && bytes < kRemovalBytesMax) {
            bytes += removals[at].version->document->size();
            some.push_back(std::move(removals[at++]));
        }
        auto commit =
            std::make_unique<RemovalCommit>(self(), settings, std::move(some), expired_only);
        auto result = commit->result();
        deps_.store.submit(std::move(commit));
        TRY(const std::vector<OperationWork> works, result.get());
        removed += works.size();
        if (removed_work)
            for (const OperationWork& work : works) removed_work(work);
    }
    return removed;
}

Result<std::vector<Removal>> PartitionImpl::expired_items(const SettingsStatePtr& settings,
                                                          size_t max) {
    const auto default_ttl = (*settings)->default_ttl;
    const storage::ViewPtr view = deps_.store.view();
    std::vector<Removal> removals;
    if (!is_current()) return removals;
    ViewReader reader(*view);
    const int64_t now = deps_.clock.wall_seconds();
    for (const TtlKind kind : {TtlKind::kOwnExpiry, TtlKind::kUnderDefault}) {
        if (kind == TtlKind::kUnderDefault && *default_ttl < 0) continue;
        const int64_t age = kind == TtlKind::kUnderDefault ? *default_ttl : 0;
        const std::string begin = storage::keys::ttl_kind(identity_.id, kind);
        const auto cursor = view->scan(Family::kTtl, begin, prefix_successor(begin));
        for (; cursor->valid() && removals.size() < max; cursor->next()) {
            const auto key = storage::keys::decode_ttl(cursor->key());
            if (!key)
                return errors::internal(
                    "Stored data is damaged: a malformed key in the TTL index.");
            if (key->when + age > now) break;
            TRY(std::optional<std::string> bytes,
                view->get(Family::kItems, storage::keys::item(identity_.id, key->docref)));
            if (!bytes)
                return errors::internal(
                    "Stored data is damaged: the TTL index names a missing item.");
            TRY(const json::Document document, json::decode_document(*bytes));
            json::Arena arena;
            TRY(const std::string_view id, document.id(arena));
            Removal removal;
            removal.epk = document.header.epk;
            removal.id = id;
            removal.id_key =
                storage::keys::id(identity_.id, removal.epk, storage::IdKind::kItem, removal.id);
            TRY(const std::optional<IdEntry> entry, read_id_entry(reader, removal.id_key));
            if (!entry) return errors::internal("Stored data is damaged: an item has no id entry.");
            removal.entry = *entry;
            TRY(removal.version,
                version_of_document(settings, std::make_shared<std::string>(std::move(*bytes)),
                                    key->docref, entry->directive, true));
            removals.push_back(std::move(removal));
        }
        TRY_STATUS(cursor->status());
    }
    return removals;
}

Result<size_t> PartitionImpl::remove_expired(size_t max, const RemovedWork& removed_work) {
    const SettingsStatePtr settings = state();
    if (!(*settings)->default_ttl) return size_t{0};
    TRY_STATUS(fill_ttl());
    TRY(std::vector<Removal> removals, expired_items(settings, max));
    Result<size_t> removed = remove(settings, std::move(removals), true, removed_work);
    // The partition that has the items now removes them.
    if (!removed.ok() && closed_to_writers()) return size_t{0};
    return removed;
}

/// Items written while the container's TTL was off have no entry in `ttl`: makes them, once.
Status PartitionImpl::fill_ttl() {
    const SettingsStatePtr settings = state();
    const storage::ViewPtr view = deps_.store.view();
    if (!is_current()) return {};
    TRY(const std::optional<std::string> complete,
        view->get(Family::kMeta, meta_keys::ttl_complete(identity_.id)));
    if (complete || lsn() == 0) return {};
    const std::string begin = storage::keys::partition(identity_.id);
    const auto cursor = view->scan(Family::kItems, begin, prefix_successor(begin));
    std::vector<storage::Docref> docrefs;
    const auto submit = [&](bool last) -> Result<bool> {
        auto commit = std::make_unique<TtlFillCommit>(self(), settings, std::move(docrefs), last);
        docrefs.clear();
        std::future<Result<bool>> result = commit->result();
        deps_.store.submit(std::move(commit));
        return result.get();
    };
    for (; cursor->valid(); cursor->next()) {
        const auto key = storage::keys::decode_item(cursor->key());
        if (!key)
            return Status(errors::internal("Stored data is damaged: a malformed key of an item."));
        docrefs.push_back(key->docref);
        if (docrefs.size() < kRemovalItemsMax) continue;
        TRY(const bool done, submit(false));
        if (!done) return {};  // the settings have changed: the next call begins again
    }
    TRY_STATUS(cursor->status());
    TRY(const bool done, submit(true));
    (void)done;
    return {};
}

Status PartitionImpl::delete_logical_partition(std::string_view epk,
                                               const RemovedWork& removed_work) {
    const SettingsStatePtr settings = state();
    const std::string prefix = storage::keys::ids_of_epk(identity_.id, epk, storage::IdKind::kItem);
    const std::string end = prefix_successor(prefix);
    std::string begin = prefix;
    for (;;) {
        const storage::ViewPtr view = deps_.store.view();
        if (!is_current()) return successor(epk).delete_logical_partition(epk, removed_work);
        ViewReader reader(*view);
        std::vector<Removal> removals;
        size_t bytes = 0;
        const auto cursor = view->scan(Family::kIds, begin, end);
        for (; cursor->valid() && removals.size() < kRemovalItemsMax && bytes < kRemovalBytesMax;
             cursor->next()) {
            Removal removal;
            removal.epk = epk;
            removal.id = cursor->key().substr(prefix.size());
            removal.id_key = cursor->key();
            TRY(removal.entry, decode_id_entry(cursor->value()));
            TRY(removal.version, read_version(reader, settings, identity_.id, removal.entry, true));
            bytes += removal.version->document->size();
            removals.push_back(std::move(removal));
        }
        TRY_STATUS(cursor->status());
        if (removals.empty()) return {};
        std::string next = removals.back().id_key + '\0';
        const Result<size_t> removed = remove(settings, std::move(removals), false, removed_work);
        if (!removed.ok()) {
            if (!closed_to_writers()) return removed.status().clone();
            wait_until_gone_or_open();
            continue;
        }
        begin = std::move(next);
    }
}

}  // namespace orrery::partition::detail
