#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "lab/rules/cost.h"
#include "lab/rules/observation.h"

/// The design rules (docs/lab-rules.md): each is a pure function from an observation to findings.
namespace orrery::lab {

enum class Severity : uint8_t { kInfo, kLow, kMedium, kHigh, kCritical };
std::string_view severity_name(Severity severity);
std::optional<Severity> parse_severity(std::string_view name);

/// Defaults are those of docs/lab-rules.md; a caller may set others.
struct Thresholds {
    double skew_times_median = 10;
    double skew_share = 0.05;
    double skew_gini = 0.8;
    double hot_times_mean = 2;
    double keys_per_partition = 10;
    int64_t keys_min = 1000;
    double keys_gb = 10;
    double newest_writes = 0.8;
    double key_full_share = 0.7;
    double forecast_days = 90;
    double forecast_hours_seen = 1;  ///< growth over less than this says nothing about months
    double whale_share = 0.2;
    double whale_times_p95 = 10;
    double second_level_share = 0.5;
    double fan_out_runs_per_hour = 100;
    double fan_out_ru_share = 0.05;
    double alone_share = 0.5;
    int64_t array_p99 = 1000;
    double array_share = 0.5;
    int64_t hot_item_bytes = 8 << 10;
    double hot_item_writes_per_day = 10;
    double hot_item_changed = 0.2;
    int64_t large_item_bytes = 1536 << 10;
    int64_t blob_bytes = 32 << 10;
    double unused_index_days = 7;
    int64_t indexed_paths = 50;
    double retrieved_times_output = 10;
    double composite_ru = 10;
    double read_write_ratio = 10;
    double access_path_share = 0.3;
    double result_times_used = 5;
    int64_t result_bytes = 100 << 10;
    double discarded = 0.9;
    double small_pages = 5;
    double strong_read_share = 0.9;
    double idle_normalized = 0.4;
    double throughput_days = 7;
    double throttled_share = 0.05;
    double autoscale_peak = 0.66;
    int64_t shared_containers = 25;
    int64_t containers_per_key = 3;
    double merge_ru = 3000;
    double merge_gb = 20;
    double idle_days = 30;
    double newest_reads = 0.95;
    double conflicts = 0.01;
};
/// Members that are absent keep their defaults; a bad request for one that does not exist or is no
/// number.
Result<Thresholds> read_thresholds(const json::Value& object);

/// A number that a finding rests on.
struct Fact {
    std::string name;
    double value = 0;
    std::string unit;
};

/// A chart of the evidence. Values are by series, then by label.
struct FindingChart {
    std::string kind;  ///< bars, lines, heat
    std::string title;
    std::string unit;
    std::vector<std::string> labels;
    struct Series {
        std::string name;
        std::vector<double> values;
    };
    std::vector<Series> series;
};

/// What to do, as concretely as the observation allows.
struct Change {
    std::string
        kind;  ///< partitionKey, indexingPolicy, query, item, throughput, account, container
    std::string text;
    std::string json;   ///< a policy or definition to paste; empty: none
    std::string query;  ///< a query to use instead; empty: none
};

struct Finding {
    int rule = 0;
    Severity severity = Severity::kInfo;
    std::string summary;
    std::vector<Fact> facts;
    std::optional<FindingChart> chart;
    Change change;
    int64_t saved_ru_month = 0;
    MicroDollars saved_month = 0;
    std::string saving_note;  ///< the saving in words if it is not money, or how it was computed

    Finding& fact(std::string name, double value, std::string unit = {});
    Finding& advise(std::string kind, std::string text, std::string json = {},
                    std::string query = {});
    /// RU of the observed time, brought to a month and to money.
    Finding& saves(const Observation& of, double observed_ru, std::string note = {});
    /// RU/s that need not be provisioned.
    Finding& saves_throughput(const Observation& of, double ru_per_second, std::string note = {});
};

/// What one rule says about one observation.
struct Judgement {
    enum class State : uint8_t { kFound, kQuiet, kNoEvidence };
    State state() const {
        return !findings.empty() ? State::kFound : why.empty() ? State::kQuiet : State::kNoEvidence;
    }
    int rule = 0;
    std::string why;  ///< what was not seen
    std::vector<Finding> findings;

    void no_evidence(std::string what) { why = std::move(what); }
    Finding& find(Severity severity, std::string summary);
};

struct Rule {
    int number;
    std::string_view name;   ///< for machines: "fan-out-query"
    std::string_view title;  ///< for people
    void (*judge)(const Observation& of, const Thresholds& limits, Judgement& out);
};
std::span<const Rule> all_rules();
const Rule& rule_of(int number);

std::vector<Judgement> judge_all(const Observation& of, const Thresholds& limits);

// Figures that several rules use.

/// RU of a point read, and of a create with so many terms.
double read_ru(double bytes);
double write_ru(double bytes, double terms = 0);
/// Of one physical partition's part in a query that finds nothing: 2.25 + 0.54.
inline constexpr double kQueryPartitionRu = 2.79;
inline constexpr double kTermRu = 4.0 / 21.0;
/// "/a/b" as query text: c.a.b
std::string query_path(std::string_view alias, std::string_view path);
std::string percent(double share);
std::string size_text(double bytes);

}  // namespace orrery::lab
