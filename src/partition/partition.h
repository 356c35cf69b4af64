#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "index/geometry.h"
#include "index/key_run.h"
#include "index/policy.h"
#include "partition/changes.h"
#include "partition/expiry.h"
#include "partition/item_cache.h"
#include "partition/operation.h"
#include "partition/partition_key.h"
#include "partition/record.h"
#include "partition/step_transaction.h"
#include "partition/unique_key.h"
#include "storage/store.h"

namespace orrery::partition {

/// What a container tells its partitions. Immutable; replaced as a whole.
struct ContainerSettings {
    PartitionKeyDefinition key;
    index::IndexingPolicy indexing;  ///< what writes maintain
    /// While a change of the policy is carried out: policies whose entries items may still have
    /// instead. Empty: every item has exactly the entries of `indexing`.
    std::vector<std::shared_ptr<const index::IndexingPolicy>> previous;
    uint64_t index_change = 0;  ///< number of the change that is carried out, or was last
    index::GeometrySpace space = index::GeometrySpace::kEarth;  ///< what coordinates mean
    SipKey path_key;                     ///< keys the path hashes of this container
    std::optional<int64_t> default_ttl;  ///< absent: off; -1: on, never by default; n seconds
    /// Instead of what items say by `ttl`; default_ttl is there, too.
    std::optional<ExpiryProperty> expiry;
    std::vector<UniqueKey> unique_keys;
    /// How long every version and delete stays readable in the change feed; 0: the latest only.
    int64_t feed_retention_seconds = 0;
    /// Binary `_rid` of the container (8 bytes): patch conditions may look at `_rid` and `_self`.
    std::string container_rid;
    /// A logical partition takes no more writes that make it grow above this
    /// (kLogicalPartitionFull).
    uint64_t logical_partition_bytes_max = kLogicalPartitionBytesMax;

    static constexpr uint64_t kLogicalPartitionBytesMax = 20ULL << 30;

    json::Dialect dialect() const { return indexing.dialect; }

    // What a query may rely on for every indexed item: all policies agree on it.
    bool path_usable(const std::vector<index::PathStep>& path) const;
    /// Also items that lack the path have an entry there.
    bool undefined_usable(const std::vector<index::PathStep>& path) const;
    bool composite_usable(const index::CompositeIndex& composite) const;
    /// Of the spatial index that has entries for every geometry at the path; null: none.
    const index::SpatialGrid* spatial_usable(const std::vector<index::PathStep>& path) const;
    /// Every item that is not indexed has its marker (index::unindexed_path_hash).
    bool markers_usable() const;
};
using ContainerSettingsPtr = std::shared_ptr<const ContainerSettings>;

/// Durable identity of a partition.
struct PartitionIdentity {
    storage::PartitionId id = 0;
    EpkRange range;
    uint32_t rid_prefix = 0;  ///< goes into the item numbers that it hands out
};

/// A page of a feed in docref order.
struct FeedRequest {
    EpkRange range;            ///< items outside are skipped
    std::string resume_after;  ///< docref bytes of the last item returned; empty: from the start
    uint32_t items_max = 100;
    uint64_t bytes_max = 4ULL << 20;
};
struct FeedPage {
    std::vector<StoredItem> items;
    std::string resume_after;  ///< where to go on; empty: the range is exhausted
};

/// One EPK range of one container: items, index, log, TTL, unique keys; one commit order (LSN).
/// Internally thread-safe: reads run on any thread over a view, decisions on the store's committer.
/// Invariants:
///  - item bytes, id entry and log record of one write share one batch and one LSN; LSNs are dense;
///  - LSN order = visibility order = log order;
///  - `_ts` never runs backwards.
class Partition : public std::enable_shared_from_this<Partition> {
public:
    struct Deps {
        storage::Store& store;
        ItemCache& cache;
        WorkerPool& workers;  ///< preparation that must not run on the caller's thread
        const Clock& clock;
    };  // borrowed, outlive this

