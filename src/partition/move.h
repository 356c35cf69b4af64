#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "partition/partition.h"
#include "storage/store.h"

namespace orrery::partition {

/// The contents of some partitions on their way into others: one source and two targets are a
/// split, two sources and one target a merge. Sources are neighbours; the targets' ranges cover the
/// same keys. Items keep docrefs, LSNs and etags; the targets' own LSNs begin above the sources'.
///
/// Order of calls: copy(), catch_up() while much is left, open(), follow() and close() until it has
/// closed, prepare(); then one commit operation, the owner's, calls write() when it decides,
/// begin_switch() before it is written and finish() when it is published. Whatever happens before
/// that, abandon() lets the sources go on; what the targets hold is for the store to reclaim.
/// Owned by one thread but for the committer's part.
class PartitionMove {
public:
    struct Plan {
        std::vector<std::shared_ptr<Partition>> sources;  ///< in EPK order
        std::vector<PartitionIdentity> targets;           ///< in EPK order
        /// Settings of all of them: no policy change is being carried out. They must not change
        /// until the switch; the code that makes the switch must check that.
        ContainerSettingsPtr settings;
        std::function<bool()> cancelled;         ///< asked now and then
        std::atomic<uint64_t>* bytes = nullptr;  ///< counts keys and values written; may be null
    };
    static std::unique_ptr<PartitionMove> create(Plan plan, const Partition::Deps& deps);
    virtual ~PartitionMove() = default;

    /// Everything that one view shows, as files. Long.
    virtual Status copy() = 0;
    /// What has changed since, as further files. Returns how many log records that was.
    virtual Result<uint64_t> catch_up() = 0;
    /// Opens the targets over their files. No catch_up() after it.
    virtual Status open() = 0;
    /// What has changed since, by way of the committer: quick. Returns how many log records that
    /// was.
    virtual Result<uint64_t> follow() = 0;
    /// From the next follow() on the sources' writers are at most so many records ahead of it: who
    /// would be further waits for the next one.
    virtual void pace(uint64_t records) = 0;
    /// From here on writers of the sources wait; unless there are more than about so many records
    /// that were not followed: false, nothing was done.
    virtual Result<bool> close(uint64_t records_max) = 0;
    /// Works the rest out.
    virtual Status prepare() = 0;

    // The commit operation's part, on the committer's thread.
    virtual void write(storage::CommitScope& scope) = 0;
    virtual void begin_switch() = 0;
    /// The map is to know the targets before this is called.
    virtual void finish() = 0;
    virtual size_t bytes_to_write() const = 0;

    virtual void abandon() = 0;

    /// Once finished: how long writers waited, and for how many log records.
    virtual int64_t pause_us() const = 0;
    virtual uint64_t pause_records() const = 0;

    /// From open() on; in the plan's order.
    virtual const std::vector<std::shared_ptr<Partition>>& targets() const = 0;
};

}  // namespace orrery::partition
