// Unique key constraints that come and go after a container's creation.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "catalog/catalog_impl.h"

namespace orrery::catalog {
namespace {

/// Writers may come in between; then it is looked at once more.
constexpr int kAttemptsMax = 3;
/// Entries in one commit: others wait no longer than for that.
constexpr size_t kRemovedAtOnce = 1000;

/// The last write of each partition of a container that holds nothing.
Result<std::vector<storage::Lsn>> lsns_of_empty(const Container& container,
                                                const storage::Store& store) {
    std::vector<storage::Lsn> out;
    for (const PartitionRange& range : container.ranges->ranges)
        out.push_back(range.partition->lsn());
    // Newer than what was noted: a write that it does not show is a later one.
    const storage::ViewPtr view = store.view();
    for (const PartitionRange& range : container.ranges->ranges) {
        TRY(const storage::Count totals, range.partition->totals(*view));
        if (totals.items != 0)
            return errors::bad_request(
                fmt::format("A unique key can be added to an empty container only; '{}' has items.",
                            container.id));
    }
    return out;
}

/// Removes the entries of a constraint that no write maintains any more.
Status remove_entries(const PartitionRange& range, uint32_t number, storage::Store& store) {
    const storage::PartitionId id = range.partition->identity().id;
    const std::string begin = storage::keys::partition(id);
    const storage::ViewPtr view = store.view();
    std::vector<std::string> gone;
    const auto remove = [&] {
        MetaChange change;
        MetaChange::Companion companion;
        companion.write = [&](storage::CommitScope& scope) {
            for (const std::string& key : gone) scope.remove(storage::Family::kIds, key);
        };
        companion.bytes = gone.size() * begin.size();
        change.accompany(std::move(companion));
        const Status status = std::move(change).commit(store);
        gone.clear();
        return status.clone();
    };
    const auto cursor = view->scan(storage::Family::kIds, begin, prefix_successor(begin));
    for (; cursor->valid(); cursor->next()) {
        const auto key = storage::keys::decode_id(cursor->key());
        if (!key || key->kind != storage::IdKind::kUniqueKey ||
            partition::unique_key_number(key->name) != number)
            continue;
        gone.emplace_back(cursor->key());
        if (gone.size() == kRemovedAtOnce) TRY_STATUS(remove());
    }
    TRY_STATUS(cursor->status());
    return gone.empty() ? Status() : remove();
}

UniqueKeyPolicy keys_of(const Container& container) {
    return container.definition->unique_keys.value_or(UniqueKeyPolicy());
}

}  // namespace

Result<ContainerPtr> CatalogImpl::change_unique_keys(const ContainerRid& container,
                                                     UniqueKeyPolicy keys,
                                                     std::function<Status()> guard) {
    const ContainerNode& node = *container_node(container);
    ContainerDefinition definition = *node.container->definition;
    definition.unique_keys = std::move(keys);
    // Names of an index that goes, go with it.
    std::erase_if(definition.index_names, [&](const IndexName& name) {
        const auto& all = definition.unique_keys->keys;
        return name.kind == IndexName::Kind::kUniqueKey &&
               std::none_of(all.begin(), all.end(),
                            [&](const auto& key) { return index_identity(key) == name.index; });
    });
    TRY_STATUS(validate(definition));
    NewSettings to;
    to.settings = *node.container->settings;
    TRY(to.settings.unique_keys, split_unique_keys(*definition.unique_keys));
    to.record = node.record;
    to.definition = std::make_shared<const ContainerDefinition>(std::move(definition));
    to.version = new_version();
    to.guard = std::move(guard);
    return change_settings(*state_.databases.find_number(container.database.number), node.container,
                           std::move(to));
}

Result<ContainerPtr> CatalogImpl::add_unique_key(const ContainerRid& container,
                                                 std::vector<std::string> paths) {
    WriteLock write(write_mutex_);
    for (int attempt = 1;; ++attempt) {
        const ContainerNode* node = container_node(container);
        if (node == nullptr) return errors::resource_not_found("The container does not exist.");
        const ContainerPtr before = node->container;
        TRY(const std::vector<storage::Lsn> lsns, lsns_of_empty(*before, deps_.store));
        UniqueKeyPolicy keys = keys_of(*before);
        keys.keys.push_back({keys.next_number++, paths});
        bool written_to = false;
        auto after = change_unique_keys(container, std::move(keys), [&] {
            for (size_t i = 0; i < lsns.size(); ++i)
                written_to =
                    written_to || before->ranges->ranges[i].partition->decided_lsn() != lsns[i];
            return written_to ? Status(errors::retry_with()) : Status();
        });
        if (!written_to || attempt == kAttemptsMax) return after;
    }
}

Result<ContainerPtr> CatalogImpl::drop_unique_key(const ContainerRid& container, uint32_t number) {
    TRY(ContainerPtr after, without_unique_key(container, number));
    for (const PartitionRange& range : after->ranges->ranges)
        TRY_STATUS(remove_entries(range, number, deps_.store));
    return after;
}

Result<ContainerPtr> CatalogImpl::without_unique_key(const ContainerRid& container,
                                                     uint32_t number) {
    WriteLock write(write_mutex_);
    const ContainerNode* node = container_node(container);
    if (node == nullptr) return errors::resource_not_found("The container does not exist.");
    UniqueKeyPolicy keys = keys_of(*node->container);
    const size_t gone =
        std::erase_if(keys.keys, [&](const auto& key) { return key.number == number; });
    if (gone == 0) return errors::resource_not_found("The unique key does not exist.");
    return change_unique_keys(container, std::move(keys), {});
}

}  // namespace orrery::catalog
