#pragma once

#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "storage/detail/commit_queue.h"
#include "storage/detail/commit_scope.h"
#include "storage/detail/database.h"
#include "storage/detail/index_tables.h"
#include "storage/detail/view.h"
#include "storage/detail/worker.h"

namespace orrery::storage::detail {

/// The store's only writer: one thread that turns queued operations into groups, one RocksDB batch
/// and one index run each, and publishes a view after each. Two workers help: one sorts and merges
/// runs, one writes index tables.
class Committer {
public:
    struct Options {
        Durability durability = Durability::kSync;
        uint64_t index_table_bytes = 0;
        uint64_t group_bytes_max = 0;
        uint64_t first_table = 1;
        /// Partitions with a dirty note in `meta`.
        std::vector<PartitionId> noted;
        /// Committer thread, after the group that retired the partition is published.
        std::function<void(PartitionId, rocksdb::SequenceNumber)> on_retired;
    };

    Committer(std::shared_ptr<Database> database, Options options);
    ~Committer();

    /// Before start().
    void replay(PartitionId partition, Lsn up_to, IndexDelta delta, CounterSums counts);
    /// Instead of start() where nothing is written: the view shows what was replayed.
    void show_replayed() { publish(); }
    void start();
    /// Finishes what is queued, writes all index tables, ends the thread. Idempotent.
    Status stop();

    // Any thread.
    void submit(std::unique_ptr<CommitOperation> operation);
    ViewPtr view() const;
    /// See Store::rest().
    void rest();
    /// Returns when all changes published before the call are in index tables on disk, or with an
    /// error when the store has failed or stopped.
    Status flush_index();
    /// Runs `task` on the committer thread and waits. Everything that touches the log, other than
    /// writes, goes through here: RocksDB asserts when it is asked to after a failed write. Returns
    /// an error without running the task when the store has failed or stopped.
    rocksdb::Status call(const std::function<rocksdb::Status()>& task);
    /// Writes the memtables of all families out.
    rocksdb::Status flush_memtables();
    /// Makes everything written so far safe in the log; nothing to do where each write is synced.
    rocksdb::Status sync_wal();
    /// Publishes a view that shows files ingested before the call.
    rocksdb::Status publish_ingested();
    /// Deletes keys of the store's own in `meta` with the next group.
    void remove_own_keys(std::vector<std::string> keys);
    Status health() const;
    void fail(const std::string& why);

    struct Statistics {
        std::atomic<uint64_t> groups{0};
        std::atomic<uint64_t> operations{0};
        std::atomic<uint64_t> index_tables{0};
        std::atomic<uint64_t> run_bytes{0};
        std::atomic<uint64_t> runs{0};
    };
    const Statistics& statistics() const { return statistics_; }

private:
    struct SortJob;
    struct FlushWaiter {
        uint64_t table;
        std::shared_ptr<std::promise<Status>> done;
    };
    using Group = std::vector<std::unique_ptr<CommitOperation>>;

    void run();
    void read_mail();
    void commit_queued();
    void refuse_queued();
    void close_calls();
    Status stopped() const;
    rocksdb::Status wait_for_disk() const;
    Group next_group();
    void commit(Group group);
    void refuse(std::unique_ptr<CommitOperation> operation);
    bool write_batch();
    void write_notes();
    void add_notes();
    std::shared_ptr<SortJob> begin_sort();
    void end_sort(SortJob& job);
    void publish();
    void schedule_merge();
    void freeze_when_full();
    void freeze();
    void write_table(const FrozenTablePtr& table);
    void on_table_written(uint64_t number);
    void check_flush_waiters();

    const std::shared_ptr<Database> database_;
    const Options options_;
    CommitQueue queue_;
    Statistics statistics_;

    mutable std::mutex view_mutex_;
    ViewPtr view_;  // guarded by view_mutex_

    std::atomic<bool> failed_{false};
    mutable std::mutex failure_mutex_;
    std::string failure_;  // guarded by failure_mutex_

    std::mutex calls_mutex_;
    bool calls_closed_ = false;  // guarded by calls_mutex_; then nobody reads mail any more

    std::atomic<bool> stopping_{false};
    std::atomic<bool> stopped_{false};
    bool running_ = false;
    std::thread thread_;

    // Committer thread only, from start() on.
    GroupScope scope_;
    IndexTables tables_;
    std::deque<std::unique_ptr<CommitOperation>> pending_;
    uint64_t group_number_;       ///< of the next batch
    uint64_t commit_number_ = 0;  ///< of the newest view
    uint64_t resting_bytes_ = 0;  ///< of the current table at the last rest()
    bool refusing_ = false;
    uint64_t table_on_disk_;
    /// Partitions with a dirty note, and the last table that has changes of theirs.
    std::unordered_map<PartitionId, uint64_t> noted_;
    bool notes_changed_ = false;
    std::vector<std::string> own_keys_to_remove_;
    std::vector<FlushWaiter> flush_waiters_;

    Worker run_worker_{"orrery-runs"};
    Worker table_worker_{"orrery-tables"};
};

}  // namespace orrery::storage::detail
