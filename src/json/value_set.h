#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "json/value.h"

/// Hashing and sets of values.
namespace orrery::json {

/// Same type and equal; undefined is the same as undefined.
bool same_value(const Value& a, const Value& b);
/// Keyed by the process: nobody can choose values that share a hash.
uint64_t hash_value(const Value& v);

/// Finds the positions of values in a list by hash. Positions are given in order, from 0.
class HashedPositions {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    /// The position with this hash for which `same` holds; kNone: there is none.
    template <typename Same>
    uint32_t find(uint64_t hash, const Same& same) const {
        const auto found = newest_.find(hash);
        uint32_t at = found == newest_.end() ? kNone : found->second;
        while (at != kNone && !same(at)) at = older_[at];
        return at;
    }
    /// Of the next position.
    void add(uint64_t hash) {
        const auto position = static_cast<uint32_t>(older_.size());
        const auto [place, first] = newest_.try_emplace(hash, position);
        older_.push_back(first ? kNone : std::exchange(place->second, position));
    }
    size_t size() const { return older_.size(); }

private:
    absl::flat_hash_map<uint64_t, uint32_t, HashedAlready> newest_;
    std::vector<uint32_t> older_;  ///< by position: the one before it with the same hash
};

/// Distinct values in order of first appearance. Borrows the values.
class ValueSet {
public:
    /// False when an equal value is there already.
    bool insert(const Value& v);
    bool contains(const Value& v) const { return has(v, hash_value(v)); }
    std::span<const Value> values() const { return values_; }
    size_t size() const { return values_.size(); }

private:
    bool has(const Value& v, uint64_t hash) const;

    std::vector<Value> values_;
    HashedPositions positions_;
};

}  // namespace orrery::json
