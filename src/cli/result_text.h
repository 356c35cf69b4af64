#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace orrery::cli {

enum class ResultFormat : uint8_t { kTable, kJson, kJsonLines, kCsv };
Result<ResultFormat> parse_result_format(std::string_view text);
std::string_view result_format_name(ResultFormat format);

/// Indented by two spaces; short arrays of scalars stay on one line.
std::string pretty_json(const json::Value& value);

struct ResultOptions {
    ResultFormat format = ResultFormat::kTable;
    bool system_properties = false;  ///< tables show _rid, _self, _etag, _ts, _attachments too
    size_t width = 0;                ///< of the terminal; 0: tables are not cut
};

/// Writes pages of rows one after the other. CSV has its header line once, from the first page:
/// later pages with other columns begin a new table.
class ResultWriter {
public:
    explicit ResultWriter(ResultOptions options) : options_(options) {}
    std::string page(const std::vector<json::Value>& rows);

private:
    std::string table(const std::vector<json::Value>& rows) const;
    std::string csv(const std::vector<json::Value>& rows);

    const ResultOptions options_;
    std::vector<std::string> csv_columns_;
};

}  // namespace orrery::cli
