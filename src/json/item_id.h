#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "json/dialect.h"
#include "json/value.h"

/// Core ids: the bytes by which a container tells the items of one logical partition apart, in its
/// keys, log records and documents. docs/formats/values.md.
///  - nosql: the bytes of the string, as clients send it.
///  - other dialects: FF, which begins no string, and the value's key. So an ObjectId, the string
///    of its digits, "" and "a/b" are four ids, 5 and 5.0 are one, and ids sort as their values.
namespace orrery::json {

/// A bad request for a value that the dialect takes for no id.
Result<std::string> make_item_id(const Value& value, const DialectRules& rules);

/// An id as SQL and REST see it. A string that is an id to them and does not begin with '$' is
/// itself, everything else '$' and the hex digits of the bytes behind FF. Ids of the dialect nosql
/// are what they are.
std::string item_id_text(std::string_view id, const DialectRules& rules);
/// The other way round. A bad request for a text of no id.
Result<std::string> item_id_of_text(std::string_view text, const DialectRules& rules);

/// Whether an id has the form of those outside the dialect nosql.
inline bool is_tagged_id(std::string_view id) {
    return !id.empty() && id.front() == '\xFF';
}

/// Checks an id of the dialect nosql; the error says which rule it breaks.
Status check_item_id(std::string_view id);

/// The greatest size of a core id. Strings of the dialect nosql have a lower limit.
inline constexpr size_t kCoreIdBytesMax = 2048;

}  // namespace orrery::json
