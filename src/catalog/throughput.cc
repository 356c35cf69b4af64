#include "catalog/throughput.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/limits.h"
#include "base/throughput_errors.h"
#include "catalog/autoscale_settings.h"
#include "catalog/names.h"

namespace orrery::catalog {
namespace {

constexpr int64_t kFixedThroughputMax = 10'000;
constexpr int64_t kManualPerPartition = 6'000;
constexpr int64_t kAutoscalePerPartition = 10'000;
constexpr int64_t kFreeContainers = limits::kSharedDatabaseContainersMax;

int64_t ceil_div(int64_t value, int64_t step) {
    return (value + step - 1) / step;
}
int64_t round_up(int64_t value, int64_t step) {
    return ceil_div(value, step) * step;
}

Status check_manual(int64_t value) {
    if (value < limits::kThroughputMin || value > limits::kThroughputMax ||
        value % limits::kThroughputStep != 0)
        return Status(errors::bad_request(fmt::format(
            "The offer should have valid throughput values between {} and {} inclusive in "
            "increments of {}; {} is not.",
            limits::kThroughputMin, limits::kThroughputMax, limits::kThroughputStep, value)));
    return {};
}

Status check_autoscale(int64_t value) {
    if (value < limits::kAutoscaleMin || value > limits::kThroughputMax ||
        value % limits::kAutoscaleStep != 0)
        return Status(errors::bad_request(fmt::format(
            "The autoscale maximum throughput must be between {} and {} in increments of {}; "
            "{} is not.",
            limits::kAutoscaleMin, limits::kThroughputMax, limits::kAutoscaleStep, value)));
    return {};
}

std::string_view without_slashes(std::string_view link) {
    while (!link.empty() && link.front() == '/') link.remove_prefix(1);
    while (!link.empty() && link.back() == '/') link.remove_suffix(1);
    return link;
}

/// A body that speaks of another offer or resource is a mistake of the caller.
Status check_identity(const json::Value& body, const Offer& stored) {
    const auto differs = [&](std::string_view name, std::string_view expected) {
        const json::Value given = body.member(name);
        return !is_absent(given) && (!given.is_string() || without_slashes(given.as_string()) !=
                                                               without_slashes(expected));
    };
    for (std::string_view name : {"id", "_rid"})
        if (differs(name, stored.rid))
            return Status(bad_offer_member(name, fmt::format("'{}'", stored.rid)));
    if (differs("offerResourceId", stored.resource_rid))
        return Status(
            bad_offer_member("offerResourceId", fmt::format("'{}'", stored.resource_rid)));
    if (differs("resource", stored.resource))
        return Status(bad_offer_member("resource", fmt::format("'{}'", stored.resource)));
    if (differs("offerVersion", "V2")) return Status(bad_offer_member("offerVersion", "'V2'"));
    return {};
}

Status read_autopilot(const json::Value& settings, const Offer& stored, ThroughputRequest& out) {
    TRY(const AutoscaleSettings read,
        read_autoscale_settings(settings, "content.offerAutopilotSettings"));
    out.autoscale_max = read.max ? read.max : stored.autoscale_max;
    if (!out.autoscale_max)
        return Status(
            bad_offer_member("content.offerAutopilotSettings.maxThroughput", "an integer"));
    out.increment_percent = read.has_upgrade ? read.increment_percent : stored.increment_percent;
    return {};
}

}  // namespace

Status check_throughput(const ThroughputRequest& request) {
    if (request.manual && request.autoscale_max) return Status(errors::two_throughputs());
    if (request.manual) TRY_STATUS(check_manual(*request.manual));
    if (request.autoscale_max) TRY_STATUS(check_autoscale(*request.autoscale_max));
    if (request.increment_percent) {
        if (!request.autoscale_max)
            return Status(errors::bad_request("incrementPercent needs autoscale throughput."));
        if (*request.increment_percent < 0 || *request.increment_percent > 100)
            return Status(errors::bad_request("incrementPercent must be between 0 and 100."));
    }
    return {};
}

Status check_fixed_throughput(const ThroughputRequest& request) {
    if (request.autoscale_max.value_or(request.manual.value_or(0)) <= kFixedThroughputMax)
        return {};
    return Status(errors::bad_request(fmt::format(
        "A container without partition key has at most {} RU/s.", kFixedThroughputMax)));
}

int64_t minimum_manual(int64_t highest_ever, int64_t storage_gb, int64_t containers) {
    const int64_t extra =
        limits::kThroughputStep * std::max<int64_t>(containers - kFreeContainers, 0);
    const int64_t minimum =
        std::max({limits::kThroughputMin + extra, storage_gb, ceil_div(highest_ever, 100)});
    return round_up(minimum, limits::kThroughputStep);
}

int64_t minimum_autoscale(int64_t highest_ever, int64_t storage_gb, int64_t containers) {
    const int64_t extra =
        limits::kAutoscaleStep * std::max<int64_t>(containers - kFreeContainers, 0);
    const int64_t minimum =
        std::max({limits::kAutoscaleMin + extra, storage_gb * 10, ceil_div(highest_ever, 10)});
    return round_up(minimum, limits::kAutoscaleStep);
}

int64_t autoscale_from_manual(int64_t current, int64_t highest_ever, int64_t storage_gb) {
    const int64_t start =
        std::max({limits::kAutoscaleMin, current, ceil_div(highest_ever, 10), storage_gb * 10});
    return std::min(round_up(start, limits::kAutoscaleStep), limits::kThroughputMax);
}

uint32_t partition_count(const ThroughputRequest& own) {
    const int64_t count = own.autoscale_max ? ceil_div(*own.autoscale_max, kAutoscalePerPartition)
                                            : ceil_div(own.manual.value_or(limits::kThroughputMin),
                                                       kManualPerPartition);
    return static_cast<uint32_t>(std::max<int64_t>(count, 1));
}

uint32_t shared_partition_count(const Offer& database_offer) {
    return static_cast<uint32_t>(
        std::max<int64_t>(ceil_div(database_offer.value(), kAutoscalePerPartition), 1));
}

uint32_t partitions_wanted(const Offer& offer, const ThroughputSettings& settings) {
    return static_cast<uint32_t>(
        std::max<int64_t>(ceil_div(offer.value(), settings.partition_ru_max), 1));
}

int64_t range_units_per_us(int64_t throughput, const RangeMap& map, const PartitionRange& range,
                           const ThroughputSettings& settings) {
    __extension__ using Wide = __int128;  // 128 bits: units of a weight times a throughput
    uint64_t sum = 0;
    for (const PartitionRange& one : map.ranges) sum += one.weight;
    const int64_t all = throughput * meter::kUnitsPerUsPerRu;
    const int64_t own = sum == 0 ? all / static_cast<int64_t>(map.ranges.size())
                                 : static_cast<int64_t>(Wide{all} * Wide{range.weight} / Wide{sum});
    return std::clamp<int64_t>(own, 1, settings.partition_ru_max * meter::kUnitsPerUsPerRu);
}

Result<ThroughputRequest> read_offer_body(const json::Value& body, const Offer& stored) {
    if (!body.is_object()) return errors::bad_request("The request body must be an offer object.");
    TRY_STATUS(check_identity(body, stored));
    ThroughputRequest out{stored.manual, stored.autoscale_max, stored.increment_percent};
    const json::Value content = body.member("content");
    if (is_absent(content)) return out;
    TRY_STATUS(check_offer_members(
        content, "content",
        {"offerThroughput", "offerAutopilotSettings", "offerIsRUPerMinuteThroughputEnabled",
         "offerMinimumThroughputParameters"}));
    const json::Value rate_per_minute = content.member("offerIsRUPerMinuteThroughputEnabled");
    if (!is_absent(rate_per_minute) && !(rate_per_minute.is_bool() && !rate_per_minute.as_bool()))
        return errors::not_supported("offerIsRUPerMinuteThroughputEnabled",
                                     "Provision request units per second.");
    const json::Value autopilot = content.member("offerAutopilotSettings");
    if (!is_absent(autopilot)) {
        out = {};
        TRY_STATUS(read_autopilot(autopilot, stored, out));
        return out;
    }
    const json::Value throughput = content.member("offerThroughput");
    if (is_absent(throughput)) return out;
    const auto manual = integral(throughput);
    if (!manual) return bad_offer_member("content.offerThroughput", "an integer");
    return ThroughputRequest{manual, std::nullopt, std::nullopt};
}

}  // namespace orrery::catalog
