// Rules 26-29 and 31-33: throughput and physical partitions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/rules/judges.h"

namespace orrery::lab {
namespace {

constexpr double kGb = 1024.0 * 1024 * 1024;
constexpr double kServerlessRuPerProvisioned =
    233'600;  ///< RU a month at which serverless costs as much as 1 RU/s

bool provisioned(const Observation& of) {
    return of.throughput &&
           (of.throughput->mode == "manual" || of.throughput->mode == "autoscale") &&
           of.throughput->ru > 0 && !of.throughput->shared;
}

/// True: there are enough hours. Otherwise says so.
bool enough_hours(const Observation& of, double days, Judgement& out) {
    if (static_cast<double>(of.hours.size()) >= days * 24) return true;
    out.no_evidence(fmt::format("{:.0f} days of use by hour ({:.1f} have been seen)", days,
                                static_cast<double>(of.hours.size()) / 24));
    return false;
}

FindingChart chart_of_hours(const Observation& of) {
    FindingChart chart{
        "lines", "Busiest second of each hour", "RU/s", {}, {{"peak", {}}, {"provisioned", {}}}};
    for (const auto& hour : of.hours) {
        chart.labels.push_back(std::to_string(hour.hour - of.hours.back().hour) + " h");
        chart.series[0].values.push_back(hour.peak_ru);
        chart.series[1].values.push_back(static_cast<double>(of.throughput->ru));
    }
    return chart;
}

int64_t round_up(double value, int64_t step) {
    return static_cast<int64_t>(std::ceil(value / static_cast<double>(step))) * step;
}

}  // namespace

void judge_over_provisioned(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!provisioned(of)) return;
    if (!enough_hours(of, limits.throughput_days, out)) return;
    std::vector<double> normalized;
    double mean_peak = 0;
    double used = 0;
    double top = 0;
    for (const auto& hour : of.hours) {
        normalized.push_back(hour.normalized);
        mean_peak += hour.peak_ru / static_cast<double>(of.hours.size());
        used += hour.ru;
        top = std::max(top, hour.peak_ru);
    }
    std::sort(normalized.begin(), normalized.end());
    const double p99 =
        normalized[static_cast<size_t>(static_cast<double>(normalized.size() - 1) * 0.99)];
    if (p99 >= limits.idle_normalized) return;
    const auto present = of.throughput->ru;
    const bool autoscale = of.throughput->mode == "autoscale";
    const auto gb = static_cast<int64_t>(std::ceil(static_cast<double>(of.bytes) / kGb));
    const int64_t floor =
        autoscale ? std::max<int64_t>(1000, round_up(static_cast<double>(gb) * 10, 1000))
                  : std::max<int64_t>(400, round_up(static_cast<double>(gb), 100));
    // What keeps the p99 below two thirds.
    const int64_t enough = std::max(
        floor, round_up(static_cast<double>(present) * p99 / 0.66, autoscale ? 1000 : 100));
    const double hours = static_cast<double>(of.hours.size());
    const double month_ru = used / hours * static_cast<double>(kHoursPerMonth);
    const bool serverless = month_ru < kServerlessRuPerProvisioned * static_cast<double>(present) &&
                            of.regions == 1 && top <= 5000;
    if (enough >= present && !serverless) return;
    std::vector<int64_t> peaks;
    for (const auto& hour : of.hours)
        peaks.push_back(static_cast<int64_t>(std::ceil(hour.peak_ru)));
    const auto month = static_cast<int64_t>(of.hours.size());
    const MicroDollars now =
        autoscale ? autoscale_cost(present, peaks, of.regions, of.multi_region_writes) *
                        kHoursPerMonth / month
                  : manual_cost(present, kHoursPerMonth, of.regions, of.multi_region_writes, false);
    const MicroDollars lower =
        autoscale ? autoscale_cost(enough, peaks, of.regions, of.multi_region_writes) *
                        kHoursPerMonth / month
                  : manual_cost(enough, kHoursPerMonth, of.regions, of.multi_region_writes, false);
    const int64_t scaled_max = std::max<int64_t>(1000, round_up(top, 1000));
    const MicroDollars scaled =
        autoscale_cost(scaled_max, peaks, of.regions, of.multi_region_writes) * kHoursPerMonth /
        month;
    MicroDollars best = std::min(lower, now);
    std::string advice = fmt::format("Lower the throughput to {} RU/s.", enough);
    std::string json = autoscale ? fmt::format(R"({{"maxThroughput":{}}})", enough)
                                 : fmt::format(R"({{"throughput":{}}})", enough);
    if (!autoscale && mean_peak < 0.66 * static_cast<double>(std::max<int64_t>(1, scaled_max)) &&
        scaled < best) {
        best = scaled;
        advice = fmt::format(
            "Use autoscale with a maximum of {} RU/s: the hours' peaks are {} of it on average.",
            scaled_max, percent(mean_peak / static_cast<double>(scaled_max)));
        json = fmt::format(R"({{"maxThroughput":{}}})", scaled_max);
    }
    if (serverless && serverless_cost(static_cast<int64_t>(month_ru)) < best) {
        best = serverless_cost(static_cast<int64_t>(month_ru));
        advice = fmt::format(
            "Use serverless: {:.0f} RU a month are fewer than the {:.0f} at which it costs as "
            "much.",
            month_ru, kServerlessRuPerProvisioned * static_cast<double>(present));
        json = R"({"capabilities":["EnableServerless"]})";
    }
    if (best >= now) return;
    auto& finding = out.find(Severity::kMedium,
                             fmt::format("In 99 % of the hours at most {} of {} RU/s were used.",
                                         percent(p99), present));
    finding.fact("p99Normalized", p99)
        .fact("provisionedRuPerSecond", static_cast<double>(present), "RU/s")
        .fact("ruPerMonth", month_ru, "RU")
        .fact("meanHourlyPeak", mean_peak, "RU/s")
        .fact("costNow", static_cast<double>(now) / 1e6, "$")
        .fact("costThen", static_cast<double>(best) / 1e6, "$");
    finding.chart = chart_of_hours(of);
    finding.advise("throughput", advice, json);
    finding.saved_month = now - best;
    finding.saving_note = "Difference of the monthly prices.";
}

