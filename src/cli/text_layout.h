#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

/// Terminal columns that a UTF-8 text takes: combining characters none, East Asian wide ones two.
size_t column_count(std::string_view utf8);
/// The text cut to `width` columns, the last one "…" when something was cut; control characters are
/// shown as "·".
std::string fit_columns(std::string_view utf8, size_t width);

/// Lays out rows under headings. Numbers (by `right_aligned`) stand at the right. Columns shrink,
/// the widest first, until the table fits `width`; 0: no limit.
struct TableColumn {
    std::string heading;
    bool right_aligned = false;
};
std::string table_text(const std::vector<TableColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows, size_t width);

}  // namespace orrery::cli
