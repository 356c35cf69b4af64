#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "partition/operation.h"
#include "storage/keys.h"

namespace orrery::partition {

/// Hot items by (partition, EPK, id): the stored bytes, bounded in memory, sharded. Internally
/// locked per shard. Design D2c: a reader never sees what a failed sync takes back, and a slow fill
/// never overwrites newer bytes.
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

    std::optional<StoredItem> find(const Key& key);

    /// Before reading the store to fill: remember the slot's version; insert_if loses when it
    /// moved.
    uint64_t version(const Key& key);
    void insert_if(const Key& key, uint64_t version, StoredItem item);

    /// Committer: the entry answers no reads from here ...
    void lock(const Key& key);
    /// ... to here; an item without document removes the entry.
    void install(const Key& key, StoredItem item);

    void erase_partition(storage::PartitionId partition);

    struct Statistics {
        uint64_t hits = 0;
        uint64_t misses = 0;
        uint64_t bytes = 0;
        uint64_t entries = 0;
    };
    Statistics statistics() const;

    /// Items above this size are not kept.
    static constexpr uint64_t kItemBytesMax = 64 * 1024;

private:
    struct Shard;
    std::unique_ptr<Shard[]> shards_;
};

}  // namespace orrery::partition
