#include "cli/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/errors.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

/// A JSON number that is read back as it was written: no leading zeros, and not more digits than a
/// double keeps, else it is text (a phone number, an account number).
bool is_plain_number(std::string_view text) {
    constexpr size_t kDigitsMax = 15;
    size_t digits = 0;
    for (const char c : text) {
        if (c >= '0' && c <= '9') ++digits;
    }
    if (digits == 0 || digits > kDigitsMax) return false;
    if (text[0] != '-' && (text[0] < '0' || text[0] > '9')) return false;
    json::Arena arena;
    const auto parsed = json::parse(text, arena);
    return parsed.ok() && parsed->is_number();
}

bool is_json_structure(std::string_view text) {
    if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
    json::Arena arena;
    const auto parsed = json::parse(text, arena);
    return parsed.ok() && (parsed->is_array() || parsed->is_object());
}

bool is_word(std::string_view text) {
    return text == "true" || text == "false" || text == "null";
}

/// The parts of "a.b\.c": "a" and "b.c".
std::vector<std::string> split_path(std::string_view path, bool nested) {
    if (!nested) return {std::string(path)};
    std::vector<std::string> out(1);
    for (size_t i = 0; i < path.size(); ++i) {
        if (path[i] == '\\' && i + 1 < path.size() && (path[i + 1] == '.' || path[i + 1] == '\\'))
            out.back() += path[++i];
        else if (path[i] == '.')
            out.emplace_back();
        else
            out.back() += path[i];
    }
    return out;
}

std::string escape_name(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c == '.' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

}  // namespace

Result<CsvFields> split_csv(std::string_view record, char delimiter) {
    CsvFields out;
    size_t at = 0;
    while (true) {
        std::string text;
        const bool quoted = at < record.size() && record[at] == '"';
        if (quoted) {
            ++at;
            while (true) {
                const size_t quote = record.find('"', at);
                if (quote == std::string_view::npos)
                    return errors::bad_request(fmt::format(
                        "field {} opens a quote and never closes it", out.texts.size() + 1));
                text.append(record, at, quote - at);
                at = quote + 1;
                if (at >= record.size() || record[at] != '"') break;
                text += '"';
                ++at;
            }
            if (at < record.size() && record[at] != delimiter)
                return errors::bad_request(
                    fmt::format("field {} goes on after its closing quote; a quote inside a field "
                                "is written twice",
                                out.texts.size() + 1));
        } else {
            const size_t end = std::min(record.find(delimiter, at), record.size());
            text = record.substr(at, end - at);
            if (text.find('"') != std::string::npos)
                return errors::bad_request(
                    fmt::format("field {} has a quote in its middle; such a field stands in "
                                "quotes, its own quotes written twice",
                                out.texts.size() + 1));
            at = end;
        }
        out.texts.push_back(std::move(text));
        out.quoted.push_back(quoted);
        if (at >= record.size()) return out;
        ++at;  // the delimiter
        if (at == record.size()) {
            out.texts.emplace_back();
            out.quoted.push_back(false);
            return out;
        }
    }
}

void append_csv_field(std::string& out, std::string_view text, char delimiter) {
    if (text.find_first_of("\"\r\n") == std::string_view::npos &&
        text.find(delimiter) == std::string_view::npos) {
        out.append(text);
        return;
    }
    out += '"';
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    out += '"';
}

Status add_column_type(std::string_view text, CsvOptions& options) {
    const size_t colon = text.rfind(':');
    const std::string_view type =
        colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    CsvType found = CsvType::kInfer;
    if (type == "text")
        found = CsvType::kText;
    else if (type == "number")
        found = CsvType::kNumber;
    else if (type == "boolean")
        found = CsvType::kBoolean;
    else if (type == "json")
        found = CsvType::kJson;
    else if (type != "infer" || colon == std::string_view::npos)
        return Status(errors::bad_request(fmt::format(
            "--column '{}' is not NAME:TYPE with a type of text, number, boolean, json or infer.",
            text)));
    options.column_types[std::string(text.substr(0, colon))] = found;
    return {};
}

Result<CsvConverter> CsvConverter::create(std::vector<std::string> header, CsvOptions options) {
    CsvConverter out;
    out.options_ = std::move(options);
    for (size_t i = 0; i < header.size(); ++i) {
        if (header[i].empty())
            return errors::bad_request(
                fmt::format("Column {} has no name in the header line.", i + 1));
        if (!is_valid_utf8(header[i])) return errors::bad_request("The header line is not UTF-8.");
        TRY_STATUS(out.add_column(header[i], static_cast<int>(i)));
        const auto typed = out.options_.column_types.find(header[i]);
        CsvType type =
            typed == out.options_.column_types.end() ? out.options_.default_type : typed->second;
        // An id is a string whatever it looks like.
        if (header[i] == "id") type = CsvType::kText;
        out.types_.push_back(type);
    }
    for (const auto& [name, type] : out.options_.column_types)
        if (std::find(header.begin(), header.end(), name) == header.end())
            return errors::bad_request(
                fmt::format("--column names '{}', which the header line does not have.", name));
    out.header_ = std::move(header);
    return out;
}

