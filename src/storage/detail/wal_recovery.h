#pragma once

#include <rocksdb/file_system.h>
#include <rocksdb/wal_filter.h>

#include <cstdint>
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

/// Watches RocksDB replay the log and stops it at a hole.
class GroupNumberCheck final : public rocksdb::WalFilter {
public:
    struct Hole {
        uint64_t log_number = 0;
        uint64_t expected = 0;
        uint64_t found = 0;
    };

    const char* Name() const override { return "orrery.group_numbers"; }
    WalProcessingOption LogRecordFound(unsigned long long log_number,
                                       const std::string& log_file_name,
                                       const rocksdb::WriteBatch& batch,
                                       rocksdb::WriteBatch* new_batch,
                                       bool* batch_changed) override;
    const std::optional<Hole>& hole() const { return hole_; }

private:
    uint64_t last_log_ = 0;
    uint64_t last_ = 0;  ///< 0: none seen yet
    std::optional<Hole> hole_;
};

struct WalRepair {
    enum class Outcome : uint8_t {
        kNothingToCut,  ///< the log is not what RocksDB complains about
        kCut,           ///< open again
        kRefused,       ///< `why` says what is damaged
    };
    Outcome outcome = Outcome::kNothingToCut;
    std::string why;
};

struct WalRepairOptions {
    std::string folder;
    Durability durability = Durability::kSync;
    bool read_only = false;  ///< look only
    std::optional<GroupNumberCheck::Hole> hole;
};

/// After RocksDB has refused the logs of a folder that nobody has open. A damaged record is cut off
/// only if no record starts after it: then it is the torn last write, which was never acknowledged.
/// In relaxed mode a power cut may leave holes; there the log ends before the first one, and the
/// files as they were are kept under the name `*.damaged`. Anything else is refused and nothing is
/// changed. Files are replaced, never patched.
WalRepair repair_wal(rocksdb::FileSystem& file_system, const WalRepairOptions& options);

}  // namespace orrery::storage::detail
