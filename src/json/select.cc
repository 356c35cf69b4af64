#include "json/select.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/keyed_hash.h"
#include "json/detail/builder.h"
#include "json/detail/scanner.h"
#include "json/detail/structure.h"
#include "json/write.h"

namespace orrery::json {

struct detail::SelectionNode {
    std::string name;
    std::string written;                  ///< as in a stored text, with quotes and colon
    bool whole = false;                   ///< then there are no children
    std::vector<SelectionNode> children;  ///< sorted by name
    WantedNames wanted;                   ///< of the children; none when there are too many
    /// With many children: a hash table by written name. It holds the index of the child plus one,
    /// 0 for none. Its size is a power of two.
    std::vector<uint32_t> slots;
};

namespace {

using Node = detail::SelectionNode;

Node& child_of(Node& node, const std::string& name) {
    const auto at =
        std::lower_bound(node.children.begin(), node.children.end(), name,
                         [](const Node& child, const std::string& n) { return child.name < n; });
    if (at != node.children.end() && at->name == name) return *at;
    Node child;
    child.name = name;
    write_string(child.written, name);
    child.written.push_back(':');
    return *node.children.insert(at, std::move(child));
}

const Node* find_child(const Node& node, std::string_view name) {
    const auto at =
        std::lower_bound(node.children.begin(), node.children.end(), name,
                         [](const Node& child, std::string_view n) { return child.name < n; });
    return at != node.children.end() && at->name == name ? &*at : nullptr;
}

/// Bytes of a written name that are not part of the name: quotes and colon.
constexpr size_t kNameFrameBytes = 3;

bool few_and_short(const std::vector<Node>& children) {
    return children.size() <= detail::kWantedNamesMax &&
           std::all_of(children.begin(), children.end(), [](const Node& child) {
               return child.written.size() - kNameFrameBytes <= detail::kWantedNameBytesMax;
           });
}

/// Builds the look-up tables for children, on all levels.
void prepare(Node& node) {
    for (Node& child : node.children) prepare(child);
    if (few_and_short(node.children)) {
        for (const Node& child : node.children) {
            const size_t n = node.wanted.count++;
            node.wanted.distance[n] = static_cast<uint8_t>(child.written.size() - 1);
            node.wanted.last[n] = child.written[child.written.size() - kNameFrameBytes];
        }
        return;
    }
    node.slots.resize(std::bit_ceil(node.children.size() * 2));
    for (size_t i = 0; i < node.children.size(); ++i) {
        size_t slot = keyed_hash(node.children[i].written);
        while (node.slots[slot & (node.slots.size() - 1)] != 0) ++slot;
        node.slots[slot & (node.slots.size() - 1)] = static_cast<uint32_t>(i + 1);
    }
}

/// The opening quote of the name whose closing quote is at `closing`; null if there is none.
const char* opening_quote(const char* closing, const char* object_at) {
    for (const char* p = closing; p > object_at;) {
        const void* const found = memrchr(object_at, '"', static_cast<size_t>(p - object_at));
        if (found == nullptr) return nullptr;
        p = static_cast<const char*>(found);
        const char* backslash = p;
        while (backslash > object_at && backslash[-1] == '\\') --backslash;
        if ((p - backslash) % 2 == 0) return p;
    }
    return nullptr;
}

/// The child whose name stands in front of the colon at `colon`, or null.
const Node* child_before(const Node& node, const char* colon, const char* object_at) {
    if (node.slots.empty()) {
        for (const Node& child : node.children) {
            const size_t size = child.written.size();
            if (colon - object_at < static_cast<ptrdiff_t>(size)) continue;
            const char* const opening = colon + 1 - size;
            if (!same_bytes(opening, child.written.data(), size)) continue;
            // It must not be the end of a longer name that has a quote in it.
            if (opening[-1] != '\\') return &child;
        }
        return nullptr;
    }
    const char* const opening = opening_quote(colon - 1, object_at);
    if (opening == nullptr) return nullptr;
    const std::string_view written(opening, static_cast<size_t>(colon + 1 - opening));
    for (size_t slot = keyed_hash(written);; ++slot) {
        const uint32_t entry = node.slots[slot & (node.slots.size() - 1)];
        if (entry == 0) return nullptr;
        if (node.children[entry - 1].written == written) return &node.children[entry - 1];
    }
}

/// Ends the scan behind the first value.
class PartBuilder : public detail::Builder {
public:
    explicit PartBuilder(Arena& arena) : Builder(arena, false) {}
    void after_value(const char* behind) { behind_ = behind; }
    bool finished() const { return !inside(); }
    const char* behind() const { return behind_; }

private:
    const char* behind_ = nullptr;
};

bool is_ascii(std::string_view bytes) {
    uint64_t bits = 0;
    size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        uint64_t word;
        std::memcpy(&word, bytes.data() + i, 8);
        bits |= word;
    }
    for (; i < bytes.size(); ++i) bits |= static_cast<uint64_t>(bytes[i] & 0x80);
    return (bits & 0x8080808080808080u) == 0;
}

/// Reads one item. Functions return false when the text is damaged.
class Selector {
public:
    Selector(std::string_view text, Arena& arena)
        : end_(text.data() + text.size()), arena_(arena) {}

