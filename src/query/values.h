#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "json/value.h"
#include "query/eval.h"

/// Comparison, hashing and sets of values as the language sees them.
namespace orrery::query {

/// `a = b`
Truth equals(const json::Value& a, const json::Value& b);

/// -1, 0, 1 for operands that `<` is defined on; 2 otherwise. NaN gives 2.
inline constexpr int kUnordered = 2;
int order(const json::Value& a, const json::Value& b);

/// Same type and equal; undefined is the same as undefined. The equality of DISTINCT and GROUP BY.
bool same_value(const json::Value& a, const json::Value& b);
uint64_t hash_value(const json::Value& v);

/// The JSON size of `v`, at most about `cap`: the walk stops once it is above.
size_t bounded_size(const json::Value& v, size_t cap);

/// Distinct values in order of first appearance. Borrows the values.
class ValueSet {
public:
    /// False when an equal value is there already.
    bool insert(const json::Value& v);
    bool contains(const json::Value& v) const { return find(v, hash_value(v)) != nullptr; }
    std::span<const json::Value> values() const { return values_; }
    size_t size() const { return values_.size(); }

private:
    const json::Value* find(const json::Value& v, uint64_t hash) const;

    std::vector<json::Value> values_;
    std::unordered_multimap<uint64_t, uint32_t> by_hash_;
};

}  // namespace orrery::query
