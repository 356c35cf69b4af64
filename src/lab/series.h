#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "meter/charge.h"

namespace orrery::lab {

/// One physical partition: container number and range number.
struct PartitionId {
    uint64_t container = 0;
    uint32_t range = 0;
    friend bool operator==(const PartitionId&, const PartitionId&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const PartitionId& id) {
        return H::combine(std::move(h), id.container, id.range);
    }
};

/// What happened within one second.
struct SecondUse {
    int64_t charge_units = 0;
    uint32_t requests = 0;
    uint32_t throttled = 0;
};

/// What happened within one minute.
struct MinuteUse {
    int64_t charge_units = 0;
    int64_t peak_units = 0;  ///< charge of its busiest second
    uint32_t requests = 0;
    uint32_t throttled = 0;
    int64_t bytes = 0;  ///< held at the last record, also of an earlier minute; 0: not known
};

/// Since the server started.
struct TotalUse {
    meter::Charge charge;
    uint64_t requests = 0;
    uint64_t throttled = 0;
};

/// Use of every physical partition: per minute for a day, per second for a day as long as the space
/// allows, oldest seconds going first. Not thread-safe.
class UseSeries {
public:
    static constexpr int64_t kMinutes = 24 * 60;

    /// `second_blocks_max`: partition-minutes with one slot per second, about 1 KB each.
    /// `partitions_max`: those unused longest go first.
    UseSeries(size_t second_blocks_max, size_t partitions_max)
        : second_blocks_max_(second_blocks_max), partitions_max_(partitions_max) {}

    /// Within one second: `requests` in all, of which or beside which `throttled` were refused.
    /// `bytes`: what the partition holds; 0: not known.
    void add(PartitionId partition, int64_t wall_seconds, meter::Charge charge, uint64_t requests,
             uint64_t throttled, int64_t bytes = 0);

    /// [from, to) in seconds; slots without a record are zero.
    std::vector<SecondUse> seconds(PartitionId partition, int64_t from, int64_t to) const;
    /// [from, to) in minutes since 1970.
    std::vector<MinuteUse> minutes(PartitionId partition, int64_t from, int64_t to) const;
    TotalUse total(PartitionId partition) const;
    std::vector<PartitionId> partitions() const;

    size_t second_blocks() const { return blocks_in_order_.size(); }
    size_t partition_count() const { return partitions_.size(); }

private:
    friend struct Packed;
    using SecondBlock = std::array<SecondUse, 60>;
    struct Partition {
        std::map<int64_t, std::unique_ptr<SecondBlock>> seconds;  // by minute
        std::map<int64_t, MinuteUse> minutes;
        TotalUse total;
        int64_t last_second = 0;
    };

    Partition& partition_of(PartitionId id);
    void drop_old(Partition& partition, int64_t newest_minute);
    void make_room();

    const size_t second_blocks_max_;
    const size_t partitions_max_;
    absl::flat_hash_map<PartitionId, std::unique_ptr<Partition>> partitions_;
    std::deque<std::pair<PartitionId, int64_t>> blocks_in_order_;  // some may be gone already
};

}  // namespace orrery::lab
