#include "index/policy.h"

#include <algorithm>
#include <set>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "index/detail/path_parser.h"
#include "index/path_tree.h"
#include "json/item.h"
#include "json/write.h"

namespace orrery::index {
namespace {

using detail::bad_policy;
using detail::excerpt;

constexpr std::string_view kRootPath = "/*";
constexpr std::string_view kEtagPath = "/\"_etag\"/?";

/// What tells two paths apart, whatever their quotes.
std::string identity(const IndexPath& path) {
    std::string out(1, path.subtree ? '*' : '?');
    for (const PathStep& step : path.steps) {
        out.append(step.any_element ? "[" : "m");
        out.append(std::to_string(step.name.size())).append(":").append(step.name);
    }
    return out;
}

bool is_root(const IndexPath& path) {
    return path.subtree && path.steps.empty();
}
bool has_root(const std::vector<IndexPath>& paths) {
    return std::any_of(paths.begin(), paths.end(), is_root);
}
bool names_etag(const std::vector<IndexPath>& paths) {
    return std::any_of(paths.begin(), paths.end(), [](const IndexPath& path) {
        return !path.steps.empty() && path.steps.front().name == "_etag";
    });
}

IndexPath known_path(std::string_view text) {
    auto path = detail::parse_index_path(text);
    CHECK(path.ok());
    return std::move(path).value();
}

Result<IndexPath> read_path(const json::Value& entry, std::string_view list) {
    if (!entry.is_object())
        return bad_policy("'" + std::string(list) + "' holds something that is not an object");
    for (const json::Member& member : entry.members())
        if (member.name != "path" && !(member.name == "indexes" && list == "includedPaths"))
            return bad_policy("an entry of '" + std::string(list) + "' has an unknown member '" +
                              excerpt(member.name) + "'");
    const json::Value path = entry.member("path");
    if (!path.is_string())
        return bad_policy("an entry of '" + std::string(list) + "' has no string member 'path'");
    // An old form; range indexes over whole values are the only ones left.
    const json::Value indexes = entry.member("indexes");
    if (!indexes.is_undefined() && !indexes.is_null() && !indexes.is_array())
        return bad_policy("the member 'indexes' of path '" + excerpt(path.as_string()) +
                          "' is not an array");
    return detail::parse_index_path(path.as_string());
}

struct PathList {
    bool given = false;
    std::vector<IndexPath> paths;
};

Result<PathList> read_paths(const json::Value& policy, std::string_view name) {
    PathList list;
    const json::Value value = policy.member(name);
    if (value.is_undefined() || value.is_null()) return list;
    if (!value.is_array()) return bad_policy("'" + std::string(name) + "' is not an array");
    if (value.elements().size() > limits::kIndexPathsMax)
        return bad_policy("'" + std::string(name) + "' holds " +
                          std::to_string(value.elements().size()) + " paths, more than " +
                          std::to_string(limits::kIndexPathsMax));
    list.given = true;
    for (const json::Value& entry : value.elements()) {
        TRY(auto path, read_path(entry, name));
        list.paths.push_back(std::move(path));
    }
    return list;
}

/// Index kinds that are not maintained yet are refused by name; empty lists say nothing.
Status refuse_other_indexes(const json::Value& policy) {
    struct Kind {
        std::string_view member;
        std::string_view feature;
    };
    constexpr Kind kKinds[] = {{"vectorIndexes", "A vector index"},
                               {"fullTextIndexes", "A full-text index"}};
    for (const json::Member& member : policy.members()) {
        const std::string_view name = member.name;
        if (name == "indexingMode" || name == "automatic" || name == "includedPaths" ||
            name == "excludedPaths" || name == "compositeIndexes" || name == "spatialIndexes")
            continue;
        const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                        [&](const Kind& k) { return k.member == name; });
        if (kind == std::end(kKinds))
            return Status(bad_policy("it has an unknown member '" + excerpt(name) + "'"));
        const bool empty =
            member.value.is_null() || (member.value.is_array() && member.value.elements().empty());
        if (!empty)
            return Status(errors::not_supported(std::string(kind->feature) + " ('" +
                                                    std::string(name) + "' of the indexing policy)",
                                                "Leave the member out or empty."));
    }
    return {};
}

Result<IndexingMode> read_mode(const json::Value& value) {
    if (value.is_undefined() || value.is_null()) return IndexingMode::kConsistent;
    const std::string_view text = value.is_string() ? value.as_string() : std::string_view();
    if (equals_ignore_case(text, "consistent")) return IndexingMode::kConsistent;
    if (equals_ignore_case(text, "none")) return IndexingMode::kNone;
    if (equals_ignore_case(text, "lazy"))
        return bad_policy(
            "the indexing mode 'lazy' is not available for new containers; "
            "use 'consistent' or 'none'");
    return bad_policy("'indexingMode' must be \"consistent\" or \"none\"");
}

Status check_unique(const std::vector<IndexPath>& included,
                    const std::vector<IndexPath>& excluded) {
    std::set<std::string> seen;
    for (const IndexPath& path : included)
        if (!seen.insert(identity(path)).second)
            return Status(bad_policy("the path '" + excerpt(path.text) + "' is included twice"));
    std::set<std::string> seen_excluded;
    for (const IndexPath& path : excluded) {
        std::string id = identity(path);
        if (seen.contains(id))
            return Status(
                bad_policy("the path '" + excerpt(path.text) + "' is both included and excluded"));
        if (!seen_excluded.insert(std::move(id)).second)
            return Status(bad_policy("the path '" + excerpt(path.text) + "' is excluded twice"));
    }
    return {};
}

/// Consistent mode: what was left out is filled in from the default policy.
void fill_paths(PathList included, PathList excluded, IndexingPolicy& out) {
    if (included.paths.empty() && excluded.paths.empty()) included.given = excluded.given = false;
    out.included = std::move(included.paths);
    out.excluded = std::move(excluded.paths);
    if (!included.given && !has_root(out.excluded)) out.included.push_back(known_path(kRootPath));
    if (!names_etag(out.included) && !names_etag(out.excluded))
        out.excluded.push_back(known_path(kEtagPath));
}

/// Mode none: there is nothing to list; what clients send along with it is accepted.
Status fill_no_paths(PathList included, PathList excluded, IndexingPolicy& out) {
    for (const auto* list : {&included.paths, &excluded.paths})
        for (const IndexPath& path : *list)
            if (!is_root(path) && !names_etag({path}))
                return Status(bad_policy("with indexing mode 'none' the path '" +
                                         excerpt(path.text) + "' cannot be listed"));
    out.included = std::move(included.paths);
    out.excluded = std::move(excluded.paths);
    return {};
}

void append_paths(std::string& out, std::string_view name, const std::vector<IndexPath>& paths) {
    out.append(",\"").append(name).append("\":[");
    for (size_t i = 0; i < paths.size(); ++i) {
        out.append(i == 0 ? "{\"path\":" : ",{\"path\":");
        json::write_string(out, paths[i].text);
        out.push_back('}');
    }
    out.push_back(']');
}

std::string policy_json(const IndexingPolicy& policy) {
    std::string out = policy.mode == IndexingMode::kNone ? R"({"indexingMode":"none")"
                                                         : R"({"indexingMode":"consistent")";
    out += policy.automatic ? R"(,"automatic":true)" : R"(,"automatic":false)";
    append_paths(out, "includedPaths", policy.included);
    append_paths(out, "excludedPaths", policy.excluded);
    if (!policy.composites.empty()) detail::append_composites(out, policy.composites);
    if (!policy.spatials.empty()) detail::append_spatials(out, policy.spatials);
    out.push_back('}');
    return out;
}

}  // namespace

