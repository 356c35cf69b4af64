#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace orrery::cli {

/// The fields of one CSV record (RFC 4180), unquoted. `quoted` tells which stood in quotes.
struct CsvFields {
    std::vector<std::string> texts;
    std::vector<bool> quoted;
};
Result<CsvFields> split_csv(std::string_view record, char delimiter);

/// Appends one field, in quotes where it needs them.
void append_csv_field(std::string& out, std::string_view text, char delimiter);

enum class CsvType : uint8_t {
    kInfer,  ///< numbers, true, false, null, JSON arrays and objects are recognised; quoted text
             ///< stays text
    kText,
    kNumber,
    kBoolean,
    kJson,
};

struct CsvOptions {
    char delimiter = ',';
    CsvType default_type = CsvType::kInfer;
    std::map<std::string, CsvType> column_types;
    bool nested = true;  ///< "a.b" becomes {"a":{"b":…}}; a dot of the name itself is "\\."
    bool infer_quoted = false;  ///< fields in quotes are no text by that alone
    enum class Empty : uint8_t { kOmit, kNull, kText } empty = Empty::kOmit;
};
/// "name:type"
Status add_column_type(std::string_view text, CsvOptions& options);

/// Makes items of records. Immutable after construction: any thread.
class CsvConverter {
public:
    /// `header`: the names of the columns.
    static Result<CsvConverter> create(std::vector<std::string> header, CsvOptions options);

    /// The JSON text of an object; `id` is always a string. Errors name the column.
    Result<std::string> convert(std::string_view record) const;
    const std::vector<std::string>& header() const { return header_; }

private:
    CsvConverter() = default;

    /// A member of the items: a column, or a group of columns "group.member", or both where items
    /// differ.
    struct Node {
        std::string name;
        int column = -1;
        std::vector<Node> children;
    };
    Status add_column(const std::string& path, int column);
    Status append_members(std::string& out, const std::vector<Node>& nodes,
                          const CsvFields& fields) const;
    Status append_value(std::string& out, int column, std::string_view text, bool quoted) const;
    bool is_absent(const CsvFields& fields, int column) const;

    std::vector<std::string> header_;
    std::vector<CsvType> types_;
    CsvOptions options_;
    std::vector<Node> roots_;
};

/// An item's values by column, nested objects as "a.b"; arrays and empty objects are values.
std::vector<std::pair<std::string, json::Value>> flatten(const json::Value& item);
/// Appends a value so that CsvConverter reads the same one back: text that looks like something
/// else is quoted.
void append_csv_value(std::string& out, const json::Value& value, char delimiter);

}  // namespace orrery::cli
