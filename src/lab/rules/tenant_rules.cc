// Rules 6 and 7: tenants that outgrow the others, and hierarchical keys.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "json/parse.h"
#include "json/write.h"
#include "lab/rules/judges.h"
#include "lab/rules/key_advice.h"

namespace orrery::lab {
namespace {

std::string first_level(std::string_view key) {
    json::Arena arena;
    const auto parsed = json::parse(key, arena);
    if (!parsed.ok() || !parsed->is_array() || parsed->elements().empty()) return std::string(key);
    return json::to_text(parsed->elements().front());
}

}  // namespace

void judge_whale(const Observation& of, const Thresholds& limits, Judgement& out) {
    if ((!of.keys || of.keys->top.empty()) &&
        (!of.storage_keys || of.storage_keys->largest.empty()))
        return out.no_evidence("use or sizes by partition key value");
    struct Tenant {
        double ru = 0;
        double bytes = 0;
    };
    std::map<std::string, Tenant> tenants;
    if (of.keys)
        for (const auto& key : of.keys->top)
            tenants[first_level(key.key)].ru += key.weight - key.error;
    if (of.storage_keys)
        for (const auto& key : of.storage_keys->largest)
            tenants[first_level(key.key)].bytes += static_cast<double>(key.bytes);
    // With so few tenants, a fifth of the total is not dominant.
    constexpr size_t kTenantsMin = 10;
    if (tenants.size() < kTenantsMin) return;
    const auto p95 = [&](double Tenant::*member) {
        std::vector<double> values;
        for (const auto& [name, tenant] : tenants) values.push_back(tenant.*member);
        std::sort(values.begin(), values.end());
        // Leave the largest out: it must not be compared with itself.
        return values[static_cast<size_t>(static_cast<double>(values.size() - 2) * 0.95)];
    };
    const double ru_p95 = p95(&Tenant::ru);
    const double bytes_p95 = p95(&Tenant::bytes);
    // Requests that name no key are part of the whole, too, as far as the same time is concerned.
    double ru_total = of.keys ? of.keys->total : 0;
    if (of.keys && of.observed_seconds <= of.keys->seconds * 1.01)
        ru_total = std::max(ru_total, of.total_ru());
    const auto bytes_total = static_cast<double>(of.bytes);
    for (const auto& [name, tenant] : tenants) {
        const double ru_share = ru_total > 0 ? tenant.ru / ru_total : 0;
        const double bytes_share = bytes_total > 0 ? tenant.bytes / bytes_total : 0;
        const bool by_ru =
            ru_share > limits.whale_share && tenant.ru > limits.whale_times_p95 * ru_p95;
        const bool by_bytes =
            bytes_share > limits.whale_share && tenant.bytes > limits.whale_times_p95 * bytes_p95;
        if (!by_ru && !by_bytes) continue;
        auto& finding = out.find(
            Severity::kHigh,
            fmt::format("{} takes {} of the charge and {} of the data, more than {:.0f} times "
                        "what 95 % of the others take.",
                        name, percent(ru_share), percent(bytes_share), limits.whale_times_p95));
        finding.fact("shareOfRu", ru_share)
            .fact("shareOfBytes", bytes_share)
            .fact("ru", tenant.ru, "RU")
            .fact("p95Ru", ru_p95, "RU")
            .fact("bytes", tenant.bytes, "bytes")
            .fact("p95Bytes", bytes_p95, "bytes");
        FindingChart chart{"bars", "Tenants by charge", "RU", {}, {{"RU", {}}}};
        std::vector<std::pair<double, std::string>> ranked;
        for (const auto& [other, use] : tenants)
            ranked.emplace_back(by_ru ? use.ru : use.bytes, other);
        std::sort(ranked.rbegin(), ranked.rend());
        if (!by_ru) {
            chart.title = "Tenants by size";
            chart.unit = "bytes";
        }
        for (const auto& [value, label] : ranked) {
            if (chart.labels.size() == kChartBars) break;
            chart.labels.push_back(label);
            chart.series[0].values.push_back(value);
        }
        finding.chart = std::move(chart);
        finding.advise("partitionKey",
                       "Give tenants a hierarchy (tenant, then user or id), so that a large one "
                       "spreads over partitions; "
                       "or give this one a container of its own.",
                       deeper_key(of));
        finding.saving_note =
            "Fewer 429s for the others, and the large tenant can grow beyond one partition.";
    }
}

void judge_weak_hierarchy(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.key_paths.size() < 2) return;
    if (!of.storage_keys || of.storage_keys->level_distinct.size() < 2)
        return out.no_evidence("different values of each key level");
    const StorageKeys& keys = *of.storage_keys;
    if (!keys.complete)
        return out.no_evidence("all key values: the walk over them is not done yet");
    const auto partitions = static_cast<double>(std::max<size_t>(1, of.ranges.size()));
    const auto first = static_cast<double>(keys.level_distinct[0]);
    const bool few = of.ranges.size() > 1 && first < limits.keys_per_partition * partitions;
    const bool lopsided =
        keys.second_level_share > limits.second_level_share && keys.level_distinct[1] > 10;
    if (!few && !lopsided) return;
    auto& finding =
        out.find(Severity::kMedium,
                 few ? fmt::format("The first key level {} has {} values for {} physical "
                                   "partitions: prefixes stay together "
                                   "until they are split.",
                                   of.key_paths[0], keys.level_distinct[0], of.ranges.size())
                     : fmt::format("One value of the second key level {} holds {} of the data.",
                                   of.key_paths[1], percent(keys.second_level_share)));
    finding.fact("firstLevelDistinct", first)
        .fact("secondLevelShare", keys.second_level_share)
        .fact("partitions", partitions);
    FindingChart chart{
        "bars", "Different values by number of key levels", "values", {}, {{"values", {}}}};
    for (size_t i = 0; i < keys.level_distinct.size(); ++i) {
        std::string label;
        for (size_t level = 0; level <= i; ++level) label += of.key_paths[level];
        chart.labels.push_back(label);
        chart.series[0].values.push_back(static_cast<double>(keys.level_distinct[i]));
    }
    finding.chart = std::move(chart);
    std::vector<std::string> paths = of.key_paths;
    if (few) std::swap(paths[0], paths[1]);
    if (!few && paths.size() < 3) paths[1] = "/id";
    finding.advise("partitionKey",
                   few ? "Put the level with more values first."
                       : "Choose a second level with more even values.",
                   key_definition(paths));
    finding.saving_note = "Ingest scales with the number of first-level values.";
}

}  // namespace orrery::lab
