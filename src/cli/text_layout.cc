#include "cli/text_layout.h"

#include <algorithm>
#include <cstdint>

namespace orrery::cli {
namespace {

struct Character {
    uint32_t code = 0;
    size_t bytes = 1;
};

Character decode(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return {first, 1};
    const size_t count = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    if (count == 1 || count > text.size()) return {0xFFFD, 1};
    uint32_t code = first & (0xFFu >> (count + 1));
    for (size_t i = 1; i < count; ++i)
        code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
    return {code, count};
}

bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

size_t width_of(uint32_t code) {
    if (is_control(code)) return 1;
    // Independent of the locale, so that output is the same everywhere.
    if ((code >= 0x300 && code <= 0x36F) || code == 0x200B || code == 0x200D ||
        (code >= 0xFE00 && code <= 0xFE0F))
        return 0;
    const bool wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                      (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                      (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                      (code >= 0xFFE0 && code <= 0xFFE6) || (code >= 0x1F300 && code <= 0x1FAFF) ||
                      (code >= 0x20000 && code <= 0x3FFFD);
    return wide ? 2 : 1;
}

}  // namespace

size_t column_count(std::string_view utf8) {
    size_t columns = 0;
    while (!utf8.empty()) {
        const Character character = decode(utf8);
        columns += width_of(character.code);
        utf8.remove_prefix(character.bytes);
    }
    return columns;
}

std::string fit_columns(std::string_view utf8, size_t width) {
    const bool cut = column_count(utf8) > width;
    const size_t room = cut && width > 0 ? width - 1 : width;
    std::string out;
    size_t columns = 0;
    while (!utf8.empty()) {
        const Character character = decode(utf8);
        const size_t wide = width_of(character.code);
        if (columns + wide > room) break;
        if (is_control(character.code))
            out += "·";
        else
            out.append(utf8.substr(0, character.bytes));
        columns += wide;
        utf8.remove_prefix(character.bytes);
    }
    if (cut && width > 0) out += "…";
    return out;
}

std::string table_text(const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows, size_t width) {
    constexpr size_t kGap = 2;
    constexpr size_t kNarrowest = 6;
    constexpr size_t kWidest = 200;
    std::vector<size_t> widths;
    for (size_t i = 0; i < columns.size(); ++i) {
        size_t widest = column_count(columns[i].heading);
        for (const auto& row : rows) widest = std::max(widest, column_count(row[i]));
        widths.push_back(std::min(widest, kWidest));
    }
    const auto total = [&] {
        size_t sum = widths.empty() ? 0 : kGap * (widths.size() - 1);
        for (const size_t w : widths) sum += w;
        return sum;
    };
    while (width > 0 && total() > width) {
        const auto widest = std::max_element(widths.begin(), widths.end());
        if (*widest <= kNarrowest) break;
        --*widest;
    }
    std::string out;
    const auto append_line = [&](auto cell, auto fill) {
        std::string line;
        for (size_t i = 0; i < columns.size(); ++i) {
            const std::string text = fit_columns(cell(i), widths[i]);
            const std::string pad = fill(widths[i] - std::min(widths[i], column_count(text)));
            if (i > 0) line += "  ";
            line += columns[i].right_aligned ? pad + text : text + pad;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        // Too many columns even so: what does not fit is marked as cut.
        out += (width > 0 ? fit_columns(line, width) : line) + "\n";
    };
    const auto blanks = [](size_t n) { return std::string(n, ' '); };
    append_line([&](size_t i) -> std::string_view { return columns[i].heading; }, blanks);
    append_line([](size_t) { return std::string_view(); },
                [](size_t n) { return std::string(n, '-'); });
    for (const auto& row : rows)
        append_line([&](size_t i) -> std::string_view { return row[i]; }, blanks);
    return out;
}

}  // namespace orrery::cli
