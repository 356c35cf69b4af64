#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// Whether `written` is `meant` with a slip or two: a letter too many, missing, wrong, or two
/// swapped. Case does not count. Words of less than three letters are never misspelt.
bool is_misspelt(std::string_view written, std::string_view meant);

std::string to_upper_ascii(std::string_view word);

}  // namespace orrery
