#pragma once

#include <rocksdb/iterator.h>
#include <rocksdb/slice.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace orrery::storage::detail {

/// What makes two iterators over `index` interchangeable.
struct IteratorKind {
    uint64_t generation = 0;   ///< of the files (Database::IndexIngest)
    bool one_term = false;     ///< asks the filters
    bool memory_only = false;  ///< reads no file
};

/// An iterator whose bounds can be moved: RocksDB looks at them through the pointers it was given.
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

/// Iterators over `index` that nobody uses at the moment: making one costs more than a search.
/// Internally locked.
class IteratorPool {
public:
    /// Null: make one.
    PooledIteratorPtr take(const IteratorKind& kind);
    /// Number that a new iterator gets.
    uint64_t epoch() const;
    void give_back(PooledIteratorPtr iterator);
    /// The files have changed: iterators made before would keep the old ones alive.
    void clear();

private:
    static constexpr size_t kIdleMax = 8;  ///< per kind
    using Idle = std::vector<PooledIteratorPtr>;
    static size_t slot(const IteratorKind& kind) {
        return (kind.one_term ? 1U : 0U) | (kind.memory_only ? 2U : 0U);
    }

    mutable std::mutex mutex_;
    uint64_t epoch_ = 0;        // guarded by mutex_
    std::array<Idle, 4> idle_;  // guarded by mutex_
};

}  // namespace orrery::storage::detail
