// Throughput beyond what the protocol's offers say: per physical partition, redistribution,
// buckets.
#include <fmt/format.h>

#include "base/errors.h"
#include "heads/rest/bodies/offer_body.h"
#include "heads/rest/handlers.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

/// The container of /_orrery/containers/{database}/{container}/….
Result<catalog::ContainerPtr> own_container(const Call& call) {
    auto container = call.engine.catalog().find_container(call.route.ids[1], call.route.ids[2]);
    if (container == nullptr)
        return errors::resource_not_found("The container '" + call.route.ids[2] +
                                          "' does not exist.");
    return container;
}

std::string number(double value) {
    std::string out;
    json::write_number(out, value);
    return out;
}

std::string partitions_json(const Call& call, const catalog::RangeMap& map) {
    const int64_t now = call.engine.clock().monotonic_us();
    std::string out;
    for (const auto& range : map.ranges) {
        if (!out.empty()) out += ',';
        const meter::Pool* pool = range.budget->pool();
        const int64_t tokens = pool == nullptr ? 0 : pool->tokens(now);
        out += fmt::format(
            R"({{"id":"{}","throughput":{},"scaledThroughput":{},"fraction":{},"availableRequestUnits":{}}})",
            range.id, number(range.budget->rate_ru()), number(range.budget->scaled_ru(now)),
            number(map.fraction(range)),
            number(static_cast<double>(tokens) / static_cast<double>(meter::kUnitsPerRu)));
    }
    return out;
}

std::string buckets_json(const catalog::ThroughputBuckets& buckets) {
    std::string out;
    for (size_t i = 0; i < buckets.percent.size(); ++i) {
        if (buckets.percent[i] == 0) continue;
        if (!out.empty()) out += ',';
        out += fmt::format(R"({{"id":{},"maxThroughputPercentage":{},"isDefaultBucket":{}}})",
                           i + 1, buckets.percent[i], buckets.standard == i + 1);
    }
    return out;
}

std::string throughput_json(const Call& call, const catalog::Container& container) {
    const auto& catalog = call.engine.catalog();
    const std::string partitions = partitions_json(call, *container.ranges);
    const bool throttled = call.engine.account().settings().throttled;
    if (!catalog.check_offers().ok())
        return fmt::format(R"({{"mode":"serverless","throttled":{},"physicalPartitions":[{}]}})",
                           throttled, partitions);
    auto offer = catalog.offer_of(container.rid_text);
    const bool shared = offer == nullptr;
    if (shared) offer = catalog.offer_of(container.database->rid.text());
    if (offer == nullptr)
        return fmt::format(R"({{"mode":"none","throttled":{},"physicalPartitions":[{}]}})",
                           throttled, partitions);
    const catalog::OfferState state = catalog.offer_state(*offer);
    // Fractions from a redistribution may leave a partition at its limit while the total grows.
    double usable = 0;
    for (const auto& range : container.ranges->ranges) usable += range.budget->rate_ru();
    return fmt::format(
        R"({{"mode":"{}","shared":{},"throttled":{},"throughput":{},"currentThroughput":{},"highestThroughputOfHour":{},)"
        R"("minimumThroughput":{},"instantMaximumThroughput":{},"highestThroughputEver":{},"replacePending":{},)"
        R"("usableThroughput":{},"throughputBuckets":[{}],"physicalPartitions":[{}]}})",
        offer->is_autoscale() ? "autoscale" : "manual", shared, throttled, offer->value(),
        state.current, state.peak_of_hour, state.minimum, state.instant_maximum,
        offer->highest_ever, state.pending,
        shared ? std::to_string(offer->value()) : number(usable), buckets_json(offer->buckets),
        partitions);
}

Status reply_throughput(const CallPtr& call, meter::Charge charge) {
    TRY(const auto container, own_container(*call));
    Answer answer;
    answer.charge = charge;
    reply(call, answer, throughput_json(*call, *container));
    return {};
}

}  // namespace

void own_throughput(const CallPtr& call) {
    on_worker(call, [call] { return reply_throughput(call, meter::metadata_read()); });
}

void own_redistribute(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY(const auto container, own_container(*call));
        TRY(const auto body, parse_body(*call));
        auto& catalog = call->engine.catalog();
        TRY_STATUS(catalog.check_offers());
        TRY(const auto wanted, read_redistribution(body->value, *container->ranges));
        TRY_STATUS(catalog.redistribute(*container, wanted).status().clone());
        TRY(const auto changed, own_container(*call));
        TRY_STATUS(call->engine.partitions().split_overloaded(*changed));
        return reply_throughput(call, meter::metadata_write());
    });
}

void own_throughput_buckets(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY(const auto container, own_container(*call));
        TRY(const auto body, parse_body(*call));
        auto& catalog = call->engine.catalog();
        TRY_STATUS(catalog.check_offers());
        TRY(const auto buckets, read_throughput_buckets(body->value));
        TRY_STATUS(catalog.set_throughput_buckets(*container, buckets).status().clone());
        return reply_throughput(call, meter::metadata_write());
    });
}

}  // namespace orrery::rest
