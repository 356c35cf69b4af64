#include "catalog/records.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/errors.h"

namespace orrery::catalog::records {
namespace {

/// 2: weights of ranges, throughput buckets of offers.
constexpr uint8_t kFormatVersion = 2;
constexpr uint8_t kFirstWithWeights = 2;

std::string begin_value() {
    return std::string(1, static_cast<char>(kFormatVersion));
}

// Signed numbers of a record are -1 or more.
void append_number(std::string& out, int64_t v) {
    append_varint(out, static_cast<uint64_t>(v + 1));
}
int64_t take_number(ByteReader& in) {
    return static_cast<int64_t>(in.varint()) - 1;
}

void append_optional(std::string& out, const std::optional<int64_t>& v) {
    out.push_back(v ? '\1' : '\0');
    if (v) append_number(out, *v);
}
std::optional<int64_t> take_optional(ByteReader& in) {
    if (in.u8() == 0) return std::nullopt;
    return take_number(in);
}

void append_version(std::string& out, const Version& version) {
    append_bytes(out, version.etag);
    append_number(out, version.ts);
}
Version take_version(ByteReader& in) {
    Version version;
    version.etag = in.bytes();
    version.ts = take_number(in);
    return version;
}

uint32_t take_u32(ByteReader& in) {
    return static_cast<uint32_t>(in.varint());
}

void append_sip_key(std::string& out, const SipKey& key) {
    append_u64_le(out, key.k0);
    append_u64_le(out, key.k1);
}
SipKey take_sip_key(ByteReader& in) {
    SipKey key;
    key.k0 = in.u64_le();
    key.k1 = in.u64_le();
    return key;
}

void append_texts(std::string& out, const std::vector<std::string>& texts) {
    append_varint(out, texts.size());
    for (const std::string& text : texts) append_bytes(out, text);
}
std::vector<std::string> take_texts(ByteReader& in) {
    std::vector<std::string> texts;
    const uint64_t count = in.varint();
    for (uint64_t i = 0; i < count && in.ok(); ++i) texts.emplace_back(in.bytes());
    return texts;
}

/// The last field; left out while the container's policy has never changed.
void append_index_state(std::string& out, const IndexState& state) {
    if (state.empty()) return;
    append_varint(out, state.change);
    append_texts(out, state.sorted);
    append_varint(out, state.previous.size());
    for (const IndexState::Policy& policy : state.previous) {
        append_bytes(out, policy.json);
        append_texts(out, policy.sorted);
    }
}
IndexState take_index_state(ByteReader& in) {
    IndexState state;
    if (in.at_end()) return state;
    state.change = in.varint();
    state.sorted = take_texts(in);
    const uint64_t count = in.varint();
    for (uint64_t i = 0; i < count && in.ok(); ++i) {
        IndexState::Policy policy;
        policy.json = in.bytes();
        policy.sorted = take_texts(in);
        state.previous.push_back(std::move(policy));
    }
    return state;
}

Error damaged(std::string_view key, std::string_view what) {
    return errors::internal(
        fmt::format("The catalog record {} {}. Run `orrery check` on the data folder.",
                    hex_encode_upper(key), what));
}

/// Key and value of one record while it is read.
struct Reader {
    Reader(std::string_view key_in, std::string_view value_in)
        : whole_key(key_in),
          key(key_in.substr(std::min<size_t>(key_in.size(), 6))),
          value(value_in) {
        version = value.u8();
    }
    /// After the last field: all was there and nothing is left.
    Status finish() const {
        if (version > kFormatVersion)
            return Status(damaged(whole_key, "was written by a newer version of this server"));
        if (version == 0 || !key.ok() || !key.at_end() || !value.ok() || !value.at_end())
            return Status(damaged(whole_key, "is damaged"));
        return {};
    }
    std::string_view whole_key;
    ByteReader key;
    ByteReader value;
    uint8_t version = 0;
};

}  // namespace

std::string encode(const Account& record) {
    std::string out = begin_value();
    append_bytes(out, record.secret);
    append_varint(out, record.next_database);
    append_varint(out, record.next_offer);
    append_varint(out, record.next_partition);
    return out;
}

Result<Account> decode_account(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Account out;
    out.secret = in.value.bytes();
    out.next_database = take_u32(in.value);
    out.next_offer = take_u32(in.value);
    out.next_partition = take_u32(in.value);
    TRY_STATUS(in.finish());
    return out;
}

std::string encode(const Database& record) {
    std::string out = begin_value();
    append_bytes(out, record.id);
    append_version(out, record.version);
    append_varint(out, record.next_user);
    return out;
}

Result<Database> decode_database(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Database out;
    out.rid.number = in.key.u32_be();
    out.id = in.value.bytes();
    out.version = take_version(in.value);
    out.next_user = take_u32(in.value);
    TRY_STATUS(in.finish());
    return out;
}

std::string encode(const Container& record) {
    std::string out = begin_value();
    append_bytes(out, record.id);
    append_version(out, record.version);
    append_bytes(out, record.tail);
    append_sip_key(out, record.path_key);
    append_varint(out, record.settings_version);
    append_varint(out, record.map_version);
    append_number(out, record.map_ts);
    append_varint(out, record.next_range);
    append_varint(out, record.ranges.size());
    for (const Range& range : record.ranges) {
        append_varint(out, range.number);
        append_varint(out, range.partition);
        append_varint(out, range.parents.size());
        for (uint32_t parent : range.parents) append_varint(out, parent);
        append_varint(out, range.weight);
    }
    append_index_state(out, record.index);
    return out;
}

Result<Container> decode_container(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Container out;
    out.rid.database.number = in.key.u32_be();
    out.rid.number = in.key.u32_be();
    out.id = in.value.bytes();
    out.version = take_version(in.value);
    out.tail = in.value.bytes();
    out.path_key = take_sip_key(in.value);
    out.settings_version = in.value.varint();
    out.map_version = in.value.varint();
    out.map_ts = take_number(in.value);
    out.next_range = take_u32(in.value);
    const uint64_t range_count = in.value.varint();
    for (uint64_t i = 0; i < range_count && in.value.ok(); ++i) {
        Range range;
        range.number = take_u32(in.value);
        range.partition = take_u32(in.value);
        const uint64_t parent_count = in.value.varint();
        for (uint64_t j = 0; j < parent_count && in.value.ok(); ++j)
            range.parents.push_back(take_u32(in.value));
        if (in.version >= kFirstWithWeights) range.weight = in.value.varint();
        out.ranges.push_back(std::move(range));
    }
    out.index = take_index_state(in.value);
    TRY_STATUS(in.finish());
    if (out.ranges.empty()) return damaged(key, "has no partitions");
    return out;
}

std::string encode(const Partition& record) {
    std::string out = begin_value();
    append_u32_be(out, record.container.database.number);
    append_u32_be(out, record.container.number);
    append_varint(out, record.range_number);
    append_varint(out, record.rid_prefix);
    append_bytes(out, record.epk_min);
    append_bytes(out, record.epk_max);
    append_varint(out, record.settings_version);
    append_sip_key(out, record.path_key);
    append_bytes(out, record.tail);
    append_index_state(out, record.index);
    return out;
}

Result<Partition> decode_partition(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Partition out;
    out.id = in.key.u32_be();
    out.container.database.number = in.value.u32_be();
    out.container.number = in.value.u32_be();
    out.range_number = take_u32(in.value);
    out.rid_prefix = take_u32(in.value);
    out.epk_min = in.value.bytes();
    out.epk_max = in.value.bytes();
    out.settings_version = in.value.varint();
    out.path_key = take_sip_key(in.value);
    out.tail = in.value.bytes();
    out.index = take_index_state(in.value);
    TRY_STATUS(in.finish());
    return out;
}

std::string encode(const Offer& record) {
    std::string out = begin_value();
    append_u32_be(out, record.database.number);
    append_u32_be(out, record.container);
    append_version(out, record.version);
    append_optional(out, record.manual);
    append_optional(out, record.autoscale_max);
    append_optional(out, record.increment_percent);
    append_number(out, record.highest_ever);
    append_number(out, record.storage_kb_ever);
    for (const uint8_t percent : record.buckets.percent) out.push_back(static_cast<char>(percent));
    out.push_back(static_cast<char>(record.buckets.standard));
    return out;
}

Result<Offer> decode_offer(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Offer out;
    out.number = in.key.u32_be();
    out.database.number = in.value.u32_be();
    out.container = in.value.u32_be();
    out.version = take_version(in.value);
    out.manual = take_optional(in.value);
    out.autoscale_max = take_optional(in.value);
    out.increment_percent = take_optional(in.value);
    out.highest_ever = take_number(in.value);
    out.storage_kb_ever = take_number(in.value);
    if (in.version >= kFirstWithWeights) {
        for (uint8_t& percent : out.buckets.percent) percent = in.value.u8();
        out.buckets.standard = in.value.u8();
    }
    TRY_STATUS(in.finish());
    if (!out.buckets.valid()) return damaged(key, "has impossible throughput buckets");
    if (out.manual.has_value() == out.autoscale_max.has_value())
        return damaged(key, "is neither manual nor autoscale");
    return out;
}

std::string encode(const User& record) {
    std::string out = begin_value();
    append_bytes(out, record.id);
    append_version(out, record.version);
    append_varint(out, record.next_permission);
    return out;
}

Result<User> decode_user(std::string_view key, std::string_view value) {
    Reader in(key, value);
    User out;
    out.rid.database.number = in.key.u32_be();
    out.rid.number = in.key.u32_be();
    out.id = in.value.bytes();
    out.version = take_version(in.value);
    out.next_permission = in.value.varint();
    TRY_STATUS(in.finish());
    return out;
}

std::string encode(const Permission& record) {
    std::string out = begin_value();
    append_bytes(out, record.id);
    append_version(out, record.version);
    out.push_back(static_cast<char>(record.mode));
    append_bytes(out, record.resource);
    append_bytes(out, record.partition_key);
    return out;
}

Result<Permission> decode_permission(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Permission out;
    out.rid.user.database.number = in.key.u32_be();
    out.rid.user.number = in.key.u32_be();
    out.rid.number = in.key.u64_be();
    out.id = in.value.bytes();
    out.version = take_version(in.value);
    const uint8_t mode = in.value.u8();
    out.mode = mode == 0 ? PermissionMode::kRead : PermissionMode::kAll;
    out.resource = in.value.bytes();
    out.partition_key = in.value.bytes();
    TRY_STATUS(in.finish());
    if (mode > static_cast<uint8_t>(PermissionMode::kAll))
        return damaged(key, "has an unknown mode");
    return out;
}

std::string encode(const EncryptionKey& record) {
    std::string out = begin_value();
    append_bytes(out, record.id);
    append_version(out, record.version);
    append_bytes(out, record.members);
    return out;
}

Result<EncryptionKey> decode_encryption_key(std::string_view key, std::string_view value) {
    Reader in(key, value);
    EncryptionKey out;
    out.rid.database.number = in.key.u32_be();
    out.rid.number = in.key.u64_be();
    out.id = in.value.bytes();
    out.version = take_version(in.value);
    out.members = in.value.bytes();
    TRY_STATUS(in.finish());
    return out;
}

std::string encode(const View& record) {
    std::string out = begin_value();
    out.push_back(record.progress.built ? '\1' : '\0');
    append_varint(out, record.progress.positions.size());
    for (const auto& [range, lsn] : record.progress.positions) {
        append_varint(out, range);
        append_varint(out, lsn);
    }
    return out;
}

Result<View> decode_view(std::string_view key, std::string_view value) {
    Reader in(key, value);
    View out;
    out.rid.database.number = in.key.u32_be();
    out.rid.number = in.key.u32_be();
    out.progress.built = in.value.u8() != 0;
    const uint64_t count = in.value.varint();
    for (uint64_t i = 0; i < count && in.value.ok(); ++i) {
        const uint32_t range = take_u32(in.value);
        out.progress.positions[range] = in.value.varint();
    }
    TRY_STATUS(in.finish());
    return out;
}

std::string encode(const Move& record) {
    std::string out = begin_value();
    append_varint(out, record.targets.size());
    for (storage::PartitionId target : record.targets) append_varint(out, target);
    return out;
}

Result<Move> decode_move(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Move out;
    const uint32_t first = in.key.u32_be();
    const uint64_t count = in.value.varint();
    for (uint64_t i = 0; i < count && in.value.ok(); ++i) out.targets.push_back(take_u32(in.value));
    TRY_STATUS(in.finish());
    if (out.targets.empty() || out.targets.front() != first) return damaged(key, "is damaged");
    return out;
}

std::string encode(const RangeRequest& record) {
    std::string out = begin_value();
    append_u32_be(out, record.change.container.database.number);
    append_u32_be(out, record.change.container.number);
    append_number(out, record.asked_at);
    append_texts(out, record.change.range_ids);
    out.push_back(static_cast<char>(record.change.at));
    append_bytes(out, record.change.epk);
    return out;
}

Result<RangeRequest> decode_range_request(std::string_view key, std::string_view value) {
    Reader in(key, value);
    RangeRequest out;
    out.number = in.key.u64_be();
    out.change.container.database.number = in.value.u32_be();
    out.change.container.number = in.value.u32_be();
    out.asked_at = take_number(in.value);
    out.change.range_ids = take_texts(in.value);
    const uint8_t at = in.value.u8();
    out.change.at = static_cast<RangeChange::At>(at);
    out.change.epk = in.value.bytes();
    out.change.request = out.number;
    TRY_STATUS(in.finish());
    if (at > static_cast<uint8_t>(RangeChange::At::kGiven) || out.change.range_ids.empty())
        return damaged(key, "is damaged");
    return out;
}

std::string encode(const Script& record) {
    std::string out = begin_value();
    append_bytes(out, record.id);
    append_version(out, record.version);
    append_bytes(out, record.body);
    out.push_back(record.runs_after ? '\1' : '\0');
    out.push_back(static_cast<char>(record.operation));
    return out;
}

Result<Script> decode_script(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Script out;
    out.container.database.number = in.key.u32_be();
    out.container.number = in.key.u32_be();
    const uint8_t type = in.key.u8();
    out.type = static_cast<ChildType>(type);
    out.number = in.key.u64_be();
    out.id = in.value.bytes();
    out.version = take_version(in.value);
    out.body = in.value.bytes();
    const uint8_t after = in.value.u8();
    out.runs_after = after == 1;
    const uint8_t operation = in.value.u8();
    out.operation = static_cast<TriggerOperation>(operation);
    TRY_STATUS(in.finish());
    if (type < static_cast<uint8_t>(ChildType::kUdf) ||
        type > static_cast<uint8_t>(ChildType::kProcedure))
        return damaged(key, "is a script of an unknown type");
    if (after > 1 || operation > static_cast<uint8_t>(TriggerOperation::kReplace))
        return damaged(key, "is a trigger of an unknown kind");
    return out;
}

}  // namespace orrery::catalog::records
