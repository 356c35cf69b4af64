#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "storage/keys.h"

/// The only user of RocksDB. A Store is one database folder (or memory), one commit order, and the
/// index runs that are not yet on disk. docs/decisions.md 3, 4 and 5 say why.
namespace orrery::storage {

namespace detail {
class CommitQueue;
}
class BulkLoad;  // storage/bulk_load.h

enum class Durability : uint8_t {
    kSync,     ///< an acknowledged write survives kill -9 and power loss
    kRelaxed,  ///< survives kill -9 only
};

struct StoreOptions {
    std::string folder;  ///< empty: in memory, gone on exit
    Durability durability = Durability::kSync;
    uint64_t block_cache_bytes = 256ULL << 20;
    uint64_t index_table_bytes = 16ULL << 20;  ///< runs are frozen and written out at this size
    uint64_t group_bytes_max = 4ULL << 20;
    bool read_only = false;  ///< `orrery check`: no WAL is written, no committer runs
    const Clock* clock = nullptr;
    /// Test seam: wraps the file system below RocksDB (a rocksdb::FileSystem); null: none.
    std::shared_ptr<void> file_system;
};

/// Forward or backward walk over a key range of one view. Owned by one thread at a time.
class Cursor {
public:
    virtual ~Cursor() = default;
    virtual bool valid() const = 0;
    virtual std::string_view key() const = 0;     ///< valid until the cursor moves
    virtual std::string_view value() const = 0;   ///< likewise
    virtual void next() = 0;                      ///< in the cursor's direction
    virtual void seek(std::string_view key) = 0;  ///< first key >= (backward: last key <= ) `key`
    virtual Status status() const = 0;            ///< damage met on the way; check when !valid()
    /// How many entries there are from here to the end. nullopt: only a walk can tell.
    virtual std::optional<uint64_t> left() const { return std::nullopt; }
};

enum class Direction : uint8_t { kForward, kBackward };

/// Value of an index entry whose term is not the whole value: the item decides.
inline constexpr std::string_view kPartialTerm = "\x01";

/// Items and bytes under one counter key.
struct Count {
    int64_t items = 0;
    int64_t bytes = 0;
};

/// What one read sees: a RocksDB snapshot and the index runs that belong to it, so items and index
/// agree in all partitions of the store. Immutable, shared by reference, cheap to hold for a page.
class View {
public:
    virtual ~View() = default;
    virtual uint64_t commit_number() const = 0;
    /// For kIndex the value is empty, or kPartialTerm.
    virtual Result<std::optional<std::string>> get(Family family, std::string_view key) const = 0;
    /// The same without reading a file; `missed` is set, and the answer means nothing, when that
    /// would be needed. Never blocks. Not for kIndex.
    virtual Result<std::optional<std::string>> get_in_memory(Family family, std::string_view key,
                                                             bool& missed) const = 0;
    /// Same order as `keys`.
    virtual Result<std::vector<std::optional<std::string>>> multi_get(
        Family family, const std::vector<std::string>& keys) const = 0;
    /// [begin, end); an empty `end` means no upper bound. Positioned at the first (backward: last)
    /// key. For kIndex, runs and disk are merged, newest wins; removed entries and those under
    /// reserved path hashes are not shown. The cursor keeps the view alive.
    virtual std::unique_ptr<Cursor> scan(Family family, std::string_view begin,
                                         std::string_view end,
                                         Direction direction = Direction::kForward) const = 0;
    /// Sum of a counter (CommitScope::count).
    virtual Result<Count> count(std::string_view counter_key) const = 0;
    /// All counters with keys in [begin, end), in key order, zero sums included. Stops at the first
    /// error that `use` returns.
    virtual Status each_count(
        std::string_view begin, std::string_view end,
        const std::function<Status(std::string_view key, const Count& sum)>& use) const = 0;
};
using ViewPtr = std::shared_ptr<const View>;

/// Additions to and removals from the index by one operation. Keys are complete
/// (partition, path hash, term, docref). Encoded compactly; cheap to move.
class IndexDelta {
public:
    /// `partial`: the term is not the whole value, the item decides. The key must not be in the
    /// index already (to change the flag, remove and add); otherwise call may_repeat(), or a later
    /// removal may be taken for the end of an entry that never reached the disk.
    void add(std::string_view key, bool partial);
    void remove(std::string_view key);
    /// The keys added may be in the index already (background fill of new paths).
    void may_repeat() { repeats_ = true; }
    bool repeats() const { return repeats_; }
    bool empty() const { return entries_.empty(); }
    size_t bytes() const { return buffer_.size(); }

    enum class Change : uint8_t { kRemove = 0, kAdd = 1, kAddPartial = 2 };
    struct Entry {
        uint32_t offset;
        uint32_t size;
        Change change;
    };
    const std::vector<Entry>& entries() const { return entries_; }
    std::string_view key(const Entry& entry) const {
        return {buffer_.data() + entry.offset, entry.size};
    }

private:
    void append(std::string_view key, Change change);

