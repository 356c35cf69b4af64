#include "cli/result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/errors.h"
#include "cli/csv.h"
#include "cli/text_layout.h"
#include "json/item.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

constexpr size_t kOneLineMax = 80;

void append_pretty(std::string& out, const json::Value& value, size_t indent) {
    const std::string inner(indent + 2, ' ');
    if (value.is_array() && !value.elements().empty()) {
        const bool scalars =
            std::all_of(value.elements().begin(), value.elements().end(),
                        [](const json::Value& element) { return element.is_scalar(); });
        if (const std::string line = json::to_text(value); scalars && line.size() <= kOneLineMax) {
            out += line;
            return;
        }
        out += "[\n";
        for (size_t i = 0; i < value.elements().size(); ++i) {
            out += inner;
            append_pretty(out, value.elements()[i], indent + 2);
            out += i + 1 < value.elements().size() ? ",\n" : "\n";
        }
        out.append(indent, ' ').append("]");
    } else if (value.is_object() && !value.members().empty()) {
        out += "{\n";
        for (size_t i = 0; i < value.members().size(); ++i) {
            out += inner;
            json::write_string(out, value.members()[i].name);
            out += ": ";
            append_pretty(out, value.members()[i].value, indent + 2);
            out += i + 1 < value.members().size() ? ",\n" : "\n";
        }
        out.append(indent, ' ').append("}");
    } else {
        json::write(out, value, json::NumberForm::kAsWritten);
    }
}

/// A cell: strings as they are, everything else as JSON.
std::string cell_text(const json::Value& value) {
    if (value.is_undefined()) return "";
    return value.is_string() ? std::string(value.as_string()) : json::to_text(value);
}

/// Rows as objects: a row that is no object has one column.
json::Value member_of(const json::Value& row, std::string_view column) {
    if (row.is_object()) return row.member(column);
    return column == "value" ? row : json::Value();
}

}  // namespace

Result<ResultFormat> parse_result_format(std::string_view text) {
    if (text == "table") return ResultFormat::kTable;
    if (text == "json") return ResultFormat::kJson;
    if (text == "jsonl") return ResultFormat::kJsonLines;
    if (text == "csv") return ResultFormat::kCsv;
    return errors::bad_request(
        fmt::format("The format '{}' is none of table, json, jsonl, csv.", text));
}

std::string_view result_format_name(ResultFormat format) {
    switch (format) {
        case ResultFormat::kTable:
            return "table";
        case ResultFormat::kJson:
            return "json";
        case ResultFormat::kJsonLines:
            return "jsonl";
        case ResultFormat::kCsv:
            return "csv";
    }
    return "";
}

std::string pretty_json(const json::Value& value) {
    std::string out;
    append_pretty(out, value, 0);
    return out;
}

std::string ResultWriter::page(const std::vector<json::Value>& rows) {
    std::string out;
    switch (options_.format) {
        case ResultFormat::kTable:
            return table(rows);
        case ResultFormat::kCsv:
            return csv(rows);
        case ResultFormat::kJson:
            for (const json::Value& row : rows) out += pretty_json(row) + "\n";
            return out;
        case ResultFormat::kJsonLines:
            for (const json::Value& row : rows) out += json::to_text(row) + "\n";
            return out;
    }
    return out;
}

std::string ResultWriter::table(const std::vector<json::Value>& rows) const {
    std::vector<TableColumn> columns;
    std::unordered_set<std::string_view> known;
    const auto add = [&](std::string_view name) {
        if (known.insert(name).second) columns.push_back({std::string(name), true});
    };
    for (const json::Value& row : rows) {
        if (!row.is_object()) add("value");
        if (row.is_object())
            for (const json::Member& member : row.members())
                if (options_.system_properties || !json::is_system_property(member.name))
                    add(member.name);
    }
    if (columns.empty())
        return rows.empty() ? "" : fmt::format("({} rows without columns)\n", rows.size());
    std::vector<std::vector<std::string>> cells;
    for (const json::Value& row : rows) {
        cells.emplace_back();
        for (TableColumn& column : columns) {
            const json::Value value = member_of(row, column.heading);
            if (!value.is_undefined() && !value.is_number() && !value.is_null())
                column.right_aligned = false;
            cells.back().push_back(cell_text(value));
        }
    }
    return table_text(columns, cells, options_.width);
}

std::string ResultWriter::csv(const std::vector<json::Value>& rows) {
    std::vector<std::string> columns = csv_columns_;
    std::unordered_set<std::string> known(columns.begin(), columns.end());
    std::vector<std::map<std::string, json::Value>> flat;
    for (const json::Value& row : rows) {
        flat.emplace_back();
        if (!row.is_object()) {
            flat.back()["value"] = row;
            if (known.insert("value").second) columns.emplace_back("value");
            continue;
        }
        for (auto& [name, value] : flatten(row)) {
            flat.back()[name] = value;
            if (known.insert(name).second) columns.push_back(name);
        }
    }
    std::string out;
    if (columns != csv_columns_) {
        if (!csv_columns_.empty()) out += "\r\n";
        csv_columns_ = columns;
        for (size_t i = 0; i < columns.size(); ++i) {
            if (i > 0) out += ',';
            append_csv_field(out, columns[i], ',');
        }
        out += "\r\n";
    }
    for (const auto& row : flat) {
        for (size_t i = 0; i < columns.size(); ++i) {
            if (i > 0) out += ',';
            if (const auto found = row.find(columns[i]); found != row.end())
                append_csv_value(out, found->second, ',');
        }
        out += "\r\n";
    }
    return out;
}

}  // namespace orrery::cli
