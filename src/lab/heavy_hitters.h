#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>

namespace orrery::lab {

/// The heaviest keys of a stream in bounded space (the SpaceSaving sketch). A key whose true weight
/// is above `error_max()` is always among them; a reported weight is never too small, and too large
/// by its `error` at most. Not thread-safe.
class HeavyHitters {
public:
    struct Entry {
        std::string key;
        int64_t weight = 0;
        int64_t error = 0;  ///< the true weight is in [weight - error, weight]
    };

    explicit HeavyHitters(size_t capacity) : capacity_(capacity) {}

    /// `weight` > 0. `hash` stands for the key: equal hashes are one key.
    void add(uint64_t hash, std::string_view key, int64_t weight);
    /// Heaviest first; equal ones by key.
    std::vector<Entry> top(size_t count) const;
    int64_t total() const { return total_; }
    /// No key outside the sketch weighs more.
    int64_t error_max() const;
    /// What both have seen. The bounds stay true.
    void merge(const HeavyHitters& other);

private:
    size_t lightest() const;

    size_t capacity_;
    int64_t total_ = 0;
    int64_t missed_max_ = 0;  ///< by merging: what a key outside may weigh at most
    absl::flat_hash_map<uint64_t, size_t> places_;
    std::vector<int64_t> weights_;
    std::vector<int64_t> errors_;
    std::vector<uint64_t> hashes_;
    std::vector<std::string> keys_;
};

}  // namespace orrery::lab
