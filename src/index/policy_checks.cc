#include "index/policy_checks.h"

#include <algorithm>

#include "index/detail/path_parser.h"
#include "index/path_tree.h"
#include "json/item.h"

namespace orrery::index {

bool is_never_indexed(const std::vector<PathStep>& path) {
    if (path.empty() || path.front().any_element) return false;
    const std::string& name = path.front().name;
    return json::is_system_property(name) && !(name == "_ts" && path.size() == 1);
}

Status check_included_paths(const IndexingPolicy& policy) {
    for (const IndexPath& path : policy.included)
        if (is_never_indexed(path.steps))
            return Status(detail::bad_policy(
                "the included path '" + detail::excerpt(path.text) +
                "' is of a system property, and of these only '_ts' is indexed; remove the path"));
    return {};
}

const IndexPath* named_exclusion(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    const auto found =
        std::find_if(policy.excluded.begin(), policy.excluded.end(),
                     [&](const IndexPath& entry) { return !entry.subtree && entry.steps == path; });
    return found == policy.excluded.end() ? nullptr : &*found;
}

bool is_included_around(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    return policy.tree->find(path).inherited;
}

}  // namespace orrery::index
