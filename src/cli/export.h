#pragma once

#include <string>

#include "base/status.h"
#include "cli/account_client.h"
#include "cli/import.h"

namespace orrery::cli {

struct ExportOptions {
    ContainerName container;
    std::string target;  ///< "-": standard output
    FileFormat format = FileFormat::kByName;
    std::string query;    ///< empty: every item
    size_t parallel = 4;  ///< ranges read side by side
    bool system_properties = false;
    char delimiter = ',';
    bool delimiter_given = false;
    bool resume = false;
    bool restart = false;    ///< also: an existing file is written over
    std::string checkpoint;  ///< empty: beside the target
};

/// Reads every physical partition to its end, or until interrupted. Items leave in the order of
/// each partition; with one connection the partitions follow one another, so that the same data
/// gives the same file. Exit code.
int run_export(const ExportOptions& options, const AccountClient::Shared& account);

}  // namespace orrery::cli
