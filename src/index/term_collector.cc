#include <algorithm>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "index/computed.h"
#include "index/detail/geometry_capture.h"
#include "index/detail/shape_memo.h"
#include "index/detail/term_format.h"
#include "index/path_tree.h"
#include "index/spatial.h"
#include "index/terms.h"

namespace orrery::index {
namespace {

/// Frees the memory of an unusually large item.
constexpr size_t kKeptBytesMax = size_t{1} << 20;

/// An item's value at one path of the composite indexes.
struct CompositeValue {
    uint32_t offset = 0;  ///< of the plain term, in a buffer of its own
    uint32_t size = 0;    ///< 0: undefined
    bool partial = false;
    uint64_t cut_digest = 0;  ///< of the whole value, if the term is of a cut string
};

/// A composite index as the collector needs it.
struct CompositePlan {
    struct Member {
        uint32_t path;  ///< kTs, or in PathTree::composite_paths()
        bool descending;
    };
    static constexpr uint32_t kTs = UINT32_MAX;
    uint64_t hash;
    std::vector<Member> members;
};

/// What transparent arrays make of a value's place.
enum ArrayMark : uint8_t {
    kBelowArray = 1,  ///< it is an array, or inside one
    kIsElement = 2,
    kUnposted = 4,  ///< inside an array that is an element itself
};

/// The bytes of a string or a binary value, of which a term may have a part.
std::string_view whole_bytes(const json::Value& value) {
    return value.is_string() ? value.as_string() : value.as_bytes();
}

struct Posting {
    uint64_t path;
    uint64_t head;  ///< first 8 bytes of the term, big-endian: decides most comparisons
    uint32_t offset;
    uint32_t size;
    uint32_t number;  ///< in the order of the walk
    bool partial;
    bool charged;
    bool cell;
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
};

}  // namespace

struct TermCollector::State {
    State(const IndexingPolicy& policy, SipKey path_key)
        : key(path_key),
          rules(json::rules(policy.dialect)),
          off(policy.mode == IndexingMode::kNone),
          tree(policy.tree),
          memo(*policy.tree, path_key, rules) {
        ts_path = ts_path_hash(key, rules);
        for (const auto& path : tree->explicit_paths())
            explicit_hashes.push_back(path_hash(key, path));
        seen.resize(explicit_hashes.size());
        plan_composites(policy);
        plan_computed(policy);
        for (const SpatialIndex& spatial : policy.spatials) grids.push_back(spatial.grid);
        places.reserve(16);
        places.push_back(memo.root());
        if (rules.transparent_arrays) array_marks.push_back(0);
    }

    /// A scalar, undefined, or an empty array or object for the type.
    void post(uint64_t path, const json::Value& value, bool charged) {
        char entry[detail::kPathHashBytes + detail::kTermBytesMax];
        store_u64_be(entry, path);
        const detail::EncodedTerm term =
            detail::encode_term(entry + detail::kPathHashBytes, value, rules);
        const bool cut = term.partial && !value.is_number();
        post_entry(entry, detail::kPathHashBytes + term.size, term.partial, charged && !cut);
        if (cut && charged)
            counted_values.push_back(detail::member_hash(key, path, whole_bytes(value)));
    }
    /// Path hash and term; `entry` has room for 8 bytes of term.
    void post_entry(char* entry, size_t size, bool partial, bool charged, bool cell = false) {
        const size_t term_size = size - detail::kPathHashBytes;
        if (term_size < 8) std::memset(entry + size, 0, 8 - term_size);
        postings.push_back({.path = load_u64_be(entry),
                            .head = load_u64_be(entry + detail::kPathHashBytes),
                            .offset = static_cast<uint32_t>(buffer.size()),
                            .size = static_cast<uint32_t>(size),
                            .number = static_cast<uint32_t>(postings.size()),
                            .partial = partial,
                            .charged = charged,
                            .cell = cell});
        buffer.append(entry, size);
    }
    void plan_composites(const IndexingPolicy& policy);
    void plan_computed(const IndexingPolicy& policy);
    void keep_here_for_composites(uint32_t path, const json::Value& value);
    void keep_for_composites(uint32_t path, const json::Value& value);
    void post_composites(TermSet& set);
    void post_composite(const CompositePlan& composite, TermSet& set);