    std::string buffer_;
    std::vector<Entry> entries_;
    bool repeats_ = false;
};

/// What the committer works with while it decides one operation. Everything written through it is
/// applied with the operation or not at all. Valid during CommitOperation::decide() only.
class CommitScope {
public:
    virtual ~CommitScope() = default;
    /// Reads the newest state, including earlier operations of the same group.
    virtual Result<std::optional<std::string>> get(Family family, std::string_view key) = 0;
    virtual void put(Family family, std::string_view key, std::string_view value) = 0;
    virtual void remove(Family family, std::string_view key) = 0;
    /// Derived state, never in the WAL: index entries and counters of this operation, and the
    /// partition and LSN they belong to. Required for each operation that changes items, also with
    /// an empty delta, so that recovery knows what is covered.
    virtual void index(PartitionId partition, Lsn lsn, IndexDelta delta) = 0;
    /// `counter_key` starts with keys::index_path(partition, reserved path hash other than 0).
    virtual void count(std::string_view counter_key, Count delta) = 0;
    /// The partition is dead with this operation: all its keys go in the background after the last
    /// view that could see them. Its id is never used again.
    virtual void retire(PartitionId partition) = 0;
    /// Marks a point inside the operation; rollback_to undoes everything after it and may be
    /// repeated.
    virtual size_t savepoint() = 0;
    virtual void rollback_to(size_t savepoint) = 0;
};

/// One operation on its way through the committer. Owned by the store from submit() on.
class CommitOperation {
public:
    virtual ~CommitOperation() = default;
    /// Committer thread, in queue order. False: nothing to write (whatever went through `scope` is
    /// undone); complete() is still called after the operations before it are durable.
    virtual bool decide(CommitScope& scope) = 0;
    /// Committer thread, before the group is written: e.g. lock cache entries.
    virtual void before_write() {}
    /// Committer thread, after the group is durable and the new view published, before any answer.
    virtual void published(const View& view) { (void)view; }
    /// Committer thread; last call. Not ok: the group could not be made durable; its outcome is
    /// unknown and the store accepts no more writes.
    virtual void complete(Status status) = 0;
    /// For the group's byte limit.
    virtual size_t bytes() const = 0;

private:
    friend class detail::CommitQueue;
    CommitOperation* queue_next_ = nullptr;
};

/// A partition whose index may lack changes after a crash.
struct ReplayNeed {
    PartitionId partition = 0;
    Lsn covered_lsn = 0;  ///< index and counters on disk hold everything up to here
};

class Store {
public:
    /// Clear errors for: folder in use by another process, newer format, damage, no space, no
    /// rights.
    static Result<std::unique_ptr<Store>> open(const StoreOptions& options);
    virtual ~Store() = default;  ///< like close(), errors are logged

    /// Between open() and start(): bring derived state up to date (partition replays its log).
    virtual std::vector<ReplayNeed> replay_needs() const = 0;
    virtual void replay(PartitionId partition, Lsn up_to, IndexDelta delta,
                        const std::vector<std::pair<std::string, Count>>& counts) = 0;
    /// Starts the committer; the first view with the replayed changes is published.
    virtual Status start() = 0;

    /// The newest published view. Any thread; never blocks. Between open() and start(): what is on
    /// disk. Release views before close().
    virtual ViewPtr view() const = 0;
    /// Queues an operation. Any thread. Blocks only while the committer is held back by index
    /// tables that wait for the disk (then by design).
    virtual void submit(std::unique_ptr<CommitOperation> operation) = 0;

    /// For partitions that nobody reads or writes yet. The store outlives it.
    virtual std::unique_ptr<BulkLoad> bulk_load() = 0;

    /// The images of records at or below this LSN are no longer needed by anyone but the index
    /// (which keeps its own window). Default: nobody needs them. Not persistent: partitions with a
    /// horizon set it before start(); until then no image is dropped.
    virtual void set_image_horizon(PartitionId partition, Lsn lsn) = 0;
    /// Takes back the space of images at or below an LSN that the horizon has passed, in the
    /// background, if it is worth the work. They may lie in files that no compaction would touch.
    virtual void reclaim_images(PartitionId partition, Lsn lsn) = 0;
    /// Index and counters on disk hold everything of the partition up to here: recovery needs
    /// neither log records nor images at or below it. Any thread.
    virtual Lsn covered_lsn(PartitionId partition) const = 0;
    /// Like CommitScope::retire(), for partitions found dead at start; not persistent by itself.
    virtual void retire_partition(PartitionId partition) = 0;

    /// Called every few seconds. An index table in memory that nothing was added to since the last
    /// call is written to disk where that is worth a file: queries look through it faster there.
    virtual void rest() = 0;
    /// Writes all index tables and memtables out. After a clean close nothing is replayed.
    virtual Status flush() = 0;
    virtual Status close() = 0;

    /// Not ok once a write has failed (disk full or damaged): reads go on, writes are refused.
    virtual Status health() const = 0;
    /// Reads every block of every file against its checksum.
    virtual Status verify_checksums() = 0;

    struct Statistics {
        uint64_t groups = 0;
        uint64_t operations = 0;
        uint64_t runs_alive = 0;
        uint64_t index_tables_written = 0;
        uint64_t disk_bytes = 0;
        uint64_t memory_bytes = 0;
    };
    virtual Statistics statistics() const = 0;
};

}  // namespace orrery::storage
