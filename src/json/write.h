#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace orrery::json {

enum class NumberForm : uint8_t {
    kAsWritten,  ///< the client's text where there is one
    kCanonical,  ///< 1.0 as 1, 64-bit integers exact, else the shortest text that reads back equal
};

/// Appends minified JSON. Strings get the fewest escapes: \" \\ \b \f \n \r \t and \u00XX for the
/// other control characters. Undefined elements and members are left out; a non-finite number is
/// treated as undefined.
void write(std::string& out, const Value& value, NumberForm form);
void write_string(std::string& out, std::string_view utf8);
void write_number(std::string& out, double v);  ///< canonical form
void write_number(std::string& out, int64_t v);
std::string to_text(const Value& value, NumberForm form = NumberForm::kAsWritten);

}  // namespace orrery::json
