#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "index/policy.h"
#include "json/item.h"
#include "json/value.h"
#include "storage/keys.h"
#include "storage/store.h"

/// Index entries of items: (path hash, order-preserving term) pairs. docs/formats/index.md.
namespace orrery::index {

/// Appends the term of a scalar (or the type term of an array or object, or of undefined).
/// For values a, b: compare(a, b) < 0 implies term(a) < term(b), unless both are cut at the same
/// bytes (then both are partial). Self-delimiting: no term is a prefix of another.
/// Returns true when the term is not the whole value (string above 256 bytes, integer above 2^53).
/// Arrays and objects have a term of their type alone. NaN counts as undefined.
bool append_term(std::string& out, const json::Value& value);
/// Splits a term from the front of `in`; false when malformed.
bool take_term(std::string_view& in, std::string_view& term);

/// Keyed hash of a path such as {"a","[]","b"}; never one of the reserved hashes.
uint64_t path_hash(SipKey key, const std::vector<PathStep>& steps);

/// Path hash and term of an item's `_ts`, which no walk shows: posted at commit, uncharged.
std::string ts_entry(SipKey key, int64_t ts);

/// The entries of one item, sorted by bytes, each once.
class TermSet {
public:
    struct Entry {
        uint32_t offset;
        uint32_t size;
        bool partial;
        bool charged;  ///< a scalar leaf of the RU formula (arrays, objects and undefined are not)
    };
    const std::vector<Entry>& entries() const { return entries_; }
    /// Path hash (8 bytes) and term.
    std::string_view bytes(const Entry& entry) const { return {buffer_.data() + entry.offset, entry.size}; }
    /// (path, scalar) pairs of the RU formula: service-model §3.2.
    uint32_t pair_count() const { return pair_count_; }
    bool empty() const { return entries_.empty(); }

private:
    friend class TermCollector;
    friend struct TermChange append_changes(const TermSet& before, const TermSet& after,
                                            storage::PartitionId partition,
                                            const storage::Docref& docref,
                                            storage::IndexDelta& delta);
    std::string buffer_;
    std::vector<Entry> entries_;
    /// Digests of (path, whole string) for strings that share a cut term: the formula counts them
    /// by their whole values. Sorted, each once.
    std::vector<uint64_t> cut_pairs_;
    uint32_t pair_count_ = 0;
};

/// Collects an item's terms while json::read_item or json::walk_item walks it. One item at a time;
/// owned by one thread; reset() makes it ready for the next item without giving memory back (but
/// for what an unusually large item took). Keep it: it remembers the shape of earlier items.
class TermCollector final : public json::ItemVisitor {
public:
    TermCollector(const IndexingPolicy& policy, SipKey path_key);  ///< policy borrowed
    void reset();
    /// Sorts and returns the set; posts `undefined` for explicitly included paths that the item lacks.
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

/// What a write changes: entries only in `before` are removed, only in `after` added (also when only
/// the flag `partial` differs). Also counts charged pairs on each side.
struct TermChange {
    uint32_t pairs_removed = 0;
    uint32_t pairs_added = 0;
};
TermChange append_changes(const TermSet& before, const TermSet& after, storage::PartitionId partition,
                          const storage::Docref& docref, storage::IndexDelta& delta);

}  // namespace orrery::index
