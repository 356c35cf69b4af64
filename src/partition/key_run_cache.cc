#include "partition/key_run_cache.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "base/keyed_hash.h"

namespace orrery::partition {
namespace {

constexpr size_t kShardBits = 3;
constexpr size_t kShardCount = size_t{1} << kShardBits;
constexpr size_t kSlotsPerShard = 4096;
/// A run may take this part of its shard.
constexpr uint64_t kRunPart = 4;
/// While runs take less than this part, those that are offered for the first time are kept, too.
constexpr uint64_t kFreePart = 2;
/// Node, table entry, control block.
constexpr uint64_t kEntryOverheadBytes = 192;
/// Keys that were offered once, per shard; more are forgotten all at once.
constexpr size_t kOfferedMax = 8192;

struct Identity {
    size_t operator()(uint64_t hash) const { return hash; }
};

/// Of the EPK, so many bytes begin its docrefs.
constexpr size_t kDocrefPrefixBytes = 8;
/// Keys that are noted to be alone, per shard; more are forgotten all at once.
constexpr size_t kAloneMax = 8192;

uint64_t hash_of(const KeyRunCache::Key& key) {
    const SipKey process_key = process_hash_key();
    return siphash({process_key.k0 ^ key.partition, process_key.k1},
                   key.epk.substr(0, kDocrefPrefixBytes));
}

/// Path hashes are keyed already.
uint64_t entry_hash(uint64_t key_hash, uint64_t path_hash) {
    return key_hash ^ path_hash;
}

struct Node {
    uint64_t hash = 0;
    storage::PartitionId partition = 0;
    std::string epk;
    uint64_t commit = 0;  ///< of the view that it was built from
    uint64_t bytes = 0;
    index::KeyRunPtr run;

    bool is(const KeyRunCache::Key& key, uint64_t path_hash) const {
        return partition == key.partition && epk == key.epk && run->path_hash() == path_hash;
    }
};

/// Kept for keys without runs, too: one may be in the making.
struct Slot {
    uint64_t commit = 0;  ///< of the last change
    uint32_t locks = 0;
};

/// A key with whose docrefs no others begin, as of a commit.
struct Alone {
    storage::PartitionId partition = 0;
    std::string epk;
    uint64_t commit = 0;
};

}  // namespace

/// One lock, one hash table, one queue: the least recently used run leaves first.
struct KeyRunCache::Shard {
    using Queue = std::list<Node>;
    std::mutex mutex;
    // Guarded by mutex.
    Queue queue;  ///< the last used in front
    absl::flat_hash_map<uint64_t, Queue::iterator, Identity> table;
    std::array<Slot, kSlotsPerShard> slots;
    absl::flat_hash_set<uint64_t, Identity> offered;
    absl::flat_hash_map<uint64_t, Alone, Identity> alone;
    absl::flat_hash_set<storage::PartitionId> erased;
    uint64_t bytes = 0;
    uint64_t bytes_max = 0;

