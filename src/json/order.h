#pragma once

#include "json/value.h"

namespace orrery::json {

/// The total order of ORDER BY, MIN, MAX and the range index: by type first (value.h), false before
/// true, numbers as doubles (-0 = 0), strings by UTF-8 bytes. Arrays among arrays: element by
/// element, then by length; objects among objects: by sorted (name, value) pairs. <0, 0, >0.
int compare(const Value& a, const Value& b);

/// Equality of values of one type: numbers by value, objects without regard to member order, at any
/// depth. Values of different types are not equal.
bool equal(const Value& a, const Value& b);

}  // namespace orrery::json
