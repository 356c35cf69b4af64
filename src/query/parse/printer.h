#pragma once

#include <string>

#include "query/parse/ast.h"

namespace orrery::query {

/// The canonical text of an expression: binary operators fully parenthesised, strings in double
/// quotes, function names as written. Parsing it again gives the same tree.
void print(std::string& out, const ast::Expr& expr);
std::string to_text(const ast::Expr& expr);

/// A whole query, one clause a line, subqueries indented by four: the form of rewritten queries.
/// Without lines, clauses are separated by one blank.
enum class PrintForm : uint8_t { kOneLine, kLines };
std::string to_text(const ast::Query& query, PrintForm form);

}  // namespace orrery::query
