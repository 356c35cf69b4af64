#pragma once

#include <rocksdb/file_system.h>
#include <rocksdb/wal_filter.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "storage/store.h"

/// Every commit group is one record of the write-ahead log and carries its number, dense within a
/// session: so a hole is seen even where RocksDB would skip it (a block of zeros, a lost end of an
/// older file).
namespace orrery::storage::detail {

/// The number as log data of a write batch; must be the batch's first entry.
std::string encode_group_number(uint64_t number);
/// From the bytes of a batch; nullopt when it carries none.
std::optional<uint64_t> decode_group_number(std::string_view batch);

struct WalCheck {
    enum class Outcome : uint8_t {
        kGood,     ///< RocksDB may read the log
        kRefused,  ///< `why` says what is damaged
    };
    Outcome outcome = Outcome::kGood;
    std::string why;
};

struct WalCheckOptions {
    std::string folder;
    Durability durability = Durability::kSync;
    bool read_only = false;  ///< never cuts; a torn end is left to RocksDB
    /// Number of the oldest log that is still needed; asked for only when something looks wrong
    /// (logs that a crash kept from being deleted may have gaps between them).
    std::function<uint64_t()> oldest_needed_log;
};

/// Reads the logs of a folder that nobody has open, before RocksDB does (it must not meet damage:
/// it may have flushed half of a log by then). A damaged record is cut off only if no record starts
/// after it: then it is the torn last write, which was never acknowledged. In relaxed mode a power
/// cut may leave holes; there the log ends before the first one, and the files as they were are
/// kept under the name `*.damaged`. Anything else is refused and nothing is changed. Files are
/// replaced, never patched.
WalCheck check_wal(rocksdb::FileSystem& file_system, const WalCheckOptions& options);

/// Learns from a read-only open which log is the oldest needed; replays nothing.
class OldestLogProbe final : public rocksdb::WalFilter {
public:
    const char* Name() const override { return "orrery.oldest_log"; }
    void ColumnFamilyLogNumberMap(const std::map<uint32_t, uint64_t>& log_numbers,
                                  const std::map<std::string, uint32_t>& names) override;
    WalProcessingOption LogRecordFound(unsigned long long log_number,
                                       const std::string& log_file_name,
                                       const rocksdb::WriteBatch& batch,
                                       rocksdb::WriteBatch* new_batch,
                                       bool* batch_changed) override;
    uint64_t oldest() const { return oldest_; }

private:
    uint64_t oldest_ = 0;
};

}  // namespace orrery::storage::detail