    void post_here(const json::Value& value, bool charged) {
        const detail::KnownPath& path = places.back().path;
        if (!path.position.included) return;
        if (rules.transparent_arrays && !post_array_mark(path.hash)) return;
        if (path.position.explicit_path != PathTree::kNotExplicit)
            seen[path.position.explicit_path] = true;
        post(path.hash, value, charged);
    }
    /// Notes an array at or above the current path. False: nothing is posted for this value.
    bool post_array_mark(uint64_t path);
    bool enter_transparent_element();

    bool enter(const detail::ShapeMemo::Place& place, std::string_view name) {
        if (place.path.position.dead() && !place.path.position.included && !capture.active())
            return false;
        if (place.path.position.computed && !computing) return false;
        places.push_back(place);
        if (rules.transparent_arrays) array_marks.push_back(array_marks.back() & kBelowArray);
        if (capture.active()) [[unlikely]]
            capture.enter(places.size(), name);
        return true;
    }
    void post_geometry(const detail::GeometryCapture::Found& found);
    void sort_postings();

    const SipKey key;
    const json::DialectRules& rules;
    uint64_t ts_path = 0;
    const bool off;
    bool fresh = true;  ///< no item taken yet
    const std::shared_ptr<const PathTree> tree;
    detail::ShapeMemo memo;
    std::vector<uint64_t> explicit_hashes;         ///< as PathTree::explicit_paths()
    std::vector<bool> seen;                        ///< likewise: has the item a value there?
    std::vector<detail::ShapeMemo::Place> places;  ///< from the item to the current value
    std::vector<uint8_t> array_marks;  ///< likewise, of ArrayMark; with transparent arrays only
    std::string buffer;
    std::vector<Posting> postings;
    std::vector<Posting> scratch;
    std::vector<uint32_t> last_order;  ///< numbers of the last item's postings as sorted
    std::vector<uint64_t> counted_values;
    std::vector<CompositePlan> composites;
    std::vector<CompositeValue> composite_values;  ///< as PathTree::composite_paths()
    std::string composite_terms;
    std::string composite_entry;
    detail::GeometryCapture capture;
    std::vector<SpatialGrid> grids;  ///< as IndexingPolicy::spatials
    std::shared_ptr<const ComputedProperties> computed;
    std::vector<size_t> computed_wanted;  ///< definitions that have entries
    std::vector<json::Value> computed_values;
    json::Arena computed_arena;
    bool computing = false;  ///< the walk goes over computed values
};

void TermCollector::State::plan_composites(const IndexingPolicy& policy) {
    composite_values.resize(tree->composite_paths().size());
    for (const CompositeIndex& composite : policy.composites) {
        CompositePlan plan{.hash = composite_hash(key, composite), .members = {}};
        for (const CompositeIndex::Member& member : composite.members) {
            const bool is_ts = member.steps.size() == 1 && member.steps[0].name == "_ts";
            plan.members.push_back(
                {.path = is_ts ? CompositePlan::kTs : tree->find(member.steps).composite_path,
                 .descending = member.descending});
        }
        composites.push_back(std::move(plan));
    }
}

void TermCollector::State::plan_computed(const IndexingPolicy& policy) {
    if (policy.computed == nullptr) return;
    computed = policy.computed;
    for (size_t i = 0; i < computed->definitions().size(); ++i) {
        const auto& definition = computed->definitions()[i];
        // A composite's path needs no other index.
        const bool posts = tree->leads_to_postings(definition.name);
        if (posts && definition.indexable) computed_wanted.push_back(i);
    }
}

/// A path with several values has that of an array, which does not tell them.
void TermCollector::State::keep_here_for_composites(uint32_t path, const json::Value& value) {
    const bool several = rules.transparent_arrays && (array_marks.back() & kBelowArray) != 0;
    keep_for_composites(path, several ? json::Value::array({}) : value);
    if (several) composite_values[path].partial = true;
}

bool TermCollector::State::post_array_mark(uint64_t path) {
    if ((array_marks.back() & kUnposted) != 0) return false;
    if ((array_marks.back() & kBelowArray) == 0) return true;
    char entry[detail::kPathHashBytes + 8];
    store_u64_be(entry, multikey_path_hash(key, path));
    entry[detail::kPathHashBytes] = static_cast<char>(detail::TermType::kUndefined);
    post_entry(entry, detail::kPathHashBytes + 1, false, false);
    return true;
}

/// Elements stand where their array stands. An array that is an element itself is one value: what
/// is in it counts for geometries only.
bool TermCollector::State::enter_transparent_element() {
    const uint8_t mark = array_marks.back();
    const bool nested = (mark & kIsElement) != 0;
    if (nested && !capture.active()) return false;
    if (!enter(places.back(), {})) return false;
    array_marks.back() = static_cast<uint8_t>(kBelowArray | kIsElement | (nested ? kUnposted : 0));
    return true;
}

void TermCollector::State::keep_for_composites(uint32_t path, const json::Value& value) {
    char term[detail::kTermBytesMax];
    const detail::EncodedTerm encoded = detail::encode_composite_term(term, value, false, rules);
    CompositeValue& kept = composite_values[path];
    kept.offset = static_cast<uint32_t>(composite_terms.size());
    kept.size = encoded.size;
    kept.partial = encoded.partial;
    kept.cut_digest =
        encoded.partial && !value.is_number() ? siphash(key, whole_bytes(value)) | 1 : 0;
    composite_terms.append(term, encoded.size);
}

void TermCollector::State::post_composites(TermSet& set) {
    for (const CompositePlan& composite : composites) post_composite(composite, set);
}

/// One entry per composite. A composite with `_ts` is completed at commit; it and one with a cut
/// string are counted by a digest of the values.
void TermCollector::State::post_composite(const CompositePlan& composite, TermSet& set) {
    const char missing = static_cast<char>(json::term_class(json::Value(), rules));
    std::string& entry = composite_entry;
    entry.clear();
    append_u64_be(entry, composite.hash);
    bool partial = false;
    bool by_value = false;
    uint64_t digest = composite.hash;
    std::optional<TermSet::TsComposite> with_ts;
    for (const CompositePlan::Member& member : composite.members) {
        if (member.path == CompositePlan::kTs) {
            with_ts = TermSet::TsComposite{.offset = 0,
                                           .front_size = static_cast<uint32_t>(entry.size()),
                                           .back_size = 0,
                                           .descending = member.descending,
                                           .partial = false};
            continue;
        }
        const CompositeValue& value = composite_values[member.path];
        const std::string_view term =
            value.size == 0 ? std::string_view(&missing, 1)
                            : std::string_view(composite_terms).substr(value.offset, value.size);
        const size_t start = entry.size();
        entry.append(term);
        if (member.descending) detail::invert(entry.data() + start, term.size());
        partial = partial || value.partial;
        by_value = by_value || value.cut_digest != 0;
        digest =
            detail::step_hash(key, digest ^ value.cut_digest, detail::StepKind::kAscending, term);
    }
    if (by_value || with_ts) counted_values.push_back(digest);
    if (with_ts) {
        with_ts->offset = static_cast<uint32_t>(buffer.size());
        with_ts->back_size = static_cast<uint32_t>(entry.size()) - with_ts->front_size;
        with_ts->partial = partial;
        buffer.append(entry);
        set.ts_composites_.push_back(*with_ts);
        return;
    }
    const size_t size = entry.size();
    entry.resize(size + 8);
    post_entry(entry.data(), size, partial, !by_value);
}

/// The cells of a geometry; one that the grid does not show, or that is too large to be read here,
/// is posted so that every search finds it.
void TermCollector::State::post_geometry(const detail::GeometryCapture::Found& found) {
    const SpatialGrid& grid = grids[found.spatial];
    const auto geometry =
        found.is_geojson ? parse_in(grid, found.geojson) : std::optional<Geometry>();
    if (!geometry && !found.too_large) return;
    char entry[detail::kPathHashBytes + 1 + 8];
    store_u64_be(entry, spatial_hash(key, found.path, grid));
    char* term = entry + detail::kPathHashBytes;
    const std::vector<uint64_t> cells =
        geometry ? covering_cells(*geometry, grid) : std::vector<uint64_t>();
    if (cells.empty()) {
        *term = static_cast<char>(detail::TermType::kUndefined);
        post_entry(entry, detail::kPathHashBytes + 1, false, false);
        return;
    }
    for (const uint64_t cell : cells) {
        *term = static_cast<char>(detail::TermType::kCell);
        store_u64_be(term + 1, cell);
        post_entry(entry, sizeof(entry), false, true, true);
    }
}

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
    s.array_marks.assign(s.rules.transparent_arrays ? 1 : 0, 0);
    std::fill(s.seen.begin(), s.seen.end(), false);
    s.buffer.clear();
    s.postings.clear();
    s.counted_values.clear();
    s.capture.reset();
    std::fill(s.composite_values.begin(), s.composite_values.end(), CompositeValue());
    s.composite_terms.clear();
    if (s.buffer.capacity() > kKeptBytesMax) s.buffer = std::string();
    if (s.postings.capacity() * sizeof(Posting) > kKeptBytesMax) {
        s.postings = {};
        s.scratch = {};
        s.last_order = {};
    }
}

