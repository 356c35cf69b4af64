#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "partition/key_run_cache.h"
#include "partition/operation.h"
#include "storage/keys.h"

namespace orrery::partition {

/// Hot items by (partition, EPK, id) and by (partition, docref): the stored bytes, bounded in
/// memory, sharded. Internally locked per shard. A reader never sees what a failed sync takes back,
/// and a slow fill never overwrites newer bytes (docs/decisions.md, T1). Commit numbers are those
/// of views (storage::View::commit_number).
class ItemCache {
public:
    explicit ItemCache(uint64_t bytes_max);
    ~ItemCache();
    ItemCache(const ItemCache&) = delete;
    ItemCache& operator=(const ItemCache&) = delete;

    struct Key {
        storage::PartitionId partition = 0;
        std::string_view epk;
        std::string_view id;
    };

    /// The newest published version.
    std::optional<StoredItem> find(const Key& key);
    /// The stored bytes of items that the index names, as a view of this commit number shows them.
    /// Null: not here. `out` is as long as `docrefs`.
    void find_versions(storage::PartitionId partition, std::span<const storage::Docref> docrefs,
                       uint64_t commit, std::span<std::shared_ptr<const std::string>> out);

    /// An item as a view shows it. Loses against what was committed after that view.
    void insert_if(const Key& key, uint64_t commit, StoredItem item);
    /// Of find_versions()'s misses, those that are worth an insert_if(): an item is when it was
    /// missed lately, so that what is read once displaces nothing.
    bool wants(storage::PartitionId partition, const storage::Docref& docref);

    /// Committer: the entry answers no reads from here ...
    void lock(const Key& key);
    /// ... to here; an item without document removes the entry. `commit`: of the view that shows
    /// the item; 0: nothing was published.
    void install(const Key& key, uint64_t commit, StoredItem item);

    void erase_partition(storage::PartitionId partition);

    /// Runs of keys. They take their memory from this cache's, a quarter of it at most; lock() and
    /// install() tell them what changes.
    KeyRunCache& key_runs() { return runs_; }

    struct Statistics {
        uint64_t hits = 0;
        uint64_t misses = 0;
        uint64_t bytes = 0;  ///< those of runs included
        uint64_t entries = 0;
    };
    Statistics statistics() const;

    /// Items above this size are not kept.
    static constexpr uint64_t kItemBytesMax = 64 * 1024;

private:
    struct Shard;
    struct Directory;
    KeyRunCache runs_;
    std::unique_ptr<Directory> directory_;  ///< its locks are taken under those of the shards
    std::unique_ptr<Shard[]> shards_;
};

}  // namespace orrery::partition