Result<IndexingPolicy> parse_indexing_policy(const json::Value& policy) {
    const bool given = !policy.is_undefined() && !policy.is_null();
    if (given && !policy.is_object()) return bad_policy("it is not a JSON object");
    IndexingPolicy out;
    PathList included;
    PathList excluded;
    if (given) {
        TRY_STATUS(refuse_other_indexes(policy));
        TRY(out.mode, read_mode(policy.member("indexingMode")));
        const json::Value automatic = policy.member("automatic");
        if (automatic.is_bool()) {
            out.automatic = automatic.as_bool();
        } else if (automatic.is_undefined() || automatic.is_null()) {
            out.automatic = out.mode != IndexingMode::kNone;
        } else {
            return bad_policy("'automatic' must be true or false");
        }
        TRY(included, read_paths(policy, "includedPaths"));
        TRY(excluded, read_paths(policy, "excludedPaths"));
        TRY(out.composites, detail::parse_composites(policy.member("compositeIndexes")));
        if (out.mode == IndexingMode::kNone && !out.composites.empty())
            return bad_policy("with indexing mode 'none' no composite index can be listed");
        TRY(out.spatials, detail::parse_spatials(policy.member("spatialIndexes")));
        if (out.mode == IndexingMode::kNone && !out.spatials.empty())
            return bad_policy("with indexing mode 'none' no spatial index can be listed");
    }
    if (out.mode == IndexingMode::kNone)
        TRY_STATUS(fill_no_paths(std::move(included), std::move(excluded), out));
    else
        fill_paths(std::move(included), std::move(excluded), out);
    return complete_policy(std::move(out));
}

