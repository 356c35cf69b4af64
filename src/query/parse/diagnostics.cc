#include "query/parse/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "json/write.h"
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
    if (!full())
        entries_.push_back({std::string(code), std::move(message),
                            std::string(hint.empty() ? hints::of_code(code) : hint), range, true});
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
        entries_.push_back(
            {std::string(code), std::move(message), std::string(hints::of_code(code)), {}, false});
}

Error Diagnostics::to_error() const {
    std::string out = "{\"errors\":[";
    for (const Entry& entry : entries_) {
        if (out.back() == '}') out += ',';
        out += "{\"severity\":\"Error\"";
        if (entry.located) {
            const size_t start = std::min<size_t>(entry.range.start, text_.size());
            const size_t end = std::clamp<size_t>(entry.range.end, start, text_.size());
            const size_t start_units = utf16_length(text_.substr(0, start));
            const size_t end_units = start_units + utf16_length(text_.substr(start, end - start));
            out += ",\"location\":{\"start\":" + std::to_string(start_units) +
                   ",\"end\":" + std::to_string(end_units) + "}";
        }
        if (!entry.code.empty()) {
            const bool numeric = entry.code.front() >= '0' && entry.code.front() <= '9';
            out += numeric ? ",\"code\":" + entry.code : ",\"code\":\"" + entry.code + "\"";
        }
        out += ",\"message\":";
        json::write_string(out, entry.message);
        if (!entry.hint.empty()) {
            out += ",\"hint\":";
            json::write_string(out, entry.hint);
        }
        out += '}';
    }
    out += "]}";
    return errors::query_compile(std::move(out));
}

}  // namespace orrery::query
