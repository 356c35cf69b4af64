#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "storage/detail/iterator_pool.h"
#include "storage/detail/partition_filter.h"
#include "storage/detail/posting_lists.h"
#include "storage/detail/term_columns.h"
#include "storage/detail/wal_recovery.h"
#include "storage/store.h"

namespace orrery::storage::detail {

inline rocksdb::Slice slice(std::string_view bytes) {
    return {bytes.data(), bytes.size()};
}
inline std::string_view view_of(const rocksdb::Slice& bytes) {
    return {bytes.data(), bytes.size()};
}

/// For every iterator. No range is ever deleted by RocksDB's means (DeleteRange). RocksDB 7.8 looks
/// for such ranges anyway. At the border of a level it then takes a file that it cannot read, or
/// cannot read without waiting, for an empty one (facebook/rocksdb#11782).
inline rocksdb::ReadOptions walk_options(rocksdb::ReadOptions options = {}) {
    options.ignore_range_deletions = true;
    return options;
}

/// RocksDB counts comparisons, blocks and steps per thread unless told not to; nobody reads them.
void stop_counting();

/// An open RocksDB with its file system, lock and column families. Views share it, so that it
/// closes only after the last of them. Internally thread-safe (as RocksDB is).
class Database {
public:
    static Result<std::shared_ptr<Database>> open(const StoreOptions& options);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    rocksdb::DB& db() const { return *db_; }
    rocksdb::ColumnFamilyHandle* family(Family family) const {
        return families_[static_cast<size_t>(family)];
    }
    rocksdb::FileSystem& file_system() const { return *file_system_; }
    /// Options under which files for ingestion are built.
    const rocksdb::Options& table_options(Family family) const {
        return table_options_[static_cast<size_t>(family)];
    }
    const rocksdb::Options& index_table_options() const { return table_options(Family::kIndex); }
    const std::string& staging_folder() const { return staging_folder_; }
    const std::string& folder() const { return folder_; }
    bool in_memory() const { return in_memory_; }
    /// Number of the session's first commit group (check_wal() relies on dense numbers).
    uint64_t first_group_number() const { return first_group_number_; }
    PartitionFilter& filter() const { return *filter_; }
    IteratorPool& iterators() const { return iterators_; }
    TermColumns& term_columns() const { return *term_columns_; }
    PostingLists& posting_lists() const { return *posting_lists_; }

    /// Held while files are ingested into `index`: their generation changes.
    class IndexIngest {
    public:
        explicit IndexIngest(Database& database) : database_(database) {
            ++database_.ingests_begun_;
        }
        /// The ingested file was this index table.
        void set_table(uint64_t table) { database_.last_table_ = table; }
        ~IndexIngest() { ++database_.ingests_done_; }
        IndexIngest(const IndexIngest&) = delete;
        IndexIngest& operator=(const IndexIngest&) = delete;

    private:
        Database& database_;
    };
    /// What a snapshot has of `index`. 0: files came while it was taken, it may or may not have
    /// them.
    struct IndexFiles {
        uint64_t generation = 0;
        uint64_t table = 0;  ///< the newest table
    };
    const rocksdb::Snapshot* take_snapshot(IndexFiles& files) const;
    /// Of an open database, before anything is ingested.
    void set_last_table(uint64_t table) { last_table_ = table; }

    /// With a read tier of memory, `missed` (then required) says that a file would have to be read.
    Result<std::optional<std::string>> get(const rocksdb::ReadOptions& options, Family family,
                                           std::string_view key, bool* missed = nullptr) const;
    /// What happened, in words for the person who runs the server.
    std::string explain(const rocksdb::Status& status) const;

    /// Reads every block of every table file. For a database opened read-only, where RocksDB's own
    /// check trips over an assertion.
    rocksdb::Status verify_files() const;

    /// Called (any thread) when RocksDB meets an error in the background.
    void on_background_error(std::function<void(const rocksdb::Status&)> callback);
    /// Called (any thread) whenever a view is released, while `wake_on_release` is set.
    void on_view_released(std::function<void()> callback);
    std::atomic<bool> wake_on_release{false};
    void view_released();

    /// Stops background work, closes the files and gives up the folder; views must be gone.
    /// Idempotent.
    rocksdb::Status close();

private:
    Database() = default;
    bool is_known(const rocksdb::ReadOptions& options, Family family, std::string_view key) const;
    Status prepare_folder(const StoreOptions& options);
    Status open_database(const StoreOptions& options);
    /// 0 when it cannot be told.
    uint64_t oldest_needed_log(
        rocksdb::DBOptions db_options,
        const std::vector<rocksdb::ColumnFamilyDescriptor>& descriptors) const;
    Status check_format(const StoreOptions& options);

    class Listener;

    std::string folder_;
    std::string staging_folder_;
    bool in_memory_ = false;
    uint64_t first_group_number_ = 1;
    std::unique_ptr<rocksdb::Env> memory_env_;
    std::shared_ptr<rocksdb::FileSystem> file_system_;
    std::unique_ptr<rocksdb::Env> env_;
    rocksdb::FileLock* lock_ = nullptr;
    std::shared_ptr<PartitionFilter> filter_ = std::make_shared<PartitionFilter>();
    std::shared_ptr<Listener> listener_;
    std::array<rocksdb::Options, kFamilyCount> table_options_;
    std::unique_ptr<rocksdb::DB> db_;
    std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> families_{};
    mutable IteratorPool iterators_;
    std::unique_ptr<TermColumns> term_columns_;
    std::unique_ptr<PostingLists> posting_lists_;
    std::atomic<uint64_t> ingests_begun_{1};
    std::atomic<uint64_t> ingests_done_{1};
    std::atomic<uint64_t> last_table_{0};
    std::mutex release_mutex_;
    std::function<void()> release_callback_;
};

/// Options of the database and of each family.
rocksdb::DBOptions database_options(const StoreOptions& options, rocksdb::Env* env);
rocksdb::ColumnFamilyOptions family_options(Family family,
                                            const std::shared_ptr<rocksdb::Cache>& cache,
                                            std::shared_ptr<const PartitionFilter> filter);
std::string_view family_name(Family family);

}  // namespace orrery::storage::detail
