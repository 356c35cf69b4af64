#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

namespace orrery::lab {

/// The heaviest keys of a stream in bounded space (the SpaceSaving sketch). A key whose true weight
/// is above `error_max()` is always among them; a reported weight is never too small, and too large
/// by its `error` at most. Not thread-safe.
class HeavyHitters {
public:
    /// Counted beside the weight since the key came into the sketch: never too large.
    struct Extra {
        int64_t writes = 0;
        int64_t bytes = 0;
        Extra& operator+=(const Extra& other) {
            writes += other.writes;
            bytes += other.bytes;
            return *this;
        }
    };
    struct Entry {
        std::string key;
        int64_t weight = 0;
        int64_t error = 0;  ///< the true weight is in [weight - error, weight]
        Extra extra = {};
    };

    explicit HeavyHitters(size_t capacity) : capacity_(capacity) {}

    /// `weight` > 0. `hash` stands for the key: equal hashes are one key.
    void add(uint64_t hash, std::string_view key, int64_t weight, Extra extra);
    void add(uint64_t hash, std::string_view key, int64_t weight) {
        add(hash, key, weight, Extra());
    }
    /// Heaviest first; equal ones by key.
    std::vector<Entry> top(size_t count) const;
    int64_t total() const { return total_; }
    /// Of all keys, those outside the sketch included.
    const Extra& extra_total() const { return extra_total_; }
    /// No key outside the sketch weighs more.
    int64_t error_max() const;
    /// What both have seen. The bounds stay true.
    void merge(const HeavyHitters& other);

private:
    friend struct Packed;
    static constexpr size_t kRanked = 32;

    /// The lightest entry, which is about to be replaced.
    size_t take_lightest();
    void note_weight(int64_t weight) { changed_min_ = std::min(changed_min_, weight); }

    size_t capacity_;
    int64_t total_ = 0;
    Extra extra_total_;
    int64_t missed_max_ = 0;  ///< by merging: what a key outside may weigh at most
    absl::flat_hash_map<uint64_t, size_t> places_;
    std::vector<int64_t> weights_;
    std::vector<int64_t> errors_;
    std::vector<Extra> extras_;
    std::vector<uint64_t> hashes_;
    std::vector<std::string> keys_;

    // Weights only grow: who was lightest when they were last ranked still is, unless it has
    // changed or something that changed since is lighter.
    std::vector<std::pair<int64_t, size_t>> ranked_;
    size_t ranked_next_ = 0;
    int64_t changed_min_ = INT64_MAX;
};

}  // namespace orrery::lab
