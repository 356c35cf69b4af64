#pragma once

#include <string_view>
#include <vector>

/// The functions of the language for those who do not run them: editors, shells, statistics.
namespace orrery::query {

struct FunctionName {
    std::string_view name;       ///< as people write it
    std::string_view arguments;  ///< in words
    bool offered = false;        ///< to whoever types a query
};
/// By name, ascending, case aside.
std::vector<FunctionName> function_names();

/// By name in any case.
bool is_aggregate_function(std::string_view name);
/// Whether look-ups in the index decide it.
bool is_served_function(std::string_view name);

}  // namespace orrery::query
