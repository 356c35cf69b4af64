#pragma once

#include <string>
#include <string_view>

#include "json/document.h"
#include "json/value.h"

/// Items of other dialects as SQL and REST see them: docs/formats/values.md.
namespace orrery::json {

/// The name under which SQL finds a client's member. A name that SQL has for something else, with
/// any number of `$` in front, has one `$` more.
std::string sql_name(std::string_view stored);
/// The other way round; empty for a name that no client's member has there.
std::string_view stored_name(std::string_view sql);

/// The view's text: `id`, the time to live if there is one, then the client's members. `item` is
/// the stored text as plain JSON.
std::string sql_view_text(const Value& item, const DocumentHeader& header);

}  // namespace orrery::json