void judge_under_provisioned(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.ranges.empty()) return out.no_evidence("use of physical partitions");
    double throttled = 0;
    double requests = 0;
    double ru = 0;
    bool all = true;
    size_t minutes = 0;
    for (const auto& range : of.ranges) {
        double own_throttled = 0;
        double own_requests = 0;
        for (const auto& minute : range.minutes) {
            own_throttled += static_cast<double>(minute.throttled);
            own_requests += static_cast<double>(minute.requests);
            ru += minute.ru;
        }
        minutes = std::max(minutes, range.minutes.size());
        throttled += own_throttled;
        requests += own_requests;
        all = all && own_requests > 0 && own_throttled / own_requests > limits.throttled_share;
    }
    if (requests == 0) return out.no_evidence("requests in the last hour");
    if (!all) return;
    const double served = std::max(1.0, requests - throttled);
    const double mean = ru / served;
    // Take the demand of the busiest minute: the mean of an hour with one burst would be too low.
    double wanted = 0;
    double peak = 0;
    for (size_t i = 0; i < minutes; ++i) {
        double taken = 0;
        double second = 0;
        for (const auto& range : of.ranges) {
            if (i >= range.minutes.size()) continue;
            const MinutePoint& minute = range.minutes[i];
            taken += minute.ru + static_cast<double>(minute.throttled) * mean;
            second += minute.peak_ru;
        }
        wanted = std::max(wanted, taken / 60);
        peak = std::max(peak, second);
    }
    double present = 0;
    for (const auto& range : of.ranges) present += range.provisioned_ru;
    // Enough for every whole minute, but not for some of its seconds.
    const bool bursts = wanted <= present;
    const int64_t target = round_up(std::max(bursts ? peak : wanted, present * 1.1), 100);
    auto& finding =
        out.find(throttled / requests > 0.2 && !bursts ? Severity::kHigh : Severity::kMedium,
                 fmt::format("{} of the requests of the last hour were refused with "
                             "429, on every physical partition.",
                             percent(throttled / requests)));
    finding.fact("throttled", throttled)
        .fact("requests", requests)
        .fact("meanRu", mean, "RU")
        .fact("busiestMinuteWanted", wanted, "RU/s")
        .fact("busiestSecondUsed", peak, "RU/s")
        .fact("provisionedRuPerSecond", present, "RU/s");
    FindingChart chart{
        "lines", "Requests and 429s by minute", "requests", {}, {{"requests", {}}, {"429", {}}}};
    for (size_t i = 0; i < minutes; ++i) {
        double answered = 0;
        double refused = 0;
        for (const auto& range : of.ranges) {
            if (i >= range.minutes.size()) continue;
            answered += static_cast<double>(range.minutes[i].requests);
            refused += static_cast<double>(range.minutes[i].throttled);
        }
        chart.labels.push_back(
            std::to_string(static_cast<int64_t>(i) - static_cast<int64_t>(minutes)) + " min");
        chart.series[0].values.push_back(answered);
        chart.series[1].values.push_back(refused);
    }
    finding.chart = std::move(chart);
    finding.advise(
        "throughput",
        bursts
            ? fmt::format("The requests come in bursts: the busiest minute wanted {:.0f} RU/s on "
                          "average, fewer than are provisioned, but its seconds are uneven. "
                          "Spread them over time, or raise the throughput to {} RU/s, for the "
                          "busiest second.",
                          wanted, target)
            : fmt::format("Raise the throughput to {} RU/s: what was used and what was refused "
                          "in the busiest minute.",
                          target),
        fmt::format(R"({{"throughput":{}}})", target));
    finding.saving_note = "Latency: a client waits and tries again for every 429.";
}

