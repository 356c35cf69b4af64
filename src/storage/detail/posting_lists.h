#pragma once

#include <rocksdb/cache.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "storage/detail/run.h"
#include "storage/light_view.h"

namespace orrery::storage::detail {

/// The entries on disk of one term, ascending: keys that share a prefix (partition, path, term) and
/// are equally long. Immutable once built, but for the table.
class PostingList {
public:
    explicit PostingList(std::string prefix) : prefix_(std::move(prefix)) {}

    std::string_view prefix() const { return prefix_; }
    size_t size() const { return rest_bytes_ == 0 ? 0 : rests_.size() / rest_bytes_; }
    /// What follows the prefix in the key of an entry.
    std::string_view rest(size_t i) const { return {rests_.data() + i * rest_bytes_, rest_bytes_}; }
    std::string_view value() const { return value_; }  ///< of every entry
    /// The first entry whose key is not below `key`, which is known to be at `from` or later.
    size_t lower_bound(std::string_view key, size_t from) const;
    size_t memory() const { return sizeof(*this) + prefix_.capacity() + rests_.capacity(); }

    /// False: the entry differs in form from the ones before, so the term gets no list.
    bool append(std::string_view key, std::string_view value);
    void shrink() { rests_.shrink_to_fit(); }

    /// The index table up to which the list is what the disk has.
    uint64_t table() const { return table_.load(std::memory_order_acquire); }
    void set_table(uint64_t table) { table_.store(table, std::memory_order_release); }

private:
    const std::string prefix_;
    size_t rest_bytes_ = 0;
    std::string rests_;
    std::string value_;
    std::atomic<uint64_t> table_{0};
};
using PostingListPtr = std::shared_ptr<PostingList>;

/// Lists of terms that are walked again and again, in the block cache's budget. Internally locked.
///
/// A list is given up when the next index table changes it; a view whose disk ends at another table
/// reads the files.
class PostingLists {
public:
    explicit PostingLists(std::shared_ptr<rocksdb::Cache> cache);

    /// The entries of a term as the disk has them with `table` as its newest. Null: none in memory.
    PostingListPtr find(std::string_view prefix, uint64_t table);
    void insert(PostingListPtr list);

    /// So many steps were made on disk through the entries of a term.
    void note_walk(std::string_view prefix, uint64_t steps);
    /// For how many entries it is worth trying to make the term's list: no more than there were
    /// steps, so that it never costs more than the walks did. 0: not now.
    uint64_t worthwhile(std::string_view prefix) const;
    /// Notes an attempt. After a failure the next one comes after twice as many steps.
    void tried(std::string_view prefix, bool success);
    size_t list_bytes_max() const { return list_bytes_max_; }

    /// `run` is on disk now, as table `run.table()`.
    void apply(const Run& run);

private:
    /// A list that was found lately. The cache's table has a place for every block in memory: in
    /// this one the lists of a few thousand terms are found without leaving the processor's caches.
    struct Recent {
        std::mutex mutex;
        std::weak_ptr<PostingList> list;  ///< gone: the cache needed the room
        uint64_t hash = 0;                ///< of its prefix
        uint32_t uses = 0;
    };
    static constexpr size_t kRecent = 4096;

    std::string cache_key(std::string_view prefix) const;
    PostingListPtr find_cached(std::string_view prefix);

    const std::shared_ptr<rocksdb::Cache> cache_;
    const uint64_t id_;
    const size_t list_bytes_max_;
    /// Steps, by hash of the prefix: steps << 1 | a list is wanted. Terms that share a place share
    /// what is known, which costs time at most.
    std::array<std::atomic<uint64_t>, 8192> walked_{};
    std::array<Recent, kRecent> recent_;
    std::mutex mutex_;
    /// By prefix. Gone: the cache needed the room. Guarded by mutex_.
    std::unordered_map<std::string, std::weak_ptr<PostingList>> known_;
};

/// The entries of a list with keys in [begin, end), ascending. `budget`: null: none.
std::unique_ptr<Cursor> walk_list(PostingListPtr list, std::string_view begin, std::string_view end,
                                  ReadBudget* budget);

}  // namespace orrery::storage::detail
