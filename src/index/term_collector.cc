#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "index/detail/shape_memo.h"
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
    uint32_t number;  ///< in the order of the walk
    bool partial;
    bool charged;
};

/// Compares postings whose bytes are in one buffer.
struct ByBytes {
    const char* buffer;

    std::string_view term(const Posting& p) const {
        return {buffer + p.offset + detail::kPathHashBytes, p.size - detail::kPathHashBytes};
    }
    bool operator()(const Posting& a, const Posting& b) const {
        if (a.path != b.path) return a.path < b.path;
        if (a.head != b.head) return a.head < b.head;
        return term(a) < term(b);
    }
    bool same(const Posting& a, const Posting& b) const {
        return a.path == b.path && a.head == b.head && term(a) == term(b);
    }
    /// Then the formula counts the pair by its whole value.
    bool is_cut_string(const Posting& p) const {
        return p.partial &&
               static_cast<detail::TermType>(term(p).front()) == detail::TermType::kString;
    }
};

}  // namespace

struct TermCollector::State {
    State(const IndexingPolicy& policy, SipKey path_key)
        : key(path_key),
          off(policy.mode == IndexingMode::kNone),
          tree(policy.tree),
          memo(*policy.tree, path_key) {
        for (const auto& path : tree->explicit_paths())
            explicit_hashes.push_back(path_hash(key, path));
        seen.resize(explicit_hashes.size());
        places.reserve(16);
        places.push_back(memo.root());
    }

    /// A scalar, undefined, or an empty array or object for the type.
    void post(uint64_t path, const json::Value& value, bool charged) {
        char entry[detail::kPathHashBytes + detail::kTermBytesMax];
        store_u64_be(entry, path);
        const detail::EncodedTerm term = detail::encode_term(entry + detail::kPathHashBytes, value);
        const auto size = static_cast<uint32_t>(detail::kPathHashBytes + term.size);
        if (term.size < 8) std::memset(entry + size, 0, 8 - term.size);
        postings.push_back({.path = path,
                            .head = load_u64_be(entry + detail::kPathHashBytes),
                            .offset = static_cast<uint32_t>(buffer.size()),
                            .size = size,
                            .number = static_cast<uint32_t>(postings.size()),
                            .partial = term.partial,
                            .charged = charged});
        buffer.append(entry, size);
        if (term.partial && value.is_string())
            cut_pairs.push_back(detail::member_hash(key, path, value.as_string()));
    }
    void post_here(const json::Value& value, bool charged) {
        const detail::KnownPath& path = places.back().path;
        if (!path.position.included) return;
        if (path.position.explicit_path != PathTree::kNotExplicit)
            seen[path.position.explicit_path] = true;
        post(path.hash, value, charged);
    }
    bool enter(const detail::ShapeMemo::Place& place) {
        if (place.path.position.dead() && !place.path.position.included) return false;
        places.push_back(place);
        return true;
    }
    void sort_postings();

    const SipKey key;
    const bool off;
    bool fresh = true;  ///< no item taken yet
    const std::shared_ptr<const PathTree> tree;
    detail::ShapeMemo memo;
    std::vector<uint64_t> explicit_hashes;         ///< as PathTree::explicit_paths()
    std::vector<bool> seen;                        ///< likewise: has the item a value there?
    std::vector<detail::ShapeMemo::Place> places;  ///< from the item to the current value
    std::string buffer;
    std::vector<Posting> postings;
    std::vector<Posting> scratch;
    std::vector<uint32_t> last_order;  ///< numbers of the last item's postings as sorted
    std::vector<uint64_t> cut_pairs;
};

/// Items that look alike have their paths in the same places: the order of the last item is tried
/// before anything is sorted.
void TermCollector::State::sort_postings() {
    const ByBytes before{buffer.data()};
    if (postings.size() == last_order.size()) {
        scratch.clear();
        for (const uint32_t number : last_order) scratch.push_back(postings[number]);
        postings.swap(scratch);
        if (std::is_sorted(postings.begin(), postings.end(), before)) return;
    }
    std::sort(postings.begin(), postings.end(), before);
    last_order.clear();
    for (const Posting& posting : postings) last_order.push_back(posting.number);
}

TermCollector::TermCollector(const IndexingPolicy& policy, SipKey path_key)
    : state_(std::make_shared<State>(policy, path_key)) {}

void TermCollector::reset() {
    State& s = *state_;
    if (!s.fresh) s.memo.begin_item();
    s.places.clear();
    s.places.push_back(s.memo.root());
    std::fill(s.seen.begin(), s.seen.end(), false);
    s.buffer.clear();
    s.postings.clear();
    s.cut_pairs.clear();
    if (s.buffer.capacity() > kKeptBytesMax) s.buffer = std::string();
    if (s.postings.capacity() * sizeof(Posting) > kKeptBytesMax) {
        s.postings = {};
        s.scratch = {};
        s.last_order = {};
    }
}

bool TermCollector::enter_member(std::string_view name) {
    State& s = *state_;
    return !s.off && s.enter(s.memo.member(s.places.back(), name));
}

bool TermCollector::enter_element() {
    State& s = *state_;
    return !s.off && s.enter(s.memo.element(s.places.back()));
}

void TermCollector::leave() {
    DCHECK(state_->places.size() > 1);
    state_->places.pop_back();
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
    s.fresh = false;
    for (size_t i = 0; i < s.explicit_hashes.size(); ++i)
        if (!s.seen[i]) s.post(s.explicit_hashes[i], json::Value(), false);
    s.sort_postings();

    const ByBytes bytes{s.buffer.data()};
    set.entries_.reserve(s.postings.size());
    const Posting* last = nullptr;
    for (const Posting& p : s.postings) {
        if (last != nullptr && bytes.same(*last, p)) {
            set.entries_.back().partial |= p.partial;
            continue;
        }
        last = &p;
        set.entries_.push_back({p.offset, p.size, p.partial, p.charged});
        if (p.charged && !bytes.is_cut_string(p)) ++set.pair_count_;
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
