// `orrery lab report`: the rules run here, over what the server (or a file) has observed, so that
// thresholds and formats are the same for both.
#include "cli/lab_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/errors.h"
#include "json/parse.h"
#include "lab/rules/report.h"

namespace orrery::cli {
namespace {

constexpr int kFoundExit = 1;
constexpr int kFailedExit = 2;

Result<std::string> observed(const LabReportOptions& options,
                             const AccountClient::Shared* account) {
    if (!options.file.empty()) {
        std::ifstream file(options.file, std::ios::binary);
        if (!file) return errors::bad_request("Cannot read '" + options.file + "'.");
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }
    AccountClient client(*account);
    std::vector<std::string> segments = {"lab", "report"};
    if (!options.container.empty()) {
        TRY(const auto name, parse_container_name(options.container));
        segments = {"containers", name.database, name.container, "lab", "report"};
    }
    auto answer = client.call({.resource = own_resource(segments, "observations=true")});
    if (!answer.ok()) {
        Error error = answer.error();
        if (error.code == Code::kResourceNotFound || error.code == Code::kUnauthorized)
            error.message += " `orrery lab` reads endpoints that Orrery alone has.";
        return error;
    }
    return std::move(answer->body);
}

Result<lab::Report> make(const LabReportOptions& options, const AccountClient::Shared* account) {
    TRY(const std::string text, observed(options, account));
    json::Arena arena;
    TRY(const auto value, json::parse(text, arena));
    TRY(auto observations, lab::read_observations(value));
    lab::Thresholds limits;
    if (!options.thresholds.empty()) {
        TRY(const auto given, json::parse(options.thresholds, arena));
        TRY(limits, lab::read_thresholds(given));
    }
    return lab::make_report(std::move(observations), limits, SystemClock().wall_seconds());
}

int fail(const std::string& message) {
    fmt::print(stderr, "orrery: {}\n", message);
    return kFailedExit;
}

}  // namespace

int run_lab_report(const LabReportOptions& options, const AccountClient::Shared* account) {
    const auto limit = lab::parse_severity(options.fail_on);
    if (!limit && options.fail_on != "none")
        return fail("--fail-on must be info, low, medium, high, critical or none.");
    const auto report = make(options, account);
    if (!report.ok()) return fail(report.error().message);
    const std::string text = options.format == "html" ? lab::report_html(*report)
                             : options.format == "json"
                                 ? lab::report_json(*report, options.observations) + "\n"
                                 : lab::report_markdown(*report);
    if (options.output.empty()) {
        std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
        std::ofstream file(options.output, std::ios::binary);
        file << text;
        file.close();
        if (!file) return fail("Cannot write '" + options.output + "'.");
    }
    if (!limit || !report->worst() || *report->worst() < *limit) return 0;
    size_t count = 0;
    for (const auto& container : report->containers)
        for (const auto& judgement : container.judgements)
            for (const auto& finding : judgement.findings)
                count += finding.severity >= *limit ? 1 : 0;
    fmt::print(stderr, "orrery: {} finding{} of severity {} or above\n", count,
               count == 1 ? "" : "s", options.fail_on);
    return kFoundExit;
}

}  // namespace orrery::cli
