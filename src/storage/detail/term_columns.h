#pragma once

#include <rocksdb/cache.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/detail/run.h"
#include "storage/term_counts.h"

namespace orrery::storage::detail {

/// Columns of paths whose entries have been counted often enough, in the block cache's budget.
/// Internally locked.
///
/// A column counts the entries on disk up to one index table. The next table's changes are added
/// when it is written. A view of another table does not use the column.
class TermColumns {
public:
    explicit TermColumns(std::shared_ptr<rocksdb::Cache> cache);

    struct Counted {
        uint64_t table = 0;
        size_t docref_bytes = 0;
        std::shared_ptr<const TermColumn> column;
    };
    /// Column of a path (partition and path hash) up to `table`.
    std::shared_ptr<const TermColumn> find(std::string_view path, uint64_t table);
    void insert(std::string_view path, Counted counted);

    /// Entries that were read one by one to count them.
    void note_walk(std::string_view path, uint64_t entries);
    /// True when at least `cost` entries have been read, which is what making the column takes.
    bool is_worthwhile(std::string_view path, uint64_t cost);
    /// The same, and claims the work: only this caller is told to make the column.
    bool claim(std::string_view path, uint64_t cost);
    /// The column does not fit. It is not tried again before many more entries are read.
    void refuse(std::string_view path, uint64_t cost);
    /// Largest column that the cache may hold.
    size_t column_bytes_max() const;

    /// `run` is on disk now, as table `run.table()`.
    void apply(const Run& run);

private:
    struct Known {
        bool used = false;  ///< since the last table
    };
    std::string cache_key(std::string_view path) const;
    std::optional<Counted> look_up(std::string_view path);
    void forget(const std::string& path);
    int64_t* walked_enough(std::string_view path, uint64_t cost);

    const std::shared_ptr<rocksdb::Cache> cache_;
    const uint64_t id_;
    std::mutex mutex_;
    std::unordered_map<std::string, Known> known_;     // guarded by mutex_
    std::unordered_map<std::string, int64_t> walked_;  // guarded by mutex_
};

/// Changes that runs make to the counts of the terms in [begin, end) of a path; runs of tables up
/// to `table` are left out. nullopt: a run does not know what it changes. `runs` oldest first.
std::optional<std::vector<TermCounts::Change>> count_changes(const std::vector<const Run*>& runs,
                                                             std::string_view path,
                                                             std::string_view begin,
                                                             std::string_view end,
                                                             size_t docref_bytes);

}  // namespace orrery::storage::detail
