#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "catalog/rid.h"
#include "partition/partition_key.h"
#include "storage/keys.h"

/// Splits and merges of physical partitions, as the catalog is asked for them.
namespace orrery::catalog {

/// What one physical partition may hold and serve.
struct RangeLimits {
    uint64_t storage_bytes = 50ULL << 30;
    int64_t throughput = 10'000;
    uint64_t logical_partition_bytes = 20ULL << 30;
    bool automatic = true;  ///< ranges above the first two are split by themselves
};

struct RangeChange {
    ContainerRid container;
    std::vector<std::string> range_ids;  ///< one: split; two neighbours: merge
    enum class At : uint8_t {
        kMiddle,  ///< halves of even width
        kBytes,   ///< halves of even size
        kGiven,   ///< at `epk`, or just below it
    } at = At::kMiddle;
    std::string epk;       ///< binary
    uint64_t request = 0;  ///< the request that it answers and ends; 0: none
};

/// A split or merge that somebody asked for: kept until it is done or has failed, so that a restart
/// does not forget it.
struct RangeRequest {
    uint64_t number = 0;  ///< not 0
    RangeChange change;
    int64_t asked_at = 0;  ///< wall clock, seconds
};

/// A range that a change would make.
struct RangeForecast {
    partition::EpkRange range;
    int64_t items = 0;
    int64_t bytes = 0;
};

/// Written by the thread that carries the change out, read by any.
struct RangeProgress {
    enum class Phase : uint8_t {
        kWaiting,
        kWaitingForIndex,  ///< until a change of the indexing policy is carried out
        kCopying,
        kCatchingUp,
        kSwitching,
        kDone,
        kFailed
    };
    std::atomic<Phase> phase{Phase::kWaiting};  ///< the last two are for whoever asked to set
    std::atomic<uint64_t> bytes_copied{0};      ///< keys and values, index entries included
    std::atomic<int64_t> copy_us{0};
    std::atomic<int64_t> pause_us{0};        ///< how long writers waited for the switch
    std::atomic<uint64_t> pause_records{0};  ///< log records that were left for the pause
    std::atomic<uint64_t> pause_bytes{0};    ///< what the switch had to write
    std::atomic<bool> cancelled{false};      ///< set by whoever wants it to end
    enum class Step : uint8_t { kReserved, kCopied, kCaughtUp, kClosed, kPrepared, kSwitched };
    /// Test seam: called when a step is done.
    std::function<void(Step)> on_step;
};

}  // namespace orrery::catalog
