#pragma once

#include <cstdint>
#include <span>

namespace orrery::json {

/// Every stride-th character of [first, last] maps to itself plus delta.
struct CaseRange {
    char32_t first;
    char32_t last;
    int32_t delta;
    uint32_t stride;
};

/// Simple case mappings of Unicode above ASCII, sorted and not overlapping. As in the invariant
/// culture, the dotless and dotted i have none.
extern const std::span<const CaseRange> kToUpper;
extern const std::span<const CaseRange> kToLower;

}  // namespace orrery::json