    /// Opens (or, right after creation, begins) a partition: reads its LSN and item number.
    static Result<std::shared_ptr<Partition>> open(PartitionIdentity identity,
                                                   ContainerSettingsPtr settings, const Deps& deps);
    virtual ~Partition() = default;

    virtual const PartitionIdentity& identity() const = 0;
    virtual ContainerSettingsPtr settings() const = 0;
    /// Committer thread, or while nothing commits.
    virtual void set_settings(ContainerSettingsPtr settings) = 0;
    /// Highest published LSN. Any thread.
    virtual storage::Lsn lsn() const = 0;
    /// Text bytes of all items, as published. Any thread, cheap.
    virtual int64_t bytes() const = 0;
    /// Where the log's records of its own begin.
    virtual const Birth& birth() const = 0;
    /// The keys have gone to other partitions (partition/move.h): what comes after sees them there.
    /// execute(), read() and delete_logical_partition() go on there by themselves. Never blocks;
    /// also true while the switch is being written.
    virtual bool has_moved() const = 0;
    /// Call it with a view at hand: true, the view shows the partition whole and as it was when the
    /// view was made. False: it has moved, look the container's map up and begin again. Waits for a
    /// switch that is just being written; not on loop threads.
    virtual bool is_current() const = 0;
    /// LSN of the last commit decided, published or not. Committer thread only.
    virtual storage::Lsn decided_lsn() const = 0;

    /// From the item cache or from what RocksDB has in memory; never blocks, for loop threads.
    /// nullopt: the disk is needed, ask read(). An item that has expired is not found.
    virtual std::optional<OperationResult> read_cached(std::string_view epk, std::string_view id,
                                                       std::string_view if_none_match) = 0;
    /// May read the disk. Fills the cache.
    virtual OperationResult read(std::string_view epk, std::string_view id,
                                 std::string_view if_none_match) = 0;

    /// The stored bytes of items that the index names, where the cache has what the view shows.
    /// Null: read the view. `out` is as long as `docrefs`. Never blocks.
    virtual void find_versions(const storage::View& view, std::span<const storage::Docref> docrefs,
                               std::span<std::shared_ptr<const std::string>> out) const = 0;
    /// What the view shows of an item that find_versions() did not have. Kept if it is asked for
    /// repeatedly.
    virtual void offer_version(const storage::View& view, const storage::Docref& docref,
                               std::string_view document) const = 0;

    /// What the items of one key have at a path (members only), if memory has it as the view shows
    /// it. Null: build_key_runs(). Keys of one level. Never blocks.
    virtual index::KeyRunPtr find_key_run(const storage::View& view, std::string_view epk,
                                          uint64_t path_hash) const = 0;
    /// The same for several paths, from one pass over the key's items. Kept if asked for
    /// repeatedly. The paths lead to what items store, not to system or computed properties. In
    /// containers of the dialect nosql only.
    virtual Result<std::vector<index::KeyRunPtr>> build_key_runs(
        const storage::View& view, std::string_view epk,
        const std::vector<std::vector<index::PathStep>>& paths) const = 0;

    /// Whether one EPK alone has the docref prefix of `epk`: then what lies between the docrefs
    /// that begin with it is its own. Keys of one level.
    virtual Result<bool> owns_docref_prefix(const storage::View& view,
                                            std::string_view epk) const = 0;

    /// Executes a transaction. `done` is called once, on any thread (also on the caller's). Cheap
    /// preparation (a create) runs on the caller's thread; what needs the disk moves to the
    /// workers.
    virtual void execute(Transaction transaction, TransactionDone done) = 0;

    /// A transaction whose operations come one by one, over `view`. Null: the key is elsewhere,
    /// look the container's map up and begin again. Worker thread.
    virtual std::unique_ptr<StepTransaction> begin_steps(std::string_view epk,
                                                         storage::ViewPtr view) = 0;

    /// A page of items, expired ones left out, docref order.
    virtual Result<FeedPage> read_feed(const storage::View& view, const FeedRequest& request) = 0;

