#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "catalog/catalog.h"

namespace orrery::engine {

/// Splits and merges, one after the other, on a thread of its own: those that were asked for, and
/// splits of ranges that hold more, or are to serve more, than one partition may. Internally
/// locked.
class PartitionKeeper {
public:
    struct Job {
        uint64_t number = 0;
        catalog::RangeChange change;
        bool automatic = false;
        int64_t asked_at = 0;  ///< wall clock, seconds
        std::shared_ptr<catalog::RangeProgress> progress;
        std::vector<std::string> new_range_ids;  ///< once done
        std::string error;                       ///< once failed
    };

    PartitionKeeper(catalog::Catalog& catalog, const Clock& clock)
        : catalog_(catalog), clock_(clock) {}
    ~PartitionKeeper() { stop(); }

    void start();
    /// A change under way is taken back. Idempotent.
    void stop();

    /// Queues a change; what is known to be impossible is refused at once.
    Result<Job> submit(const catalog::RangeChange& change);
    /// Those of a container that wait, run, or ended of late; oldest first.
    std::vector<Job> jobs(const catalog::ContainerRid& container) const;
    /// One waits or runs.
    bool busy(const catalog::ContainerRid& container) const;

private:
    void loop();
    void run(uint64_t number);
    /// The next split that a container needs by itself.
    std::optional<catalog::RangeChange> find_need();
    std::optional<catalog::RangeChange> need_of(const catalog::Container& container);
    bool was_refused(const catalog::Container& container, const std::string& range_id) const;
    Job* find(uint64_t number);
    uint64_t add(const catalog::RangeChange& change, bool automatic);

    catalog::Catalog& catalog_;
    const Clock& clock_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;         // guarded by mutex_
    uint64_t next_number_ = 1;  // guarded by mutex_
    std::deque<Job> jobs_;      // guarded by mutex_
    std::thread thread_;

    /// Automatic splits that were not possible; the keeper's thread only.
    struct Refusal {
        catalog::ContainerRid container;
        std::string range_id;
        int64_t until_us;
    };
    std::vector<Refusal> refusals_;
};

}  // namespace orrery::engine
