#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

/// Key layout of every column family (docs/formats/keys.md). All integers big-endian, so that byte
/// order is logical order.
namespace orrery::storage {

/// Numbers partitions of one account; never reused. 0 is no partition (the store's own keys).
using PartitionId = uint32_t;
/// A partition's commit number; a batch or script is one.
using Lsn = uint64_t;

/// Families of keys. kIndex is derived state: written only by the store itself (store.h).
enum class Family : uint8_t { kItems, kIds, kIndex, kLog, kImages, kTtl, kMeta };
inline constexpr size_t kFamilyCount = 7;

/// Where an item lives: the first 8 bytes of each key level's hash, then the 8-byte item number.
/// One level for V1 and V2 keys, up to three for hierarchical ones. Items of one logical partition
/// are neighbours. Survives split, merge and restore.
class Docref {
public:
    static constexpr size_t kLevelsMax = 3;
    static constexpr size_t kBytesMax = 8 * (kLevelsMax + 1);

    Docref() = default;
    /// `prefix` = 8 bytes per level.
    Docref(std::string_view prefix, uint64_t item_number) {
        DCHECK(prefix.size() % 8 == 0 && prefix.size() + 8 <= kBytesMax);
        std::memcpy(bytes_.data(), prefix.data(), prefix.size());
        store_u64_be(bytes_.data() + prefix.size(), item_number);
        size_ = static_cast<uint8_t>(prefix.size() + 8);
    }
    /// nullopt unless 16, 24 or 32 bytes.
    static std::optional<Docref> from_bytes(std::string_view bytes) {
        if (bytes.size() < 16 || bytes.size() > kBytesMax || bytes.size() % 8 != 0)
            return std::nullopt;
        return Docref(bytes.substr(0, bytes.size() - 8),
                      load_u64_be(bytes.data() + bytes.size() - 8));
    }

    std::string_view bytes() const { return {bytes_.data(), size_}; }
    std::string_view prefix() const { return {bytes_.data(), static_cast<size_t>(size_) - 8}; }
    uint64_t item_number() const { return load_u64_be(bytes_.data() + size_ - 8); }
    friend bool operator==(const Docref& a, const Docref& b) { return a.bytes() == b.bytes(); }
    friend bool operator<(const Docref& a, const Docref& b) { return a.bytes() < b.bytes(); }

private:
    std::array<char, kBytesMax> bytes_{};
    uint8_t size_ = 0;
};

/// Kinds of entries in `ids` below one EPK.
enum class IdKind : uint8_t { kItem = 1, kUniqueKey = 2 };

namespace keys {

std::string partition(PartitionId partition);  ///< prefix of all its keys
std::string item(PartitionId partition, const Docref& docref);
void set_item(std::string& key, PartitionId partition, const Docref& docref);  ///< in its place
/// `epk` is binary; written self-delimiting and order-preserving.
std::string id(PartitionId partition, std::string_view epk, IdKind kind, std::string_view name);
std::string ids_of_epk(PartitionId partition, std::string_view epk, IdKind kind);  ///< prefix
/// Also the key in `images`.
std::string log(PartitionId partition, Lsn lsn, const Docref& docref);
std::string log_from(PartitionId partition, Lsn lsn);  ///< first key of that LSN
/// In `images`, next to the images: which record replaced the version that `lsn` wrote.
std::string image_next(PartitionId partition, Lsn lsn, const Docref& docref);
/// `when`: own expiry time, or `_ts` for items under the container's default.
enum class TtlKind : uint8_t { kOwnExpiry = 1, kUnderDefault = 2 };
std::string ttl(PartitionId partition, TtlKind kind, int64_t when, const Docref& docref);
std::string ttl_kind(PartitionId partition, TtlKind kind);  ///< prefix
/// Index entry: path hash, self-delimiting term, docref.
std::string index_path(PartitionId partition, uint64_t path_hash);  ///< prefix

struct DecodedId {
    PartitionId partition = 0;
    std::string epk;
    IdKind kind = IdKind::kItem;
    std::string name;
};
std::optional<DecodedId> decode_id(std::string_view key);
struct DecodedLog {
    PartitionId partition = 0;
    Lsn lsn = 0;
    Docref docref;
};
std::optional<DecodedLog> decode_log(std::string_view key);
struct DecodedItem {
    PartitionId partition = 0;
    Docref docref;
};
std::optional<DecodedItem> decode_item(std::string_view key);
struct DecodedTtl {
    PartitionId partition = 0;
    TtlKind kind = TtlKind::kOwnExpiry;
    int64_t when = 0;
    Docref docref;
};
std::optional<DecodedTtl> decode_ttl(std::string_view key);

/// Path hashes 0..15 are reserved for the store's own derived entries.
inline constexpr uint64_t kReservedPathHashes = 16;

}  // namespace keys
}  // namespace orrery::storage
