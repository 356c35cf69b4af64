// Materialized views: which containers are views of which, and how far they have come.
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "catalog/catalog_impl.h"
#include "catalog/names.h"

namespace orrery::catalog {

/// The container that a new view shows; null: the definition is no view's. Completes the
/// definition.
Result<ContainerNode*> CatalogImpl::materialized_view_source(DatabaseNode& database,
                                                             ContainerDefinition& definition) {
    if (definition.materialized_view == nullptr) return static_cast<ContainerNode*>(nullptr);
    const MaterializedViewDefinition& view = *definition.materialized_view;
    const auto missing = [](std::string_view name) {
        return errors::bad_request(
            fmt::format("The container's property 'materializedViewDefinition' names the source "
                        "container '{}', which does not exist in this database.",
                        excerpt(name)));
    };
    const ContainerNode* node =
        view.source_id.empty() ? nullptr : database.containers.find(view.source_id);
    if (!view.source_id.empty() && node == nullptr) return missing(view.source_id);
    if (!view.source_rid.empty()) {
        const auto rid = parse_container_rid(view.source_rid);
        const ContainerNode* by_rid = rid && rid->database == database.record.rid
                                          ? database.containers.find_number(rid->number)
                                          : nullptr;
        if (by_rid == nullptr) return missing(view.source_rid);
        if (node != nullptr && node != by_rid)
            return errors::bad_request(
                "The materialized view's 'sourceCollectionId' and 'sourceCollectionRid' name "
                "different containers.");
        node = by_rid;
    }
    if (node->container->materialized_view() != nullptr)
        return errors::bad_request(
            fmt::format("'{}' is a materialized view itself; a view shows an ordinary container.",
                        excerpt(node->container->id)));
    auto resolved = std::make_shared<MaterializedViewDefinition>(view);
    resolved->source_id = node->container->id;
    resolved->source_rid = node->container->rid_text;
    definition.materialized_view = std::move(resolved);
    return const_cast<ContainerNode*>(node);
}

/// Under mutex_ where others may look: the source's list, and the records that its views still
/// need.
void CatalogImpl::refresh_materialized_views(DatabaseNode& database, ContainerNode& source) {
    std::vector<std::pair<std::string, std::string>> views;
    for (const auto& [number, node] : database.containers.nodes())
        if (node.container->materialized_view() != nullptr &&
            node.container->materialized_view()->source_rid == source.container->rid_text)
            views.emplace_back(node.container->id, node.container->rid_text);
    if (views != source.container->materialized_views) {
        auto after = std::make_shared<Container>(*source.container);
        after->materialized_views = std::move(views);
        source.container = std::move(after);
    }
    hold_logs(database, *source.container);
}

void CatalogImpl::hold_logs(const DatabaseNode& database, const Container& source) {
    for (const PartitionRange& range : source.ranges->ranges) {
        std::optional<storage::Lsn> needed;
        for (const auto& [name, view_rid] : source.materialized_views) {
            const auto rid = parse_container_rid(view_rid);
            const ContainerNode* view = database.containers.find_number(rid->number);
            if (view == nullptr) continue;
            const storage::Lsn position = materialized_view_position(view->progress, range);
            needed = std::min(needed.value_or(position), position);
        }
        range.partition->hold_log_for_reader(needed);
    }
}

storage::Lsn materialized_view_position(const MaterializedViewProgress& progress,
                                        const PartitionRange& range) {
    if (const auto own = progress.positions.find(range.number); own != progress.positions.end())
        return own->second;
    // A range that came of others has been read as far as they have, all of them.
    std::optional<storage::Lsn> lowest;
    for (const auto& [number, lsn] : progress.positions)
        if (std::find(range.parents.begin(), range.parents.end(), std::to_string(number)) !=
            range.parents.end())
            lowest = std::min(lowest.value_or(lsn), lsn);
    return lowest.value_or(0);
}

/// At load.
Status CatalogImpl::link_materialized_views(const std::vector<records::MaterializedView>& stored) {
    for (const records::MaterializedView& record : stored) {
        ContainerNode* node = container_node(record.rid);
        // A view that was deleted took its record along.
        if (node == nullptr || node->container->materialized_view() == nullptr)
            return Status(
                errors::internal("The catalog is damaged: the progress of a materialized "
                                 "view that does not exist. Run `orrery check` on the "
                                 "data folder."));
        node->progress = record.progress;
        auto after = std::make_shared<Container>(*node->container);
        after->materialized_view_built = record.progress.built;
        node->container = std::move(after);
    }
    for (const auto& [number, known] : state_.databases.nodes()) {
        DatabaseNode& database = *state_.databases.find_number(number);
        for (const auto& [child_number, child] : known.containers.nodes()) {
            if (child.container->materialized_view() == nullptr) continue;
            const auto rid = parse_container_rid(child.container->materialized_view()->source_rid);
            ContainerNode* source = rid ? container_node(*rid) : nullptr;
            if (source == nullptr)
                return Status(
                    errors::internal("The catalog is damaged: the source of the "
                                     "materialized view '" +
                                     child.container->id +
                                     "' does not exist. Run `orrery check` on the data "
                                     "folder."));
            refresh_materialized_views(database, *source);
        }
    }
    return {};
}

std::vector<MaterializedViewState> CatalogImpl::materialized_views() const {
    std::shared_lock lock(mutex_);
    std::vector<MaterializedViewState> out;
    for (const auto& [number, database] : state_.databases.nodes())
        for (const auto& [child_number, child] : database.containers.nodes()) {
            if (child.container->materialized_view() == nullptr) continue;
            const auto rid = parse_container_rid(child.container->materialized_view()->source_rid);
            const ContainerNode* source = database.containers.find_number(rid->number);
            if (source != nullptr)
                out.push_back({child.container, source->container, child.progress});
        }
    return out;
}

Status CatalogImpl::save_materialized_view_progress(const ContainerRid& view,
                                                    const MaterializedViewProgress& progress) {
    WriteLock write(write_mutex_);
    ContainerNode* node = container_node(view);
    // Deleted meanwhile: nobody needs it.
    if (node == nullptr) return {};
    MetaChange change;
    change.put(records::MaterializedView{view, progress});
    TRY_STATUS(commit(std::move(change)));
    DatabaseNode* database = state_.databases.find_number(view.database.number);
    std::unique_lock lock(mutex_);
    node->progress = progress;
    if (node->container->materialized_view_built != progress.built) {
        auto after = std::make_shared<Container>(*node->container);
        after->materialized_view_built = progress.built;
        node->container = std::move(after);
    }
    if (const auto rid = parse_container_rid(node->container->materialized_view()->source_rid))
        if (const ContainerNode* source = container_node(*rid))
            hold_logs(*database, *source->container);
    return {};
}

}  // namespace orrery::catalog