    bool value(const char* at, const Node& node, Value& out);
    std::string take_fault() { return std::move(fault_); }

private:
    struct Found {
        Member* members;  // of the selected ones, in the text's order
        size_t count = 0;
        size_t seen = 0;  // including those that are no objects after all
    };
    static constexpr size_t kChunkBlocks = 4;

    bool fail(std::string what) {
        fault_ = std::move(what);
        return false;
    }
    bool whole(const char* at, Value& out);
    bool whole_part(const char* at, Value& out);
    bool object(const char* at, const Node& node, Value& out);
    bool take(uint64_t candidates, const char* block_at, const char* object_at, const Node& node,
              Found& found);

    const char* const end_;
    Arena& arena_;
    uint32_t level_ = 0;
    std::string fault_;
};

/// The value at `at`, complete.
bool Selector::whole(const char* at, Value& out) {
    detail::Fault fault;
    switch (at < end_ ? *at : 0) {
        case '"': {
            detail::StringToken token;
            if (!detail::lex_string(at, end_, arena_, token, fault)) return fail(fault.what);
            if (!is_ascii(token.value) && detail::find_bad_utf8(token.value) != nullptr)
                return fail("malformed UTF-8");
            out = Value::string(token.value);
            return true;
        }
        case '-':
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
        case '5':
        case '6':
        case '7':
        case '8':
        case '9':
            return detail::lex_number(at, end_, out, fault) != nullptr || fail(fault.what);
        default:
            return whole_part(at, out);
    }
}

bool Selector::whole_part(const char* at, Value& out) {
    PartBuilder builder(arena_);
    const std::string_view rest(at, static_cast<size_t>(end_ - at));
    detail::Scanner<PartBuilder> scanner(
        rest, builder, arena_,
        {.depth_max = detail::kScanDepthCap, .refuse_duplicate_names = false, .check_utf8 = false});
    if (!scanner.run()) return fail(scanner.error().message);
    const std::string_view read(at, static_cast<size_t>(builder.behind() - at));
    if (!is_ascii(read) && detail::find_bad_utf8(read) != nullptr) return fail("malformed UTF-8");
    out = builder.result();
    return true;
}

/// The value at `at`, reduced to what `node` wants. Undefined when it should be an object and is
/// not.
bool Selector::value(const char* at, const Node& node, Value& out) {
    if (node.whole) return whole(at, out);
    if (at == end_ || *at != '{') {
        out = Value();
        return true;
    }
    if (level_ >= detail::kScanDepthCap) return fail("too many levels of nesting");
    ++level_;
    const bool ok = object(at, node, out);
    --level_;
    return ok;
}

/// Reads the members behind the candidates of one block that are children of `node`.
bool Selector::take(uint64_t candidates, const char* block_at, const char* object_at,
                    const Node& node, Found& found) {
    for (; candidates != 0; candidates &= candidates - 1) {
        const char* const colon = block_at + std::countr_zero(candidates);
        const Node* const child = child_before(node, colon, object_at);
        if (child == nullptr) continue;
        Value v;
        if (!value(colon + 1, *child, v)) return false;
        if (!v.is_undefined()) new (found.members + found.count++) Member{child->name, v};
        if (++found.seen == node.children.size()) return true;
    }
    return true;
}

/// The object at `at`, reduced to the children of `node`.
bool Selector::object(const char* at, const Node& node, Value& out) {
    const size_t wanted = node.children.size();
    Found found{
        reinterpret_cast<Member*>(arena_.allocate(wanted * sizeof(Member), alignof(Member)))};
    detail::StructureState state(node.wanted);
    detail::StructureBlock blocks[kChunkBlocks];
    // Objects inside the item are mostly small.
    const size_t chunk = level_ == 1 ? kChunkBlocks : 1;
    bool ended = wanted == 0;
    for (const char* p = at; !ended && p < end_;) {
        size_t count = std::min(static_cast<size_t>(end_ - p) / detail::kBlockBytes, chunk);
        if (count > 0) {
            detail::scan_structure(p, count, node.wanted, state, blocks);
        } else {
            char padded[detail::kBlockBytes];
            std::memset(padded, ' ', sizeof(padded));
            std::memcpy(padded, p, static_cast<size_t>(end_ - p));
            detail::scan_structure(padded, 1, node.wanted, state, blocks);
            count = 1;
        }
        for (size_t i = 0; i < count && !ended; ++i, p += detail::kBlockBytes) {
            if (blocks[i].candidates != 0 && !take(blocks[i].candidates, p, at, node, found))
                return false;
            ended = blocks[i].ended || found.seen == wanted;
        }
    }
    if (!ended) return fail("it ends too early");
    out = Value::object({found.members, found.count});
    return true;
}

Error damaged(const std::string& what) {
    return errors::internal("A stored item is damaged: " + what);
}

/// `object` with those of `more` that are selected.
Value append(const Value& object, std::span<const Member> more, const Node& root, Arena& arena) {
    const std::span<const Member> own = object.members();
    auto* out = reinterpret_cast<Member*>(
        arena.allocate((own.size() + more.size()) * sizeof(Member), alignof(Member)));
    std::copy(own.begin(), own.end(), out);
    size_t count = own.size();
    for (const Member& member : more) {
        if (!root.whole) {
            const Node* child = find_child(root, member.name);
            if (child == nullptr || !child->whole) continue;
        }
        new (out + count++) Member(member);
    }
    return Value::object({out, count});
}

}  // namespace

