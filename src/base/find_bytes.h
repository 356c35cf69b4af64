#pragma once

#include <cstddef>
#include <string_view>

namespace orrery {

/// Where `part` first stands in `text` at or behind `from`; npos where it does not. Short parts are
/// looked for many bytes at a time, long ones in time linear in both.
size_t find_bytes(std::string_view text, std::string_view part, size_t from = 0);

}  // namespace orrery
