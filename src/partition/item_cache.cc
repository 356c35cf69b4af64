#include "partition/item_cache.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/keyed_hash.h"
#include "base/limits.h"

namespace orrery::partition {
namespace {

constexpr size_t kShardBits = 6;
constexpr size_t kShardCount = size_t{1} << kShardBits;
constexpr size_t kSlotsPerShard = 256;
/// Node, entries of table and directory, control block; added to the bytes of key and document.
constexpr uint64_t kEntryOverheadBytes = 224;
/// Runs of keys may take this part of the memory.
constexpr uint64_t kRunsPart = 4;
constexpr size_t kKeyBytesMax = limits::kItemIdBytesMax + 128;

/// The hash table is already keyed by a secret hash.
struct Identity {
    size_t operator()(uint64_t hash) const { return hash; }
};

size_t slot_of(uint64_t hash) {
    return (hash >> 32) % kSlotsPerShard;
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
        hash_ = siphash(process_hash_key(), bytes());
    }
    bool fits() const { return size_ != 0; }
    std::string_view bytes() const { return {bytes_.data(), size_}; }
    uint64_t hash() const { return hash_; }
    size_t shard() const { return hash_ >> (64 - kShardBits); }
    size_t slot() const { return slot_of(hash_); }

private:
    std::array<char, kKeyBytesMax> bytes_;
    size_t size_ = 0;
    uint64_t hash_ = 0;
};

/// Who is looked for by docref.
uint64_t docref_hash(storage::PartitionId partition, const storage::Docref& docref) {
    const SipKey key = process_hash_key();
    return siphash({key.k0 ^ partition, key.k1}, docref.bytes());
}

constexpr size_t kCacheLineBytes = 64;

/// What a look-up by docref reads lies in one cache line.
struct alignas(kCacheLineBytes) Node {
    std::shared_ptr<const std::string> document;
    uint64_t commit = 0;  ///< views from here on show this item, as long as it is here
    storage::PartitionId partition = 0;
    storage::Docref docref;
    std::atomic<bool> visited{false};

    std::string key;
    uint64_t hash = 0;
    uint64_t bytes = 0;
    Node* newer = nullptr;
    Node* older = nullptr;

    uint64_t docref_hash() const { return partition::docref_hash(partition, docref); }
};
static_assert(sizeof(Node) == 2 * kCacheLineBytes);

/// Kept per slot of hashes, not per entry: an absent item has one, too.
struct Slot {
    uint64_t commit = 0;  ///< of the last change
    uint32_t locks = 0;
};

}  // namespace

/// The entries that answer look-ups by docref: none that is locked. Internally locked; an entry is
/// changed or freed only while it is not in here, so that a holder of the lock may read what is in
/// here. Of entries with the same hash only one is found.
struct ItemCache::Directory {
    struct Part {
        std::mutex mutex;
        absl::flat_hash_map<uint64_t, Node*, Identity> entries;  // guarded by mutex

        // All of these under the lock.

        /// Null: not here.
        Node* find(uint64_t hash) const {
            const auto found = entries.find(hash);
            return found == entries.end() ? nullptr : found->second;
        }
        /// expect_node() of this hash comes soon.
        void expect(uint64_t hash) { entries.prefetch(hash); }
        /// expect_document() of this hash comes soon.
        void expect_node(uint64_t hash) const { __builtin_prefetch(find(hash), 1); }
        /// version() of this hash comes soon.
        void expect_document(uint64_t hash) const {
            // Its counter of references lies before it.
            if (const Node* node = find(hash)) {
                const auto* document = reinterpret_cast<const char*>(node->document.get());
                __builtin_prefetch(document - 8, 1);
                __builtin_prefetch(document + sizeof(std::string) - 1);
            }
        }
        /// The entry's document if it is that of the docref, as the commit left it; else null.
        std::shared_ptr<const std::string> version(uint64_t hash, storage::PartitionId partition,
                                                   const storage::Docref& docref,
                                                   uint64_t commit) const {
            Node* const node = find(hash);
            if (node == nullptr || node->docref != docref || node->partition != partition ||
                node->commit > commit)
                return nullptr;
            node->visited.store(true, std::memory_order_relaxed);
            return node->document;
        }
    };
    std::array<Part, kShardCount> parts;
    /// Hashes of docrefs that were missed lately, one bit each. Forgotten when half are set.
    static constexpr size_t kMissedBits = size_t{1} << 20;
    std::array<std::atomic<uint64_t>, kMissedBits / 64> missed{};
    std::atomic<uint64_t> missed_count{0};

