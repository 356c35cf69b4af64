#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/account_client.h"
#include "cli/csv.h"
#include "cli/item_conversion.h"

namespace orrery::cli {

enum class WriteMode : uint8_t {
    kUpsert,  ///< an item that is there already is replaced
    kCreate,  ///< an item that is there already is an error
    kSkip,    ///< an item that is there already stays
};

enum class FileFormat : uint8_t { kByName, kJson, kJsonLines, kCsv, kTsv, kMongo };
Result<FileFormat> parse_file_format(std::string_view text);
/// By the ending of the file's name.
Result<FileFormat> format_of_name(const std::string& path);

struct ImportOptions {
    std::string source;  ///< "-": standard input
    ContainerName container;
    FileFormat format = FileFormat::kByName;
    WriteMode mode = WriteMode::kUpsert;
    size_t parallel = 8;
    ConversionOptions conversion;
    CsvOptions csv;
    bool csv_delimiter_given = false;
    std::string csv_option = {};  ///< one that was given; it has no meaning for other formats
    std::string rejects;  ///< file for items that are refused; empty: the first one ends the import
    bool resume = false;
    bool restart = false;
    std::string checkpoint;  ///< empty: beside the source
    /// Creates what is missing.
    bool create = false;
    std::vector<std::string> key_paths;
    int64_t throughput = 0;  ///< 0: the server's default
};

/// Runs to the end, to the first error, or until interrupted. Reports on the standard error. Exit
/// code.
int run_import(const ImportOptions& options, const AccountClient::Shared& account);

inline constexpr size_t kParallelMax = 128;

}  // namespace orrery::cli