bool TermCollector::enter_member(std::string_view name) {
    State& s = *state_;
    return !s.off && s.enter(s.memo.member(s.places.back(), name), name);
}

bool TermCollector::enter_element() {
    State& s = *state_;
    if (s.off) return false;
    if (s.rules.transparent_arrays) return s.enter_transparent_element();
    return s.enter(s.memo.element(s.places.back()), {});
}

void TermCollector::leave() {
    State& s = *state_;
    DCHECK(s.places.size() > 1);
    if (s.capture.active()) [[unlikely]] {
        detail::GeometryCapture::Found found;
        if (s.capture.leave(s.places.size(), found)) s.post_geometry(found);
    }
    s.places.pop_back();
    if (s.rules.transparent_arrays) s.array_marks.pop_back();
}

void TermCollector::scalar(const json::Value& value) {
    State& s = *state_;
    s.post_here(value, true);
    const uint32_t path = s.places.back().path.position.composite_path;
    if (path != PathTree::kNotComposite) [[unlikely]]
        s.keep_here_for_composites(path, value);
    if (s.capture.active()) [[unlikely]]
        s.capture.scalar(s.places.size(), value);
}

void TermCollector::container(json::Type type) {
    State& s = *state_;
    const json::Value value =
        type == json::Type::kArray ? json::Value::array({}) : json::Value::object({});
    if (type == json::Type::kArray && s.rules.transparent_arrays)
        s.array_marks.back() |= kBelowArray;
    s.post_here(value, false);
    const uint32_t path = s.places.back().path.position.composite_path;
    if (path != PathTree::kNotComposite) [[unlikely]]
        s.keep_here_for_composites(path, value);
    const detail::KnownPath& here = s.places.back().path;
    if (here.position.spatial != PathTree::kNotSpatial && type == json::Type::kObject)
        [[unlikely]] {
        s.capture.begin_object(s.places.size(), here.hash, here.position.spatial);
    } else if (s.capture.active()) [[unlikely]] {
        type == json::Type::kArray ? s.capture.begin_array(s.places.size())
                                   : s.capture.other_object(s.places.size());
    }
}

