#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

/// Errors of server-side scripts; the rest of the table is in errors.h.
namespace orrery::errors {

/// 400: a script that cannot be compiled. Lines and columns count from 1.
Error script_syntax(std::string_view what, uint32_t line, uint32_t column);
/// 400: what a script threw. `number` becomes the sub-status where it can be one.
Error script_failed(std::string_view thrown, std::string_view stack, double number);
/// 400: the same of a user-defined function.
Error function_failed(std::string_view name, std::string_view thrown);
/// 408
Error script_timeout(int64_t limit_ms);
/// 413
Error script_memory(uint64_t limit_bytes);
/// 413
Error script_answer_too_large(uint64_t limit_bytes);
/// 403: the container has as many as it may have. `what`: "stored procedures", …
Error too_many_scripts(std::string_view what, uint32_t limit);
/// 503: more scripts wait for a thread than may.
Error scripts_busy();
/// 503: as many scripts as may be are stuck where nothing can end them.
Error scripts_stuck(uint64_t limit);

}  // namespace orrery::errors
