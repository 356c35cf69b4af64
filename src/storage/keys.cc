#include "storage/keys.h"

namespace orrery::storage::keys {
namespace {

constexpr uint64_t kSignBit = 1ULL << 63;

/// The rest of a key as docref; nullopt unless the whole rest is one.
std::optional<Docref> rest_as_docref(const ByteReader& reader) {
    if (!reader.ok()) return std::nullopt;
    return Docref::from_bytes(reader.rest());
}

}  // namespace

std::string partition(PartitionId partition) {
    std::string key;
    append_u32_be(key, partition);
    return key;
}

std::string item(PartitionId partition, const Docref& docref) {
    std::string key;
    key.reserve(4 + Docref::kBytesMax);
    set_item(key, partition, docref);
    return key;
}

void set_item(std::string& key, PartitionId partition, const Docref& docref) {
    key.clear();
    append_u32_be(key, partition);
    key.append(docref.bytes());
}

std::string ids_of_epk(PartitionId partition, std::string_view epk, IdKind kind) {
    std::string key;
    key.reserve(4 + epk.size() + 8);
    append_u32_be(key, partition);
    append_delimited(key, epk);
    key.push_back(static_cast<char>(kind));
    return key;
}

std::string id(PartitionId partition, std::string_view epk, IdKind kind, std::string_view name) {
    std::string key;
    key.reserve(4 + epk.size() + 8 + name.size());
    append_u32_be(key, partition);
    append_delimited(key, epk);
    key.push_back(static_cast<char>(kind));
    key.append(name);
    return key;
}

std::string image_next(PartitionId partition, Lsn lsn, const Docref& docref) {
    std::string out = log(partition, lsn, docref);
    out.push_back('\1');
    return out;
}

std::string log_from(PartitionId partition, Lsn lsn) {
    std::string key;
    key.reserve(12 + Docref::kBytesMax);
    append_u32_be(key, partition);
    append_u64_be(key, lsn);
    return key;
}

std::string log(PartitionId partition, Lsn lsn, const Docref& docref) {
    std::string key = log_from(partition, lsn);
    key.append(docref.bytes());
    return key;
}

std::string ttl_kind(PartitionId partition, TtlKind kind) {
    std::string key;
    key.reserve(13 + Docref::kBytesMax);
    append_u32_be(key, partition);
    key.push_back(static_cast<char>(kind));
    return key;
}

std::string ttl(PartitionId partition, TtlKind kind, int64_t when, const Docref& docref) {
    std::string key = ttl_kind(partition, kind);
    append_u64_be(key, static_cast<uint64_t>(when) ^ kSignBit);
    key.append(docref.bytes());
    return key;
}

std::string index_path(PartitionId partition, uint64_t path_hash) {
    std::string key;
    key.reserve(64);
    append_u32_be(key, partition);
    append_u64_be(key, path_hash);
    return key;
}

std::optional<DecodedId> decode_id(std::string_view key) {
    ByteReader reader(key);
    DecodedId out;
    out.partition = reader.u32_be();
    if (!reader.ok()) return std::nullopt;
    std::string_view rest = reader.rest();
    std::optional<std::string> epk = take_delimited(rest);
    if (!epk || rest.empty()) return std::nullopt;
    const auto kind = static_cast<IdKind>(rest.front());
    if (kind != IdKind::kItem && kind != IdKind::kUniqueKey) return std::nullopt;
    out.epk = std::move(*epk);
    out.kind = kind;
    out.name = rest.substr(1);
    return out;
}

std::optional<DecodedLog> decode_log(std::string_view key) {
    ByteReader reader(key);
    DecodedLog out;
    out.partition = reader.u32_be();
    out.lsn = reader.u64_be();
    const std::optional<Docref> docref = rest_as_docref(reader);
    if (!docref) return std::nullopt;
    out.docref = *docref;
    return out;
}

std::optional<DecodedItem> decode_item(std::string_view key) {
    ByteReader reader(key);
    DecodedItem out;
    out.partition = reader.u32_be();
    const std::optional<Docref> docref = rest_as_docref(reader);
    if (!docref) return std::nullopt;
    out.docref = *docref;
    return out;
}

std::optional<DecodedTtl> decode_ttl(std::string_view key) {
    ByteReader reader(key);
    DecodedTtl out;
    out.partition = reader.u32_be();
    const auto kind = static_cast<TtlKind>(reader.u8());
    out.when = static_cast<int64_t>(reader.u64_be() ^ kSignBit);
    const std::optional<Docref> docref = rest_as_docref(reader);
    if (!docref) return std::nullopt;
    if (kind != TtlKind::kOwnExpiry && kind != TtlKind::kUnderDefault) return std::nullopt;
    out.kind = kind;
    out.docref = *docref;
    return out;
}

}  // namespace orrery::storage::keys