Status CsvConverter::add_column(const std::string& path, int column) {
    std::vector<Node>* level = &roots_;
    const auto parts = split_path(path, options_.nested);
    for (size_t i = 0; i < parts.size(); ++i) {
        auto found = std::find_if(level->begin(), level->end(),
                                  [&](const Node& node) { return node.name == parts[i]; });
        if (found == level->end()) {
            level->push_back({parts[i], -1, {}});
            found = level->end() - 1;
        }
        if (i + 1 == parts.size()) {
            if (found->column >= 0)
                return Status(errors::bad_request(
                    fmt::format("The header line names the column '{}' twice.", path)));
            found->column = column;
        }
        level = &found->children;
    }
    return {};
}

bool CsvConverter::is_absent(const CsvFields& fields, int column) const {
    const auto i = static_cast<size_t>(column);
    return fields.texts[i].empty() && !fields.quoted[i] &&
           options_.empty == CsvOptions::Empty::kOmit;
}

Status CsvConverter::append_members(std::string& out, const std::vector<Node>& nodes,
                                    const CsvFields& fields) const {
    const size_t begin = out.size();
    for (const Node& node : nodes) {
        const size_t before = out.size();
        if (before > begin) out += ',';
        json::write_string(out, node.name);
        out += ':';
        const size_t value = out.size();
        const bool has_column = node.column >= 0 && !is_absent(fields, node.column);
        if (has_column) {
            const auto i = static_cast<size_t>(node.column);
            TRY_STATUS(append_value(out, node.column, fields.texts[i], fields.quoted[i]));
        }
        if (!node.children.empty()) {
            std::string group;
            TRY_STATUS(append_members(group, node.children, fields));
            if (!group.empty() && has_column)
                return Status(errors::bad_request(
                    fmt::format("the column '{}' has a value, and so has one of '{}.…'", node.name,
                                node.name)));
            if (!group.empty()) out.append("{").append(group).append("}");
        }
        if (out.size() == value) out.resize(before);
    }
    return {};
}

Status CsvConverter::append_value(std::string& out, int column, std::string_view text,
                                  bool quoted) const {
    const auto i = static_cast<size_t>(column);
    const auto refuse = [&](std::string_view what) {
        return Status(errors::bad_request(
            fmt::format("column '{}': '{}' is {}", header_[i], text.substr(0, 60), what)));
    };
    if (!is_valid_utf8(text)) return refuse("not UTF-8");
    if (text.empty() && !quoted && types_[i] != CsvType::kText) {
        out += options_.empty == CsvOptions::Empty::kNull ? "null" : "\"\"";
        return {};
    }
    switch (types_[i]) {
        case CsvType::kText:
            if (text.empty() && !quoted && options_.empty == CsvOptions::Empty::kNull)
                out += "null";
            else
                json::write_string(out, text);
            return {};
        case CsvType::kNumber: {
            json::Arena arena;
            const auto parsed = json::parse(text, arena);
            if (!parsed.ok() || !parsed->is_number()) return refuse("no number");
            out.append(text);
            return {};
        }
        case CsvType::kBoolean:
            if (equals_ignore_case(text, "true") || text == "1")
                out += "true";
            else if (equals_ignore_case(text, "false") || text == "0")
                out += "false";
            else
                return refuse("neither true nor false");
            return {};
        case CsvType::kJson: {
            json::Arena arena;
            const auto parsed = json::parse(text, arena);
            if (!parsed.ok()) return refuse("no JSON");
            json::write(out, *parsed, json::NumberForm::kAsWritten);
            return {};
        }
        case CsvType::kInfer: {
            const bool free_text = quoted && !options_.infer_quoted;
            if ((!free_text && (is_word(text) || is_plain_number(text))) || is_json_structure(text))
                out.append(text);
            else
                json::write_string(out, text);
            return {};
        }
    }
    return {};
}

Result<std::string> CsvConverter::convert(std::string_view record) const {
    TRY(const auto fields, split_csv(record, options_.delimiter));
    if (fields.texts.size() != header_.size())
        return errors::bad_request(fmt::format(
            "{} fields where the header line has {}{}", fields.texts.size(), header_.size(),
            fields.texts.size() == 1 ? "; is another --delimiter needed?" : ""));
    std::string out = "{";
    TRY_STATUS(append_members(out, roots_, fields));
    return out + "}";
}

namespace {

void flatten_into(const json::Value& value, const std::string& path,
                  std::vector<std::pair<std::string, json::Value>>& out) {
    if (value.is_object() && (path.empty() || !value.members().empty())) {
        for (const json::Member& member : value.members())
            flatten_into(
                member.value,
                path.empty() ? escape_name(member.name) : path + "." + escape_name(member.name),
                out);
        return;
    }
    out.emplace_back(path, value);
}

}  // namespace

std::vector<std::pair<std::string, json::Value>> flatten(const json::Value& item) {
    std::vector<std::pair<std::string, json::Value>> out;
    flatten_into(item, "", out);
    return out;
}

void append_csv_value(std::string& out, const json::Value& value, char delimiter) {
    if (!value.is_string()) return append_csv_field(out, json::to_text(value), delimiter);
    const std::string_view text = value.as_string();
    if (text.empty() || is_word(text) || is_plain_number(text))
        out.append("\"").append(text).append("\"");
    else
        append_csv_field(out, text, delimiter);
}

}  // namespace orrery::cli
