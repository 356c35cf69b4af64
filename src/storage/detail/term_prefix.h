#pragma once

#include <rocksdb/slice_transform.h>

#include <memory>

namespace orrery::storage::detail {

/// Partition, path and first term of an index key: what the filters of `index` are asked for. Keys
/// of the store's own and those whose first term runs backwards (composite indexes) have none.
std::shared_ptr<const rocksdb::SliceTransform> term_prefix();

/// Length of that prefix; 0: the key has none.
size_t term_prefix_bytes(const char* key, size_t size);

}  // namespace orrery::storage::detail
