#include "partition/item_cache.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/random.h"

namespace orrery::partition {
namespace {

constexpr size_t kShardBits = 6;
constexpr size_t kShardCount = size_t{1} << kShardBits;
constexpr size_t kSlotsPerShard = 256;
/// Node, table entry and control block; added to the bytes of key and document.
constexpr uint64_t kEntryOverheadBytes = 192;
constexpr size_t kKeyBytesMax = limits::kItemIdBytesMax + 128;

/// The hash table is already keyed by a secret hash.
struct Identity {
    size_t operator()(uint64_t hash) const { return hash; }
};

SipKey process_key() {
    static const SipKey key{random_u64(), random_u64()};
    return key;
}

/// A key as one run of bytes, on the stack.
class FlatKey {
public:
    explicit FlatKey(const ItemCache::Key& key) {
        const size_t size = 4 + 2 + key.epk.size() + key.id.size();
        if (size > bytes_.size()) return;  // such an id exists nowhere
        const auto epk_size = static_cast<uint16_t>(key.epk.size());
        std::memcpy(bytes_.data(), &key.partition, 4);
        std::memcpy(bytes_.data() + 4, &epk_size, 2);
        std::memcpy(bytes_.data() + 6, key.epk.data(), key.epk.size());
        std::memcpy(bytes_.data() + 6 + key.epk.size(), key.id.data(), key.id.size());
        size_ = size;
        hash_ = siphash(process_key(), bytes());
    }
    bool fits() const { return size_ != 0; }
    std::string_view bytes() const { return {bytes_.data(), size_}; }
    uint64_t hash() const { return hash_; }
    size_t shard() const { return hash_ >> (64 - kShardBits); }
    size_t slot() const { return (hash_ >> 32) % kSlotsPerShard; }

private:
    std::array<char, kKeyBytesMax> bytes_;
    size_t size_ = 0;
    uint64_t hash_ = 0;
};

struct Node {
    std::string key;
    StoredItem item;
    uint64_t hash = 0;
    uint64_t bytes = 0;
    bool visited = false;
    Node* newer = nullptr;
    Node* older = nullptr;
};

/// Versions and locks are kept per slot of hashes, not per entry: an absent item has one, too.
struct Slot {
    uint64_t version = 0;
    uint32_t locks = 0;
};

}  // namespace

/// One lock, one hash table, one queue. Eviction is SIEVE: a hand walks from the oldest entry to
/// the newest, spares those that were hit since it last came by, and evicts the first that was not.
/// A stream of items that are read or written once leaves soon and does not displace hot ones.
struct ItemCache::Shard {
    mutable std::mutex mutex;
    absl::flat_hash_map<uint64_t, std::unique_ptr<Node>, Identity> table;  // guarded by mutex
    std::array<Slot, kSlotsPerShard> slots;                                // guarded by mutex
    Node* newest = nullptr;
    Node* oldest = nullptr;
    Node* hand = nullptr;
    uint64_t bytes = 0;
    uint64_t bytes_max = 0;
    uint64_t hits = 0;
    uint64_t misses = 0;

