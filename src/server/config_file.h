#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace orrery::server {

/// One line of a configuration file.
struct Setting {
    std::string name;   ///< an option of `orrery serve` without its dashes
    std::string value;  ///< "true" where the line has a name alone
    size_t line = 0;    ///< from 1
};

/// Reads lines `name = value`. A name alone is a flag that is set. Blank lines and those that begin
/// with
/// '#' or ';' are passed over; a value may stand in single or double quotes. Names are not known
/// here: the caller refuses those that mean nothing. `where` names the text in errors.
Result<std::vector<Setting>> parse_settings(std::string_view text, const std::string& where);

/// The same for a file.
Result<std::vector<Setting>> read_config_file(const std::string& path);

}  // namespace orrery::server
