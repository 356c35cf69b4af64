#pragma once

#include <rocksdb/compaction_filter.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "storage/keys.h"

namespace orrery::storage::detail {

/// Which keys compactions may drop: keys of purged partitions, images that nobody needs, zero
/// counters of earlier sessions. Internally locked; a compaction works on a copy made at its start.
class PartitionFilter {
public:
    struct Limits {
        std::unordered_set<PartitionId> purged;
        /// Images at or below this LSN go.
        std::unordered_map<PartitionId, Lsn> images;
        uint64_t zero_counters_before_table = 0;
    };

    /// Nothing is dropped before this call: horizons are not known yet.
    void enable();
    void set_image_horizon(PartitionId partition, Lsn lsn);
    /// The index on disk holds everything up to `lsn`.
    void set_covered(PartitionId partition, Lsn lsn);
    Lsn covered(PartitionId partition) const;
    void set_first_table(uint64_t table);
    /// The partition is dead; views may still see it. Index tables written from now on leave it
    /// out.
    void retire(PartitionId partition);
    bool is_retired(PartitionId partition) const;
    /// No view can see the partition any more.
    void purge(PartitionId partition);
    /// Nothing of the partition is left.
    void forget(PartitionId partition);

    Limits limits() const;

private:
    mutable std::mutex mutex_;
    bool enabled_ = false;
    uint64_t first_table_ = 0;
    std::unordered_set<PartitionId> retired_;
    std::unordered_set<PartitionId> purged_;
    std::unordered_map<PartitionId, Lsn> horizons_;
    std::unordered_map<PartitionId, Lsn> covered_;
};

std::shared_ptr<rocksdb::CompactionFilterFactory> filter_factory(
    Family family, std::shared_ptr<const PartitionFilter> filter);

}  // namespace orrery::storage::detail
