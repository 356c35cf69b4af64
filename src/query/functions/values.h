#pragma once

#include <cstdint>

#include "json/value_set.h"
#include "query/bind/eval.h"

/// Values as the language sees them. DISTINCT and GROUP BY go by json::same_value.
namespace orrery::query {

using json::HashedPositions;
using json::ValueSet;

/// `a = b`
Truth equals(const json::Value& a, const json::Value& b);

/// -1, 0, 1 for operands that `<` is defined on; 2 otherwise. NaN gives 2.
inline constexpr int kUnordered = 2;
int order(const json::Value& a, const json::Value& b);

/// The JSON size of `v`, at most about `cap`: the walk stops once it is above.
size_t bounded_size(const json::Value& v, size_t cap);

}  // namespace orrery::query
