#pragma once

#include <rocksdb/file_system.h>

#include <string>

#include "storage/store.h"

namespace orrery::storage::detail {

/// Reads the write-ahead logs of a folder that is not open, before RocksDB does.
///
/// Every group is one record that carries its number, dense within a session. So a hole is seen
/// even where RocksDB would skip it. A damaged record is cut off only if no record starts after it:
/// then it is the torn last write, which was never acknowledged. In relaxed mode a power cut may
/// leave holes; there the log is cut at the first one and the rest is set aside (`*.damaged`).
/// Anything else is refused, nothing is changed. `read_only`: never cuts.
Status recover_wal(rocksdb::FileSystem& file_system, const std::string& folder,
                   Durability durability, bool read_only);

/// The number that recover_wal() looks for, as log data of a write batch.
std::string encode_group_number(uint64_t number);

}  // namespace orrery::storage::detail
