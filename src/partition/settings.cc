#include <algorithm>

#include "partition/partition.h"

namespace orrery::partition {
namespace {

template <typename Holds>
bool all_policies(const ContainerSettings& settings, const Holds& holds) {
    return holds(settings.indexing) &&
           std::all_of(settings.previous.begin(), settings.previous.end(),
                       [&](const auto& policy) { return holds(*policy); });
}

/// Entries under one path stand for the same values: those of the same computed property, or what
/// items store.
bool means_the_same(const index::IndexingPolicy& a, const index::IndexingPolicy& b,
                    const std::vector<index::PathStep>& path) {
    return index::computed_query(a, path) == index::computed_query(b, path);
}

}  // namespace

bool ContainerSettings::path_usable(const std::vector<index::PathStep>& path) const {
    return all_policies(*this, [&](const index::IndexingPolicy& policy) {
        return index::path_is_indexed(policy, path) && means_the_same(indexing, policy, path);
    });
}

bool ContainerSettings::undefined_usable(const std::vector<index::PathStep>& path) const {
    if (!path_usable(path)) return false;
    // Every item has these.
    if (path.size() == 1 && (path[0].name == "id" || path[0].name == "_ts")) return true;
    return all_policies(*this, [&](const index::IndexingPolicy& policy) {
        return index::path_posts_undefined(policy, path);
    });
}

bool ContainerSettings::composite_usable(const index::CompositeIndex& composite) const {
    return all_policies(*this, [&](const index::IndexingPolicy& policy) {
        return index::has_composite(policy, composite) &&
               std::all_of(composite.members.begin(), composite.members.end(),
                           [&](const index::CompositeIndex::Member& member) {
                               return means_the_same(indexing, policy, member.steps);
                           });
    });
}

const index::SpatialGrid* ContainerSettings::spatial_usable(
    const std::vector<index::PathStep>& path) const {
    const index::SpatialGrid* grid = index::spatial_grid(indexing, path);
    if (grid == nullptr) return nullptr;
    const bool usable = all_policies(*this, [&](const index::IndexingPolicy& policy) {
        const index::SpatialGrid* other = index::spatial_grid(policy, path);
        return other != nullptr && other->box == grid->box;
    });
    return usable ? grid : nullptr;
}

bool ContainerSettings::markers_usable() const {
    return all_policies(*this, [&](const index::IndexingPolicy& policy) {
        return policy.mode == index::IndexingMode::kConsistent;
    });
}

ViewAndSettings view_and_settings(const Partition& partition, const storage::Store& store) {
    for (;;) {
        ContainerSettingsPtr settings = partition.settings();
        storage::ViewPtr view = store.view();
        if (partition.settings() == settings) return {std::move(view), std::move(settings)};
    }
}

}  // namespace orrery::partition
