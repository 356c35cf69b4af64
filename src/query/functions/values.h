#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "json/value.h"
#include "query/bind/eval.h"

/// Comparison, hashing and sets of values as the language sees them.
namespace orrery::query {

/// `a = b`
Truth equals(const json::Value& a, const json::Value& b);

/// -1, 0, 1 for operands that `<` is defined on; 2 otherwise. NaN gives 2.
inline constexpr int kUnordered = 2;
int order(const json::Value& a, const json::Value& b);

/// Same type and equal; undefined is the same as undefined. The equality of DISTINCT and GROUP BY.
bool same_value(const json::Value& a, const json::Value& b);
/// Keyed by the process: nobody can choose values that share a hash.
uint64_t hash_value(const json::Value& v);

/// The JSON size of `v`, at most about `cap`: the walk stops once it is above.
size_t bounded_size(const json::Value& v, size_t cap);

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
    bool insert(const json::Value& v);
    bool contains(const json::Value& v) const { return has(v, hash_value(v)); }
    std::span<const json::Value> values() const { return values_; }
    size_t size() const { return values_.size(); }

private:
    bool has(const json::Value& v, uint64_t hash) const;

    std::vector<json::Value> values_;
    HashedPositions positions_;
};

}  // namespace orrery::query
