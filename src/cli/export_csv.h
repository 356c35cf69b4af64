#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace orrery::cli {

/// The columns of a table, in the order in which items showed them. Internally locked.
class CsvColumns {
public:
    void add(const json::Value& item);
    std::vector<std::string> names() const;
    std::string text() const;  ///< for a checkpoint
    void restore(std::string_view text);

private:
    void add_name(std::string name);
    mutable std::mutex mutex_;
    std::vector<std::string> names_;
    std::unordered_set<std::string> known_;
};

/// Turns lines of JSON into a table with these columns. "-" is the standard output.
Status write_csv(const std::string& json_lines, const std::string& target,
                 const std::vector<std::string>& columns, char delimiter);

}  // namespace orrery::cli