Status TermCollector::add_computed(const json::Document& document) {
    State& s = *state_;
    if (s.off || s.computed_wanted.empty()) return {};
    s.computed_arena.clear();
    s.computed_values.clear();
    TRY_STATUS(
        s.computed->evaluate(document, s.computed_wanted, s.computed_arena, s.computed_values));
    s.computing = true;
    for (size_t i = 0; i < s.computed_wanted.size(); ++i) {
        const auto& definition = s.computed->definitions()[s.computed_wanted[i]];
        if (s.computed_values[i].is_undefined() || !enter_member(definition.name)) continue;
        json::walk_value(s.computed_values[i], *this);
        leave();
    }
    s.computing = false;
    return {};
}

TermSet TermCollector::take() {
    State& s = *state_;
    TermSet set;
    if (s.off) return set;
    s.fresh = false;
    for (size_t i = 0; i < s.explicit_hashes.size(); ++i)
        if (!s.seen[i]) s.post(s.explicit_hashes[i], json::Value(), false);
    if (!s.composites.empty()) s.post_composites(set);
    set.ts_path_ = s.ts_path;
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
        set.entries_.push_back({p.offset, p.size, p.partial, p.charged, p.cell});
        if (p.charged) ++(p.cell ? set.cell_count_ : set.pair_count_);
    }
    std::sort(s.counted_values.begin(), s.counted_values.end());
    s.counted_values.erase(std::unique(s.counted_values.begin(), s.counted_values.end()),
                           s.counted_values.end());
    set.pair_count_ += static_cast<uint32_t>(s.counted_values.size());
    set.counted_values_ = s.counted_values;
    set.buffer_ = s.buffer;
    reset();
    return set;
}

}  // namespace orrery::index
