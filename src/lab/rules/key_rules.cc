// Rules 1-5: the partition key.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "json/parse.h"
#include "lab/rules/judges.h"
#include "lab/rules/key_advice.h"

namespace orrery::lab {
namespace {

constexpr double kGb = 1024.0 * 1024 * 1024;
constexpr double kLogicalPartitionBytes = 20 * kGb;
constexpr double kSecondsPerDay = 86'400;

FindingChart bars_of_sizes(const StorageKeys& keys) {
    FindingChart chart{"bars", "Largest partition key values", "bytes", {}, {{"bytes", {}}}};
    for (const auto& key : keys.largest) {
        if (chart.labels.size() == kChartBars) break;
        chart.labels.push_back(key.key);
        chart.series[0].values.push_back(static_cast<double>(key.bytes));
    }
    return chart;
}

bool all_digits(std::string_view text, size_t from, size_t count) {
    if (text.size() < from + count) return false;
    return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(from),
                       text.begin() + static_cast<std::ptrdiff_t>(from + count),
                       [](char c) { return c >= '0' && c <= '9'; });
}

/// "2024-05-06…", "202405…", "2024-W12", or seconds or milliseconds since 1970: a text that sorts
/// like the time it means. Empty for anything else.
std::string time_of_key(std::string_view key) {
    json::Arena arena;
    const auto parsed = json::parse(key, arena);
    if (!parsed.ok() || !parsed->is_array() || parsed->elements().empty()) return {};
    const json::Value first = parsed->elements().front();
    if (first.is_number()) {
        const double number = first.as_double();
        // From 2001 to 2100.
        if (number > 1e9 && number < 4.2e9) return fmt::format("{:015.0f}", number * 1000);
        if (number > 1e12 && number < 4.2e12) return fmt::format("{:015.0f}", number);
        return {};
    }
    if (!first.is_string()) return {};
    const std::string_view text = first.as_string();
    if (!all_digits(text, 0, 4) || (text[0] != '1' && text[0] != '2')) return {};
    const bool dashed = text.size() >= 7 && (text[4] == '-' || text[4] == '/') &&
                        (all_digits(text, 5, 2) || text[5] == 'W' || text[5] == 'Q');
    const bool bare = (text.size() == 6 || text.size() == 8 || text.size() == 10) &&
                      all_digits(text, 0, text.size()) && text.substr(4, 2) <= "12";
    return dashed || bare ? std::string(text) : std::string();
}

}  // namespace

void judge_storage_skew(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.storage_keys || of.storage_keys->distinct == 0)
        return out.no_evidence("sizes of logical partitions");
    const StorageKeys& keys = *of.storage_keys;
    if (keys.largest.empty() || of.bytes <= 0)
        return out.no_evidence("sizes of logical partitions");
    if (!keys.complete)
        return out.no_evidence(
            "sizes of all logical partitions: the walk over them is not done yet");
    const auto largest = static_cast<double>(keys.largest.front().bytes);
    const double share = largest / static_cast<double>(of.bytes);
    const bool heavy =
        largest > limits.skew_times_median * static_cast<double>(keys.median_bytes) &&
        share > limits.skew_share && keys.distinct > 1;
    if (!heavy && keys.gini <= limits.skew_gini) return;
    auto& finding = out.find(
        share > 0.5 ? Severity::kHigh : Severity::kMedium,
        fmt::format("The largest of {} partition key values, {}, holds {} of the data ({}); the "
                    "median holds {}.",
                    keys.distinct, keys.largest.front().key, percent(share), size_text(largest),
                    size_text(static_cast<double>(keys.median_bytes))));
    finding.fact("largestKeyBytes", largest, "bytes")
        .fact("medianKeyBytes", static_cast<double>(keys.median_bytes), "bytes")
        .fact("shareOfLargest", share)
        .fact("gini", keys.gini)
        .fact("distinctKeys", static_cast<double>(keys.distinct));
    if (keys.lorenz.size() == 11) {
        FindingChart chart{"lines",
                           "Share of the data in the smallest keys (Lorenz curve)",
                           "share",
                           {},
                           {{"data", keys.lorenz}, {"even", {}}}};
        for (int i = 0; i <= 10; ++i) {
            chart.labels.push_back(std::to_string(i * 10) + " %");
            chart.series[1].values.push_back(i / 10.0);
        }
        finding.chart = std::move(chart);
    } else {
        finding.chart = bars_of_sizes(keys);
    }
    finding.advise(
        "partitionKey",
        "Choose a key with more, more even values: a synthetic one, or a hierarchical one that "
        "continues below the large value.",
        deeper_key(of));
    finding.saving_note =
        "Avoids 403 (20 GB per key value), and RU/s of partitions that hold little become usable.";
}

