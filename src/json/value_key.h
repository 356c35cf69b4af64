#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "json/dialect.h"
#include "json/value.h"

namespace orrery::json {

/// Appends the whole value as bytes that sort as compare(a, b, rules) does and are equal exactly
/// where the values are. Self-delimiting: no key is a prefix of another. docs/formats/values.md.
void append_value_key(std::string& out, const Value& value, const DialectRules& rules);

/// Bits that sort, as unsigned numbers, as doubles do; -0 is 0. Of NaN no use is made.
inline uint64_t ordered_bits(double number) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    const auto bits = std::bit_cast<uint64_t>(number == 0 ? 0.0 : number);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
/// The same for integers.
inline uint64_t ordered_bits(int64_t integer) {
    return static_cast<uint64_t>(integer) ^ (uint64_t{1} << 63);
}
/// In front of all numbers.
inline constexpr uint64_t kOrderedNan = 0;

}  // namespace orrery::json
