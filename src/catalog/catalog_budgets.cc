// From offers to the budgets of physical partitions (docs/throughput.md).
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/throughput_errors.h"
#include "catalog/catalog_impl.h"
#include "catalog/throughput.h"

namespace orrery::catalog {
namespace {

constexpr int64_t kKbPerGb = 1024 * 1024;
constexpr int64_t kServerlessRu = 5'000;
constexpr int64_t kSecondsPerHour = 3'600;
constexpr int64_t kTargetRuMax = 20'000;
constexpr size_t kRedistributionsPerMinute = 5;
constexpr int64_t kMinuteUs = 60'000'000;
constexpr int64_t kStorageWatchSeconds = 60;
/// A weight is RU/s times this: it can be halved by twenty splits without rounding.
constexpr uint64_t kWeightPerRu = uint64_t{1} << 20;

meter::PoolRates rates_of(const Offer* offer, int64_t units_per_us, bool burst) {
    meter::PoolRates out;
    out.units_per_us = units_per_us;
    out.burst = burst;
    if (offer == nullptr) return out;
    out.autoscale = offer->is_autoscale();
    if (parse_container_rid(offer->resource_rid)) {
        out.bucket_percent = offer->buckets.percent;
        out.default_bucket = offer->buckets.standard;
    }
    return out;
}

/// A bad request for ranges that the container does not have, and throughputs that none can have.
Status check_redistribution(const Redistribution& wanted, const RangeMap& map) {
    for (const auto& [number, ru] : wanted.throughput) {
        if (map.find(std::to_string(number)) == nullptr)
            return Status(errors::bad_request(
                fmt::format("'{}' names no physical partition of the container.", number)));
        if (ru < 1 || ru > kTargetRuMax)
            return Status(errors::bad_request(fmt::format(
                "A physical partition's throughput must be between 1 and {} RU/s; {} is not.",
                kTargetRuMax, ru)));
    }
    return {};
}

}  // namespace

Status CatalogImpl::check_offers() const {
    return deps_.throughput.serverless ? Status(errors::serverless_offer()) : Status();
}

std::vector<ContainerPtr> CatalogImpl::served_by(const Offer& offer) const {
    std::vector<ContainerPtr> out;
    if (const auto rid = parse_container_rid(offer.resource_rid)) {
        const DatabaseNode* database = state_.databases.find_number(rid->database.number);
        const ContainerNode* node =
            database == nullptr ? nullptr : database->containers.find_number(rid->number);
        if (node != nullptr) out.push_back(node->container);
    } else if (const DatabaseNode* database = state_.database(offer.resource_rid)) {
        for (const auto& [number, node] : database->containers.nodes())
            if (!state_.offer_of(node.container->rid_text)) out.push_back(node.container);
    }
    return out;
}

/// Storage that the offer's resource holds now, or held at the last replace if that was more.
Result<int64_t> CatalogImpl::storage_kb(const Offer& offer) const {
    const storage::ViewPtr view = deps_.store.view();
    int64_t bytes = 0;
    for (const ContainerPtr& container : served_by(offer)) {
        for (const PartitionRange& range : container->ranges->ranges) {
            TRY(const auto totals, range.partition->totals(*view));
            bytes += totals.bytes;
        }
    }
    return std::max(offer.storage_kb_ever, bytes / 1024);
}

uint32_t CatalogImpl::ranges_of(const Offer& offer) const {
    const auto containers = served_by(offer);
    // A database without containers has nothing to split.
    if (containers.empty()) return partitions_wanted(offer, deps_.throughput);
    size_t fewest = SIZE_MAX;
    for (const ContainerPtr& container : containers)
        fewest = std::min(fewest, container->ranges->ranges.size());
    return static_cast<uint32_t>(fewest);
}

int64_t CatalogImpl::current_ru(const Offer& offer) const {
    if (!offer.is_autoscale()) return offer.value();
    const int64_t now = deps_.clock.monotonic_us();
    int64_t units = 0;
    if (parse_container_rid(offer.resource_rid)) {
        for (const ContainerPtr& container : served_by(offer))
            for (const PartitionRange& range : container->ranges->ranges)
                if (const meter::Pool* pool = range.budget->pool())
                    units += pool->scaled_units_per_us(now);
    } else if (const DatabaseNode* database = state_.database(offer.resource_rid)) {
        for (const auto& pool : database->shared_pools) units += pool->scaled_units_per_us(now);
    }
    const int64_t floor = offer.value() / 10;
    return std::clamp(units / meter::kUnitsPerUsPerRu, floor, offer.value());
}

OfferState CatalogImpl::offer_state(const Offer& offer) const {
    std::shared_lock lock(mutex_);
    OfferState out;
    const auto kb = storage_kb(offer);
    const int64_t gb = (kb.ok() ? *kb : offer.storage_kb_ever) / kKbPerGb;
    const bool shared = !parse_container_rid(offer.resource_rid);
    const auto containers = shared ? static_cast<int64_t>(served_by(offer).size()) : 0;
    out.minimum = offer.is_autoscale() ? minimum_autoscale(offer.highest_ever, gb, containers)
                                       : minimum_manual(offer.highest_ever, gb, containers);
    const uint32_t ranges = ranges_of(offer);
    out.instant_maximum = ranges * deps_.throughput.partition_ru_max;
    out.pending = ranges < partitions_wanted(offer, deps_.throughput);
    out.current = current_ru(offer);
    out.peak_of_hour = out.current;
    const auto peak = peaks_.find(*parse_offer_rid(offer.rid));
    if (peak != peaks_.end() && peak->second.hour == deps_.clock.wall_seconds() / kSecondsPerHour)
        out.peak_of_hour = std::max(out.peak_of_hour, std::min(peak->second.ru, offer.value()));
    return out;
}

void CatalogImpl::refresh_shared(DatabaseNode& database, const Offer& offer) {
    const int64_t now = deps_.clock.monotonic_us();
    const uint32_t count = partitions_wanted(offer, deps_.throughput);
    const int64_t rate = std::max<int64_t>(1, offer.value() * meter::kUnitsPerUsPerRu / count);
    const auto rates = rates_of(&offer, rate, deps_.throughput.burst);
    std::vector<std::shared_ptr<meter::Pool>> pools;
    for (size_t i = 0; i < count; ++i) {
        const meter::Pool* before =
            i < database.shared_pools.size() ? database.shared_pools[i].get() : nullptr;
        pools.push_back(std::make_shared<meter::Pool>(rates, now, before));
    }
    database.shared_pools = std::move(pools);
}

void CatalogImpl::refresh_budgets(DatabaseNode& database) {
    if (const OfferPtr offer = state_.offer_of(database.database->rid.text()))
        refresh_shared(database, *offer);
    for (const auto& [number, node] : database.containers.nodes())
        refresh_budgets(database, *node.container);
}

void CatalogImpl::refresh_budgets(DatabaseNode& database, const Container& container) {
    const int64_t now = deps_.clock.monotonic_us();
    const ThroughputSettings& settings = deps_.throughput;
    const OfferPtr own = settings.serverless ? nullptr : state_.offer_of(container.rid_text);
    const RangeMap& map = *container.ranges;
    for (size_t i = 0; i < map.ranges.size(); ++i) {
        const PartitionRange& range = map.ranges[i];
        if (own == nullptr && !settings.serverless) {
            const auto& pools = database.shared_pools;
            if (pools.empty()) continue;
            // Each part of the key space draws on one part of the shared throughput; while splits
            // are pending there are fewer ranges than parts.
            const size_t slots = std::min(pools.size(), map.ranges.size());
            range.budget->install(pools[i * slots / map.ranges.size()]);
            continue;
        }
        const int64_t rate = own == nullptr
                                 ? kServerlessRu * meter::kUnitsPerUsPerRu
                                 : range_units_per_us(own->value(), map, range, settings);
        // Bursts are for provisioned throughput.
        const auto rates = rates_of(own.get(), rate, settings.burst && own != nullptr);
        range.budget->install(std::make_shared<meter::Pool>(rates, now, range.budget->pool()));
    }
}

records::Offer CatalogImpl::record_of(uint32_t number, const Offer& offer) const {
    records::Offer out;
    out.number = number;
    if (const auto container = parse_container_rid(offer.resource_rid)) {
        out.database = container->database;
        out.container = container->number;
    } else {
        out.database = *parse_database_rid(offer.resource_rid);
    }
    out.version = offer.version;
    out.manual = offer.manual;
    out.autoscale_max = offer.autoscale_max;
    out.increment_percent = offer.increment_percent;
    out.highest_ever = offer.highest_ever;
    out.storage_kb_ever = offer.storage_kb_ever;
    out.buckets = offer.buckets;
    return out;
}

Result<OfferPtr> CatalogImpl::store_offer(const records::Offer& record, MetaChange change) {
    change.put(record);
    TRY_STATUS(commit(std::move(change)));
    OfferPtr after = make_offer(record);
    std::unique_lock lock(mutex_);
    state_.set_offer(record.number, after);
    DatabaseNode& database = *state_.databases.find_number(record.database.number);
    if (record.container == 0)
        refresh_budgets(database);
    else
        refresh_budgets(database, *database.containers.find_number(record.container)->container);
    return after;
}

Result<OfferPtr> CatalogImpl::redistribute(const Container& container,
                                           const Redistribution& wanted) {
    TRY_STATUS(check_offers());
    WriteLock write(write_mutex_);
    const OfferPtr before = state_.offer_of(container.rid_text);
    if (before == nullptr)
        return errors::bad_request(
            "The container shares its database's throughput; only throughput of its own can be "
            "redistributed.");
    DatabaseNode& database = *state_.databases.find_number(container.rid.database.number);
    ContainerNode* const found = database.containers.find_number(container.rid.number);
    if (found == nullptr) return errors::resource_not_found("The container does not exist.");
    const ContainerNode& node = *found;
    const RangeMap& map = *node.container->ranges;
    TRY_STATUS(check_redistribution(wanted, map));
    const uint32_t number = *parse_offer_rid(before->rid);
    const int64_t now = deps_.clock.monotonic_us();
    auto& calls = redistributed_us_[number];
    std::erase_if(calls, [&](int64_t at) { return now - at >= kMinuteUs; });
    if (calls.size() >= kRedistributionsPerMinute)
        return errors::request_rate_too_large((calls.front() + kMinuteUs - now + 999) / 1000);
    if (map.ranges.size() < partitions_wanted(*before, deps_.throughput))
        return errors::scale_running();

    records::Offer offer = record_of(number, *before);
    records::Container record = node.record;
    auto ranges = std::make_shared<RangeMap>(map);
    int64_t total = before->value();
    if (!wanted.equal) {
        total = 0;
        for (size_t i = 0; i < map.ranges.size(); ++i) {
            const auto given = wanted.throughput.find(map.ranges[i].number);
            const int64_t ru =
                given != wanted.throughput.end()
                    ? given->second
                    : range_units_per_us(before->value(), map, map.ranges[i], deps_.throughput) /
                          meter::kUnitsPerUsPerRu;
            total += ru;
            ranges->ranges[i].weight = static_cast<uint64_t>(ru) * kWeightPerRu;
        }
    } else {
        for (PartitionRange& range : ranges->ranges) range.weight = 0;
    }
    if (before->is_autoscale())
        offer.autoscale_max = total;
    else
        offer.manual = total;
    TRY_STATUS(check_throughput({offer.manual, offer.autoscale_max, offer.increment_percent}));
    TRY(const int64_t kb, storage_kb(*before));
    const int64_t minimum = before->is_autoscale()
                                ? minimum_autoscale(before->highest_ever, kb / kKbPerGb, 0)
                                : minimum_manual(before->highest_ever, kb / kKbPerGb, 0);
    if (total < minimum)
        return errors::bad_request(fmt::format(
            "The sum of the physical partitions' throughputs, {} RU/s, is below the minimum of {}.",
            total, minimum));
    offer.highest_ever = std::max(offer.highest_ever, total);
    offer.version = new_version();
    for (size_t i = 0; i < record.ranges.size(); ++i)
        record.ranges[i].weight = ranges->ranges[i].weight;
    ranges->version = ++record.map_version;
    for (PartitionRange& range : ranges->ranges) range.since = ranges->version;
    auto after = std::make_shared<Container>(*node.container);
    after->ranges = std::move(ranges);
    MetaChange change;
    change.put(record);
    change.put(offer);
    TRY_STATUS(commit(std::move(change)));
    calls.push_back(now);
    OfferPtr made = make_offer(offer);
    std::unique_lock lock(mutex_);
    state_.set_offer(number, made);
    found->container = after;
    found->record = std::move(record);
    refresh_budgets(database, *after);
    return made;
}

Result<OfferPtr> CatalogImpl::set_throughput_buckets(const Container& container,
                                                     const ThroughputBuckets& buckets) {
    TRY_STATUS(check_offers());
    if (!buckets.valid())
        return errors::bad_request(
            "A throughput bucket has 1 to 100 percent; the default one is one of them.");
    WriteLock write(write_mutex_);
    const OfferPtr before = state_.offer_of(container.rid_text);
    if (before == nullptr)
        return errors::bad_request(
            "The container shares its database's throughput; throughput buckets need throughput of "
            "its own.");
    records::Offer record = record_of(*parse_offer_rid(before->rid), *before);
    record.buckets = buckets;
    record.version = new_version();
    return store_offer(record, MetaChange());
}

Status CatalogImpl::watch_throughput() {
    const int64_t now = deps_.clock.wall_seconds();
    const int64_t hour = now / kSecondsPerHour;
    const bool look_at_storage = now - storage_watched_ >= kStorageWatchSeconds;
    if (look_at_storage) storage_watched_ = now;
    std::vector<OfferPtr> outgrown;
    std::map<uint32_t, Peak> peaks;
    {
        std::shared_lock lock(mutex_);
        for (const auto& [number, offer] : state_.offers) {
            if (!offer->is_autoscale()) continue;
            Peak& peak = peaks[number] = {hour, current_ru(*offer)};
            const auto before = peaks_.find(number);
            if (before != peaks_.end() && before->second.hour == hour)
                peak.ru = std::max(peak.ru, before->second.ru);
            if (!look_at_storage) continue;
            const auto kb = storage_kb(*offer);
            if (kb.ok() && *kb / kKbPerGb * 10 > offer->value()) outgrown.push_back(offer);
        }
    }
    {
        std::unique_lock lock(mutex_);
        peaks_ = std::move(peaks);
    }
    for (const OfferPtr& offer : outgrown) {
        WriteLock write(write_mutex_);
        const auto found = state_.offers.find(*parse_offer_rid(offer->rid));
        if (found == state_.offers.end() || found->second != offer) continue;
        records::Offer record = record_of(found->first, *offer);
        TRY(record.storage_kb_ever, storage_kb(*offer));
        const int64_t needed = record.storage_kb_ever / kKbPerGb * 10;
        // The offer's own policy may take larger steps.
        const int64_t step = offer->value() * offer->increment_percent.value_or(0) / 100;
        const int64_t raised = autoscale_from_manual(std::max(needed, offer->value() + step), 0, 0);
        if (raised <= offer->value()) continue;
        record.autoscale_max = raised;
        record.highest_ever = std::max(record.highest_ever, raised);
        record.version = new_version();
        TRY_STATUS(store_offer(record, MetaChange()).status().clone());
    }
    return {};
}

}  // namespace orrery::catalog
