#pragma once

#include <optional>
#include <string_view>

#include "json/value.h"

namespace orrery::query {

/// The value of a well-formed number literal of the language, with or without a leading '-':
/// decimal digits with fraction and exponent, or 0x hex. Integers within 64 bits stay exact; what
/// exceeds the double range is infinite.
json::Value number_from_text(std::string_view text);

/// The value as a 64-bit integer when it is one exactly.
std::optional<int64_t> exact_int64(const json::Value& value);

/// An integer-valued double below 2^53 becomes an exact integer, so that it prints and counts as
/// one.
json::Value number_value(double v);

}  // namespace orrery::query
