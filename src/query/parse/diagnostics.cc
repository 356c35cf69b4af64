#include "query/parse/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "query/parse/hints.h"

namespace orrery::query {
namespace {

/// Characters as the service counts them: UTF-16 code units.
size_t utf16_length(std::string_view utf8) {
    size_t units = 0;
    for (const char c : utf8) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
    }
    return units;
}

}  // namespace

void Diagnostics::add(std::string_view code, ast::Range range, std::string message,
                      std::string_view hint) {
    if (full()) return;
    const size_t start = std::min<size_t>(range.start, text_.size());
    const size_t end = std::clamp<size_t>(range.end, start, text_.size());
    const size_t start_units = utf16_length(text_.substr(0, start));
    problems_.push_back({std::string(code), std::move(message),
                         std::string(hint.empty() ? hints::of_code(code) : hint),
                         QueryProblem::Place{start_units, start_units + utf16_length(text_.substr(
                                                                            start, end - start))}});
}

void Diagnostics::add_bad_count(const CountClause& clause, ast::Range range, bool too_large,
                                std::string_view hint) {
    if (too_large || clause.code == kTopClause.code) {
        add(clause.code, range, std::string(clause.message), hint);
        return;
    }
    const auto written = text_.substr(range.start, range.end - range.start);
    add("SC1001", range, fmt::format("Syntax error, incorrect syntax near '{}'.", written), hint);
}

void Diagnostics::add_without_location(std::string_view code, std::string message) {
    if (!full())
        problems_.push_back({std::string(code), std::move(message),
                             std::string(hints::of_code(code)), std::nullopt});
}

Error Diagnostics::to_error() const {
    return errors::query_compile(problems_);
}

}  // namespace orrery::query
