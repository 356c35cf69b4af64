#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "json/value.h"
#include "query/bind/eval.h"

namespace orrery::query {

/// Arguments are already evaluated; any of them may be undefined.
using Arguments = std::span<const json::Value>;
using ScalarFunction = json::Value (*)(EvalContext& context, Arguments args);

enum class FunctionFamily : uint8_t {
    kPure,         ///< same arguments, same result: foldable
    kVolatile,     ///< time, chance
    kAggregate,    ///< no `call`; evaluated by the level
    kConditional,  ///< IIF: compiled to the operator
    kSpatial,      ///< pure; over values that no index term holds
    kVector,
    kFullText,
    kUnsupported,  ///< known to the service, not offered here
};

inline constexpr uint8_t kAnyCount = 255;

struct FunctionSpec {
    /// As people write it, with its arguments where editors and shells are to offer it:
    /// "StringJoin(array, separator)".
    std::string_view written;
    uint8_t args_min;
    uint8_t args_max;
    FunctionFamily family;
    ScalarFunction call;
    bool none_between = false;   ///< args_min or args_max arguments, nothing between the two
    bool served = false;         ///< look-ups in the index decide it
    std::string_view name = {};  ///< upper case; set by all_functions()
};
constexpr FunctionSpec by_index(FunctionSpec spec) {
    spec.served = true;
    return spec;
}

/// By name, ascending.
std::span<const FunctionSpec> all_functions();
/// By name in any case; null if there is none.
const FunctionSpec* find_function(std::string_view name);

// One table per group, in the file of the same name.
std::span<const FunctionSpec> string_functions();
std::span<const FunctionSpec> conversion_functions();
std::span<const FunctionSpec> math_functions();
std::span<const FunctionSpec> array_functions();
std::span<const FunctionSpec> date_functions();
std::span<const FunctionSpec> type_functions();
std::span<const FunctionSpec> spatial_functions();

}  // namespace orrery::query
