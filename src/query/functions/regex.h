#pragma once

#include <string_view>

#include "query/bind/eval.h"

namespace orrery::query {

/// Unanchored search. Modifiers: any of m s i x. A malformed pattern or modifier is undefined; a
/// construct that this engine does not offer (look-around, back references) fails the query.
/// Compiled patterns are cached per thread.
Truth regex_match(EvalContext& context, std::string_view text, std::string_view pattern,
                  std::string_view modifiers);

}  // namespace orrery::query