    /// The items of one key are in one part, so that several of them need one lock.
    Part& part(const storage::Docref& docref) {
        constexpr uint64_t kSpread = 0x9E3779B97F4A7C15ULL;
        return parts[(load_u64_be(docref.bytes().data()) * kSpread) >> (64 - kShardBits)];
    }
    void add(Node& node) {
        Part& at = part(node.docref);
        const std::lock_guard lock(at.mutex);
        at.entries[node.docref_hash()] = &node;
    }
    void remove(const Node& node) {
        Part& at = part(node.docref);
        const std::lock_guard lock(at.mutex);
        const auto found = at.entries.find(node.docref_hash());
        if (found != at.entries.end() && found->second == &node) at.entries.erase(found);
    }
};

/// One lock, one hash table, one queue. Eviction is SIEVE: a hand walks from the oldest entry to
/// the newest, spares those that were hit since it last came by, and evicts the first that was not.
/// A stream of items that are read or written once leaves soon and does not displace hot ones.
struct ItemCache::Shard {
    mutable std::mutex mutex;
    absl::flat_hash_map<uint64_t, std::unique_ptr<Node>, Identity> table;  // guarded by mutex
    std::array<Slot, kSlotsPerShard> slots;                                // guarded by mutex
    absl::flat_hash_set<storage::PartitionId> erased;                      // guarded by mutex
    Directory* directory = nullptr;
    const KeyRunCache* runs = nullptr;
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
        directory->remove(*found->second);
        table.erase(found);
    }
    /// What runs leave of it.
    uint64_t bytes_allowed() const { return bytes_max - runs->bytes() / kShardCount; }
    void evict_to_fit() {
        const uint64_t allowed = bytes_allowed();
        while (bytes > allowed && oldest != nullptr) {
            Node* victim = hand != nullptr ? hand : oldest;
            while (victim->visited.load(std::memory_order_relaxed)) {
                victim->visited.store(false, std::memory_order_relaxed);
                victim = victim->newer != nullptr ? victim->newer : oldest;
            }
            hand = victim->newer;
            const uint64_t hash = victim->hash;
            unlink(victim);
            directory->remove(*victim);
            table.erase(hash);
        }
    }
    void put(const ItemCache::Key& name, const FlatKey& key, uint64_t commit, StoredItem item) {
        const uint64_t size = key.bytes().size() + item.document->size() + kEntryOverheadBytes;
        if (item.document->size() > kItemBytesMax || size > bytes_allowed()) {
            erase(key.hash());
            return;
        }
        auto& node = table[key.hash()];
        bool visited = false;
        if (node == nullptr) {
            node = std::make_unique<Node>();
            node->hash = key.hash();
        } else {
            unlink(node.get());
            directory->remove(*node);
            visited = node->key == key.bytes();  // an item that is written again is in use
        }
        if (!visited) {
            node->key = key.bytes();
            node->partition = name.partition;
        }
        node->visited.store(visited, std::memory_order_relaxed);
        node->document = std::move(item.document);
        node->docref = item.docref;
        node->commit = commit;
        node->bytes = size;
        link(node.get());
        // Another write, perhaps of this item, is under way: the last one publishes the entry.
        if (slots[key.slot()].locks == 0) directory->add(*node);
        evict_to_fit();
    }
};

ItemCache::ItemCache(uint64_t bytes_max)
    : runs_(bytes_max / kRunsPart),
      directory_(std::make_unique<Directory>()),
      shards_(std::make_unique<Shard[]>(kShardCount)) {
    for (size_t i = 0; i < kShardCount; ++i) {
        shards_[i].bytes_max = bytes_max / kShardCount;
        shards_[i].directory = directory_.get();
        shards_[i].runs = &runs_;
    }
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
    found->second->visited.store(true, std::memory_order_relaxed);
    return StoredItem{found->second->document, found->second->docref};
}

