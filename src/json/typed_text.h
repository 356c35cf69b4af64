#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/dialect.h"
#include "json/value.h"

/// The text form of values that JSON lacks: `{"$t":n,"$v":…}`. docs/formats/values.md.
namespace orrery::json {

/// Appends the stored text of a value in a dialect with typed values. Numbers keep their text as
/// written; doubles without one get a fraction or an exponent, which tells them from integers. An
/// object that has a member `$t` is wrapped itself. Undefined elements and members are left out.
void write_typed(std::string& out, const Value& value);

/// Appends the stored text of a value in any dialect; in the dialect nosql numbers keep their text.
void write_stored(std::string& out, const Value& value, const DialectRules& rules);

/// Appends the wrapper of an extended value.
void write_extended(std::string& out, const Value& value);

/// The value of a wrapper whose `$v` is `text`. Bytes are put into `arena`. Nullopt: no type in use
/// has that number, or the text is not one that write_typed() gives.
std::optional<Value> parse_extended(uint64_t type, std::string_view text, Arena& arena);

inline constexpr std::string_view kTypeMember = "$t";
inline constexpr std::string_view kValueMember = "$v";

}  // namespace orrery::json
