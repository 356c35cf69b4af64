#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "index/policy.h"

namespace orrery::index {

/// Included and excluded paths as a tree that an item walk descends step by step. The deeper path
/// decides; at one depth /a/? decides before /a/*. Immutable.
class PathTree {
public:
    /// The policy's lists hold no path twice.
    explicit PathTree(const IndexingPolicy& policy);

    static constexpr uint32_t kNoNode = UINT32_MAX;
    static constexpr uint32_t kNotExplicit = UINT32_MAX;
    static constexpr uint32_t kNotComposite = UINT32_MAX;
    static constexpr uint16_t kNotSpatial = UINT16_MAX;

    /// Where a walk stands.
    struct Position {
        uint32_t node = kNoNode;                  ///< kNoNode: no listed path leads further
        bool inherited = false;                   ///< decision of the nearest /* at or above
        bool included = false;                    ///< are values at this very path posted?
        uint32_t explicit_path = kNotExplicit;    ///< index in explicit_paths()
        uint32_t composite_path = kNotComposite;  ///< index in composite_paths()
        /// The spatial index, in IndexingPolicy::spatials, of the geometries at this path, and at
        /// paths below that are not listed themselves.
        uint16_t spatial = kNotSpatial;
        uint16_t spatial_below = kNotSpatial;
        bool computed = false;  ///< of a computed property: what items store there does not count

        /// Nothing at or below this path can be posted.
        bool dead() const { return node == kNoNode && !inherited && spatial_below == kNotSpatial; }
    };
    Position root() const;
    Position member(const Position& parent, std::string_view name) const;
    Position element(const Position& parent) const;
    Position find(const std::vector<PathStep>& path) const;
    /// Whether values at or below a top-level member of a computed property's name have entries.
    bool leads_to_postings(std::string_view name) const;

    /// Paths included as /a/b/? (system properties left out) or sorted by: they post `undefined`
    /// when missing.
    const std::vector<std::vector<PathStep>>& explicit_paths() const { return explicit_paths_; }
    /// The paths of composite indexes, each once.
    const std::vector<std::vector<PathStep>>& composite_paths() const { return composite_paths_; }

private:
    enum class Rule : uint8_t { kNone, kInclude, kExclude };
    struct Edge {
        std::string name;
        uint32_t node;
    };
    struct Node {
        Rule scalar = Rule::kNone;
        Rule subtree = Rule::kNone;
        uint32_t explicit_path = kNotExplicit;
        uint32_t composite_path = kNotComposite;
        uint16_t spatial = kNotSpatial;          ///< of /a/?
        uint16_t spatial_subtree = kNotSpatial;  ///< of /a/*
        bool computed = false;
        uint32_t element = kNoNode;
        std::vector<Edge> members;  ///< sorted by (size, bytes)
    };

    void insert(const IndexPath& path, Rule rule, bool of_system);
    void insert_sorted(const std::vector<PathStep>& path);
    void insert_spatial(const IndexPath& path, uint16_t number);
    void insert_composite(const std::vector<PathStep>& path);
    void insert_computed(std::string_view name);
    uint32_t node_of(const std::vector<PathStep>& path);
    uint32_t child(uint32_t node, const PathStep& step);
    uint32_t find_member(uint32_t node, std::string_view name) const;
    Position at(const Position& parent, uint32_t node) const;
    bool lists_index(uint32_t node) const;

    std::vector<Node> nodes_;
    std::vector<std::vector<PathStep>> explicit_paths_;
    std::vector<std::vector<PathStep>> composite_paths_;
};

}  // namespace orrery::index
