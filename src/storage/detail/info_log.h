#pragma once

#include <rocksdb/env.h>

#include <memory>

namespace orrery::storage::detail {

/// RocksDB's warnings as lines of the server's log, instead of a file of its own in the data
/// folder: that file's writer stops the process on the second line that a full disk refuses.
/// Internally locked.
std::shared_ptr<rocksdb::Logger> make_info_log();

}  // namespace orrery::storage::detail
