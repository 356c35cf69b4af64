#include "cli/export_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>

#include "base/errors.h"
#include "cli/csv.h"
#include "cli/records.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {

void CsvColumns::add_name(std::string name) {
    if (known_.insert(name).second) names_.push_back(std::move(name));
}

void CsvColumns::add(const json::Value& item) {
    const auto columns = flatten(item);
    const std::lock_guard lock(mutex_);
    for (const auto& [name, value] : columns) add_name(name);
}

std::vector<std::string> CsvColumns::names() const {
    const std::lock_guard lock(mutex_);
    return names_;
}

std::string CsvColumns::text() const {
    std::string out = "[";
    for (const std::string& name : names()) {
        if (out.size() > 1) out += ',';
        json::write_string(out, name);
    }
    return out + "]";
}

void CsvColumns::restore(std::string_view text) {
    json::Arena arena;
    const auto parsed = json::parse(text, arena);
    if (!parsed.ok() || !parsed->is_array()) return;
    const std::lock_guard lock(mutex_);
    for (const json::Value& name : parsed->elements())
        if (name.is_string()) add_name(std::string(name.as_string()));
}

Status write_csv(const std::string& json_lines, const std::string& target,
                 const std::vector<std::string>& columns, char delimiter) {
    TRY(const auto source, Source::open(json_lines));
    std::ofstream file;
    if (target != "-") file.open(target, std::ios::binary | std::ios::trunc);
    std::ostream& out = target == "-" ? std::cout : file;
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) line += delimiter;
        append_csv_field(line, columns[i], delimiter);
    }
    out << line << "\r\n";
    const auto reader = line_records(*source);
    Record record;
    json::Arena arena;
    while (true) {
        TRY(const bool any, reader->next(record));
        if (!any) break;
        arena.clear();
        TRY(const auto item, json::parse(record.text, arena));
        std::map<std::string, json::Value> values;
        for (const auto& [name, value] : flatten(item)) values[name] = value;
        line.clear();
        for (size_t i = 0; i < columns.size(); ++i) {
            if (i > 0) line += delimiter;
            if (const auto found = values.find(columns[i]); found != values.end())
                append_csv_value(line, found->second, delimiter);
        }
        out << line << "\r\n";
    }
    out.flush();
    if (!out)
        return Status(
            errors::bad_request(fmt::format("'{}' cannot be written. Is the disk full?", target)));
    return {};
}

}  // namespace orrery::cli
