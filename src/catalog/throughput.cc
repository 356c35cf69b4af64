#include "catalog/throughput.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/limits.h"
#include "base/throughput_errors.h"

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

ThroughputRequest throughput_after(const Offer& stored, const OfferChange& change) {
    if (change.manual) return {change.manual, std::nullopt, std::nullopt};
    ThroughputRequest out{stored.manual, stored.autoscale_max, stored.increment_percent};
    if (!change.autoscale) return out;
    out.manual = std::nullopt;
    if (change.autoscale->max) out.autoscale_max = change.autoscale->max;
    if (change.autoscale->has_upgrade) out.increment_percent = change.autoscale->increment_percent;
    return out;
}

}  // namespace orrery::catalog
