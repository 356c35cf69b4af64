#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"
#include "query/parse/ast.h"

namespace orrery::query {

/// A parsed text and everything its tree borrows from. Immutable once returned; not movable, so
/// that views into `text` stay valid.
struct Syntax {
    explicit Syntax(std::string_view query_text) : text(query_text) {}
    Syntax(const Syntax&) = delete;
    Syntax& operator=(const Syntax&) = delete;

    const std::string text;
    json::Arena arena;
    const ast::Query* query = nullptr;
};

/// Parses a whole query in time linear in its size. Errors: SC1001, SC1002, and a bad request for
/// each limit (limits.h).
Result<std::unique_ptr<Syntax>> parse_query(std::string_view text);

/// Parses a patch condition, `FROM alias WHERE expression`, as the query `SELECT * FROM …`.
Result<std::unique_ptr<Syntax>> parse_condition(std::string_view text);

}  // namespace orrery::query
