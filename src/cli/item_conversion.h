#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/account_client.h"
#include "cli/csv.h"
#include "cli/records.h"

namespace orrery::cli {

/// An item ready to be sent.
struct PreparedItem {
    std::string text;
    std::string id;
    std::string partition_key;  ///< header
};

struct ConversionOptions {
    bool mongo = false;
    std::string id_from = {};   ///< "a.b": this member's value becomes the id; empty: none
    bool generate_ids = false;  ///< for items without one
};

/// Makes items of records. Immutable: any thread.
class ItemConverter {
public:
    ItemConverter(ContainerInfo container, ConversionOptions options,
                  std::optional<CsvConverter> csv)
        : container_(std::move(container)), options_(std::move(options)), csv_(std::move(csv)) {}

    /// Errors begin with the record's line.
    Result<PreparedItem> convert(const Record& record) const;

private:
    Result<PreparedItem> prepare(std::string_view text) const;
    Result<json::Value> with_id(const json::Value& item, json::Arena& arena) const;

    const ContainerInfo container_;
    const ConversionOptions options_;
    const std::optional<CsvConverter> csv_;
};

}  // namespace orrery::cli