void judge_throughput_skew(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.ranges.empty()) return out.no_evidence("use of physical partitions");
    if (of.ranges.size() == 1) return;
    size_t minutes = 0;
    for (const auto& range : of.ranges) minutes = std::max(minutes, range.minutes.size());
    if (minutes == 0) return out.no_evidence("use of physical partitions by minute");
    std::vector<double> used;
    double total = 0;
    for (const auto& range : of.ranges) {
        double sum = 0;
        for (const auto& minute : range.minutes) sum += minute.ru;
        used.push_back(sum);
        total += sum;
    }
    if (total <= 0) return out.no_evidence("charges in the last hour");
    const double mean = total / static_cast<double>(used.size());
    const auto hottest = static_cast<size_t>(
        std::distance(used.begin(), std::max_element(used.begin(), used.end())));
    // One partition at its limit while all others are idle, in one minute.
    bool pinned = false;
    for (size_t minute = 0; minute < of.ranges[hottest].minutes.size() && !pinned; ++minute) {
        const double share = of.ranges[hottest].provisioned_ru;
        if (share <= 0 || of.ranges[hottest].minutes[minute].peak_ru < share) continue;
        pinned = true;
        for (size_t i = 0; i < of.ranges.size(); ++i) {
            if (i == hottest || minute >= of.ranges[i].minutes.size()) continue;
            if (of.ranges[i].minutes[minute].peak_ru > 0.3 * of.ranges[i].provisioned_ru)
                pinned = false;
        }
    }
    const double times = used[hottest] / mean;
    if (times <= limits.hot_times_mean && !pinned) return;
    double provisioned = 0;
    for (const auto& range : of.ranges) provisioned += range.provisioned_ru;
    auto& finding = out.find(
        pinned ? Severity::kHigh : Severity::kMedium,
        fmt::format("Physical partition {} takes {:.1f} times the mean of the {} partitions in the "
                    "last hour{}.",
                    of.ranges[hottest].id, times, of.ranges.size(),
                    pinned ? " and reaches its limit while the others are below 30 %" : ""));
    finding.fact("hottestRu", used[hottest], "RU")
        .fact("meanRu", mean, "RU")
        .fact("maxOverMean", times)
        .fact("provisionedRuPerSecond", provisioned, "RU/s");
    FindingChart chart{"heat", "RU by physical partition and minute", "RU", {}, {}};
    for (size_t minute = 0; minute < minutes; ++minute)
        chart.labels.push_back(
            std::to_string(static_cast<int64_t>(minute) - static_cast<int64_t>(minutes)) + " min");
    for (const auto& range : of.ranges) {
        FindingChart::Series row{range.id, {}};
        for (const auto& minute : range.minutes) row.values.push_back(minute.ru);
        chart.series.push_back(std::move(row));
    }
    finding.chart = std::move(chart);
    std::string hot;
    if (of.keys && !of.keys->top.empty())
        hot = fmt::format(" The heaviest key value is {} with {} of the charge.",
                          of.keys->top.front().key,
                          percent(of.keys->top.front().weight / std::max(1.0, of.keys->total)));
    finding.advise(
        "partitionKey",
        "Spread the hot key value (a suffix, or a further key level), cache its reads, or give its "
        "partition more with a redistribution." +
            hot,
        deeper_key(of));
    finding.saves_throughput(
        of, (times - 1) * provisioned,
        "(max/mean - 1) x provisioned: what would have to be added for the hottest partition "
        "to have enough");
}

void judge_low_cardinality(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.storage_keys || of.storage_keys->distinct == 0)
        return out.no_evidence("partition key values");
    const StorageKeys& keys = *of.storage_keys;
    if (!keys.complete)
        return out.no_evidence("all partition key values: the walk over them is not done yet");
    const auto partitions = static_cast<double>(std::max<size_t>(1, of.ranges.size()));
    const double gb = static_cast<double>(of.bytes) / kGb;
    bool flags = !keys.largest.empty();
    for (const auto& key : keys.largest)
        flags = flags && (key.key == "[true]" || key.key == "[false]" || key.key == "[null]");
    const bool few_for_partitions =
        of.ranges.size() > 1 &&
        static_cast<double>(keys.distinct) < limits.keys_per_partition * partitions;
    const bool few_for_data = keys.distinct < limits.keys_min && gb > limits.keys_gb;
    // An enumeration: hardly any values for many items.
    const bool enumeration =
        keys.distinct <= 20 && of.items >= 1000 &&
        static_cast<double>(of.items) / static_cast<double>(keys.distinct) >= 100;
    if (!few_for_partitions && !few_for_data && !flags && !enumeration) return;
    auto& finding = out.find(
        flags || few_for_partitions ? Severity::kHigh : Severity::kMedium,
        fmt::format(
            "The partition key has {} different values for {} items on {} physical partition{}{}.",
            keys.distinct, of.items, of.ranges.size(), of.ranges.size() == 1 ? "" : "s",
            flags ? "; it is a flag" : ""));
    finding.fact("distinctKeys", static_cast<double>(keys.distinct))
        .fact("partitions", partitions)
        .fact("dataGb", gb, "GB")
        .fact("items", static_cast<double>(of.items));
    finding.chart = bars_of_sizes(keys);
    finding.advise("partitionKey",
                   "Combine the value with an id or a user; never partition by a status or a flag.",
                   deeper_key(of));
    finding.saving_note =
        "Each value is limited to 20 GB and 10,000 RU/s: more values, more room to grow.";
}