    /// A page of the change feed, in LSN order. kFeedHistoryGone: a position outside the retention
    /// window.
    virtual Result<ChangesPage> read_changes(const storage::View& view,
                                             const ChangesRequest& request) = 0;
    /// An LSN, `up_to` at most, such that every commit up to it happened at or before `ts`: the
    /// highest, but for times before a merge.
    virtual Result<storage::Lsn> lsn_before(const storage::View& view, int64_t ts,
                                            storage::Lsn up_to) = 0;
    /// Moves the window of the all-versions feed on and removes log records that no reader and no
    /// recovery needs; looks at no more than `records_max`. Returns how many it looked at. One
    /// thread at a time, in the background.
    virtual Result<size_t> trim_log(size_t records_max) = 0;

    /// A reader has read the log up to `position` and needs every record above it, including
    /// deletes. nullopt: no such reader. Forgotten at a restart.
    virtual void hold_log_for_reader(std::optional<storage::Lsn> position) = 0;

    /// Called for every removed item, to price it. May be empty.
    using RemovedWork = std::function<void(const OperationWork&)>;
    /// Deletes all items of one logical partition, a bounded number per commit; returns when done
    /// or at the first error. Runs on the caller's thread (a worker).
    virtual Status delete_logical_partition(std::string_view epk,
                                            const RemovedWork& removed = {}) = 0;

    /// Items and bytes (text sizes) in this partition.
    virtual Result<storage::Count> totals(const storage::View& view) const = 0;
    /// Whether the view may show an item that the index leaves out by directive or policy.
    virtual Result<bool> holds_unindexed(const storage::View& view) const = 0;
    /// Items and bytes of one logical partition.
    virtual Result<storage::Count> logical_totals(const storage::View& view,
                                                  std::string_view epk) const = 0;

    /// Whether `ttl` has every item that may expire. Not so for a while after a container's time to
    /// live was switched on.
    virtual Result<bool> lists_expiry(const storage::View& view) const = 0;
    /// Removes up to `max` expired items; returns how many. Background thread.
    virtual Result<size_t> remove_expired(size_t max, const RemovedWork& removed = {}) = 0;

    enum class FillState : uint8_t {
        kMore,      ///< items are left
        kComplete,  ///< every item has exactly the entries of the present policy
        kStale,     ///< these are not the partition's settings; nothing was done
    };
    struct Filled {
        FillState state = FillState::kMore;
        uint64_t terms = 0;  ///< charged terms that items have gained or lost
    };
    /// While a policy change runs: gives up to `items_max` further items, in docref order, exactly
    /// the entries of the present policy. `settings` must have been committed before the call. One
    /// thread at a time, in the background.
    virtual Result<Filled> fill_index(const ContainerSettingsPtr& settings, size_t items_max) = 0;
    /// How far that is. Any thread.
    virtual IndexFill index_fill() const = 0;
    /// Keeps a position for the next start. Index entries are not in the WAL: only a position from
    /// before a Store::flush() may be kept.
    virtual Status save_index_fill(const IndexFill& fill) = 0;

    /// After a crash: index and counters above `covered` from log, images and items. Before
    /// Store::start().
    virtual Status replay_index(storage::Lsn covered) = 0;

    /// Verifies that items, ids, index, log, ttl, unique keys and totals agree; appends one line
    /// per finding to `findings` (bounded).
    virtual Status check(const storage::View& view, std::vector<std::string>& findings) = 0;
};

/// A view and the settings under which its index was written. Settings that are read before or
/// after the view may promise more than it holds: a change may begin or end in between.
struct ViewAndSettings {
    storage::ViewPtr view;
    ContainerSettingsPtr settings;
};
ViewAndSettings view_and_settings(const Partition& partition, const storage::Store& store);

/// Item number parts: rid prefix and counter (`_rid` layout: docs/protocol.md).
inline constexpr uint32_t kItemCounterBits = 40;

}  // namespace orrery::partition
