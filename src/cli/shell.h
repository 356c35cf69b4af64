#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/account_client.h"
#include "cli/query_page.h"
#include "cli/result_text.h"

namespace orrery::cli {

struct ShellOptions {
    std::optional<ContainerName> container;
    std::vector<std::string> statements;  ///< run these and leave; empty: read the standard input
    std::optional<ResultFormat> format;   ///< default: table on a terminal, jsonl otherwise
    std::map<std::string, std::string> parameters;
    int64_t page_items = 100;
    bool keep_going = false;  ///< a script goes on after a statement that failed
    bool quiet = false;       ///< no line with rows, time and charge
};

/// The interactive shell, or a script. Exit code.
int run_shell(const ShellOptions& options, const AccountClient::Shared& account);

/// "@name=JSON"; a value that is no JSON is a string.
Status add_parameter(std::string_view text, std::map<std::string, std::string>& parameters);

}  // namespace orrery::cli
