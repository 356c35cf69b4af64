#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/store.h"

namespace orrery::storage::detail {

using CounterSums = std::vector<std::pair<std::string, Count>>;  ///< sorted by key, keys distinct

/// A sorted array of index changes, one per key, and sums per counter key. Immutable once built.
///
/// Each entry also says whether the key was born in the run's table: its oldest change there is an
/// addition of a key that was in no older table. Removing such a key leaves no trace on disk.
class Run {
public:
    using Change = IndexDelta::Change;

    /// `table` numbers the index table that the run's changes go to.
    explicit Run(uint64_t table) : table_(table) {}

    void reserve(size_t entries, size_t key_bytes);
    /// Keys in ascending order.
    void append(std::string_view key, Change change, bool born);
    /// A change may add what is there already or remove what is not (IndexDelta::may_repeat).
    void set_vague() { vague_ = true; }
    bool is_vague() const { return vague_; }
    void set_counters(CounterSums counters) { counters_ = std::move(counters); }

    uint64_t table() const { return table_; }
    size_t size() const { return entries_.size(); }
    std::string_view key(size_t i) const {
        return {keys_.data() + entries_[i].offset, entries_[i].packed >> 3};
    }
    Change change(size_t i) const { return static_cast<Change>(entries_[i].packed & 3); }
    bool born(size_t i) const { return (entries_[i].packed & 4) != 0; }
    const CounterSums& counters() const { return counters_; }
    bool empty() const { return entries_.empty() && counters_.empty(); }
    size_t key_bytes() const { return keys_.size(); }
    size_t bytes() const;

    /// Index of the first entry >= `key`, which is known to be at `from` or later.
    size_t lower_bound(std::string_view key, size_t from = 0) const;
    /// Sum of one counter in this run.
    Count counter(std::string_view key) const;

private:
    struct Entry {
        uint32_t offset;
        uint32_t packed;  ///< key size << 3 | born << 2 | change
    };
    uint64_t table_;
    std::string keys_;
    std::vector<Entry> entries_;
    CounterSums counters_;
    bool vague_ = false;
};
using RunPtr = std::shared_ptr<const Run>;

/// Sorts the changes of one commit group; later deltas are newer.
RunPtr sort_run(uint64_t table, const std::vector<IndexDelta>& deltas,
                CounterSums unsorted_counters);

/// One run from several of the same table, oldest first.
RunPtr merge_runs(const std::vector<RunPtr>& runs);

}  // namespace orrery::storage::detail
