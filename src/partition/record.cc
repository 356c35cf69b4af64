#include "partition/record.h"

#include <optional>

#include "base/bytes.h"
#include "base/errors.h"

namespace orrery::partition {
namespace {

constexpr uint8_t kIdEntryVersion = 1;
constexpr uint8_t kUniqueEntryVersion = 1;
constexpr uint8_t kLogRecordVersion = 1;
constexpr uint8_t kItemCounterVersion = 1;
constexpr uint8_t kIndexFillVersion = 1;
constexpr uint8_t kLsnNoteVersion = 1;
constexpr uint8_t kBirthVersion = 1;

// A directive takes two bits.
constexpr uint8_t kDirectiveMask = 3;
constexpr int kPreviousDirectiveShift = 2;
constexpr uint8_t kExpiredFlag = 16;

uint8_t directive_bits(IndexingDirective directive) {
    return static_cast<uint8_t>(directive);
}
std::optional<IndexingDirective> directive_of(uint32_t bits) {
    if ((bits & kDirectiveMask) > static_cast<uint8_t>(IndexingDirective::kExclude))
        return std::nullopt;
    return static_cast<IndexingDirective>(bits & kDirectiveMask);
}

uint64_t zigzag(int64_t v) {
    return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
int64_t unzigzag(uint64_t v) {
    return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

Status damaged(std::string_view what) {
    return Status(errors::internal("Stored data is damaged: a malformed " + std::string(what) +
                                   ". Run `orrery check` on the data folder."));
}

std::string meta_key(storage::PartitionId partition, std::string_view name) {
    std::string key = storage::keys::partition(partition);
    key.append(name);
    return key;
}

}  // namespace

std::string encode_id_entry(const IdEntry& entry) {
    std::string out;
    out.reserve(64);
    out.push_back(static_cast<char>(kIdEntryVersion));
    out.push_back(static_cast<char>(directive_bits(entry.directive)));
    append_bytes(out, entry.docref.bytes());
    append_varint(out, entry.lsn);
    append_u64_le(out, entry.etag_nonce);
    append_varint(out, zigzag(entry.ts));
    append_varint(out, zigzag(entry.own_ttl));
    return out;
}

Result<IdEntry> decode_id_entry(std::string_view bytes) {
    ByteReader in(bytes);
    const uint8_t version = in.u8();
    const uint8_t flags = in.u8();
    const auto docref = storage::Docref::from_bytes(in.bytes());
    IdEntry entry;
    const auto directive = directive_of(flags);
    entry.lsn = in.varint();
    entry.etag_nonce = in.u64_le();
    entry.ts = unzigzag(in.varint());
    const int64_t own_ttl = unzigzag(in.varint());
    entry.own_ttl = static_cast<int32_t>(own_ttl);
    if (!in.ok() || !in.at_end() || version != kIdEntryVersion || (flags & ~kDirectiveMask) != 0 ||
        !directive || !docref || own_ttl != entry.own_ttl)
        return damaged("id entry");
    entry.docref = *docref;
    entry.directive = *directive;
    return entry;
}

std::string encode_unique_entry(std::string_view id) {
    std::string out;
    out.reserve(1 + id.size());
    out.push_back(static_cast<char>(kUniqueEntryVersion));
    out.append(id);
    return out;
}

Result<std::string> decode_unique_entry(std::string_view bytes) {
    if (bytes.size() < 2 || bytes[0] != static_cast<char>(kUniqueEntryVersion))
        return damaged("unique key entry");
    return std::string(bytes.substr(1));
}

std::string encode_log_record(const LogRecord& record) {
    std::string out;
    out.reserve(48 + record.epk.size() + record.id.size());
    out.push_back(static_cast<char>(kLogRecordVersion));
    out.push_back(static_cast<char>(record.operation));
    out.push_back(
        static_cast<char>(directive_bits(record.directive) |
                          directive_bits(record.previous_directive) << kPreviousDirectiveShift |
                          (record.expired ? kExpiredFlag : 0)));
    append_varint(out, zigzag(record.ts));
    append_u64_le(out, record.etag_nonce);
    append_varint(out, record.previous_lsn);
    append_varint(out, record.origin_region);
    append_varint(out, record.origin_lsn);
    append_bytes(out, record.epk);
    append_bytes(out, record.id);
    return out;
}

Result<LogRecord> decode_log_record(std::string_view bytes) {
    ByteReader in(bytes);
    const uint8_t version = in.u8();
    const uint8_t operation = in.u8();
    const uint8_t flags = in.u8();
    LogRecord record;
    record.operation = static_cast<LogOperation>(operation);
    const auto directive = directive_of(flags);
    const auto previous = directive_of(uint32_t{flags} >> kPreviousDirectiveShift);
    record.expired = (flags & kExpiredFlag) != 0;
    record.ts = unzigzag(in.varint());
    record.etag_nonce = in.u64_le();
    record.previous_lsn = in.varint();
    const uint64_t region = in.varint();
    record.origin_region = static_cast<uint32_t>(region);
    record.origin_lsn = in.varint();
    record.epk = in.bytes();
    record.id = in.bytes();
    constexpr uint8_t kKnownFlags =
        kDirectiveMask | kDirectiveMask << kPreviousDirectiveShift | kExpiredFlag;
    if (!in.ok() || !in.at_end() || version != kLogRecordVersion || operation < 1 ||
        operation > 3 || (flags & ~kKnownFlags) != 0 || region != record.origin_region ||
        record.id.empty() || !directive || !previous)
        return damaged("log record");
    record.directive = *directive;
    record.previous_directive = *previous;
    return record;
}

std::string encode_lsn_note(storage::Lsn lsn) {
    std::string out(1, static_cast<char>(kLsnNoteVersion));
    append_varint(out, lsn);
    return out;
}

Result<storage::Lsn> decode_lsn_note(std::string_view bytes) {
    ByteReader in(bytes);
    const uint8_t version = in.u8();
    const storage::Lsn lsn = in.varint();
    if (!in.ok() || !in.at_end() || version != kLsnNoteVersion) return damaged("note of an LSN");
    return lsn;
}

std::string encode_item_counter(uint64_t bound) {
    std::string out(1, static_cast<char>(kItemCounterVersion));
    append_u64_le(out, bound);
    return out;
}

Result<uint64_t> decode_item_counter(std::string_view bytes) {
    ByteReader in(bytes);
    const uint8_t version = in.u8();
    const uint64_t bound = in.u64_le();
    if (!in.ok() || !in.at_end() || version != kItemCounterVersion) return damaged("item counter");
    return bound;
}

std::string encode_index_fill(const IndexFill& fill) {
    std::string out(1, static_cast<char>(kIndexFillVersion));
    append_varint(out, fill.change);
    append_varint(out, fill.items);
    out.push_back(fill.complete ? '\1' : '\0');
    append_bytes(out, fill.position);
    return out;
}

Result<IndexFill> decode_index_fill(std::string_view bytes) {
    ByteReader in(bytes);
    const uint8_t version = in.u8();
    IndexFill fill;
    fill.change = in.varint();
    fill.items = in.varint();
    const uint8_t complete = in.u8();
    fill.complete = complete == 1;
    fill.position = in.bytes();
    if (!in.ok() || !in.at_end() || version != kIndexFillVersion || complete > 1 ||
        (!fill.position.empty() && !storage::Docref::from_bytes(fill.position)))
        return damaged("position of a policy change");
    return fill;
}

storage::Lsn Birth::covered_of(std::string_view epk) const {
    for (const Part& part : parts)
        if (epk < part.epk_max) return part.covered;
    return lsn;
}

std::string encode_birth(const Birth& birth) {
    std::string out(1, static_cast<char>(kBirthVersion));
    append_varint(out, birth.lsn);
    append_varint(out, zigzag(birth.ts));
    out.push_back(birth.merged ? '\1' : '\0');
    append_varint(out, birth.parts.size());
    for (const Birth::Part& part : birth.parts) {
        append_bytes(out, part.epk_max);
        append_varint(out, part.covered);
    }
    return out;
}

Result<Birth> decode_birth(std::string_view bytes) {
    ByteReader in(bytes);
    const uint8_t version = in.u8();
    Birth birth;
    birth.lsn = in.varint();
    birth.ts = unzigzag(in.varint());
    const uint8_t merged = in.u8();
    birth.merged = merged == 1;
    const uint64_t count = in.varint();
    for (uint64_t i = 0; i < count && in.ok(); ++i) {
        Birth::Part part;
        part.epk_max = in.bytes();
        part.covered = in.varint();
        birth.parts.push_back(std::move(part));
    }
    if (!in.ok() || !in.at_end() || version != kBirthVersion || merged > 1)
        return damaged("beginning of a partition");
    return birth;
}

namespace meta_keys {
std::string item_counter(storage::PartitionId partition) {
    return meta_key(partition, "partition/item_counter");
}
std::string ttl_complete(storage::PartitionId partition) {
    return meta_key(partition, "partition/ttl_complete");
}
std::string index_fill(storage::PartitionId partition) {
    return meta_key(partition, "partition/index_fill");
}
std::string versions_from(storage::PartitionId partition) {
    return meta_key(partition, "partition/versions_from");
}
std::string log_trimmed(storage::PartitionId partition) {
    return meta_key(partition, "partition/log_trimmed");
}
std::string birth(storage::PartitionId partition) {
    return meta_key(partition, "partition/birth");
}
}  // namespace meta_keys

namespace counter_keys {
std::string totals(storage::PartitionId partition) {
    return storage::keys::index_path(partition, kTotalsPath);
}
std::string logical_partition(storage::PartitionId partition, std::string_view epk) {
    std::string key = storage::keys::index_path(partition, kLogicalPartitionPath);
    key.append(epk);
    return key;
}
}  // namespace counter_keys

}  // namespace orrery::partition
