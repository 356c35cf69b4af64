#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catalog/range_change.h"
#include "partition/partition_key.h"
#include "storage/keys.h"

/// What the engine tells of containers beyond their definitions.
namespace orrery::engine {

/// How much is in a container.
struct ContainerUsage {
    int64_t items = 0;
    int64_t bytes = 0;
    size_t procedures = 0;
    size_t triggers = 0;
    size_t functions = 0;
};

/// A split or merge that waits, runs, or has ended.
struct RangeJob {
    uint64_t number = 0;
    catalog::RangeChange change;
    bool automatic = false;
    int64_t asked_at = 0;  ///< wall clock, seconds
    std::shared_ptr<catalog::RangeProgress> progress;
    std::vector<std::string> new_range_ids;  ///< once done
    std::string error;                       ///< once failed
};

/// One physical partition.
struct RangeFacts {
    std::string id;
    partition::EpkRange range;
    std::vector<std::string> parents;
    storage::Lsn lsn = 0;
    storage::Lsn birth_lsn = 0;
    int64_t items = 0;
    int64_t bytes = 0;
};
/// A container's physical partitions at one moment.
struct PartitionFacts {
    uint64_t map_version = 0;
    std::vector<RangeFacts> ranges;
    catalog::RangeLimits limits;
    std::vector<RangeJob> jobs;  ///< oldest first
};

/// What one physical partition has of its container's throughput.
struct RangeThroughput {
    std::string id;
    double rate_ru = 0;
    double scaled_ru = 0;     ///< what autoscale has scaled to
    double fraction = 0;      ///< of the container's
    double available_ru = 0;  ///< that is not used up
};

/// What became of a materialized view.
struct MaterializedViewFacts {
    bool built = false;
    uint64_t lag = 0;        ///< commits of the source that are not in it yet
    int64_t latency_us = 0;  ///< for how long there have been any; 0: none
    uint64_t applied = 0;    ///< changes since the server started
    uint64_t refused = 0;    ///< items that cannot be in the view, since then
    std::string last_refusal;
};

}  // namespace orrery::engine
