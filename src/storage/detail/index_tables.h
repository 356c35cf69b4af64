#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "storage/detail/database.h"
#include "storage/detail/run.h"

namespace orrery::storage::detail {

/// A full table on its way to disk. Immutable.
struct FrozenTable {
    uint64_t number = 0;
    std::vector<RunPtr> runs;  ///< oldest first
    std::unordered_map<PartitionId, Lsn> covered;
};
using FrozenTablePtr = std::shared_ptr<const FrozenTable>;

/// Runs to be merged into one, and the result.
struct RunMerge {
    std::vector<RunPtr> runs;  ///< oldest first
    int level = 0;             ///< of the result
    RunPtr merged;
};

/// The index changes that are not on disk: the current table's runs and the frozen tables. Owned by
/// the committer thread.
///
/// Invariant: levels fall from the oldest to the newest run of the current table; a run of level n
/// stands for at least 4^n groups.
class IndexTables {
public:
    explicit IndexTables(uint64_t first_number) : number_(first_number) {}

    uint64_t number() const { return number_; }
    void add(RunPtr run);
    /// The current table holds the partition's changes up to `lsn`.
    void cover(PartitionId partition, Lsn lsn);
    size_t current_bytes() const { return bytes_; }
    bool current_empty() const { return runs_.empty() && covered_.empty(); }

    /// Four or more neighbours of one level, if there are any and no merge is under way.
    std::optional<RunMerge> pick_merge();
    void finish_merge(const RunMerge& merge);

    /// The current table becomes frozen and a new one begins.
    FrozenTablePtr freeze();
    /// Readers get the one run instead of the table's many.
    void replace_frozen(uint64_t number, RunPtr merged);
    /// Oldest frozen table; it is on disk now.
    void drop_frozen(uint64_t number);
    size_t frozen_count() const { return frozen_.size(); }
    uint64_t oldest_frozen() const { return frozen_.empty() ? number_ : frozen_.front().number; }

    std::vector<RunPtr> all_runs() const;  ///< oldest first

private:
    struct LevelRun {
        RunPtr run;
        int level;
    };
    struct Frozen {
        uint64_t number;
        std::vector<RunPtr> runs;
    };
    uint64_t number_;
    std::vector<LevelRun> runs_;
    std::unordered_map<PartitionId, Lsn> covered_;
    size_t bytes_ = 0;
    std::deque<Frozen> frozen_;
    bool merging_ = false;
};

struct TableWriteOptions {
    uint64_t number = 0;
    const std::unordered_map<PartitionId, Lsn>& covered;
    /// Makes the changes in the table safe in the log, before it is ingested.
    std::function<rocksdb::Status()> sync_wal;
};
/// Writes a frozen table, merged to one run, into an SST and ingests it.
rocksdb::Status write_index_table(Database& database, const Run& run,
                                  const TableWriteOptions& options);

}  // namespace orrery::storage::detail