    Slot& slot(uint64_t hash) { return slots[hash % kSlotsPerShard]; }
    uint64_t erase(Queue::iterator node) {
        const uint64_t freed = node->bytes;
        bytes -= freed;
        table.erase(node->hash);
        queue.erase(node);
        return freed;
    }
};

KeyRunCache::KeyRunCache(uint64_t bytes_max) : shards_(std::make_unique<Shard[]>(kShardCount)) {
    for (size_t i = 0; i < kShardCount; ++i) shards_[i].bytes_max = bytes_max / kShardCount;
}

KeyRunCache::~KeyRunCache() = default;

KeyRunCache::Shard& KeyRunCache::shard_of(uint64_t hash) const {
    return shards_[hash >> (64 - kShardBits)];
}

index::KeyRunPtr KeyRunCache::find(const Key& key, uint64_t path_hash, uint64_t commit) {
    const uint64_t hash = hash_of(key);
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.table.find(entry_hash(hash, path_hash));
    if (found == shard.table.end() || !found->second->is(key, path_hash)) return nullptr;
    const Slot& slot = shard.slot(hash);
    if (slot.locks != 0) return nullptr;
    Node& node = *found->second;
    if (slot.commit > node.commit) {
        // No view from now on shows the key as the run has it.
        bytes_.fetch_sub(shard.erase(found->second), std::memory_order_relaxed);
        return nullptr;
    }
    if (slot.commit > commit) return nullptr;
    hits_.fetch_add(1, std::memory_order_relaxed);
    shard.queue.splice(shard.queue.begin(), shard.queue, found->second);
    return node.run;
}

void KeyRunCache::offer(const Key& key, uint64_t commit, index::KeyRunPtr run) {
    const uint64_t hash = hash_of(key);
    const uint64_t entry = entry_hash(hash, run->path_hash());
    const uint64_t size = run->memory() + key.epk.size() + kEntryOverheadBytes;
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.mutex);
    if (shard.offered.size() >= kOfferedMax) shard.offered.clear();
    const bool first_time = shard.offered.insert(entry).second;
    if (first_time && shard.bytes + size > shard.bytes_max / kFreePart) return;
    const Slot& slot = shard.slot(hash);
    // While the entry is locked, it is not known which state the commit will leave.
    if (slot.locks != 0 || slot.commit > commit || size > shard.bytes_max / kRunPart ||
        shard.erased.contains(key.partition))
        return;
    uint64_t freed = 0;
    if (const auto found = shard.table.find(entry); found != shard.table.end())
        freed += shard.erase(found->second);
    shard.queue.push_front(
        {entry, key.partition, std::string(key.epk), commit, size, std::move(run)});
    shard.table[entry] = shard.queue.begin();
    shard.bytes += size;
    while (shard.bytes > shard.bytes_max) freed += shard.erase(std::prev(shard.queue.end()));
    bytes_.fetch_add(size - freed, std::memory_order_relaxed);
}

bool KeyRunCache::is_alone(const Key& key, uint64_t commit) {
    const uint64_t hash = hash_of(key);
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.alone.find(hash);
    if (found == shard.alone.end()) return false;
    const Alone& alone = found->second;
    const Slot& slot = shard.slot(hash);
    return alone.partition == key.partition && alone.epk == key.epk && slot.locks == 0 &&
           slot.commit <= std::min(alone.commit, commit);
}

void KeyRunCache::note_alone(const Key& key, uint64_t commit) {
    const uint64_t hash = hash_of(key);
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.mutex);
    const Slot& slot = shard.slot(hash);
    if (slot.locks != 0 || slot.commit > commit || shard.erased.contains(key.partition)) return;
    if (shard.alone.size() >= kAloneMax) shard.alone.clear();
    shard.alone[hash] = {key.partition, std::string(key.epk), commit};
}

void KeyRunCache::lock(const Key& key) {
    const uint64_t hash = hash_of(key);
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.mutex);
    ++shard.slot(hash).locks;
}

void KeyRunCache::unlock(const Key& key, uint64_t commit) {
    const uint64_t hash = hash_of(key);
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.mutex);
    Slot& slot = shard.slot(hash);
    CHECK(slot.locks > 0);
    slot.commit = std::max(slot.commit, commit);
    --slot.locks;
}

void KeyRunCache::erase_partition(storage::PartitionId partition) {
    for (size_t i = 0; i < kShardCount; ++i) {
        Shard& shard = shards_[i];
        const std::lock_guard lock(shard.mutex);
        shard.erased.insert(partition);
        absl::erase_if(shard.alone,
                       [&](const auto& one) { return one.second.partition == partition; });
        for (auto node = shard.queue.begin(); node != shard.queue.end();) {
            const auto next = std::next(node);
            if (node->partition == partition)
                bytes_.fetch_sub(shard.erase(node), std::memory_order_relaxed);
            node = next;
        }
    }
}

}  // namespace orrery::partition
