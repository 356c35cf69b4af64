#pragma once

#include <rocksdb/slice_transform.h>

#include <memory>
#include <string_view>

namespace orrery::storage::detail {

/// Partition, path and first term of an index key: what the filters of `index` are asked for. Keys
/// of the store's own and those whose first term runs backwards (composite indexes) have none.
std::shared_ptr<const rocksdb::SliceTransform> term_prefix();

/// Length of that prefix; 0: the key has none.
size_t term_prefix_bytes(const char* key, size_t size);

/// Length of the prefix if all keys in [begin, end) have the same one; 0: they may differ.
size_t shared_term_bytes(std::string_view begin, std::string_view end);

}  // namespace orrery::storage::detail
