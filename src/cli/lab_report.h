#pragma once

#include <optional>
#include <string>

#include "cli/account_client.h"

namespace orrery::cli {

struct LabReportOptions {
    std::string format = "md";     ///< md, html, json
    std::string fail_on = "high";  ///< severity from which on the exit code is 1; "none": never
    std::string output;            ///< file; empty: standard output
    std::string container;         ///< "shop/orders"; empty: all
    std::string file;              ///< judge what this file observed instead of asking a server
    std::string thresholds;        ///< JSON object; empty: the defaults
    bool observations = false;     ///< JSON: with all numbers that the findings rest on
};

/// What the Design Lab's rules say, for people and for continuous integration. Exit code: 0, 1 when
/// a finding is as severe as `fail_on`, 2 when there is no report. `account` may be null with
/// `file`.
int run_lab_report(const LabReportOptions& options, const AccountClient::Shared* account);

}  // namespace orrery::cli
