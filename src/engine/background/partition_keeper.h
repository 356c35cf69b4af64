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
#include "engine/facts.h"

namespace orrery::engine {

/// Splits and merges, one after the other, on a thread of its own: those that were asked for, and
/// splits of ranges that hold more, or are to serve more, than one partition may. What was asked
/// for is kept over restarts. A container whose index is being changed lets the others go first.
/// Internally locked.
class PartitionKeeper {
public:
    using Job = RangeJob;

    PartitionKeeper(catalog::Catalog& catalog, const Clock& clock);
    ~PartitionKeeper() { stop(); }

    void start();
    /// A change under way is taken back; one that was asked for begins again with the next start.
    /// Idempotent.
    void stop();

    /// Queues a change, durably; what is known to be impossible is refused at once.
    Result<Job> submit(const catalog::RangeChange& change);
    /// After a redistribution: asks for splits of the ranges that were given more throughput than a
    /// partition serves.
    Status split_overloaded(const catalog::Container& container);
    /// Jobs of a container that wait, run, or ended recently; oldest first.
    std::vector<Job> jobs(const catalog::ContainerRid& container) const;
    /// One waits or runs.
    bool busy(const catalog::ContainerRid& container) const;

private:
    void loop();
    /// The first job that can run; those that wait for an index are marked. 0: none.
    uint64_t next_job();
    void run(uint64_t number);
    void end(uint64_t number, const Result<catalog::ContainerPtr>& changed);
    /// The next split that a container needs by itself.
    std::optional<catalog::RangeChange> find_need();
    std::optional<catalog::RangeChange> need_of(const catalog::Container& container);
    bool was_refused(const catalog::Container& container, const std::string& range_id) const;
    Job* find(uint64_t number);
    void add(Job job);

    catalog::Catalog& catalog_;
    const Clock& clock_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;         // guarded by mutex_
    bool asked_ = false;        // guarded by mutex_; a job was added
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
