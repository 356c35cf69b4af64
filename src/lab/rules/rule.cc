#include "lab/rules/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/errors.h"
#include "lab/described.h"
#include "lab/rules/judges.h"
#include "meter/charge.h"
#include "query/parse/lexer.h"

namespace orrery::lab {
namespace {

constexpr std::array<Rule, 37> kRules = {{
    {1, "storage-skew", "Storage skew", judge_storage_skew},
    {2, "throughput-skew", "Throughput skew", judge_throughput_skew},
    {3, "low-cardinality", "Low cardinality of the partition key", judge_low_cardinality},
    {4, "time-based-key", "Partition key based on time", judge_time_key},
    {5, "key-near-20-gb", "Logical partition close to 20 GB", judge_full_key},
    {6, "whale-tenant", "One tenant dominates", judge_whale},
    {7, "weak-hierarchy", "Weak levels of a hierarchical key", judge_weak_hierarchy},
    {8, "fan-out-query", "Fan-out query", judge_fan_out},
    {9, "query-instead-of-point-read", "Query that should be a point read", judge_point_query},
    {10, "meaningless-id", "The id does not identify", judge_meaningless_id},
    {11, "unbounded-array", "Unbounded array", judge_unbounded_array},
    {12, "large-hot-item", "Large item with small changes", judge_large_hot_item},
    {13, "near-2-mb", "Item close to 2 MB", judge_near_limit},
    {14, "binary-blob", "Binary data inside items", judge_blob},
    {15, "unused-index", "Indexed paths that no query uses", judge_unused_index},
    {16, "missing-index", "Missing index", judge_missing_index},
    {17, "missing-composite-index", "Missing composite index", judge_missing_composite},
    {18, "scan-function", "Function that no index serves", judge_scan_function},
    {19, "chatty-reads", "Chatty reads", judge_chatty},
    {20, "denormalise", "Reference that is read every time", judge_denormalise},
    {21, "second-access-path", "Second access path", judge_second_path},
    {22, "select-star-waste", "More returned than needed", judge_select_star},
    {23, "feed-dilution", "Change feed mostly discarded", judge_feed_dilution},
    {24, "small-pages", "Small pages", judge_small_pages},
    {25, "strong-not-needed", "Stronger consistency than needed", judge_strong},
    {26, "over-provisioned", "Over-provisioned", judge_over_provisioned},
    {27, "under-provisioned", "Under-provisioned", judge_under_provisioned},
    {28, "autoscale-misuse", "Autoscale under steady load", judge_autoscale},
    {29, "crowded-shared-database", "Too many containers share throughput", judge_shared},
    {30, "container-per-type", "One container per type", judge_container_per_type},
    {31, "fragmented-partitions", "Fragmented partitions", judge_fragmented},
    {32, "uneven-split", "Uneven split ahead", judge_uneven_split},
    {33, "idle-container", "Idle container", judge_idle},
    {34, "no-expiry", "Data without expiry", judge_no_expiry},
    {35, "contended-item", "Contended item", judge_contended},
    {36, "specific-key-name", "Specific partition key name", judge_key_name},
    {37, "cross-key-transaction", "Transaction across keys", judge_cross_key},
}};

template <typename V>
void describe_thresholds(V& v, Thresholds& t) {
    v.field("skewTimesMedian", t.skew_times_median);
    v.field("skewShare", t.skew_share);
    v.field("skewGini", t.skew_gini);
    v.field("hotTimesMean", t.hot_times_mean);
    v.field("keysPerPartition", t.keys_per_partition);
    v.field("keysMin", t.keys_min);
    v.field("keysGb", t.keys_gb);
    v.field("newestWrites", t.newest_writes);
    v.field("keyFullShare", t.key_full_share);
    v.field("forecastDays", t.forecast_days);
    v.field("forecastHoursSeen", t.forecast_hours_seen);
    v.field("whaleShare", t.whale_share);
    v.field("whaleTimesP95", t.whale_times_p95);
    v.field("secondLevelShare", t.second_level_share);
    v.field("fanOutRunsPerHour", t.fan_out_runs_per_hour);
    v.field("fanOutRuShare", t.fan_out_ru_share);
    v.field("aloneShare", t.alone_share);
    v.field("arrayP99", t.array_p99);
    v.field("arrayShare", t.array_share);
    v.field("hotItemBytes", t.hot_item_bytes);
    v.field("hotItemWritesPerDay", t.hot_item_writes_per_day);
    v.field("hotItemChanged", t.hot_item_changed);
    v.field("largeItemBytes", t.large_item_bytes);
    v.field("blobBytes", t.blob_bytes);
    v.field("unusedIndexDays", t.unused_index_days);
    v.field("indexedPaths", t.indexed_paths);
    v.field("retrievedTimesOutput", t.retrieved_times_output);
    v.field("compositeRu", t.composite_ru);
    v.field("readWriteRatio", t.read_write_ratio);
    v.field("accessPathShare", t.access_path_share);
    v.field("resultTimesUsed", t.result_times_used);
    v.field("resultBytes", t.result_bytes);
    v.field("discarded", t.discarded);
    v.field("smallPages", t.small_pages);
    v.field("strongReadShare", t.strong_read_share);
    v.field("idleNormalized", t.idle_normalized);
    v.field("throughputDays", t.throughput_days);
    v.field("throttledShare", t.throttled_share);
    v.field("autoscalePeak", t.autoscale_peak);
    v.field("sharedContainers", t.shared_containers);
    v.field("containersPerKey", t.containers_per_key);
    v.field("mergeRu", t.merge_ru);
    v.field("mergeGb", t.merge_gb);
    v.field("idleDays", t.idle_days);
    v.field("newestReads", t.newest_reads);
    v.field("conflicts", t.conflicts);
}

}  // namespace

template <typename V>
void describe(V& v, Thresholds& t) {
    describe_thresholds(v, t);
}

Result<Thresholds> read_thresholds(const json::Value& object) {
    if (!object.is_object()) return errors::bad_request("Thresholds must be a JSON object.");
    return read_described<Thresholds>(object);
}

std::string_view severity_name(Severity severity) {
    switch (severity) {
        case Severity::kInfo:
            return "info";
        case Severity::kLow:
            return "low";
        case Severity::kMedium:
            return "medium";
        case Severity::kHigh:
            return "high";
        case Severity::kCritical:
            return "critical";
    }
    return "info";
}

std::optional<Severity> parse_severity(std::string_view name) {
    for (const auto severity :
         {Severity::kInfo, Severity::kLow, Severity::kMedium, Severity::kHigh, Severity::kCritical})
        if (severity_name(severity) == name) return severity;
    return std::nullopt;
}

Finding& Finding::fact(std::string name, double value, std::string unit) {
    facts.push_back({std::move(name), value, std::move(unit)});
    return *this;
}

Finding& Finding::advise(std::string kind, std::string text, std::string json, std::string query) {
    change = {std::move(kind), std::move(text), std::move(json), std::move(query)};
    return *this;
}

Finding& Finding::saves(const Observation& of, double observed_ru, std::string note) {
    const double month = std::max(0.0, of.per_month(observed_ru));
    saved_ru_month = std::llround(month);
    saved_month = worth_of_ru(of, month);
    saving_note = std::move(note);
    return *this;
}

Finding& Finding::saves_throughput(const Observation& of, double ru_per_second, std::string note) {
    const double month = std::max(0.0, ru_per_second) * kSecondsPerMonth;
    saved_ru_month = std::llround(month);
    saved_month = worth_of_ru(of, month);
    saving_note = std::move(note);
    return *this;
}

Finding& Judgement::find(Severity severity, std::string summary) {
    Finding finding;
    finding.rule = rule;
    finding.severity = severity;
    finding.summary = std::move(summary);
    findings.push_back(std::move(finding));
    return findings.back();
}

std::span<const Rule> all_rules() {
    return kRules;
}

const Rule& rule_of(int number) {
    CHECK(number >= 1 && number <= static_cast<int>(kRules.size()));
    return kRules[static_cast<size_t>(number - 1)];
}

std::vector<Judgement> judge_all(const Observation& of, const Thresholds& limits) {
    std::vector<Judgement> out;
    for (const Rule& rule : kRules) {
        Judgement judgement;
        judgement.rule = rule.number;
        rule.judge(of, limits, judgement);
        out.push_back(std::move(judgement));
    }
    return out;
}

double read_ru(double bytes) {
    return meter::ru_value(meter::point_read(static_cast<uint64_t>(std::max(0.0, bytes))));
}

double write_ru(double bytes, double terms) {
    return meter::ru_value(meter::create(static_cast<uint64_t>(std::max(0.0, bytes)), 0)) +
           terms * kTermRu;
}

std::string query_path(std::string_view alias, std::string_view path) {
    std::string out(alias);
    size_t at = 0;
    while (at < path.size()) {
        const size_t end = std::min(path.find('/', at + 1), path.size());
        const auto name = path.substr(at + 1, end - at - 1);
        if (query::is_plain_identifier(name)) {
            out += '.';
            out += name;
        } else {
            out += "[";
            json::write_string(out, name);
            out += "]";
        }
        at = end;
    }
    return out;
}

std::string percent(double share) {
    return fmt::format("{:.{}f} %", share * 100, share < 0.1 ? 1 : 0);
}

std::string size_text(double bytes) {
    constexpr std::array<const char*, 5> kUnits = {"bytes", "KB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < kUnits.size()) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace orrery::lab
