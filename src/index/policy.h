#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
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

/// Included and excluded paths as a tree that an item walk descends step by step. Immutable.
class PathTree;

/// A container's indexing policy: validated, defaults filled in. Immutable, cheap to copy.
struct IndexingPolicy {
    IndexingMode mode = IndexingMode::kConsistent;
    bool automatic = true;
    std::vector<IndexPath> included;
    std::vector<IndexPath> excluded;
    std::shared_ptr<const PathTree> tree;
    std::string json;  ///< what clients get back
};

/// Validates a policy object (undefined: the default policy) by service-model §8. Composite,
/// spatial, vector and full-text indexes are refused by name until they are maintained.
Result<IndexingPolicy> parse_indexing_policy(const json::Value& policy);

/// What a write asks for (header x-ms-indexing-directive).
enum class ItemIndexing : uint8_t { kDefault, kInclude, kExclude };
/// Whether an item gets any terms at all: never in mode none or with kExclude; with `automatic`
/// false only with kInclude.
bool item_is_indexed(const IndexingPolicy& policy, ItemIndexing directive);

/// Whether the values at a path are posted. `id` and `_ts` always are in consistent mode; the other
/// system properties never.
bool path_is_indexed(const IndexingPolicy& policy, const std::vector<PathStep>& path);
/// Whether items that lack the path post `undefined` there: included by name, as /a/b/?.
bool path_posts_undefined(const IndexingPolicy& policy, const std::vector<PathStep>& path);

}  // namespace orrery::index
