#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "index/key_run.h"
#include "storage/keys.h"

namespace orrery::partition {

/// Runs of logical partitions (index::KeyRun) by (partition, EPK, path), bounded in memory, sharded
/// by key. Internally locked per shard. Commit numbers are those of views
/// (storage::View::commit_number).
///
/// Invariant: a run that was built from the view of commit B is given to a reader of the view of
/// commit V only if no commit above min(B, V) has touched the key. The committer locks the key
/// before it writes, so that nobody who has the new view can find the key unlocked before the
/// commit's number stands there. Keys that share a slot share these marks, which costs a run at
/// most; keys whose docrefs begin alike always do, so that what is noted of one ends with a write
/// of the other.
class KeyRunCache {
public:
    explicit KeyRunCache(uint64_t bytes_max);
    ~KeyRunCache();
    KeyRunCache(const KeyRunCache&) = delete;
    KeyRunCache& operator=(const KeyRunCache&) = delete;

    struct Key {
        storage::PartitionId partition = 0;
        std::string_view epk;
    };

    /// The run as a view of this commit number shows it. Null: not here.
    index::KeyRunPtr find(const Key& key, uint64_t path_hash, uint64_t commit);
    /// A run built from the view of this commit number. Once half of the memory is used, kept from
    /// the second time on that one is offered, so that keys which are asked for once displace
    /// nothing; loses against what was committed after the view.
    void offer(const Key& key, uint64_t commit, index::KeyRunPtr run);

    /// Whether it was noted, for the view of this commit number too, that no other key's docrefs
    /// begin as this key's do.
    bool is_alone(const Key& key, uint64_t commit);
    /// It is so in the view of this commit number.
    void note_alone(const Key& key, uint64_t commit);

    /// Committer: no run of the key is given away from here ...
    void lock(const Key& key);
    /// ... to here. `commit`: of the view that shows the change; 0: nothing was published.
    void unlock(const Key& key, uint64_t commit);

    void erase_partition(storage::PartitionId partition);

    /// Held at present. Any thread.
    uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
    uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }

private:
    struct Shard;
    Shard& shard_of(uint64_t hash) const;

    std::unique_ptr<Shard[]> shards_;
    std::atomic<uint64_t> bytes_{0};
    std::atomic<uint64_t> hits_{0};
};

}  // namespace orrery::partition
