#pragma once

#include <span>
#include <string>

#include "base/status.h"

namespace orrery::json {

/// The mistakes in a query as programs expect to read them, in one line:
/// {"errors":[{"severity":"Error","location":{"start":…,"end":…},"code":…,"message":…,"hint":…}]}.
/// What a problem does not have is left out; a code of digits is a number.
std::string problems_text(std::span<const QueryProblem> problems);
/// The same for an error that has problems; else its message.
std::string error_text(const Error& error);

}  // namespace orrery::json