void judge_time_key(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.keys || of.keys->top.empty()) return out.no_evidence("charges by partition key value");
    if (of.keys->writes <= 0) return out.no_evidence("writes by partition key value");
    std::map<std::string, double, std::greater<>> writes;  // newest first
    double seen = 0;
    for (const auto& key : of.keys->top) {
        const std::string time = time_of_key(key.key);
        if (time.empty()) continue;
        writes[time] += key.writes;
        seen += key.writes;
    }
    if (seen < 0.5 * of.keys->writes || writes.empty()) return;
    double newest = 0;
    size_t counted = 0;
    for (const auto& [time, count] : writes) {
        if (++counted > 2) break;
        newest += count;
    }
    const double share = newest / of.keys->writes;
    if (share <= limits.newest_writes) return;
    auto& finding = out.find(
        Severity::kHigh,
        fmt::format("The partition key {} is a time, and {} of all writes go to its newest values.",
                    of.key_paths.empty() ? "" : of.key_paths[0], percent(share)));
    finding.fact("writesToNewest", newest).fact("writes", of.keys->writes).fact("share", share);
    FindingChart chart{"bars", "Writes by key value, newest first", "writes", {}, {{"writes", {}}}};
    for (const auto& [time, count] : writes) {
        if (chart.labels.size() == kChartBars) break;
        chart.labels.push_back(time);
        chart.series[0].values.push_back(count);
    }
    finding.chart = std::move(chart);
    std::vector<std::string> paths;
    for (const auto& one : key_proposals(of))
        if (one.distinct > 10) {
            paths.push_back(one.path);
            break;
        }
    if (paths.empty()) paths.emplace_back("/deviceId");
    if (!of.key_paths.empty()) paths.push_back(of.key_paths[0]);
    finding.advise("partitionKey",
                   "All writers meet in one partition at a time. Use what the data is about (a "
                   "device, a user), alone or "
                   "together with the period.",
                   key_definition(paths));
    double provisioned = 0;
    for (const auto& range : of.ranges) provisioned += range.provisioned_ru;
    const auto partitions = static_cast<double>(std::max<size_t>(1, of.ranges.size()));
    finding.saves_throughput(
        of, (partitions - 1) / partitions * provisioned,
        "The newest value can use one partition's share only; the rest lies idle while it is "
        "written.");
}

void judge_full_key(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.storage_keys || of.storage_keys->largest.empty())
        return out.no_evidence("sizes of logical partitions");
    for (const auto& key : of.storage_keys->largest) {
        const auto bytes = static_cast<double>(key.bytes);
        double per_day = 0;
        if (of.keys && of.keys->seconds > 0 &&
            of.keys->seconds >= limits.forecast_hours_seen * 3600)
            for (const auto& use : of.keys->top)
                if (use.key == key.key)
                    per_day = use.grown_bytes / of.keys->seconds * kSecondsPerDay;
        const double days =
            per_day > 0 ? std::max(0.0, kLogicalPartitionBytes - bytes) / per_day : -1;
        const bool full = bytes >= limits.key_full_share * kLogicalPartitionBytes;
        const bool soon = days >= 0 && days < limits.forecast_days;
        if (!full && !soon) continue;
        auto& finding = out.find(
            full && bytes >= 0.9 * kLogicalPartitionBytes ? Severity::kCritical : Severity::kHigh,
            fmt::format(
                "The partition key value {} holds {} of the 20 GB that one value may have{}.",
                key.key, size_text(bytes),
                days >= 0 ? fmt::format("; at {} a day it is full in {:.0f} days",
                                        size_text(per_day), days)
                          : std::string()));
        finding.fact("bytes", bytes, "bytes")
            .fact("grownBytesPerDay", per_day, "bytes")
            .fact("daysLeft", days, "days");
        if (days >= 0) {
            FindingChart chart{
                "lines", "Size of " + key.key, "bytes", {}, {{"forecast", {}}, {"limit", {}}}};
            for (int step = 0; step <= 9; ++step) {
                const double day = limits.forecast_days * step / 9;
                chart.labels.push_back(fmt::format("+{:.0f} d", day));
                chart.series[0].values.push_back(bytes + per_day * day);
                chart.series[1].values.push_back(kLogicalPartitionBytes);
            }
            finding.chart = std::move(chart);
        }
        std::vector<std::string> paths = of.key_paths;
        if (paths.size() >= 3) paths.resize(2);
        paths.emplace_back("/id");
        finding.advise("partitionKey",
                       "A hierarchical key that ends in the id has no such limit for its first "
                       "levels; or let old items "
                       "expire (defaultTtl).",
                       key_definition(paths));
        finding.saving_note =
            "Prevents an outage: creates in a full logical partition fail with 403/1014.";
    }
}

}  // namespace orrery::lab