Selection::Selection() : root_(std::make_shared<const Node>()) {}

Selection::Selection(const std::vector<MemberPath>& paths) {
    // Paths are sorted, so a new child is always its parent's last.
    std::vector<const MemberPath*> sorted;
    for (const MemberPath& path : paths) sorted.push_back(&path);
    std::sort(sorted.begin(), sorted.end(),
              [](const MemberPath* a, const MemberPath* b) { return *a < *b; });
    auto root = std::make_shared<Node>();
    for (const MemberPath* path : sorted) {
        Node* node = root.get();
        for (const std::string& name : *path) {
            if (node->whole) break;
            node = &child_of(*node, name);
        }
        node->whole = true;
        node->children.clear();
    }
    prepare(*root);
    root_ = std::move(root);
}

bool Selection::selects_all() const {
    return root_->whole;
}

bool Selection::selects_nothing() const {
    return !root_->whole && root_->children.empty();
}

bool Selection::includes(std::string_view name) const {
    return root_->whole || find_child(*root_, name) != nullptr;
}

Result<Value> parse_selected(std::string_view text, const Selection& selection, Arena& arena,
                             std::span<const Member> more) {
    if (text.empty() || text.front() != '{') return damaged("it is not a JSON object.");
    Selector selector(text, arena);
    Value value;
    if (!selector.value(text.data(), *selection.root_, value))
        return damaged(selector.take_fault());
    return more.empty() ? value : append(value, more, *selection.root_, arena);
}

}  // namespace orrery::json
