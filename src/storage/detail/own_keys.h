#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/keys.h"
#include "storage/store.h"

/// The store's own keys and values (docs/formats/store.md). All under partition 0.
namespace orrery::storage::detail {

inline constexpr uint32_t kFormatVersion = 1;

// `meta` and `index`.
std::string format_key();
std::string encode_format(uint32_t version);
std::optional<uint32_t> decode_format(std::string_view value);

// `meta`: partitions whose index may lack changes after a crash, and dead partitions.
std::string dirty_key(PartitionId partition);
std::string dirty_prefix();
std::string retired_key(PartitionId partition);
std::string retired_prefix();
/// The partition at the end of a dirty or retired key.
std::optional<PartitionId> decode_noted_partition(std::string_view key, std::string_view prefix);

// `index`: markers written with every index table.
std::string table_marker_key();
std::string encode_table_marker(uint64_t table);
std::optional<uint64_t> decode_table_marker(std::string_view value);
std::string covered_key(PartitionId partition);
std::string covered_prefix();
std::string encode_covered(Lsn lsn);
std::optional<Lsn> decode_covered(std::string_view value);

/// A counter on disk: its sum after the changes of table `table`.
struct StoredCounter {
    uint64_t table = 0;
    Count count;
};
std::string encode_counter(const StoredCounter& counter);
std::optional<StoredCounter> decode_counter(std::string_view value);

/// Whether an index key lies under a reserved path hash.
inline bool is_reserved_index_key(std::string_view key) {
    return key.size() < 12 || load_u64_be(key.data() + 4) < keys::kReservedPathHashes;
}

}  // namespace orrery::storage::detail
