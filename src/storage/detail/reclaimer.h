#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/detail/database.h"
#include "storage/detail/worker.h"

namespace orrery::storage::detail {

/// Takes back the space of dead partitions, on its own thread. Internally locked.
class Reclaimer {
public:
    /// `flush`: writes the memtables out, so that no compaction here has to (Committer::call()).
    /// `on_gone`: nothing of the partition is left on disk.
    Reclaimer(std::shared_ptr<Database> database, std::function<rocksdb::Status()> flush,
              std::function<void(PartitionId)> on_gone);
    ~Reclaimer() { stop(); }

    /// The partition is dead for every view at or above `sequence`.
    void retire(PartitionId partition, rocksdb::SequenceNumber sequence);
    /// Nobody needs the images up to `lsn` any more.
    void reclaim_images(PartitionId partition, Lsn lsn);
    /// Stops a running compaction early.
    void stop();

private:
    struct Dead {
        PartitionId partition;
        rocksdb::SequenceNumber sequence;
    };
    void look();
    void reclaim(PartitionId partition);
    bool anything_left(PartitionId partition) const;

    const std::shared_ptr<Database> database_;
    const std::function<rocksdb::Status()> flush_;
    const std::function<void(PartitionId)> on_gone_;
    std::mutex mutex_;
    std::vector<Dead> waiting_;  // guarded by mutex_
    bool posted_ = false;        // guarded by mutex_
    std::atomic<bool> canceled_{false};
    Worker worker_{"orrery-reclaim"};
};

}  // namespace orrery::storage::detail
