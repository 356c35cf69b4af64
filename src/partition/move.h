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
/// Order of calls: copy(), catch_up() while much is left, follow() while writers are ahead,
/// close(), prepare(); then one commit operation, the owner's, calls write() when it decides,
/// begin_switch() before it is written and finish() when it is published. Whatever happens before
/// that, abandon() lets the sources go on; the files of the targets are for the store to reclaim.
/// Owned by one thread but for the committer's part.
class PartitionMove {
public:
    struct Plan {
        std::vector<std::shared_ptr<Partition>> sources;  ///< in EPK order
        std::vector<PartitionIdentity> targets;           ///< in EPK order
        /// Settings of all of them: no policy change is being carried out. They must not change
        /// until the switch; whoever makes it has to check.
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
    /// What has changed since, kept in memory for the switch: quick, so that little is left to be
    /// worked out while writers wait. No catch_up() after it. Returns how many log records that
    /// was.
    virtual Result<uint64_t> follow() = 0;
    /// From here on writers of the sources wait.
    virtual Status close() = 0;
    /// Works the rest out and opens the targets.
    virtual Status prepare() = 0;

    // The commit operation's part, on the committer's thread.
    virtual void write(storage::CommitScope& scope) = 0;
    virtual void begin_switch() = 0;
    /// The map is to know the targets before this is called.
    virtual void finish() = 0;
    virtual size_t bytes_to_write() const = 0;

    virtual void abandon() = 0;

    /// From prepare() on; in the plan's order.
    virtual const std::vector<std::shared_ptr<Partition>>& targets() const = 0;
};

}  // namespace orrery::partition
