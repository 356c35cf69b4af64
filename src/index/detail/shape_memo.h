#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "index/detail/term_format.h"
#include "index/path_tree.h"

namespace orrery::index::detail {

/// A path of an item: its hash and what the policy says of it.
struct KnownPath {
    uint64_t hash = 0;
    PathTree::Position position;
};

/// Remembers the paths of earlier items. Items of a container look alike and list their members in
/// the same order, so that the next member is mostly found by one comparison of names, without
/// hashing it or asking the policy. Bounded; forgets everything when full. Owned by one thread.
class ShapeMemo {
public:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    static constexpr size_t kPathsMax = 1024;
    static constexpr size_t kMembersMax = 64;  ///< per object
    static constexpr size_t kNameBytesMax = 64;

    ShapeMemo(const PathTree& tree, SipKey key, const json::DialectRules& rules)
        : tree_(&tree), key_(key), posts_id_(rules.reserves_members) {
        root_.hash = root_hash(key_);
        root_.position = tree_->root();
        forget();
    }

    /// Where a walk stands: at a path, perhaps a remembered one.
    struct Place {
        KnownPath path;
        uint32_t node = kUnknown;
        uint32_t next_member = 0;  ///< a guess
        bool is_item = false;
        /// The path of an array's elements, found at the first one.
        uint32_t element_node = kUnknown;
        bool element_known = false;
        KnownPath element;
    };

    Place root() const {
        Place place;
        place.path = root_;
        place.node = learning_ ? 0 : kUnknown;
        place.is_item = true;
        return place;
    }
    Place member(Place& parent, std::string_view name) {
        if (parent.node != kUnknown) {
            const Node& node = nodes_[parent.node];
            if (parent.next_member < node.members.size()) {
                const Node& guess = nodes_[node.members[parent.next_member]];
                if (guess.name == name) [[likely]]
                    return enter(node.members[parent.next_member++]);
            }
        }
        return other_member(parent, name);
    }
    Place element(Place& parent) {
        if (!parent.element_known) find_element(parent);
        Place place;
        place.path = parent.element;
        place.node = parent.element_node;
        return place;
    }
    /// Between two items. Learning pays off from the second item on.
    void begin_item() {
        learning_ = true;
        if (nodes_.size() >= kPathsMax) forget();
    }

private:
    struct Node {
        std::string name;
        KnownPath path;
        std::vector<uint32_t> members;
        uint32_t element = kUnknown;
    };

    Place enter(uint32_t node) const {
        Place place;
        place.path = nodes_[node].path;
        place.node = node;
        return place;
    }
    KnownPath compute_member(const Place& parent, std::string_view name) const {
        KnownPath path;
        path.hash = member_hash(key_, parent.path.hash, name);
        path.position = tree_->member(parent.path.position, name);
        // The id is posted whatever the policy says.
        if (parent.is_item && posts_id_ && name == "id") path.position.included = true;
        return path;
    }
    Place other_member(Place& parent, std::string_view name);
    void find_element(Place& parent);
    uint32_t remember(std::string_view name, const KnownPath& path);
    void forget();

    const PathTree* tree_;
    SipKey key_;
    bool posts_id_;  ///< as the member `id`
    KnownPath root_;
    bool learning_ = false;
    std::vector<Node> nodes_;  ///< the first is the item itself
};

}  // namespace orrery::index::detail
