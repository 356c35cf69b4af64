#pragma once

#include <string_view>

/// The server's log: one line per event on standard error. Internally locked; never on a hot path.
namespace orrery::log {

enum class Level { kDebug, kInfo, kWarning, kError };

void set_level(Level level);
void debug(std::string_view line);
void info(std::string_view line);
void warning(std::string_view line);
void error(std::string_view line);

}  // namespace orrery::log
