#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "index/detail/term_format.h"
#include "index/path_tree.h"
#include "index/terms.h"

namespace orrery::index {
namespace {

/// What an unusually large item took is given back.
constexpr size_t kKeptBytesMax = size_t{1} << 20;

struct Posting {
    uint64_t path;
    uint64_t head;  ///< first 8 bytes of the term, big-endian: decides most comparisons
    uint32_t offset;
    uint32_t size;
    bool partial;
    bool charged;
};

}  // namespace

struct TermCollector::State {
    State(const IndexingPolicy& policy, SipKey path_key) : tree(policy.tree.get()), key(path_key) {
        off = policy.mode == IndexingMode::kNone;
        root.position = tree->root();
        root.hash = detail::root_hash(key);
        for (const auto& path : tree->explicit_paths())
            explicit_hashes.push_back(path_hash(key, path));
        seen.resize(explicit_hashes.size());
        frames.reserve(16);
        frames.push_back(root);
    }

    struct Frame {
        PathTree::Position position;
        uint64_t hash = 0;
        /// The path of this value's elements, found at the first one.
        uint64_t element_hash = 0;
        PathTree::Position element_position;
    };

    /// Undefined, null, a boolean, a number, a string, or the type of an array or object.
    void post(uint64_t path, const json::Value& value, bool charged) {
        const size_t offset = buffer.size();
        char entry[detail::kPathHashBytes + detail::kTermBytesMax];
        store_u64_be(entry, path);
        const detail::EncodedTerm term = detail::encode_term(entry + detail::kPathHashBytes, value);
        const auto size = static_cast<uint32_t>(detail::kPathHashBytes + term.size);
        if (term.size < 8) std::memset(entry + size, 0, 8 - term.size);
        buffer.append(entry, size);
        postings.push_back({path, load_u64_be(entry + detail::kPathHashBytes),
                            static_cast<uint32_t>(offset), size, term.partial, charged});
        if (term.partial && value.is_string())
            cut_pairs.push_back(detail::member_hash(key, path, value.as_string()));
    }
    void post_here(const json::Value& value, bool charged) {
        const Frame& frame = frames.back();
        if (!frame.position.included) return;
        if (frame.position.explicit_path != PathTree::kNotExplicit)
            seen[frame.position.explicit_path] = true;
        post(frame.hash, value, charged);
    }

    const PathTree* tree;
    SipKey key;
    bool off = false;
    Frame root;
    std::vector<uint64_t> explicit_hashes;  ///< as PathTree::explicit_paths()
    std::vector<bool> seen;                 ///< likewise: has the item a value there?
    std::vector<Frame> frames;              ///< the path from the item to the current value
    std::string buffer;
    std::vector<Posting> postings;
    std::vector<uint64_t> cut_pairs;
};

TermCollector::TermCollector(const IndexingPolicy& policy, SipKey path_key)
    : state_(std::make_shared<State>(policy, path_key)) {}

void TermCollector::reset() {
    State& s = *state_;
    s.frames.resize(1);
    std::fill(s.seen.begin(), s.seen.end(), false);
    s.buffer.clear();
    s.postings.clear();
    s.cut_pairs.clear();
    if (s.buffer.capacity() > kKeptBytesMax) s.buffer = std::string();
    if (s.postings.capacity() * sizeof(Posting) > kKeptBytesMax) s.postings = {};
}

bool TermCollector::enter_member(std::string_view name) {
    State& s = *state_;
    if (s.off) return false;
    const State::Frame& parent = s.frames.back();
    State::Frame frame;
    frame.position = s.tree->member(parent.position, name);
    // `id` is always posted.
    if (s.frames.size() == 1 && name == "id") frame.position.included = true;
    if (frame.position.dead() && !frame.position.included) return false;
    frame.hash = detail::member_hash(s.key, parent.hash, name);
    s.frames.push_back(frame);
    return true;
}

bool TermCollector::enter_element() {
    State& s = *state_;
    if (s.off) return false;
    State::Frame& parent = s.frames.back();
    if (parent.element_hash == 0) {
        parent.element_position = s.tree->element(parent.position);
        parent.element_hash = detail::element_hash(s.key, parent.hash);
    }
    if (parent.element_position.dead()) return false;
    State::Frame frame;
    frame.position = parent.element_position;
    frame.hash = parent.element_hash;
    s.frames.push_back(frame);
    return true;
}

void TermCollector::leave() {
    DCHECK(state_->frames.size() > 1);
    state_->frames.pop_back();
}

void TermCollector::scalar(const json::Value& value) {
    state_->post_here(value, true);
}

void TermCollector::container(json::Type type) {
    state_->post_here(type == json::Type::kArray ? json::Value::array({}) : json::Value::object({}),
                      false);
}

TermSet TermCollector::take() {
    State& s = *state_;
    TermSet set;
    if (s.off) return set;
    for (size_t i = 0; i < s.explicit_hashes.size(); ++i)
        if (!s.seen[i]) s.post(s.explicit_hashes[i], json::Value(), false);

    const char* const bytes = s.buffer.data();
    const auto tail = [&](const Posting& p) {
        return std::string_view(bytes + p.offset + detail::kPathHashBytes,
                                p.size - detail::kPathHashBytes);
    };
    std::sort(s.postings.begin(), s.postings.end(), [&](const Posting& a, const Posting& b) {
        if (a.path != b.path) return a.path < b.path;
        if (a.head != b.head) return a.head < b.head;
        return tail(a) < tail(b);
    });
    set.entries_.reserve(s.postings.size());
    const Posting* last = nullptr;
    for (const Posting& p : s.postings) {
        if (last != nullptr && last->path == p.path && last->head == p.head &&
            tail(*last) == tail(p)) {
            set.entries_.back().partial |= p.partial;
            continue;
        }
        last = &p;
        set.entries_.push_back({p.offset, p.size, p.partial, p.charged});
        if (p.charged && !(p.partial && static_cast<detail::TermType>(tail(p).front()) ==
                                            detail::TermType::kString))
            ++set.pair_count_;
    }
    std::sort(s.cut_pairs.begin(), s.cut_pairs.end());
    s.cut_pairs.erase(std::unique(s.cut_pairs.begin(), s.cut_pairs.end()), s.cut_pairs.end());
    set.pair_count_ += static_cast<uint32_t>(s.cut_pairs.size());
    set.cut_pairs_ = s.cut_pairs;
    set.buffer_ = s.buffer;
    reset();
    return set;
}

}  // namespace orrery::index
