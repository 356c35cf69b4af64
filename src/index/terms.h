#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "index/policy.h"
#include "json/dialect.h"
#include "json/document.h"
#include "json/item.h"
#include "json/value.h"
#include "storage/keys.h"
#include "storage/store.h"

/// Index entries of items: (path hash, order-preserving term) pairs. docs/formats/index.md.
namespace orrery::index {

/// The default dialect.
inline constexpr const json::DialectRules& kPlainRules = json::rules(json::Dialect::kNosql);

/// Appends the term of a scalar (or the type term of an array or object, or of undefined).
/// For values a, b: compare(a, b) < 0 implies term(a) < term(b), unless both have the same term and
/// one of them is partial. Self-delimiting: no term is a prefix of another.
/// Returns true when the term is not the whole value, so that the item decides (string or binary
/// above 256 bytes, integer above 2^53). Arrays and objects have a term of their type alone. In the
/// dialect nosql NaN counts as undefined.
bool append_term(std::string& out, const json::Value& value,
                 const json::DialectRules& rules = kPlainRules);
/// Splits a term from the front of `in`; false when malformed.
bool take_term(std::string_view& in, std::string_view& term);

/// The value of a whole plain term. Arrays and objects come back empty: their term is their type.
/// Integral numbers come back as integers where every such number is exact (up to 2^53), −0 as 0:
/// a term has a number's value and not its type. nullopt: malformed, or a value that was cut.
std::optional<json::Value> decode_term(std::string_view term, json::Arena& arena);

/// Appends one member of a composite index: its term, with all bytes inverted if it is descending,
/// so that byte order of the concatenation is the composite's order. Arrays and objects have the
/// term of their type. Returns true when the term is not the whole value.
bool append_composite_term(std::string& out, const json::Value& value, bool descending,
                           const json::DialectRules& rules = kPlainRules);
/// Takes one member off the front of a composite's entry; `term` receives it as a plain term. False
/// when malformed.
bool take_composite_term(std::string_view& in, std::string& term);
/// Takes the place of a path hash in entries of a composite index. Follows from its paths and
/// directions alone: equal definitions share it.
uint64_t composite_hash(SipKey key, const CompositeIndex& composite);

/// Path hash of the marker that items without entries have (see unindexed_terms); its term is that
/// of undefined.
uint64_t unindexed_path_hash(SipKey key);

/// Keyed hash of a path such as {"a","[]","b"}; never one of the reserved hashes.
uint64_t path_hash(SipKey key, const std::vector<PathStep>& steps);

/// Path hash and term of an item's `_ts`, which no walk shows: posted at commit, uncharged.
std::string ts_entry(SipKey key, int64_t ts);
/// Of the path `/_ts`; apart from it where that may be a client's member.
uint64_t ts_path_hash(SipKey key, const json::DialectRules& rules = kPlainRules);

/// In dialects with transparent arrays: path hash of the marker of items that have an array at or
/// above a path. Its term is that of undefined. Where a scope has the marker, the path gives no
/// order, no negation and no answer from entries alone.
uint64_t multikey_path_hash(SipKey key, uint64_t path_hash);

/// The entries of one item, sorted by bytes, each once.
class TermSet {
public:
    struct Entry {
        uint32_t offset;
        uint32_t size;
        bool partial;
        /// A pair of the RU formula (a scalar leaf, or a composite index) that is counted by these
        /// bytes. Those with a cut string, and those with `_ts`, are counted by their values.
        bool charged;
        bool cell;  ///< of a spatial index: charged, but as no pair
    };
    const std::vector<Entry>& entries() const { return entries_; }
    /// Path hash (8 bytes) and term.
    std::string_view bytes(const Entry& entry) const {
        return {buffer_.data() + entry.offset, entry.size};
    }
    /// (path, scalar) pairs of the RU formula (docs/request-units.md).
    uint32_t pair_count() const { return pair_count_; }
    /// Cells of spatial indexes that are charged.
    uint32_t cell_count() const { return cell_count_; }
    bool empty() const { return entries_.empty(); }

    /// Entries that hold the item's `_ts`, which is known at commit only: the path `/_ts`, and
    /// composite indexes with it. `ts_entry(i, ts)` completes number i.
    size_t ts_entry_count() const { return ts_path_ == 0 ? 0 : 1 + ts_composites_.size(); }
    std::string ts_entry(size_t number, int64_t ts) const;
    bool ts_entry_partial(size_t number) const {
        return number != 0 && ts_composites_[number - 1].partial;
    }

private:
    friend class TermCollector;
    friend TermSet unindexed_terms(const IndexingPolicy& policy, SipKey key);
    friend struct TermChange append_changes(const TermSet& before, const TermSet& after,
                                            storage::PartitionId partition,
                                            const storage::Docref& docref,
                                            storage::IndexDelta& delta);
    /// Bytes in front of and behind the term of `_ts`, one after the other in the buffer.
    struct TsComposite {
        uint32_t offset;
        uint32_t front_size;
        uint32_t back_size;
        bool descending;
        bool partial;
    };
    std::string buffer_;
    std::vector<Entry> entries_;
    std::vector<TsComposite> ts_composites_;
    uint64_t ts_path_ = 0;  ///< 0: no entries with `_ts`
    /// Digests of (path, whole value) of the pairs that are counted by their values. Sorted, each
    /// once.
    std::vector<uint64_t> counted_values_;
    uint32_t pair_count_ = 0;
    uint32_t cell_count_ = 0;
};

/// The entries of an item that is not indexed: a marker, so that one seek tells whether a partition
/// has such items. None in mode none.
TermSet unindexed_terms(const IndexingPolicy& policy, SipKey key);

/// Collects an item's terms while json::read_item or json::walk_item walks it. One item at a time;
/// owned by one thread; reset() makes it ready for the next item without giving memory back (but
/// for what an unusually large item took). Keep it: it remembers the shape of earlier items.
class TermCollector final : public json::ItemVisitor {
public:
    TermCollector(const IndexingPolicy& policy, SipKey path_key);  ///< policy borrowed
    void reset();
    /// After the walk, for a container with computed properties: adds their values.
    Status add_computed(const json::Document& document);
    /// Sorts and returns the set; posts `undefined` for explicitly included paths that the item
    /// lacks.
    TermSet take();

    bool enter_member(std::string_view name) override;
    bool enter_element() override;
    void leave() override;
    void scalar(const json::Value& value) override;
    void container(json::Type type) override;

private:
    struct State;
    // Path hashing and policy descent live in terms.cc.
    std::shared_ptr<State> state_;
};

/// What a write changes: entries only in `before` are removed, only in `after` added (also when
/// only the flag `partial` differs). Also counts charged pairs and cells on each side.
struct TermChange {
    uint32_t pairs_removed = 0;
    uint32_t pairs_added = 0;
    uint32_t cells_removed = 0;
    uint32_t cells_added = 0;
};
TermChange append_changes(const TermSet& before, const TermSet& after,
                          storage::PartitionId partition, const storage::Docref& docref,
                          storage::IndexDelta& delta);
/// The same for the entries that hold `_ts`.
void append_ts_changes(const TermSet& before, int64_t before_ts, const TermSet& after,
                       int64_t after_ts, storage::PartitionId partition,
                       const storage::Docref& docref, storage::IndexDelta& delta);

}  // namespace orrery::index
