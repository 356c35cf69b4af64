#include "lab/series.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace orrery::lab {
namespace {

void add_saturated(uint32_t& slot, uint64_t more) {
    constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
    slot = static_cast<uint32_t>(std::min(kMax, slot + std::min(more, kMax)));
}

}  // namespace

UseSeries::Partition& UseSeries::partition_of(PartitionId id) {
    auto& place = partitions_[id];
    if (place != nullptr) return *place;
    place = std::make_unique<Partition>();
    Partition& fresh = *place;
    if (partitions_.size() > partitions_max_) {
        auto oldest = partitions_.end();
        for (auto it = partitions_.begin(); it != partitions_.end(); ++it) {
            if (it->first == id) continue;
            if (oldest == partitions_.end() ||
                it->second->last_second < oldest->second->last_second)
                oldest = it;
        }
        if (oldest != partitions_.end()) partitions_.erase(oldest);
    }
    return fresh;
}

void UseSeries::drop_old(Partition& partition, int64_t newest_minute) {
    const int64_t oldest = newest_minute - kMinutes + 1;
    partition.minutes.erase(partition.minutes.begin(), partition.minutes.lower_bound(oldest));
    partition.seconds.erase(partition.seconds.begin(), partition.seconds.lower_bound(oldest));
}

void UseSeries::make_room() {
    while (blocks_in_order_.size() > second_blocks_max_) {
        const auto [id, minute] = blocks_in_order_.front();
        blocks_in_order_.pop_front();
        if (const auto found = partitions_.find(id); found != partitions_.end())
            found->second->seconds.erase(minute);
    }
}

void UseSeries::add(PartitionId id, int64_t wall_seconds, meter::Charge charge, uint64_t requests,
                    uint64_t throttled, int64_t bytes) {
    Partition& partition = partition_of(id);
    partition.total.charge += charge;
    partition.total.requests += requests;
    partition.total.throttled += throttled;
    const int64_t minute = wall_seconds / 60;
    if (minute + kMinutes <= partition.last_second / 60) return;  // the clock went far back
    auto& block = partition.seconds[minute];
    if (block == nullptr) {
        block = std::make_unique<SecondBlock>();
        blocks_in_order_.emplace_back(id, minute);
    }
    SecondUse& second = (*block)[static_cast<size_t>(wall_seconds % 60)];
    second.charge_units += charge.units;
    add_saturated(second.requests, requests);
    add_saturated(second.throttled, throttled);
    MinuteUse& use = partition.minutes[minute];
    use.charge_units += charge.units;
    use.peak_units = std::max(use.peak_units, second.charge_units);
    add_saturated(use.requests, requests);
    add_saturated(use.throttled, throttled);
    if (bytes != 0) use.bytes = bytes;
    if (wall_seconds > partition.last_second) {
        const bool new_minute = minute > partition.last_second / 60;
        partition.last_second = wall_seconds;
        if (new_minute) drop_old(partition, minute);
    }
    make_room();
}

std::vector<SecondUse> UseSeries::seconds(PartitionId id, int64_t from, int64_t to) const {
    std::vector<SecondUse> out(static_cast<size_t>(std::max<int64_t>(0, to - from)));
    const auto found = partitions_.find(id);
    if (found == partitions_.end()) return out;
    for (auto it = found->second->seconds.lower_bound(from / 60);
         it != found->second->seconds.end() && it->first * 60 < to; ++it)
        for (int64_t s = 0; s < 60; ++s) {
            const int64_t at = it->first * 60 + s;
            if (at >= from && at < to)
                out[static_cast<size_t>(at - from)] = (*it->second)[static_cast<size_t>(s)];
        }
    return out;
}

std::vector<MinuteUse> UseSeries::minutes(PartitionId id, int64_t from, int64_t to) const {
    std::vector<MinuteUse> out(static_cast<size_t>(std::max<int64_t>(0, to - from)));
    const auto found = partitions_.find(id);
    if (found == partitions_.end()) return out;
    const auto& known = found->second->minutes;
    auto it = known.lower_bound(from);
    int64_t bytes = it == known.begin() ? 0 : std::prev(it)->second.bytes;
    for (int64_t minute = from; minute < to; ++minute) {
        MinuteUse& use = out[static_cast<size_t>(minute - from)];
        if (it != known.end() && it->first == minute) use = (it++)->second;
        if (use.bytes == 0) use.bytes = bytes;
        bytes = use.bytes;
    }
    return out;
}

TotalUse UseSeries::total(PartitionId id) const {
    const auto found = partitions_.find(id);
    return found == partitions_.end() ? TotalUse{} : found->second->total;
}

std::vector<PartitionId> UseSeries::partitions() const {
    std::vector<PartitionId> out;
    for (const auto& [id, partition] : partitions_) out.push_back(id);
    std::sort(out.begin(), out.end(), [](const PartitionId& a, const PartitionId& b) {
        return std::pair(a.container, a.range) < std::pair(b.container, b.range);
    });
    return out;
}

}  // namespace orrery::lab