void judge_autoscale(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!provisioned(of) || of.throughput->mode != "autoscale") return;
    if (!enough_hours(of, limits.throughput_days, out)) return;
    double mean = 0;
    std::vector<int64_t> peaks;
    for (const auto& hour : of.hours) {
        const double peak = std::min(hour.peak_ru, static_cast<double>(of.throughput->ru));
        mean +=
            peak / static_cast<double>(of.throughput->ru) / static_cast<double>(of.hours.size());
        peaks.push_back(static_cast<int64_t>(std::ceil(peak)));
    }
    if (mean <= limits.autoscale_peak) return;
    const MicroDollars now =
        autoscale_cost(of.throughput->ru, peaks, of.regions, of.multi_region_writes) *
        kHoursPerMonth / static_cast<int64_t>(of.hours.size());
    const MicroDollars manual =
        manual_cost(of.throughput->ru, kHoursPerMonth, of.regions, of.multi_region_writes, false);
    if (manual >= now) return;
    auto& finding =
        out.find(Severity::kMedium,
                 fmt::format("The hours' peaks are {} of the maximum on average: manual throughput "
                             "costs less above 66 %.",
                             percent(mean)));
    finding.fact("meanHourlyPeakShare", mean)
        .fact("costNow", static_cast<double>(now) / 1e6, "$")
        .fact("costManual", static_cast<double>(manual) / 1e6, "$");
    finding.chart = chart_of_hours(of);
    finding.advise("throughput",
                   fmt::format("Use manual throughput of {} RU/s.", of.throughput->ru),
                   fmt::format(R"({{"throughput":{}}})", of.throughput->ru));
    finding.saved_month = now - manual;
    finding.saving_note = "Difference of the monthly prices.";
}

void judge_shared(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.neighbours) return out.no_evidence("other containers of the database");
    if (!of.neighbours->shared_throughput) return;
    const int64_t over = of.neighbours->shared_containers - limits.shared_containers;
    double peak = 0;
    for (const auto& hour : of.hours) peak = std::max(peak, hour.peak_ru);
    const bool needs_own = of.throughput && of.throughput->shared && peak > 400 &&
                           of.throughput->ru > 0 &&
                           peak > 0.5 * static_cast<double>(of.throughput->ru);
    if (over <= 0 && !needs_own) return;
    const bool autoscale = of.throughput && of.throughput->mode == "autoscale";
    auto& finding =
        out.find(over > 0 ? Severity::kMedium : Severity::kLow,
                 over > 0 ? fmt::format("{} containers share the throughput of the database; "
                                        "beyond 25 each adds {} RU/s to its minimum.",
                                        of.neighbours->shared_containers, autoscale ? 1000 : 100)
                          : fmt::format("This container needs {:.0f} RU/s at its peak, more than "
                                        "half of what its database shares.",
                                        peak));
    finding.fact("sharedContainers", static_cast<double>(of.neighbours->shared_containers))
        .fact("peakRu", peak, "RU/s");
    finding.advise(
        "container",
        over > 0 ? "Merge containers of one key into one, told apart by a type property, or give "
                   "some their own throughput."
                 : "Give this container throughput of its own.",
        over > 0 ? std::string() : fmt::format(R"({{"throughput":{}}})", round_up(peak, 100)));
    finding.saves_throughput(
        of, static_cast<double>(std::max<int64_t>(0, over)) * (autoscale ? 1000 : 100),
        "minimum throughput of each container above 25");
}

