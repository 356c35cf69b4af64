#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rounds_test_support.h"
#include "json/parse.h"
#include "json/patch.h"
#include "json/random_json_test.h"
#include "json/write.h"

/// Patches against a simple model: a mutable tree, edited in place, written from the rules without
/// the code that is tested.
namespace orrery::json {
namespace {

struct Child;
struct Node {
    enum Kind { kLeaf, kArray, kObject } kind = kLeaf;
    Value leaf;
    std::vector<Child> children;

    static Node from(const Value& v);
    std::string text() const;
    /// Position of a child; children.size() for a new one; nullopt when the segment makes no sense.
    std::optional<size_t> position(const std::string& segment) const;
};

struct Child {
    std::string name;  // unused in arrays
    Node node;
};

Node Node::from(const Value& v) {
    Node n;
    n.leaf = v;
    if (v.is_array()) {
        n.kind = kArray;
        for (const Value& e : v.elements()) n.children.push_back({"", from(e)});
    } else if (v.is_object()) {
        n.kind = kObject;
        for (const Member& m : v.members()) {
            n.children.push_back({std::string(m.name), from(m.value)});
        }
    }
    return n;
}

std::string Node::text() const {
    if (kind == kLeaf) return to_text(leaf);
    std::string out = kind == kArray ? "[" : "{";
    for (size_t i = 0; i < children.size(); ++i) {
        if (i > 0) out += ",";
        if (kind == kObject) {
            write_string(out, children[i].name);
            out += ":";
        }
        out += children[i].node.text();
    }
    return out + (kind == kArray ? "]" : "}");
}

std::optional<size_t> Node::position(const std::string& segment) const {
    if (kind == kLeaf) return std::nullopt;
    if (kind == kObject) {
        for (size_t i = 0; i < children.size(); ++i)
            if (children[i].name == segment) return i;
        return children.size();
    }
    if (segment == "-") return children.size();
    for (size_t i = 0; i <= children.size(); ++i)
        if (std::to_string(i) == segment) return i;
    return std::nullopt;
}

/// The parent of the place that `path` names.
Node* parent_of(Node& root, const std::vector<std::string>& path) {
    Node* node = &root;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
        const auto at = node->position(path[i]);
        if (!at || *at == node->children.size()) return nullptr;
        node = &node->children[*at].node;
    }
    return node;
}

bool model_put(Node& root, const std::vector<std::string>& path, const Node& value, bool insert) {
    Node* parent = parent_of(root, path);
    const auto at = parent == nullptr ? std::nullopt : parent->position(path.back());
    if (!at) return false;
    const bool exists = *at < parent->children.size();
    const bool shifts = parent->kind == Node::kArray && insert;
    if (exists && !shifts) {
        parent->children[*at].node = value;
    } else {
        parent->children.insert(parent->children.begin() + static_cast<std::ptrdiff_t>(*at),
                                {path.back(), value});
    }
    return true;
}

std::optional<Node> model_take(Node& root, const std::vector<std::string>& path) {
    Node* parent = parent_of(root, path);
    const auto at = parent == nullptr ? std::nullopt : parent->position(path.back());
    if (!at || *at == parent->children.size()) return std::nullopt;
    Node taken = parent->children[*at].node;
    parent->children.erase(parent->children.begin() + static_cast<std::ptrdiff_t>(*at));
    return taken;
}

bool model_increment(Node& root, const std::vector<std::string>& path, const Value& by) {
    Node* parent = parent_of(root, path);
    const auto at = parent == nullptr ? std::nullopt : parent->position(path.back());
    if (!at) return false;
    if (*at == parent->children.size()) {
        if (parent->kind == Node::kArray) return false;
        parent->children.push_back({path.back(), Node::from(by)});
        return true;
    }
    Node& target = parent->children[*at].node;
    if (target.kind != Node::kLeaf || !target.leaf.is_number()) return false;
    if (target.leaf.is_int64() && by.is_int64()) {
        const __int128 sum = static_cast<__int128>(target.leaf.as_int64()) + by.as_int64();
        if (sum >= INT64_MIN && sum <= INT64_MAX) {
            target.leaf = Value::integer(static_cast<int64_t>(sum));
            return true;
        }
    }
    const double sum = target.leaf.as_double() + by.as_double();
    if (!std::isfinite(sum)) return false;
    target.leaf = Value::number(sum);
    return true;
}

bool model_apply(Node& root, const PatchOperation& op) {
    switch (op.kind) {
        case PatchKind::kAdd:
            return model_put(root, op.path, Node::from(op.value), true);
        case PatchKind::kSet:
            return model_put(root, op.path, Node::from(op.value), false);
        case PatchKind::kReplace: {
            Node probe = root;
            return model_take(probe, op.path).has_value() &&
                   model_put(root, op.path, Node::from(op.value), false);
        }
        case PatchKind::kRemove:
            return model_take(root, op.path).has_value();
        case PatchKind::kIncrement:
            return model_increment(root, op.path, op.value);
        case PatchKind::kMove: {
            if (op.from == op.path) {
                Node probe = root;
                return model_take(probe, op.from).has_value();
            }
            const auto taken = model_take(root, op.from);
            return taken.has_value() && model_put(root, op.path, *taken, true);
        }
    }
    return false;
}

/// Mostly a path that exists in the item, sometimes with a strange end.
std::vector<std::string> random_path(test::RandomJson& random, const Value& item) {
    std::vector<std::string> path;
    Value node = item;
    while (true) {
        const bool stop = !path.empty() && random.chance(30);
        if (node.is_object() && !node.members().empty() && !stop) {
            const Member& m = node.members()[random.below(node.members().size())];
            path.emplace_back(m.name);
            node = m.value;
        } else if (node.is_array() && !node.elements().empty() && !stop) {
            const size_t i = random.below(node.elements().size());
            path.push_back(std::to_string(i));
            node = node.elements()[i];
        } else {
            break;
        }
    }
    if (path.empty() || random.chance(40)) {
        static const char* const kEnds[] = {"a", "b", "0", "1", "2", "3", "-", "01", "", "x"};
        if (!path.empty() && random.chance(50)) path.pop_back();
        path.emplace_back(kEnds[random.below(std::size(kEnds))]);
    }
    return path;
}

TEST(ApplyPatch, RandomPatchesAgainstAModel) {
    test::RandomJson random(5);
    int applied = 0;
    int refused = 0;
    for (int round = 0; round < rounds(20'000); ++round) {
        Arena arena;
        const Value item = random.object(arena, 4);
        Node model = Node::from(item);
        Patch patch;
        bool accepted = true;
        Value current = item;
        for (uint64_t n = 1 + random.below(4); n > 0 && accepted; --n) {
            PatchOperation op;
            op.kind = static_cast<PatchKind>(random.below(6));
            op.path = random_path(random, current);
            if (op.kind == PatchKind::kMove) op.from = random_path(random, current);
            const bool into_itself = op.kind == PatchKind::kMove &&
                                     op.from.size() < op.path.size() &&
                                     std::equal(op.from.begin(), op.from.end(), op.path.begin());
            if (op.path.front() == "id" || into_itself) continue;
            op.value =
                op.kind == PatchKind::kIncrement ? random.number(arena) : random.value(arena, 2);
            patch.operations.push_back(op);
            accepted = model_apply(model, op);
            if (accepted) {
                const auto so_far = apply_patch(item, patch, {}, arena);
                ASSERT_TRUE(so_far.ok()) << to_text(item) << so_far.error().message;
                current = *so_far;
            }
        }
        const auto result = apply_patch(item, patch, {}, arena);
        ASSERT_EQ(result.ok(), accepted)
            << to_text(item) << (result.ok() ? "" : result.error().message);
        (accepted ? applied : refused)++;
        if (accepted) {
            ASSERT_EQ(to_text(*result), model.text()) << to_text(item);
        }
    }
    // Both kinds must be well represented, or the test proves little.
    EXPECT_GT(applied, rounds(4000));
    EXPECT_GT(refused, rounds(2000));
}

}  // namespace
}  // namespace orrery::json