    void unlink(Node* node) {
        if (hand == node) hand = node->newer;
        (node->newer != nullptr ? node->newer->older : newest) = node->older;
        (node->older != nullptr ? node->older->newer : oldest) = node->newer;
        node->newer = node->older = nullptr;
        bytes -= node->bytes;
    }
    void link(Node* node) {
        node->older = newest;
        (newest != nullptr ? newest->newer : oldest) = node;
        newest = node;
        bytes += node->bytes;
    }
    void erase(uint64_t hash) {
        const auto found = table.find(hash);
        if (found == table.end()) return;
        unlink(found->second.get());
        table.erase(found);
    }
    void evict_to_fit() {
        while (bytes > bytes_max && oldest != nullptr) {
            Node* victim = hand != nullptr ? hand : oldest;
            while (victim->visited) {
                victim->visited = false;
                victim = victim->newer != nullptr ? victim->newer : oldest;
            }
            hand = victim->newer;
            const uint64_t hash = victim->hash;
            unlink(victim);
            table.erase(hash);
        }
    }
    void put(const FlatKey& key, StoredItem item) {
        const uint64_t size = key.bytes().size() + item.document->size() + kEntryOverheadBytes;
        if (item.document->size() > kItemBytesMax || size > bytes_max) {
            erase(key.hash());
            return;
        }
        auto& node = table[key.hash()];
        bool visited = false;
        if (node == nullptr) {
            node = std::make_unique<Node>();
            node->hash = key.hash();
            node->key = key.bytes();
        } else {
            unlink(node.get());
            visited = node->key == key.bytes();  // an item that is written again is in use
            if (!visited) node->key = key.bytes();
        }
        node->visited = visited;
        node->item = std::move(item);
        node->bytes = size;
        link(node.get());
        evict_to_fit();
    }
};

ItemCache::ItemCache(uint64_t bytes_max) : shards_(std::make_unique<Shard[]>(kShardCount)) {
    for (size_t i = 0; i < kShardCount; ++i) shards_[i].bytes_max = bytes_max / kShardCount;
}

ItemCache::~ItemCache() = default;

std::optional<StoredItem> ItemCache::find(const Key& key) {
    const FlatKey flat(key);
    if (!flat.fits()) return std::nullopt;
    Shard& shard = shards_[flat.shard()];
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.table.find(flat.hash());
    if (found == shard.table.end() || shard.slots[flat.slot()].locks != 0 ||
        found->second->key != flat.bytes()) {
        ++shard.misses;
        return std::nullopt;
    }
    ++shard.hits;
    found->second->visited = true;
    return found->second->item;
}

uint64_t ItemCache::version(const Key& key) {
    const FlatKey flat(key);
    if (!flat.fits()) return 0;
    Shard& shard = shards_[flat.shard()];
    const std::lock_guard lock(shard.mutex);
    return shard.slots[flat.slot()].version;
}

void ItemCache::insert_if(const Key& key, uint64_t version, StoredItem item) {
    if (item.document == nullptr) return;
    const FlatKey flat(key);
    if (!flat.fits()) return;
    Shard& shard = shards_[flat.shard()];
    const std::lock_guard lock(shard.mutex);
    const Slot& slot = shard.slots[flat.slot()];
    // A fill that began under the lock read the state before the commit: it loses as well.
    if (slot.locks != 0 || slot.version != version) return;
    shard.put(flat, std::move(item));
}

void ItemCache::lock(const Key& key) {
    const FlatKey flat(key);
    if (!flat.fits()) return;
    Shard& shard = shards_[flat.shard()];
    const std::lock_guard lock(shard.mutex);
    Slot& slot = shard.slots[flat.slot()];
    ++slot.version;
    ++slot.locks;
}

void ItemCache::install(const Key& key, StoredItem item) {
    const FlatKey flat(key);
    if (!flat.fits()) return;
    Shard& shard = shards_[flat.shard()];
    const std::lock_guard lock(shard.mutex);
    Slot& slot = shard.slots[flat.slot()];
    CHECK(slot.locks > 0);
    ++slot.version;
    --slot.locks;
    if (item.document == nullptr)
        shard.erase(flat.hash());
    else
        shard.put(flat, std::move(item));
}

void ItemCache::erase_partition(storage::PartitionId partition) {
    for (size_t i = 0; i < kShardCount; ++i) {
        Shard& shard = shards_[i];
        const std::lock_guard lock(shard.mutex);
        std::vector<uint64_t> hashes;
        for (const auto& [hash, node] : shard.table)
            if (std::memcmp(node->key.data(), &partition, 4) == 0) hashes.push_back(hash);
        for (const uint64_t hash : hashes) shard.erase(hash);
        for (Slot& slot : shard.slots) ++slot.version;
    }
}

ItemCache::Statistics ItemCache::statistics() const {
    Statistics sum;
    for (size_t i = 0; i < kShardCount; ++i) {
        const Shard& shard = shards_[i];
        const std::lock_guard lock(shard.mutex);
        sum.hits += shard.hits;
        sum.misses += shard.misses;
        sum.bytes += shard.bytes;
        sum.entries += shard.table.size();
    }
    return sum;
}

}  // namespace orrery::partition
