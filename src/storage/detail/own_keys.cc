#include "storage/detail/own_keys.h"

namespace orrery::storage::detail {
namespace {

constexpr char kValueVersion = 1;

// `meta` keys of the store: partition 0, byte 0 (other modules' keys there start above), tag.
constexpr char kFormatTag = 1;
constexpr char kDirtyTag = 2;
constexpr char kRetiredTag = 3;

// Suffix tags below path hash 0 of partition 0 in `index`.
constexpr char kTableTag = 1;
constexpr char kCoveredTag = 2;

std::string meta_key(char tag) {
    std::string key = keys::partition(0);
    key.push_back('\0');
    key.push_back(tag);
    return key;
}

std::string marker_key(char tag) {
    std::string key = keys::index_path(0, 0);
    key.push_back(tag);
    return key;
}

std::string with_partition(std::string key, PartitionId partition) {
    append_u32_be(key, partition);
    return key;
}

std::string encode_u64(uint64_t value) {
    std::string out(1, kValueVersion);
    append_u64_le(out, value);
    return out;
}

std::optional<uint64_t> decode_u64(std::string_view value) {
    if (value.size() != 9 || value[0] != kValueVersion) return std::nullopt;
    return load_u64_le(value.data() + 1);
}

}  // namespace

std::string format_key() {
    return meta_key(kFormatTag);
}

std::string encode_format(uint32_t version) {
    std::string out;
    append_u32_le(out, version);
    return out;
}

std::optional<uint32_t> decode_format(std::string_view value) {
    if (value.size() < 4) return std::nullopt;
    return load_u32_le(value.data());
}

std::string dirty_prefix() {
    return meta_key(kDirtyTag);
}

std::string dirty_key(PartitionId partition) {
    return with_partition(dirty_prefix(), partition);
}

std::string retired_prefix() {
    return meta_key(kRetiredTag);
}

std::string retired_key(PartitionId partition) {
    return with_partition(retired_prefix(), partition);
}

std::optional<PartitionId> decode_noted_partition(std::string_view key, std::string_view prefix) {
    if (key.size() != prefix.size() + 4 || !key.starts_with(prefix)) return std::nullopt;
    return load_u32_be(key.data() + prefix.size());
}

std::string table_marker_key() {
    return marker_key(kTableTag);
}

std::string encode_table_marker(uint64_t table) {
    return encode_u64(table);
}

std::optional<uint64_t> decode_table_marker(std::string_view value) {
    return decode_u64(value);
}

std::string covered_prefix() {
    return marker_key(kCoveredTag);
}

std::string covered_key(PartitionId partition) {
    return with_partition(covered_prefix(), partition);
}

std::string encode_covered(Lsn lsn) {
    return encode_u64(lsn);
}

std::optional<Lsn> decode_covered(std::string_view value) {
    return decode_u64(value);
}

std::string encode_counter(const StoredCounter& counter) {
    std::string out(1, kValueVersion);
    append_u64_le(out, counter.table);
    append_u64_le(out, static_cast<uint64_t>(counter.count.items));
    append_u64_le(out, static_cast<uint64_t>(counter.count.bytes));
    return out;
}

std::optional<StoredCounter> decode_counter(std::string_view value) {
    if (value.size() != 25 || value[0] != kValueVersion) return std::nullopt;
    StoredCounter out;
    out.table = load_u64_le(value.data() + 1);
    out.count.items = static_cast<int64_t>(load_u64_le(value.data() + 9));
    out.count.bytes = static_cast<int64_t>(load_u64_le(value.data() + 17));
    return out;
}

}  // namespace orrery::storage::detail
