#pragma once

#include <string>
#include <vector>

#include "lab/rules/rule.h"

/// What the rules say about containers, for machines and for people.
namespace orrery::lab {

struct ContainerReport {
    Observation observation;
    std::vector<Judgement> judgements;
};
struct Report {
    int64_t made_seconds = 0;
    std::vector<ContainerReport> containers;

    /// The worst finding; nullopt: there is none.
    std::optional<Severity> worst() const;
    MicroDollars saved_month() const;
};

Report make_report(std::vector<Observation> observations, const Thresholds& limits,
                   int64_t now_seconds);

std::string finding_json(const Finding& finding);
/// `with_observations`: the numbers that the findings rest on, too.
std::string report_json(const Report& report, bool with_observations);
std::string report_markdown(const Report& report);
/// One page that needs nothing else.
std::string report_html(const Report& report);

}  // namespace orrery::lab