Result<IndexPath> parse_index_path(std::string_view text) {
    return detail::parse_index_path(text);
}

Result<IndexingPolicy> complete_policy(IndexingPolicy lists) {
    TRY_STATUS(check_unique(lists.included, lists.excluded));
    if (lists.mode != IndexingMode::kNone && !has_root(lists.included) && !has_root(lists.excluded))
        return bad_policy(
            "the mandatory path '/*' is neither included nor excluded; add it to one of the two "
            "lists");
    lists.tree = std::make_shared<const PathTree>(lists);
    lists.json = policy_json(lists);
    return lists;
}

bool item_is_indexed(const IndexingPolicy& policy, ItemIndexing directive) {
    if (policy.mode == IndexingMode::kNone || directive == ItemIndexing::kExclude) return false;
    return policy.automatic || directive == ItemIndexing::kInclude;
}

bool begins_with_system_property(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    return json::rules(policy.dialect).reserves_members && !path.empty() &&
           !path.front().any_element && json::is_system_property(path.front().name);
}

bool path_is_indexed(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    if (policy.mode == IndexingMode::kNone || path.empty()) return false;
    if (json::rules(policy.dialect).reserves_members && path.size() == 1 &&
        !path.front().any_element && (path.front().name == "id" || path.front().name == "_ts"))
        return true;
    if (begins_with_system_property(policy, path)) return false;
    return policy.tree->find(path).included;
}

IndexingPolicy with_dialect(IndexingPolicy policy, json::Dialect dialect) {
    policy.dialect = dialect;
    policy.tree = std::make_shared<const PathTree>(policy);
    return policy;
}

IndexingPolicy with_sorted_paths(IndexingPolicy policy,
                                 const std::vector<std::vector<PathStep>>& paths) {
    policy.sorted.clear();
    for (const auto& path : paths) {
        const bool plain =
            !path.empty() && !begins_with_system_property(policy, path) &&
            std::none_of(path.begin(), path.end(), [](const PathStep& s) { return s.any_element; });
        const bool known =
            std::find(policy.sorted.begin(), policy.sorted.end(), path) != policy.sorted.end();
        if (plain && !known && path_is_indexed(policy, path)) policy.sorted.push_back(path);
    }
    policy.tree = std::make_shared<const PathTree>(policy);
    return policy;
}

const SpatialGrid* spatial_grid(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    if (policy.mode == IndexingMode::kNone || path.empty()) return nullptr;
    if (begins_with_system_property(policy, path)) return nullptr;
    const uint16_t number = policy.tree->find(path).spatial;
    return number == PathTree::kNotSpatial ? nullptr : &policy.spatials[number].grid;
}

Status check_boxes(const IndexingPolicy& policy, GeometrySpace space) {
    const bool plane = space == GeometrySpace::kPlane;
    for (const SpatialIndex& spatial : policy.spatials) {
        if (spatial.grid.box.has_value() == plane) continue;
        const std::string path = "the spatial path '" + excerpt(spatial.path.text) + "'";
        return Status(bad_policy(
            plane ? path + " has no bounding box, which planar coordinates need: add 'boundingBox' "
                           "with xmin, ymin, xmax and ymax"
                  : path + " has a bounding box, which is for planar coordinates only; this "
                           "container's coordinates are geographic"));
    }
    return {};
}

bool has_composite(const IndexingPolicy& policy, const CompositeIndex& composite) {
    return std::find(policy.composites.begin(), policy.composites.end(), composite) !=
           policy.composites.end();
}

std::string path_text(const std::vector<PathStep>& path) {
    std::string out;
    for (const PathStep& step : path) {
        if (step.any_element) {
            out += "/[]";
            continue;
        }
        out += "/\"";
        for (const char c : step.name) {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
        out += '"';
    }
    return out;
}

Result<std::vector<PathStep>> parse_path_text(std::string_view text) {
    TRY(IndexPath path, detail::parse_index_path(text, detail::PathEnding::kImplied));
    return std::move(path.steps);
}

bool path_posts_undefined(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    if (policy.mode == IndexingMode::kNone || path.empty()) return false;
    return policy.tree->find(path).explicit_path != PathTree::kNotExplicit;
}

}  // namespace orrery::index
