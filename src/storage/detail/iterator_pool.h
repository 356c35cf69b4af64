#pragma once

#include <rocksdb/iterator.h>
#include <rocksdb/slice.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/keys.h"

namespace orrery::storage::detail {

/// What makes two iterators interchangeable.
struct IteratorKind {
    Family family = Family::kIndex;  ///< kItems, kIds or kIndex
    uint64_t generation = 0;         ///< of the files (Database::IndexIngest)
    uint64_t sequence = 0;           ///< of the snapshot; 0 for `index`, which has only files
    bool one_term = false;           ///< asks the filters
    bool memory_only = false;        ///< reads no file
    /// True if this shows a later state. Both numbers only grow.
    bool is_newer_than(const IteratorKind& other) const {
        return generation != other.generation ? generation > other.generation
                                              : sequence > other.sequence;
    }
    bool shows_the_same_as(const IteratorKind& other) const {
        return generation == other.generation && sequence == other.sequence;
    }
};

/// An iterator whose bounds can be moved: RocksDB looks at them through the pointers it was given.
/// It may outlive the snapshot that it was made for: RocksDB takes the sequence number when it
/// makes the iterator and asks the snapshot later only where ranges were deleted, which the store
/// never does.
struct PooledIterator {
    IteratorKind kind;
    uint64_t epoch = 0;
    std::string lower;
    std::string upper;
    rocksdb::Slice lower_slice;
    rocksdb::Slice upper_slice;
    std::unique_ptr<rocksdb::Iterator> iterator;
};
using PooledIteratorPtr = std::unique_ptr<PooledIterator>;

/// Iterators that nobody uses at the moment: making one costs more than a search. Internally
/// locked.
class IteratorPool {
public:
    /// Null: make one.
    PooledIteratorPtr take(const IteratorKind& kind);
    /// Number that a new iterator gets.
    uint64_t epoch() const;
    void give_back(PooledIteratorPtr iterator);
    /// Files or memtables have been replaced: iterators made before would keep the old ones alive.
    void clear();

private:
    static constexpr size_t kIdleMax = 8;  ///< per kind
    using Idle = std::vector<PooledIteratorPtr>;
    static constexpr size_t kSlots = 4 * 3;
    static size_t slot(const IteratorKind& kind) {
        return static_cast<size_t>(kind.family) * 4 + (kind.one_term ? 1U : 0U) +
               (kind.memory_only ? 2U : 0U);
    }

    mutable std::mutex mutex_;
    uint64_t epoch_ = 0;             // guarded by mutex_
    std::array<Idle, kSlots> idle_;  // guarded by mutex_
};

}  // namespace orrery::storage::detail