void ItemCache::find_versions(storage::PartitionId partition,
                              std::span<const storage::Docref> docrefs, uint64_t commit,
                              std::span<std::shared_ptr<const std::string>> out) {
    // Each step asks for the memory that the next one needs, for all of a group, so that the group
    // waits once and not each item for itself. Neighbours in one part share its lock; between two
    // steps it may have been given up, so every step finds again what it uses, and an address that
    // is merely asked for may be stale.
    constexpr size_t kGroup = 16;
    constexpr size_t kExpectedBytes = 512;  // of a document; the rest follows by itself
    std::array<uint64_t, kGroup> hashes;
    std::array<Directory::Part*, kGroup> parts;
    std::unique_lock<std::mutex> lock;
    for (; !docrefs.empty(); docrefs = docrefs.subspan(std::min(kGroup, docrefs.size()))) {
        const size_t count = std::min(kGroup, docrefs.size());
        for (size_t i = 0; i < count; ++i) {
            hashes[i] = docref_hash(partition, docrefs[i]);
            parts[i] = &directory_->part(docrefs[i]);
        }
        const auto each = [&](const auto& step) {
            for (size_t i = 0; i < count; ++i) {
                if (lock.mutex() != &parts[i]->mutex) {
                    if (lock.owns_lock()) lock.unlock();  // never two at once
                    lock = std::unique_lock(parts[i]->mutex);
                }
                step(i);
            }
        };
        if (count > 1) {
            each([&](size_t i) { parts[i]->expect(hashes[i]); });
            each([&](size_t i) { parts[i]->expect_node(hashes[i]); });
            each([&](size_t i) { parts[i]->expect_document(hashes[i]); });
        }
        each([&](size_t i) {
            out[i] = parts[i]->version(hashes[i], partition, docrefs[i], commit);
        });
        lock = {};
        for (size_t i = 0; i < count; ++i) {
            if (out[i] == nullptr) continue;
            const size_t bytes = std::min(out[i]->size(), kExpectedBytes);
            for (size_t at = 0; at < bytes; at += kCacheLineBytes)
                __builtin_prefetch(out[i]->data() + at);
        }
        out = out.subspan(count);
    }
}

bool ItemCache::wants(storage::PartitionId partition, const storage::Docref& docref) {
    const uint64_t bit = docref_hash(partition, docref) % Directory::kMissedBits;
    std::atomic<uint64_t>& word = directory_->missed[bit / 64];
    const uint64_t mask = uint64_t{1} << (bit % 64);
    // Concurrent updates may lose bits; those are set the next time.
    const uint64_t before = word.load(std::memory_order_relaxed);
    if ((before & mask) != 0) return true;
    word.store(before | mask, std::memory_order_relaxed);
    if (directory_->missed_count.fetch_add(1, std::memory_order_relaxed) ==
        Directory::kMissedBits / 2) {
        for (auto& one : directory_->missed) one.store(0, std::memory_order_relaxed);
        directory_->missed_count.store(0, std::memory_order_relaxed);
    }
    return false;
}

void ItemCache::insert_if(const Key& key, uint64_t commit, StoredItem item) {
    if (item.document == nullptr) return;
    const FlatKey flat(key);
    if (!flat.fits()) return;
    Shard& shard = shards_[flat.shard()];
    const std::lock_guard lock(shard.mutex);
    const Slot& slot = shard.slots[flat.slot()];
    // While the entry is locked, it is not known which state the commit will leave.
    if (slot.locks != 0 || slot.commit > commit || shard.erased.contains(key.partition)) return;
    shard.put(key, flat, commit, std::move(item));
}

void ItemCache::lock(const Key& key) {
    runs_.lock({key.partition, key.epk});
    const FlatKey flat(key);
    if (!flat.fits()) return;
    Shard& shard = shards_[flat.shard()];
    const std::lock_guard lock(shard.mutex);
    ++shard.slots[flat.slot()].locks;
    if (const auto found = shard.table.find(flat.hash()); found != shard.table.end())
        directory_->remove(*found->second);
}

void ItemCache::install(const Key& key, uint64_t commit, StoredItem item) {
    runs_.unlock({key.partition, key.epk}, commit);
    const FlatKey flat(key);
    if (!flat.fits()) return;
    Shard& shard = shards_[flat.shard()];
    const std::lock_guard lock(shard.mutex);
    Slot& slot = shard.slots[flat.slot()];
    CHECK(slot.locks > 0);
    slot.commit = std::max(slot.commit, commit);
    --slot.locks;
    if (item.document == nullptr)
        shard.erase(flat.hash());
    else
        shard.put(key, flat, commit, std::move(item));
}

void ItemCache::erase_partition(storage::PartitionId partition) {
    runs_.erase_partition(partition);
    for (size_t i = 0; i < kShardCount; ++i) {
        Shard& shard = shards_[i];
        const std::lock_guard lock(shard.mutex);
        std::vector<uint64_t> hashes;
        for (const auto& [hash, node] : shard.table)
            if (node->partition == partition) hashes.push_back(hash);
        for (const uint64_t hash : hashes) shard.erase(hash);
        shard.erased.insert(partition);
    }
}

ItemCache::Statistics ItemCache::statistics() const {
    Statistics sum;
    sum.bytes = runs_.bytes();
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
