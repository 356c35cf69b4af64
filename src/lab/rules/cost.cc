#include "lab/rules/cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/errors.h"
#include "lab/described.h"

namespace orrery::lab {
namespace {

constexpr int64_t kManualMin = 400;
constexpr int64_t kAutoscaleMin = 1000;
constexpr int64_t kFreeRu = 1000;
constexpr int64_t kFreeMb = 25 << 10;
constexpr int64_t kServerlessPartitionRu = 5000;

int64_t round_up(int64_t value, int64_t step) {
    return (value + step - 1) / step * step;
}

/// What a reservation takes off, in tenths of a percent, by the RU/s that come before
/// (docs/lab-rules.md).
struct Tier {
    int64_t ru;              ///< of this tier; the last has no end
    std::array<int, 4> off;  ///< 1 y single, 1 y multi, 3 y single, 3 y multi
};
constexpr std::array<Tier, 4> kTiers = {{
    {100'000, {200, 250, 300, 350}},
    {400'000, {250, 300, 350, 400}},
    {2'500'000, {300, 350, 450, 500}},
    {INT64_MAX, {450, 500, 600, 650}},
}};

int64_t gb_of(int64_t mb) {
    return (mb + 1023) / 1024;
}

}  // namespace

MicroDollars manual_cost(int64_t ru, int64_t hours, int64_t regions, bool multi_write,
                         bool zone_redundant) {
    const MicroDollars plain = ru * hours * regions * (multi_write ? kMultiWriteHour : kManualHour);
    return zone_redundant && !multi_write ? plain * 5 / 4 : plain;
}

MicroDollars autoscale_cost(int64_t ru_max, const std::vector<int64_t>& peaks, int64_t regions,
                            bool multi_write) {
    MicroDollars sum = 0;
    for (const int64_t peak : peaks)
        sum += std::clamp(peak, ru_max / 10, ru_max) * regions *
               (multi_write ? kMultiWriteHour : kAutoscaleHour);
    return sum;
}

MicroDollars serverless_cost(int64_t ru) {
    return ru / kServerlessRuPerMicroDollar;
}

MicroDollars storage_cost(int64_t storage_mb, int64_t regions) {
    return storage_mb * kStorageGbMonth / 1024 * regions;
}

MicroDollars reserved_cost(int64_t ru, int64_t hours, int64_t regions, bool multi_write,
                           int years) {
    const size_t column = (years == 3 ? 2U : 0U) + (multi_write ? 1U : 0U);
    // A reservation covers the account: all regions' RU/s count together.
    int64_t left = ru * regions;
    MicroDollars sum = 0;
    for (const Tier& tier : kTiers) {
        const int64_t part = std::min(left, tier.ru);
        sum += part * hours * (multi_write ? kMultiWriteHour : kManualHour) *
               (1000 - tier.off[column]) / 1000;
        left -= part;
        if (left == 0) break;
    }
    return sum;
}

CostComparison compare_costs(const CostInput& input) {
    CostComparison out;
    out.input = input;
    const int64_t gb = gb_of(input.storage_mb);
    const int64_t billed_mb =
        std::max<int64_t>(0, input.storage_mb - (input.free_tier ? kFreeMb : 0));
    const MicroDollars storage = storage_cost(billed_mb, input.regions);
    const MicroDollars backup =
        input.backup == Backup::kContinuous30
            ? input.storage_mb * kContinuousBackup30GbMonth / 1024 * input.regions
            : 0;
    const auto add = [&](std::string name, int64_t ru, MicroDollars throughput) -> CostOption& {
        out.options.push_back({std::move(name), true, {}, ru, throughput, storage, backup});
        return out.options.back();
    };
    const int64_t free_ru = input.free_tier ? kFreeRu : 0;
    const int64_t manual = std::max({kManualMin, gb, round_up(input.peak_ru_per_second, 100)});
    const int64_t manual_billed = std::max<int64_t>(0, manual - free_ru);
    add("manual", manual,
        manual_cost(manual_billed, kHoursPerMonth, input.regions, input.multi_region_writes,
                    input.zone_redundant));
    const int64_t top = std::max(
        {kAutoscaleMin, round_up(gb * 10, 1000), round_up(input.peak_ru_per_second, 1000)});
    std::vector<int64_t> peaks = input.hourly_peaks;
    if (peaks.empty()) peaks.push_back(input.peak_ru_per_second * input.hourly_peak_percent / 100);
    // The free RU/s are taken from each hour.
    MicroDollars autoscale = autoscale_cost(top, peaks, input.regions, input.multi_region_writes);
    autoscale -=
        std::min(autoscale, free_ru * static_cast<int64_t>(peaks.size()) * input.regions *
                                (input.multi_region_writes ? kMultiWriteHour : kAutoscaleHour));
    add("autoscale", top, autoscale * kHoursPerMonth / static_cast<int64_t>(peaks.size()));
    CostOption& serverless = add("serverless", 0, serverless_cost(input.ru_per_month));
    const int64_t serverless_ru = kServerlessPartitionRu * std::max<int64_t>(1, (gb + 49) / 50);
    if (input.regions > 1) {
        serverless.possible = false;
        serverless.why_not = "serverless accounts have one region";
    } else if (input.peak_ru_per_second > serverless_ru) {
        serverless.possible = false;
        serverless.why_not = "the peak of " + std::to_string(input.peak_ru_per_second) +
                             " RU/s is above the " + std::to_string(serverless_ru) +
                             " RU/s that its physical partitions give";
    }
    add("reserved1y", manual,
        reserved_cost(manual_billed, kHoursPerMonth, input.regions, input.multi_region_writes, 1));
    add("reserved3y", manual,
        reserved_cost(manual_billed, kHoursPerMonth, input.regions, input.multi_region_writes, 3));
    MicroDollars dearest = 0;
    for (size_t i = 0; i < out.options.size(); ++i) {
        if (!out.options[i].possible) continue;
        dearest = std::max(dearest, out.options[i].total());
        if (out.options[i].total() < out.options[out.cheapest].total()) out.cheapest = i;
    }
    out.saves = dearest - out.options[out.cheapest].total();
    return out;
}

Result<CostInput> measured_cost_input(const Observation& observation) {
    if (observation.hours.empty())
        return errors::bad_request("No traffic of the container '" + observation.container +
                                   "' has been recorded yet; send requests, or fill in the form.");
    CostInput input;
    double used = 0;
    for (const auto& hour : observation.hours) {
        const auto peak = static_cast<int64_t>(std::ceil(hour.peak_ru));
        input.hourly_peaks.push_back(peak);
        input.peak_ru_per_second = std::max(input.peak_ru_per_second, peak);
        used += hour.ru;
    }
    input.ru_per_month = static_cast<int64_t>(std::llround(observation.per_month(used)));
    input.storage_mb = (observation.bytes + (1 << 20) - 1) >> 20;
    input.regions = observation.regions;
    input.multi_region_writes = observation.multi_region_writes;
    return input;
}

Result<CostInput> read_cost_input(const json::Value& form) {
    CostInput input;
    const auto number = [&](std::string_view name, int64_t& into, int64_t min,
                            int64_t max) -> Status {
        const json::Value value = form.member(name);
        if (value.is_undefined()) return {};
        if (!value.is_number() || value.as_double() < static_cast<double>(min) ||
            value.as_double() > static_cast<double>(max))
            return Status(errors::bad_request("'" + std::string(name) + "' must be a number from " +
                                              std::to_string(min) + " to " + std::to_string(max) +
                                              "."));
        into = static_cast<int64_t>(std::ceil(value.as_double()));
        return {};
    };
    const auto flag = [&](std::string_view name, bool& into) -> Status {
        const json::Value value = form.member(name);
        if (value.is_undefined()) return {};
        if (!value.is_bool())
            return Status(
                errors::bad_request("'" + std::string(name) + "' must be true or false."));
        into = value.as_bool();
        return {};
    };
    if (!form.is_object()) return errors::bad_request("The body must be a JSON object.");
    TRY_STATUS(number("peakRuPerSecond", input.peak_ru_per_second, 0, 100'000'000));
    TRY_STATUS(number("ruPerMonth", input.ru_per_month, 0, 4'000'000'000'000'000));
    TRY_STATUS(number("hourlyPeakPercent", input.hourly_peak_percent, 0, 100));
    TRY_STATUS(number("storageMb", input.storage_mb, 0, 1'000'000'000'000));
    TRY_STATUS(number("regions", input.regions, 1, 100));
    TRY_STATUS(flag("multiRegionWrites", input.multi_region_writes));
    TRY_STATUS(flag("zoneRedundant", input.zone_redundant));
    TRY_STATUS(flag("freeTier", input.free_tier));
    if (const json::Value backup = form.member("backup"); !backup.is_undefined()) {
        const std::string_view name = backup.is_string() ? backup.as_string() : "";
        if (name == "periodic")
            input.backup = Backup::kPeriodic;
        else if (name == "continuous7")
            input.backup = Backup::kContinuous7;
        else if (name == "continuous30")
            input.backup = Backup::kContinuous30;
        else
            return errors::bad_request(
                "'backup' must be \"periodic\", \"continuous7\" or \"continuous30\".");
    }
    return input;
}

std::string cost_json(const CostComparison& comparison) {
    JsonText out;
    const CostInput& input = comparison.input;
    out.begin_object().name("input").begin_object();
    out.member("peakRuPerSecond", input.peak_ru_per_second)
        .member("ruPerMonth", input.ru_per_month);
    out.member("hourlyPeakPercent", input.hourly_peak_percent).name("hourlyPeaks").begin_array();
    for (const int64_t peak : input.hourly_peaks) out.value(peak);
    out.end_array().member("storageMb", input.storage_mb).member("regions", input.regions);
    out.member("multiRegionWrites", input.multi_region_writes)
        .member("zoneRedundant", input.zone_redundant);
    out.member("freeTier", input.free_tier);
    out.member("backup", input.backup == Backup::kPeriodic      ? "periodic"
                         : input.backup == Backup::kContinuous7 ? "continuous7"
                                                                : "continuous30");
    out.end_object().name("options").begin_array();
    for (const CostOption& option : comparison.options) {
        out.begin_object().member("name", option.name).member("possible", option.possible);
        if (!option.possible) out.member("whyNot", option.why_not);
        out.member("throughputRu", option.throughput_ru);
        out.member("throughputMicroDollars", option.throughput);
        out.member("storageMicroDollars", option.storage);
        out.member("backupMicroDollars", option.backup);
        out.member("totalMicroDollars", option.total()).end_object();
    }
    out.end_array().member("cheapest", comparison.options[comparison.cheapest].name);
    out.member("savesMicroDollars", comparison.saves).end_object();
    return out.take();
}

std::string dollars(MicroDollars amount) {
    const bool negative = amount < 0;
    const int64_t cents = (std::abs(amount) + 5000) / 10'000;
    std::string whole = std::to_string(cents / 100);
    for (int at = static_cast<int>(whole.size()) - 3; at > 0; at -= 3)
        whole.insert(static_cast<size_t>(at), ",");
    const std::string rest = std::to_string(cents % 100);
    return (negative ? "-$" : "$") + whole + "." + (rest.size() < 2 ? "0" : "") + rest;
}

MicroDollars worth_of_ru(const Observation& observation, double ru) {
    const std::string_view mode =
        observation.throughput ? std::string_view(observation.throughput->mode) : "manual";
    if (mode == "serverless") return std::llround(ru / kServerlessRuPerMicroDollar);
    const double hour = static_cast<double>(observation.multi_region_writes ? kMultiWriteHour
                                            : mode == "autoscale"           ? kAutoscaleHour
                                                                            : kManualHour);
    // A saved RU is worth what it costs to provision it at an even rate.
    return std::llround(ru / 3600 * hour * static_cast<double>(observation.regions));
}

}  // namespace orrery::lab
