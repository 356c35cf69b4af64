#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

/// Errors of server-side scripts; the rest of the table is in errors.h.
namespace orrery::errors {

/// A script that cannot be compiled. Lines and columns count from 1.
Error script_syntax(std::string_view what, uint32_t line, uint32_t column);
/// What a script threw. `number` is kept where it is a whole one from 1 to 65,535.
Error script_failed(std::string_view thrown, std::string_view stack, double number);
/// The same of a user-defined function.
Error function_failed(std::string_view name, std::string_view thrown);
Error script_timeout(int64_t limit_ms);
Error script_memory(uint64_t limit_bytes);
Error script_answer_too_large(uint64_t limit_bytes);
/// A trigger was named as one of the other kind.
Error trigger_runs_before(std::string_view name);
Error trigger_runs_after(std::string_view name);
/// The container has as many as it may have. `what`: "stored procedures", …
Error too_many_scripts(std::string_view what, uint32_t limit);
/// More scripts wait for a thread than may.
Error scripts_busy();
/// The limit of stuck scripts, which nothing can end, is reached.
Error scripts_stuck(uint64_t limit);

}  // namespace orrery::errors
