#include "index/detail/shape_memo.h"

namespace orrery::index::detail {

ShapeMemo::Place ShapeMemo::other_member(Place& parent, std::string_view name) {
    if (parent.node != kUnknown && name.size() <= kNameBytesMax) {
        const std::vector<uint32_t>& members = nodes_[parent.node].members;
        for (uint32_t i = 0; i < members.size(); ++i) {
            if (nodes_[members[i]].name != name) continue;
            parent.next_member = i + 1;
            return enter(members[i]);
        }
    }
    Place place;
    place.path = compute_member(parent, name);
    const bool room = parent.node != kUnknown && name.size() <= kNameBytesMax &&
                      nodes_.size() < kPathsMax && nodes_[parent.node].members.size() < kMembersMax;
    if (!room) return place;
    place.node = remember(name, place.path);
    nodes_[parent.node].members.push_back(place.node);
    parent.next_member = static_cast<uint32_t>(nodes_[parent.node].members.size());
    return place;
}

void ShapeMemo::find_element(Place& parent) {
    parent.element_known = true;
    if (parent.node != kUnknown && nodes_[parent.node].element != kUnknown) {
        parent.element_node = nodes_[parent.node].element;
        parent.element = nodes_[parent.element_node].path;
        return;
    }
    parent.element.hash = element_hash(key_, parent.path.hash);
    parent.element.position = tree_->element(parent.path.position);
    if (parent.node == kUnknown || nodes_.size() >= kPathsMax) return;
    parent.element_node = remember({}, parent.element);
    nodes_[parent.node].element = parent.element_node;
}

uint32_t ShapeMemo::remember(std::string_view name, const KnownPath& path) {
    Node node;
    node.name = name;
    node.path = path;
    nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(nodes_.size() - 1);
}

void ShapeMemo::forget() {
    nodes_.clear();
    remember({}, root_);
}

}  // namespace orrery::index::detail
