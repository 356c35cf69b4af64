#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "catalog/catalog_impl.h"

/// Changes of indexing policies: in force at once, carried out in the background.
namespace orrery::catalog {
namespace {

/// Policies that one container's items may have entries of, while changes follow one another faster
/// than they are carried out.
constexpr size_t kPreviousPoliciesMax = 8;
constexpr size_t kSortedPathsMax = 32;
/// Items per commit: a client's write waits for no more than that.
constexpr size_t kFillItems = 64;
/// Commits per call.
constexpr int kFillSteps = 16;
/// A restart repeats no more items than that. Each time, everything in memory is written out.
constexpr size_t kUnsavedItemsMax = 200'000;

}  // namespace

/// Items may have entries of the policy in force so far, and of those before it whose change is not
/// carried out. A policy that becomes the present one again is not a previous one.
Status CatalogImpl::begin_index_change(const Container& before,
                                       partition::ContainerSettings& settings) const {
    settings.previous = before.settings->previous;
    settings.previous.push_back(
        std::make_shared<const index::IndexingPolicy>(before.settings->indexing));
    std::erase_if(settings.previous,
                  [&](const auto& policy) { return same_indexing(*policy, settings.indexing); });
    settings.index_change = before.settings->index_change + 1;
    if (settings.previous.size() > kPreviousPoliciesMax)
        return Status(errors::bad_request(fmt::format(
            "The indexing policy of container '{}' was changed {} times and the changes are still "
            "being carried out. Change it again when the index transformation is complete.",
            before.id, kPreviousPoliciesMax)));
    return {};
}

Result<ContainerPtr> CatalogImpl::change_settings(DatabaseNode& database,
                                                  const ContainerPtr& before, NewSettings to) {
    using Index = NewSettings::Index;
    to.settings.path_key = to.record.path_key;
    to.settings.logical_partition_bytes_max = deps_.range_limits.logical_partition_bytes;
    to.settings.container_rid = before->settings->container_rid;
    to.settings.index_change = before->settings->index_change;
    if (to.index == Index::kSame) to.settings.previous = before->settings->previous;
    if (to.index == Index::kCarriedOut) to.settings.previous.clear();
    if (to.index == Index::kChanged) TRY_STATUS(begin_index_change(*before, to.settings));
    to.record.version = to.version;
    ++to.record.settings_version;
    to.record.index = index_state(to.settings);
    if (to.definition != nullptr) to.record.definition = encode_definition(*to.definition);

    auto after = std::make_shared<Container>(*before);
    after->version = to.version;
    after->settings = std::make_shared<const partition::ContainerSettings>(std::move(to.settings));
    if (to.definition != nullptr) after->definition = to.definition;
    const auto& ranges = after->ranges->ranges;
    MetaChange change;
    change.put(to.record);
    for (size_t i = 0; i < ranges.size(); ++i) {
        const partition::PartitionIdentity& identity = ranges[i].partition->identity();
        change.put(partition_record(to.record, to.record.ranges[i], identity.range));
        if (to.index == Index::kCarriedOut)
            change.remove(partition::meta_keys::index_fill(identity.id));
        // A window of all versions that ends here must not be found when another one begins.
        if (before->settings->feed_retention_seconds > 0 &&
            after->settings->feed_retention_seconds == 0)
            change.remove(partition::meta_keys::versions_from(identity.id));
    }
    // In the commit order: a write is prepared under the settings that a replay will find.
    change.guard([&] {
        if (to.guard) TRY_STATUS(to.guard());
        for (const PartitionRange& range : ranges) range.partition->set_settings(after->settings);
        return Status();
    });
    TRY_STATUS(commit(std::move(change)));
    {
        std::unique_lock lock(mutex_);
        ContainerNode& node = *database.containers.find_number(to.record.rid.number);
        node.container = after;
        node.record = std::move(to.record);
    }
    if (to.index == Index::kChanged && wake_) wake_();
    return ContainerPtr(std::move(after));
}

bool CatalogImpl::has_leftovers(const Container& container) const {
    if (!deps_.throughput.throttled) return true;
    const int64_t now = deps_.clock.monotonic_us();
    const auto& ranges = container.ranges->ranges;
    return std::all_of(ranges.begin(), ranges.end(), [&](const PartitionRange& range) {
        return range.budget->has_leftovers(now);
    });
}

ContainerPtr CatalogImpl::next_index_change(bool& must_wait) const {
    ContainerPtr first;
    ContainerPtr next;
    must_wait = false;
    std::shared_lock lock(mutex_);
    for (const auto& [number, database] : state_.databases.nodes()) {
        for (const auto& [child_number, child] : database.containers.nodes()) {
            if (child.container->settings->previous.empty()) continue;
            if (in_hurry(*child.container)) return child.container;
            if (first == nullptr) first = child.container;
            if (next == nullptr && has_leftovers(*child.container)) next = child.container;
        }
    }
    must_wait = next == nullptr && first != nullptr;
    return next == nullptr ? first : next;
}

bool CatalogImpl::index_changes_must_wait() const {
    bool must_wait = false;
    (void)next_index_change(must_wait);
    return must_wait;
}

/// A step takes a quarter of a second's throughput, of the half that must be left over. A change in
/// a hurry is paid afterwards, little by little.
void CatalogImpl::pay_index_fill(const Container& container, const PartitionRange& range,
                                 uint64_t terms) {
    const meter::Charge charge = meter::index_change(terms);
    const double rate = range.budget->rate_ru();
    if (in_hurry(container))
        range.budget->owe(charge);
    else
        range.budget->settle(deps_.clock.monotonic_us(), {}, charge);
    if (!deps_.throughput.throttled || rate == 0 || in_hurry(container)) {
        fill_items_ = kFillItems;
    } else if (terms == 0) {
        fill_items_ = std::min(kFillItems, fill_items_ * 2);
    } else {
        const double item = meter::ru_value(charge) / static_cast<double>(fill_items_);
        fill_items_ = std::clamp(static_cast<size_t>(rate / 4 / item), size_t{1}, kFillItems);
    }
}

Result<bool> CatalogImpl::carry_out_index_changes() {
    bool must_wait = false;
    const ContainerPtr container = next_index_change(must_wait);
    if (container == nullptr) return false;
    using FillState = partition::Partition::FillState;
    int steps = 0;
    for (const PartitionRange& range : container->ranges->ranges) {
        for (FillState state = FillState::kMore; state != FillState::kComplete; ++steps) {
            if (steps == kFillSteps) return true;
            if (steps > 0 && !in_hurry(*container) && !has_leftovers(*container)) return true;
            TRY(const auto filled, range.partition->fill_index(container->settings, fill_items_));
            state = filled.state;
            if (state == FillState::kStale) return true;  // another change has just been made
            pay_index_fill(*container, range, filled.terms);
            unsaved_fill_ += fill_items_;
            if (unsaved_fill_ >= kUnsavedItemsMax) TRY_STATUS(save_index_fills(*container));
        }
    }
    TRY_STATUS(finish_index_change(container));
    return true;
}

Status CatalogImpl::save_index_fills(const Container& container) {
    unsaved_fill_ = 0;
    std::vector<partition::IndexFill> fills;
    for (const PartitionRange& range : container.ranges->ranges)
        fills.push_back(range.partition->index_fill());
    // Index entries are not in the WAL: positions may be kept once the entries are on disk.
    TRY_STATUS(deps_.store.flush());
    for (size_t i = 0; i < fills.size(); ++i) {
        if (fills[i].change != container.settings->index_change) continue;
        TRY_STATUS(container.ranges->ranges[i].partition->save_index_fill(fills[i]));
    }
    return {};
}

/// Once every item's entries are on disk, a replay needs the previous policies no more.
Status CatalogImpl::finish_index_change(const ContainerPtr& container) {
    TRY_STATUS(deps_.store.flush());
    unsaved_fill_ = 0;
    WriteLock write(write_mutex_);
    DatabaseNode* database = state_.databases.find_number(container->database->rid.number);
    const ContainerNode* node =
        database == nullptr ? nullptr : database->containers.find_number(container->rid.number);
    if (node == nullptr || node->container != container) return {};
    NewSettings to;
    to.record = node->record;
    to.version = container->version;
    to.settings = *container->settings;
    to.index = NewSettings::Index::kCarriedOut;
    return change_settings(*database, container, std::move(to)).status().clone();
}

int CatalogImpl::index_progress(const Container& container) const {
    constexpr uint64_t kComplete = 100;
    uint64_t sum = 0;
    for (const PartitionRange& range : container.ranges->ranges) {
        const auto settings = range.partition->settings();
        if (settings->previous.empty()) return kComplete;
        const partition::IndexFill fill = range.partition->index_fill();
        if (fill.change != settings->index_change) continue;
        if (fill.complete)
            sum += kComplete;
        else if (fill.items_all != 0)
            sum += std::min(kComplete, fill.items * kComplete / fill.items_all);
    }
    return static_cast<int>(
        std::min<uint64_t>(kComplete - 1, sum / container.ranges->ranges.size()));
}

Status CatalogImpl::request_sorted_path(const Container& container,
                                        const std::vector<index::PathStep>& path) {
    WriteLock write(write_mutex_);
    DatabaseNode* database = state_.databases.find_number(container.database->rid.number);
    const ContainerNode* node =
        database == nullptr ? nullptr : database->containers.find_number(container.rid.number);
    if (node == nullptr) return Status(errors::resource_not_found("The container does not exist."));
    const ContainerPtr before = node->container;
    const index::IndexingPolicy& policy = before->settings->indexing;
    if (index::path_posts_undefined(policy, path)) return {};
    auto paths = policy.sorted;
    paths.push_back(path);
    if (paths.size() > kSortedPathsMax)
        return Status(errors::bad_request(fmt::format(
            "Container '{}' keeps {} sorted paths already; include '{}/?' in its indexing policy.",
            before->id, kSortedPathsMax, index::path_text(path))));
    NewSettings to;
    to.record = node->record;
    to.version = before->version;
    to.settings = *before->settings;
    to.settings.indexing = index::with_sorted_paths(policy, paths);
    if (!index::path_posts_undefined(to.settings.indexing, path))
        return Status(errors::bad_request("The path '" + index::path_text(path) +
                                          "' is not indexed, or leads through an array."));
    to.index = NewSettings::Index::kChanged;
    return change_settings(*database, before, std::move(to)).status().clone();
}

}  // namespace orrery::catalog
