// Splits and merges of physical partitions.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "catalog/catalog_impl.h"
#include "partition/move.h"

namespace orrery::catalog {
namespace {

using Phase = RangeProgress::Phase;

/// More log records than this are made into files; fewer go through the committer.
constexpr uint64_t kFollowRecordsMax = 2000;
constexpr int kCatchUpRoundsMax = 50;
/// With so few left, writers are made to wait for the rest.
constexpr uint64_t kTailRecordsMax = 50;
/// Writers who are faster than the copy are held back, and after this many rounds also those who
/// are as fast. They may be this many records ahead, then fewer and fewer.
constexpr int kFreeRounds = 10;
constexpr uint64_t kPaceRecords = 400;
/// A change of the container's settings in the middle makes it begin again.
constexpr int kAttemptsMax = 3;
constexpr uint32_t kPartitionsEnd = 0x8000'0000;

Error cannot(std::string why) {
    return errors::bad_request("The partition key ranges cannot be changed: " + std::move(why));
}

/// Sizes on both sides of each logical partition of a range, in EPK order.
struct Halves {
    std::string border;  ///< empty: none
    storage::Count left;
};

/// The border that comes closest to `wanted_bytes` on its left.
Result<Halves> border_by_bytes(const partition::Partition& partition, const storage::View& view,
                               int64_t wanted_bytes) {
    const auto& identity = partition.identity();
    const std::string prefix = partition::counter_keys::logical_partition(identity.id, {});
    const partition::ContainerSettingsPtr settings = partition.settings();
    Halves best;
    storage::Count left;
    const auto distance = [&](int64_t bytes) { return std::abs(bytes - wanted_bytes); };
    TRY_STATUS(view.each_count(
        prefix, prefix_successor(prefix),
        [&](std::string_view key, const storage::Count& count) -> Status {
            if (count.items == 0) return {};
            const std::string border =
                partition::docref_border(settings->key, key.substr(prefix.size()));
            if (left.items > 0 && border > identity.range.min && border < identity.range.max &&
                (best.border.empty() || distance(left.bytes) < distance(best.left.bytes)))
                best = {border, left};
            left.items += count.items;
            left.bytes += count.bytes;
            return {};
        }));
    return best;
}

/// Sizes below a border.
Result<storage::Count> size_below(const partition::Partition& partition, const storage::View& view,
                                  const std::string& border) {
    const std::string prefix =
        partition::counter_keys::logical_partition(partition.identity().id, {});
    storage::Count sum;
    TRY_STATUS(view.each_count(prefix, prefix + border,
                               [&](std::string_view, const storage::Count& count) -> Status {
                                   sum.items += count.items;
                                   sum.bytes += count.bytes;
                                   return {};
                               }));
    return sum;
}

Result<std::vector<RangeForecast>> forecast_split(const Container& container,
                                                  const PartitionRange& range,
                                                  const RangeChange& change,
                                                  const storage::View& view) {
    const partition::Partition& partition = *range.partition;
    const partition::EpkRange& whole = partition.identity().range;
    TRY(const storage::Count totals, partition.totals(view));
    std::string border;
    switch (change.at) {
        case RangeChange::At::kMiddle:
            border = partition::middle_of_range(container.settings->key, whole).value_or("");
            break;
        case RangeChange::At::kBytes: {
            TRY(Halves halves, border_by_bytes(partition, view, totals.bytes / 2));
            border = std::move(halves.border);
            if (border.empty())
                return cannot(
                    fmt::format("all items of range '{}' have one partition key, which "
                                "is never divided.",
                                range.id));
            break;
        }
        case RangeChange::At::kGiven:
            border = partition::docref_border(container.settings->key, change.epk);
            if (border <= whole.min || border >= whole.max)
                return cannot(fmt::format("the EPK {} is not inside range '{}'.",
                                          hex_encode_upper(change.epk), range.id));
            break;
    }
    if (border.empty()) return cannot(fmt::format("range '{}' is too narrow.", range.id));
    TRY(const storage::Count left, size_below(partition, view, border));
    return std::vector<RangeForecast>{
        {{whole.min, border}, left.items, left.bytes},
        {{border, whole.max}, totals.items - left.items, totals.bytes - left.bytes}};
}

}  // namespace

struct CatalogImpl::RangeMove {
    ContainerPtr container;  ///< as it was when the numbers were taken
    std::vector<const PartitionRange*> sources;
    std::vector<records::Range> targets;
    std::vector<partition::EpkRange> epks;
    records::Move record;
    uint64_t request = 0;  ///< RangeChange::request
};

ContainerNode* CatalogImpl::container_node(const ContainerRid& rid) {
    DatabaseNode* database = state_.databases.find_number(rid.database.number);
    return database == nullptr ? nullptr : database->containers.find_number(rid.number);
}

Result<std::vector<RangeForecast>> CatalogImpl::plan_ranges(const Container& container,
                                                            const RangeChange& change) const {
    if (container.definition->legacy_fixed())
        return cannot("a container without partition key is one partition for ever.");
    if (change.range_ids.empty() || change.range_ids.size() > 2)
        return cannot("name one range to split, or two neighbours to merge.");
    std::vector<const PartitionRange*> ranges;
    for (const std::string& id : change.range_ids) {
        ranges.push_back(container.ranges->find(id));
        if (ranges.back() == nullptr) return errors::range_gone(id);
    }
    const storage::ViewPtr view = deps_.store.view();
    if (ranges.size() == 1) return forecast_split(container, *ranges[0], change, *view);

    const partition::EpkRange& left = ranges[0]->partition->identity().range;
    const partition::EpkRange& right = ranges[1]->partition->identity().range;
    if (left.max != right.min)
        return cannot(fmt::format("ranges '{}' and '{}' are not neighbours in this order.",
                                  ranges[0]->id, ranges[1]->id));
    RangeForecast merged{{left.min, right.max}};
    for (const PartitionRange* range : ranges) {
        TRY(const storage::Count totals, range->partition->totals(*view));
        merged.items += totals.items;
        merged.bytes += totals.bytes;
    }
    const RangeLimits& limits = deps_.range_limits;
    if (merged.bytes > static_cast<int64_t>(limits.storage_bytes))
        return cannot(fmt::format("together they hold {} bytes; one partition holds at most {}.",
                                  merged.bytes, limits.storage_bytes));
    OfferPtr offer = offer_of(container.rid_text);
    if (offer == nullptr) offer = offer_of(container.database->rid.text());
    const auto after = static_cast<int64_t>(container.ranges->ranges.size()) - 1;
    if (offer != nullptr && offer->value() > after * limits.throughput)
        return cannot(fmt::format("{} RU/s need more than {} partitions of {} RU/s.",
                                  offer->value(), after, limits.throughput));
    return std::vector<RangeForecast>{merged};
}

Result<std::vector<RangeForecast>> CatalogImpl::forecast(const RangeChange& change) const {
    TRY(const ContainerPtr container, find_by_rid(change.container));
    return plan_ranges(*container, change);
}

Result<ContainerPtr> CatalogImpl::find_by_rid(const ContainerRid& rid) const {
    std::shared_lock lock(mutex_);
    const ContainerNode* node = const_cast<CatalogImpl*>(this)->container_node(rid);
    if (node == nullptr) return errors::resource_not_found("The container does not exist.");
    return node->container;
}

/// From here on the targets' numbers are used up, and a start after a crash knows them as dead.
Result<CatalogImpl::RangeMove> CatalogImpl::reserve_ranges(const RangeChange& change) {
    // Finding the split point may take a while, so do it without the lock.
    RangeMove move;
    TRY(move.container, find_by_rid(change.container));
    TRY(const std::vector<RangeForecast> forecasts, plan_ranges(*move.container, change));
    if (!move.container->settings->previous.empty()) return errors::retry_with();
    move.request = change.request;
    WriteLock write(write_mutex_);
    const ContainerNode* node = container_node(change.container);
    if (node == nullptr || node->container != move.container) return errors::retry_with();
    records::Account account = state_.account;
    records::Container record = node->record;
    if (account.next_partition + forecasts.size() >= kPartitionsEnd)
        return errors::service_unavailable("All numbers for new partitions are used up.");
    std::vector<uint32_t> parents;
    for (const std::string& id : change.range_ids) {
        move.sources.push_back(move.container->ranges->find(id));
        const auto& known = *std::find_if(record.ranges.begin(), record.ranges.end(),
                                          [&](const records::Range& range) {
                                              return range.number == move.sources.back()->number;
                                          });
        for (uint32_t parent : known.parents)
            if (std::find(parents.begin(), parents.end(), parent) == parents.end())
                parents.push_back(parent);
    }
    for (const PartitionRange* source : move.sources) parents.push_back(source->number);
    // The whole ancestry, oldest first.
    std::sort(parents.begin(), parents.end());
    for (const RangeForecast& forecast : forecasts) {
        move.targets.push_back({record.next_range++, account.next_partition++, parents});
        move.epks.push_back(forecast.range);
        move.record.targets.push_back(move.targets.back().partition);
    }
    MetaChange reserved;
    reserved.put(record);
    reserved.put(move.record);
    TRY_STATUS(commit(std::move(reserved), account));
    std::unique_lock lock(mutex_);
    container_node(change.container)->record = std::move(record);
    return move;
}

Result<ContainerPtr> CatalogImpl::change_ranges(const RangeChange& change,
                                                RangeProgress& progress) {
    const std::scoped_lock one_at_a_time(move_mutex_);
    for (int attempt = 1;; ++attempt) {
        auto move = reserve_ranges(change);
        if (!move.ok() && move.error().code == Code::kRetryWith && attempt < kAttemptsMax) continue;
        if (!move.ok()) return std::move(move).take_status();
        Status status = carry_out(*move, progress);
        if (!status.ok() && !progress.cancelled)
            if (Status fits = still_fits(*move); !fits.ok()) status = std::move(fits);
        if (status.ok()) return move->container;
        give_up(*move);
        if (status.error().code == Code::kRetryWith && attempt < kAttemptsMax) continue;
        return status;
    }
}

Status CatalogImpl::carry_out(RangeMove& move, RangeProgress& progress) {
    const auto step = [&](RangeProgress::Step reached) {
        if (progress.on_step) progress.on_step(reached);
    };
    step(RangeProgress::Step::kReserved);
    partition::PartitionMove::Plan plan;
    for (const PartitionRange* source : move.sources) plan.sources.push_back(source->partition);
    for (size_t i = 0; i < move.targets.size(); ++i)
        plan.targets.push_back({move.targets[i].partition, move.epks[i], move.targets[i].number});
    plan.settings = move.container->settings;
    plan.cancelled = [&] { return progress.cancelled.load() || !still_fits(move).ok(); };
    plan.bytes = &progress.bytes_copied;
    const partition::Partition::Deps deps{deps_.store, deps_.cache, deps_.workers, deps_.clock};
    const auto moving = partition::PartitionMove::create(std::move(plan), deps);

    progress.phase = Phase::kCopying;
    const int64_t started = deps_.clock.monotonic_us();
    TRY_STATUS(moving->copy());
    progress.copy_us = deps_.clock.monotonic_us() - started;
    step(RangeProgress::Step::kCopied);
    progress.phase = Phase::kCatchingUp;
    for (int round = 0; round < kCatchUpRoundsMax; ++round) {
        TRY(const uint64_t records, moving->catch_up());
        if (progress.cancelled) return Status(errors::service_unavailable("It was cancelled."));
        if (records <= kFollowRecordsMax) break;
    }
    step(RangeProgress::Step::kCaughtUp);
    TRY_STATUS(moving->open());
    WriteLock write(write_mutex_);
    progress.phase = Phase::kSwitching;
    TRY_STATUS(close_sources(*moving, progress));
    step(RangeProgress::Step::kClosed);
    Status status = moving->prepare();
    step(RangeProgress::Step::kPrepared);
    if (status.ok()) status = switch_ranges(move, *moving);
    if (!status.ok()) {
        moving->abandon();
        return status;
    }
    progress.pause_us = moving->pause_us();
    progress.pause_records = moving->pause_records();
    progress.pause_bytes = moving->bytes_to_write();
    step(RangeProgress::Step::kSwitched);
    return {};
}

/// Catches up until the writers are only a little ahead, then closes the sources.
Status CatalogImpl::close_sources(partition::PartitionMove& moving, const RangeProgress& progress) {
    uint64_t pace = kPaceRecords;
    uint64_t before = std::numeric_limits<uint64_t>::max();
    bool free = true;
    for (int round = 0;; ++round) {
        TRY(const uint64_t records, moving.follow());
        if (progress.cancelled) return Status(errors::service_unavailable("It was cancelled."));
        TRY(const bool closed, moving.close(kTailRecordsMax));
        if (closed) return {};
        // Writers who are faster make each round longer than the one before.
        free = free && round < kFreeRounds && records < before;
        before = records;
        if (free) continue;
        moving.pace(pace);
        pace = std::max(pace / 2, kTailRecordsMax);
    }
}

/// One commit: the last changes, the map, the sources' end.
Status CatalogImpl::switch_ranges(RangeMove& move, partition::PartitionMove& moving) {
    DatabaseNode* database = state_.databases.find_number(move.container->rid.database.number);
    ContainerNode* node = container_node(move.container->rid);
    if (node == nullptr) return Status(errors::resource_not_found("The container was deleted."));
    if (node->container->settings != move.container->settings ||
        node->container->ranges != move.container->ranges)
        return Status(errors::retry_with());

    auto after = std::make_shared<Container>(*node->container);
    auto map = std::make_shared<RangeMap>(*after->ranges);
    records::Container record = node->record;
    map->version = ++record.map_version;
    map->ts = record.map_ts = deps_.clock.wall_seconds();
    const auto at = move.sources.front() - move.container->ranges->ranges.data();
    const auto count = static_cast<ptrdiff_t>(move.sources.size());
    map->ranges.erase(map->ranges.begin() + at, map->ranges.begin() + at + count);
    record.ranges.erase(record.ranges.begin() + at, record.ranges.begin() + at + count);
    uint64_t weight = 0;
    int64_t owed = 0;
    for (const PartitionRange* source : move.sources) {
        weight += source->weight;
        owed += source->budget->owed().units;
    }
    MetaChange change;
    for (size_t i = 0; i < move.targets.size(); ++i) {
        records::Range& target = move.targets[i];
        target.weight = weight / move.targets.size();
        PartitionRange range;
        range.weight = target.weight;
        range.since = map->version;
        // Throughput that the sources have used stays used.
        range.budget->inherit(*move.sources.front()->budget);
        range.budget->owe({owed / static_cast<int64_t>(move.targets.size())});
        range.number = target.number;
        range.id = std::to_string(target.number);
        for (uint32_t parent : target.parents) range.parents.push_back(std::to_string(parent));
        range.partition = moving.targets()[i];
        const auto place = at + static_cast<ptrdiff_t>(i);
        map->ranges.insert(map->ranges.begin() + place, std::move(range));
        record.ranges.insert(record.ranges.begin() + place, target);
        change.put(partition_record(record, target, move.epks[i]));
    }
    after->ranges = std::move(map);
    change.put(record);
    change.remove(records::key(move.record));
    if (move.request != 0) change.remove(records::range_request_key(move.request));
    for (const PartitionRange* source : move.sources)
        change.retire(source->partition->identity().id);
    change.accompany({.write = [&](storage::CommitScope& scope) { moving.write(scope); },
                      .before_write = [&] { moving.begin_switch(); },
                      .published =
                          [&] {
                              {
                                  const std::unique_lock lock(mutex_);
                                  node->container = after;
                                  node->record = record;
                                  refresh_budgets(*database, *after);
                                  hold_logs(*database, *after);
                              }
                              moving.finish();
                          },
                      .bytes = moving.bytes_to_write()});
    TRY_STATUS(commit(std::move(change)));
    move.container = std::move(after);
    return {};
}

void CatalogImpl::give_up(const RangeMove& move) {
    WriteLock write(write_mutex_);
    MetaChange change;
    change.remove(records::key(move.record));
    for (storage::PartitionId target : move.record.targets) change.retire(target);
    // If that cannot be written, the next start finds the record.
    (void)commit(std::move(change));
}

Status CatalogImpl::still_fits(const RangeMove& move) const {
    TRY(const ContainerPtr now, find_by_rid(move.container->rid));
    const bool fits = now->settings == move.container->settings &&
                      now->ranges == move.container->ranges;  // weights are part of the map
    return fits ? Status() : Status(errors::retry_with());
}

Status CatalogImpl::keep_range_request(const RangeRequest& request) {
    WriteLock write(write_mutex_);
    MetaChange change;
    change.put(request);
    return commit(std::move(change));
}

Status CatalogImpl::end_range_request(uint64_t number) {
    WriteLock write(write_mutex_);
    MetaChange change;
    change.remove(records::range_request_key(number));
    return commit(std::move(change));
}

Status CatalogImpl::clean_up() {
    WriteLock write(write_mutex_);
    if (dead_.empty() && abandoned_.empty()) return {};
    return commit(MetaChange());
}

}  // namespace orrery::catalog
