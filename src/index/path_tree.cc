#include "index/path_tree.h"

#include <algorithm>

#include "index/computed.h"

namespace orrery::index {
namespace {

/// Shorter names first: most comparisons end at the size.
bool before(std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace

PathTree::PathTree(const IndexingPolicy& policy) {
    nodes_.emplace_back();
    if (policy.computed != nullptr)
        for (const auto& definition : policy.computed->definitions())
            insert_computed(definition.name);
    for (const IndexPath& path : policy.included)
        insert(path, Rule::kInclude, begins_with_system_property(policy, path.steps));
    for (const IndexPath& path : policy.excluded) insert(path, Rule::kExclude, false);
    for (const auto& path : policy.sorted) insert_sorted(path);
    for (const CompositeIndex& composite : policy.composites)
        for (const CompositeIndex::Member& member : composite.members)
            insert_composite(member.steps);
    for (size_t i = 0; i < policy.spatials.size(); ++i)
        insert_spatial(policy.spatials[i].path, static_cast<uint16_t>(i));
}

uint32_t PathTree::node_of(const std::vector<PathStep>& path) {
    uint32_t node = 0;
    for (const PathStep& step : path) node = child(node, step);
    return node;
}

void PathTree::insert_sorted(const std::vector<PathStep>& path) {
    if (!find(path).included) return;
    const uint32_t node = node_of(path);
    if (nodes_[node].explicit_path != kNotExplicit) return;
    nodes_[node].explicit_path = static_cast<uint32_t>(explicit_paths_.size());
    explicit_paths_.push_back(path);
}

void PathTree::insert_spatial(const IndexPath& path, uint16_t number) {
    Node& node = nodes_[node_of(path.steps)];
    (path.subtree ? node.spatial_subtree : node.spatial) = number;
}

void PathTree::insert_composite(const std::vector<PathStep>& path) {
    const uint32_t node = node_of(path);
    if (nodes_[node].composite_path != kNotComposite) return;
    nodes_[node].composite_path = static_cast<uint32_t>(composite_paths_.size());
    composite_paths_.push_back(path);
}

void PathTree::insert_computed(std::string_view name) {
    nodes_[node_of({PathStep{false, std::string(name)}})].computed = true;
}

void PathTree::insert(const IndexPath& path, Rule rule, bool of_system) {
    const uint32_t node = node_of(path.steps);
    if (path.subtree) {
        nodes_[node].subtree = rule;
        return;
    }
    nodes_[node].scalar = rule;
    if (rule != Rule::kInclude || of_system) return;
    nodes_[node].explicit_path = static_cast<uint32_t>(explicit_paths_.size());
    explicit_paths_.push_back(path.steps);
}

uint32_t PathTree::child(uint32_t node, const PathStep& step) {
    const auto fresh = static_cast<uint32_t>(nodes_.size());
    if (step.any_element) {
        if (nodes_[node].element == kNoNode) {
            nodes_[node].element = fresh;
            nodes_.emplace_back();
        }
        return nodes_[node].element;
    }
    if (const uint32_t known = find_member(node, step.name); known != kNoNode) return known;
    auto& edges = nodes_[node].members;
    const auto at =
        std::lower_bound(edges.begin(), edges.end(), step.name,
                         [](const Edge& e, std::string_view n) { return before(e.name, n); });
    edges.insert(at, Edge{step.name, fresh});
    nodes_.emplace_back();
    return fresh;
}

uint32_t PathTree::find_member(uint32_t node, std::string_view name) const {
    const auto& edges = nodes_[node].members;
    const auto at =
        std::lower_bound(edges.begin(), edges.end(), name,
                         [](const Edge& e, std::string_view n) { return before(e.name, n); });
    return at != edges.end() && at->name == name ? at->node : kNoNode;
}

PathTree::Position PathTree::root() const {
    const bool all = nodes_.front().subtree == Rule::kInclude;
    return {.node = 0,
            .inherited = all,
            .included = all,
            .spatial_below = nodes_.front().spatial_subtree};
}

PathTree::Position PathTree::at(const Position& parent, uint32_t node) const {
    if (node == kNoNode)
        return {.node = kNoNode,
                .inherited = parent.inherited,
                .included = parent.inherited,
                .spatial = parent.spatial_below,
                .spatial_below = parent.spatial_below};
    const Node& here = nodes_[node];
    Position position;
    position.node = node;
    position.computed = here.computed;
    position.inherited = here.subtree == Rule::kNone ? parent.inherited && !here.computed
                                                     : here.subtree == Rule::kInclude;
    position.included =
        here.scalar == Rule::kNone ? position.inherited : here.scalar == Rule::kInclude;
    position.explicit_path = here.explicit_path;
    position.composite_path = here.composite_path;
    position.spatial_below = here.spatial_subtree != kNotSpatial ? here.spatial_subtree
                             : here.computed                     ? kNotSpatial
                                                                 : parent.spatial_below;
    position.spatial = here.spatial != kNotSpatial ? here.spatial : position.spatial_below;
    return position;
}

PathTree::Position PathTree::member(const Position& parent, std::string_view name) const {
    return at(parent, parent.node == kNoNode ? kNoNode : find_member(parent.node, name));
}

PathTree::Position PathTree::element(const Position& parent) const {
    return at(parent, parent.node == kNoNode ? kNoNode : nodes_[parent.node].element);
}

bool PathTree::lists_index(uint32_t node) const {
    const Node& here = nodes_[node];
    if (here.scalar == Rule::kInclude || here.subtree == Rule::kInclude ||
        here.composite_path != kNotComposite)
        return true;
    if (here.element != kNoNode && lists_index(here.element)) return true;
    return std::any_of(here.members.begin(), here.members.end(),
                       [&](const Edge& edge) { return lists_index(edge.node); });
}

bool PathTree::leads_to_postings(std::string_view name) const {
    const uint32_t node = find_member(0, name);
    return node != kNoNode && lists_index(node);
}

PathTree::Position PathTree::find(const std::vector<PathStep>& path) const {
    Position position = root();
    for (const PathStep& step : path)
        position = step.any_element ? element(position) : member(position, step.name);
    return position;
}

}  // namespace orrery::index
