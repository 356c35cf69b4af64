#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/geometry.h"
#include "json/dialect.h"
#include "json/value.h"

namespace orrery::index {

enum class IndexingMode : uint8_t { kConsistent, kNone };

/// One step of an index path: a member name, or any array element.
struct PathStep {
    bool any_element = false;
    std::string name;
    friend bool operator==(const PathStep&, const PathStep&) = default;
};
/// /a/b/? (scalar), /a/* (subtree)
struct IndexPath {
    std::vector<PathStep> steps;
    bool subtree = false;
    std::string text;  ///< as given
};

/// An ordered list of paths, each with a direction. One entry per item: a value that is missing
/// counts as undefined, arrays and objects by their type.
struct CompositeIndex {
    struct Member {
        std::vector<PathStep> steps;  ///< names only; of the system properties `_ts` alone
        bool descending = false;
        std::string text;  ///< as given
    };
    std::vector<Member> members;
    /// Same paths and directions, however written.
    friend bool operator==(const CompositeIndex& a, const CompositeIndex& b) {
        if (a.members.size() != b.members.size()) return false;
        for (size_t i = 0; i < a.members.size(); ++i)
            if (a.members[i].steps != b.members[i].steps ||
                a.members[i].descending != b.members[i].descending)
                return false;
        return true;
    }
};

/// The part of a plane that a spatial index divides into cells. Finite, and not empty.
struct PlaneBox {
    double xmin = 0;
    double ymin = 0;
    double xmax = 0;
    double ymax = 0;
    friend bool operator==(const PlaneBox&, const PlaneBox&) = default;
};

/// What a spatial index knows by cells: of the sphere, or of a box in a plane. Geometries of other
/// types, and those that are not wholly in the box, are noted, but not by where they are.
struct SpatialGrid {
    uint8_t types = 0;            ///< bits by GeometryType
    std::optional<PlaneBox> box;  ///< with planar coordinates only
    friend bool operator==(const SpatialGrid&, const SpatialGrid&) = default;
};

/// Geometries at a path (/a/?) or at and below it (/a/*), by the cells that cover them.
struct SpatialIndex {
    IndexPath path;
    SpatialGrid grid;
    friend bool operator==(const SpatialIndex& a, const SpatialIndex& b) {
        return a.path.steps == b.path.steps && a.path.subtree == b.path.subtree && a.grid == b.grid;
    }
};

/// Included and excluded paths as a tree that an item walk descends step by step. Immutable.
class PathTree;
class ComputedProperties;  // computed.h

/// A container's indexing policy: validated, defaults filled in. Immutable, cheap to copy.
struct IndexingPolicy {
    json::Dialect dialect = json::Dialect::kNosql;  ///< of the items
    IndexingMode mode = IndexingMode::kConsistent;
    bool automatic = true;
    std::vector<IndexPath> included;
    std::vector<IndexPath> excluded;
    std::vector<CompositeIndex> composites;
    std::vector<SpatialIndex> spatials;
    /// Paths, included by a subtree, at which items post `undefined` too because somebody sorts by
    /// them. The server's own: clients neither set nor see them.
    std::vector<std::vector<PathStep>> sorted;
    /// The container's computed properties; null: none. Where one has the name of a stored
    /// property, its values are indexed instead, and only as far as the policy names it: no /*
    /// covers it.
    std::shared_ptr<const ComputedProperties> computed;
    std::shared_ptr<const PathTree> tree;
    std::string json;  ///< what clients get back
};

/// One path with its ending, `/a/b/?` or `/a/*`.
Result<IndexPath> parse_index_path(std::string_view text);

/// The policy with tree and text, once its lists are filled in. An error where paths contradict one
/// another or nothing is said of `/*`.
Result<IndexingPolicy> complete_policy(IndexingPolicy lists);

/// Validates a policy object (undefined: the default policy) by the rules of docs/containers.md.
/// Vector and full-text indexes are refused by name until they are maintained.
Result<IndexingPolicy> parse_indexing_policy(const json::Value& policy);

/// What a write asks for about its index terms.
enum class ItemIndexing : uint8_t { kDefault, kInclude, kExclude };
/// Whether an item gets any terms at all: never in mode none or with kExclude; with `automatic`
/// false only with kInclude.
bool item_is_indexed(const IndexingPolicy& policy, ItemIndexing directive);

/// Whether the values at a path are posted. Where the dialect reserves members, `id` and `_ts`
/// always are in consistent mode; the other system properties never.
bool path_is_indexed(const IndexingPolicy& policy, const std::vector<PathStep>& path);
/// Whether a path leads to what the server adds to items, or into it.
bool begins_with_system_property(const IndexingPolicy& policy, const std::vector<PathStep>& path);
/// Whether items that lack the path post `undefined` there: included by name, as /a/b/?, or sorted
/// by.
bool path_posts_undefined(const IndexingPolicy& policy, const std::vector<PathStep>& path);
/// Of the spatial index that has entries for the geometries at a path; null: there is none.
const SpatialGrid* spatial_grid(const IndexingPolicy& policy, const std::vector<PathStep>& path);
/// Whether every spatial index has a box in a plane, and none on the Earth.
Status check_boxes(const IndexingPolicy& policy, GeometrySpace space);
bool has_composite(const IndexingPolicy& policy, const CompositeIndex& composite);

/// The policy for items of a dialect.
IndexingPolicy with_dialect(IndexingPolicy policy, json::Dialect dialect);

/// The policy with these sorted paths instead of its own; those that it does not index are left
/// out.
IndexingPolicy with_sorted_paths(IndexingPolicy policy,
                                 const std::vector<std::vector<PathStep>>& paths);

/// The policy for items with these computed properties (null: none). A bad request where it asks
/// for an index that they cannot have.
Result<IndexingPolicy> with_computed_properties(IndexingPolicy policy,
                                                std::shared_ptr<const ComputedProperties> computed);
/// The definition of the computed property that the path begins with; empty for a stored one.
std::string_view computed_query(const IndexingPolicy& policy, const std::vector<PathStep>& path);

/// A path as text, every name quoted, without ending; and back.
std::string path_text(const std::vector<PathStep>& path);
Result<std::vector<PathStep>> parse_path_text(std::string_view text);

}  // namespace orrery::index