void judge_fragmented(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.ranges.empty()) return out.no_evidence("physical partitions");
    const auto count = static_cast<double>(of.ranges.size());
    if (of.ranges.size() < 2) return;
    double ru = 0;
    double bytes = 0;
    for (const auto& range : of.ranges) {
        ru += range.provisioned_ru;
        bytes += static_cast<double>(range.bytes);
    }
    const double gb = bytes / count / kGb;
    if (ru / count >= limits.merge_ru || gb >= limits.merge_gb) return;
    double fan_out = 0;
    for (const auto& query : of.queries)
        if (query.keyed_runs < query.runs) fan_out += static_cast<double>(query.pages);
    auto& finding =
        out.find(Severity::kLow,
                 fmt::format("{} physical partitions have {:.0f} RU/s and {} each: fewer would do.",
                             of.ranges.size(), ru / count, size_text(bytes / count)));
    finding.fact("partitions", count)
        .fact("ruPerPartition", ru / count, "RU/s")
        .fact("gbPerPartition", gb, "GB")
        .fact("fanOutPages", fan_out);
    FindingChart chart{"bars", "Data by physical partition", "bytes", {}, {{"bytes", {}}}};
    for (const auto& range : of.ranges) {
        chart.labels.push_back(range.id);
        chart.series[0].values.push_back(static_cast<double>(range.bytes));
    }
    finding.chart = std::move(chart);
    finding.advise("container", "Merge adjacent partitions.",
                   of.ranges.size() >= 2 ? fmt::format(R"({{"rangeIds":["{}","{}"]}})",
                                                       of.ranges[0].id, of.ranges[1].id)
                                         : std::string());
    finding.saves(of, (count - 1) * kQueryPartitionRu * fan_out,
                  "(partitions - 1) x 2.79 RU for each page of a fan-out query");
}

void judge_uneven_split(const Observation& of, const Thresholds&, Judgement& out) {
    if (!of.throughput || of.ranges.empty())
        return out.no_evidence("throughput and physical partitions");
    if (of.throughput->shared || of.throughput->mode == "serverless") return;
    const int64_t target = of.throughput->planned_ru.value_or(of.throughput->ru);
    const auto partitions = static_cast<int64_t>(of.ranges.size());
    const int64_t now = 10'000 * partitions;
    if (target <= now) return;
    int64_t even = now;
    while (even < target) even *= 2;
    const int64_t after = (target + 9'999) / 10'000;
    if (even == target || even / 10'000 == after) return;
    auto& finding = out.find(
        Severity::kLow,
        fmt::format("{} RU/s split {} partition{} into {}: some are halved, others are not.",
                    target, partitions, partitions == 1 ? "" : "s", after));
    finding.fact("targetRu", static_cast<double>(target), "RU/s")
        .fact("partitions", static_cast<double>(partitions))
        .fact("evenRu", static_cast<double>(even), "RU/s");
    finding.advise(
        "throughput",
        fmt::format(
            "Raise to {} RU/s first, so that every partition is split alike, then lower to {}.",
            even, target),
        fmt::format(R"([{{"throughput":{}}},{{"throughput":{}}}])", even, target));
    finding.saving_note =
        "Avoids partitions with twice the data and the same share of the throughput.";
}

void judge_idle(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.now_seconds == 0) return out.no_evidence("the time of the observation");
    const double days =
        (of.last_request_seconds ? static_cast<double>(of.now_seconds - *of.last_request_seconds)
                                 : of.observed_seconds) /
        86'400;
    if (days < limits.idle_days) {
        if (!of.last_request_seconds)
            out.no_evidence(fmt::format("{:.0f} days without requests ({:.1f} have been seen)",
                                        limits.idle_days, days));
        return;
    }
    auto& finding = out.find(Severity::kLow,
                             fmt::format("Nobody has used this container for {:.0f} days.", days));
    finding.fact("idleDays", days, "days").fact("bytes", static_cast<double>(of.bytes), "bytes");
    finding.advise("container", "Delete it, or lower its throughput to the minimum.");
    const double ru = provisioned(of) ? static_cast<double>(of.throughput->ru) : 0;
    finding.fact("provisionedRuPerSecond", ru, "RU/s");
    finding.saves_throughput(of, of.throughput && of.throughput->mode == "autoscale" ? ru / 10 : ru,
                             "its throughput (autoscale: a tenth of the maximum)");
}

}  // namespace orrery::lab
