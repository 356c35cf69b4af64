#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

    /// `capacity` from 1 to kCapacityMax.
    explicit HeavyHitters(size_t capacity) : capacity_(capacity) {}
    static constexpr size_t kCapacityMax = 1 << 14;

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
    using Place = uint16_t;
    static constexpr Place kNone = UINT16_MAX;

    /// Where the key is; kNone: it is not among them.
    Place find(uint64_t hash) const {
        if (slots_.empty()) return kNone;
        for (size_t at = slot_of(hash);; at = (at + 1) & (slots_.size() - 1))
            if (slots_[at] == kNone || hashes_[slots_[at]] == hash) return slots_[at];
    }
    size_t slot_of(uint64_t hash) const {
        return (hash * 0x9E3779B97F4A7C15ULL >> 32) & (slots_.size() - 1);
    }
    void append(uint64_t hash, std::string_view key, int64_t weight, int64_t error, Extra extra);
    void put_slot(uint64_t hash, Place place);
    void remove_slot(uint64_t hash);
    /// The lightest of all, of which there is one at least.
    Place lightest();

    size_t capacity_;
    int64_t total_ = 0;
    Extra extra_total_;
    int64_t missed_max_ = 0;  ///< by merging: what a key outside may weigh at most
    std::vector<int64_t> weights_;
    std::vector<int64_t> errors_;
    std::vector<Extra> extras_;
    std::vector<uint64_t> hashes_;
    std::vector<std::string> keys_;

    // Open addressing: the place of each key, at its slot or in the run behind it. A power of two,
    // twice the capacity at least.
    std::vector<Place> slots_;

    // A heap by what each place weighed when it was last looked at. Weights only grow: the first
    // one whose weight is still true is the lightest. Empty until somebody asks.
    std::vector<std::pair<int64_t, Place>> heap_;
};

}  // namespace orrery::lab
