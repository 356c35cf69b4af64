#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/parse/ast.h"

namespace orrery::query {

/// A clause that counts rows, with the error for a count that is too large or, for TOP, no integer.
struct CountClause {
    std::string_view code;
    std::string_view message;
};
inline constexpr CountClause kTopClause{
    "SC2060", "The count value provided for a TOP clause must be an integer."};
inline constexpr CountClause kOffsetClause{
    "SC2062", "The OFFSET count value exceeds the maximum allowed value."};
inline constexpr CountClause kLimitClause{
    "SC2061", "The LIMIT count value exceeds the maximum allowed value."};

/// Collects the errors of one query text.
class Diagnostics {
public:
    /// `text` is borrowed; needed to turn byte offsets into character offsets.
    explicit Diagnostics(std::string_view text) : text_(text) {}

    /// `code` like "SC2001", all digits for a number without quotes, or empty for none.
    /// `hint` is for a person; empty: the one that goes with the code (hints.h).
    void add(std::string_view code, ast::Range range, std::string message,
             std::string_view hint = {});
    /// A number or parameter at `range` that is no count of rows.
    void add_bad_count(const CountClause& clause, ast::Range range, bool too_large,
                       std::string_view hint = {});
    void add_without_location(std::string_view code, std::string message);
    bool empty() const { return problems_.empty(); }
    /// Further mistakes are not reported: looking for them is of no use.
    bool full() const { return problems_.size() >= kProblemsMax; }
    /// Precondition: !empty().
    Error to_error() const;

private:
    /// A query full of mistakes need not produce an error body larger than itself.
    static constexpr size_t kProblemsMax = 32;

    std::string_view text_;
    std::vector<QueryProblem> problems_;
};

}  // namespace orrery::query
