#include "catalog/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "catalog/detail/record_io.h"
#include "catalog/stored_json.h"

namespace orrery::catalog::records {
namespace {

using detail::Either;
using detail::Reader;
using detail::Writer;

/// 2: weights of ranges, throughput buckets of offers.
constexpr uint8_t kFirstWithWeights = 2;
/// 3: definitions, policies and wrapped keys are no longer JSON texts.
constexpr uint8_t kFirstTyped = 3;

/// The version in which a record is written; the highest that is known.
template <typename Record>
constexpr uint8_t kFormatVersion = kFirstWithWeights;
template <>
constexpr uint8_t kFormatVersion<Container> = kFirstTyped;
template <>
constexpr uint8_t kFormatVersion<Partition> = kFirstTyped;
template <>
constexpr uint8_t kFormatVersion<EncryptionKey> = kFirstTyped;

Error damaged(std::string_view key, std::string_view what) {
    return errors::internal(
        fmt::format("The catalog record {} {}. Run `orrery check` on the data folder.",
                    hex_encode_upper(key), what));
}

void fields(auto& v, Either<Version> auto& r) {
    v.bytes(r.etag);
    v.number(r.ts);
}
void fields(auto& v, Either<SipKey> auto& r) {
    v.fixed(r.k0);
    v.fixed(r.k1);
}
void fields(auto& v, Either<std::vector<std::string>> auto& texts) {
    v.list(texts, [&](auto& text) { v.bytes(text); });
}
void fields(auto& v, Either<ContainerRid> auto& r) {
    v.fixed(r.database.number);
    v.fixed(r.number);
}
/// The last field; left out while the container's policy has never changed.
void fields(auto& v, Either<IndexState> auto& r) {
    if (!v.present(!r.empty())) return;
    v.count(r.change);
    fields(v, r.sorted);
    v.list(r.previous, [&](auto& policy) {
        v.bytes(policy.policy);
        fields(v, policy.sorted);
    });
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(r)>>)
        r.as_json = v.version() < kFirstTyped;
}
/// A definition, or the JSON that stood in its place.
void definition_fields(auto& v, auto& r) {
    if (v.version() >= kFirstTyped)
        v.bytes(r.definition);
    else
        v.bytes(r.json_tail);
}
void fields(auto& v, Either<Account> auto& r) {
    v.bytes(r.secret);
    v.count(r.next_database);
    v.count(r.next_offer);
    v.count(r.next_partition);
}
void fields(auto& v, Either<Database> auto& r) {
    v.bytes(r.id);
    fields(v, r.version);
    v.count(r.next_user);
}
void fields(auto& v, Either<Container> auto& r) {
    v.bytes(r.id);
    fields(v, r.version);
    definition_fields(v, r);
    fields(v, r.path_key);
    v.count(r.settings_version);
    v.count(r.map_version);
    v.number(r.map_ts);
    v.count(r.next_range);
    v.list(r.ranges, [&](auto& range) {
        v.count(range.number);
        v.count(range.partition);
        v.list(range.parents, [&](auto& parent) { v.count(parent); });
        if (v.version() >= kFirstWithWeights) v.count(range.weight);
    });
    fields(v, r.index);
}
void fields(auto& v, Either<Partition> auto& r) {
    fields(v, r.container);
    v.count(r.range_number);
    v.count(r.rid_prefix);
    v.bytes(r.epk_min);
    v.bytes(r.epk_max);
    v.count(r.settings_version);
    fields(v, r.path_key);
    definition_fields(v, r);
    fields(v, r.index);
}
void fields(auto& v, Either<Offer> auto& r) {
    v.fixed(r.database.number);
    v.fixed(r.container);
    fields(v, r.version);
    v.optional(r.manual);
    v.optional(r.autoscale_max);
    v.optional(r.increment_percent);
    v.number(r.highest_ever);
    v.number(r.storage_kb_ever);
    if (v.version() < kFirstWithWeights) return;
    for (auto& percent : r.buckets.percent) v.byte(percent);
    v.byte(r.buckets.standard);
}
void fields(auto& v, Either<User> auto& r) {
    v.bytes(r.id);
    fields(v, r.version);
    v.count(r.next_permission);
}
void fields(auto& v, Either<Permission> auto& r) {
    v.bytes(r.id);
    fields(v, r.version);
    v.choice(r.mode);
    v.bytes(r.resource);
    v.bytes(r.partition_key);
}
void fields(auto& v, Either<EncryptionKey> auto& r) {
    v.bytes(r.id);
    fields(v, r.version);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(r)>>) {
        if (v.version() < kFirstTyped) {
            std::string members;
            v.bytes(members);
            v.accept(read_json_key(members, r.key));
            return;
        }
    }
    v.bytes(r.key.wrapped);
    v.bytes(r.key.metadata.type);
    v.bytes(r.key.metadata.name);
    v.bytes(r.key.metadata.value);
    v.optional(r.key.metadata.algorithm);
}
void fields(auto& v, Either<MaterializedView> auto& r) {
    v.flag(r.progress.built);
    v.map(r.progress.positions);
}
void fields(auto& v, Either<Move> auto& r) {
    v.list(r.targets, [&](auto& target) { v.count(target); });
}
void fields(auto& v, Either<RangeRequest> auto& r) {
    fields(v, r.change.container);
    v.number(r.asked_at);
    fields(v, r.change.range_ids);
    v.choice(r.change.at);
    v.bytes(r.change.epk);
}
void fields(auto& v, Either<Script> auto& r) {
    v.bytes(r.id);
    fields(v, r.version);
    v.bytes(r.body);
    v.flag(r.runs_after);
    v.choice(r.operation);
}

/// Reads key and value of one record: `key_fields` what is in the key behind its kind.
template <typename Record, typename KeyFields>
Result<Record> read(std::string_view key, std::string_view value, KeyFields key_fields) {
    ByteReader key_in(key.substr(std::min<size_t>(key.size(), 6)));
    Reader in(value);
    Record out;
    key_fields(key_in, out);
    fields(in, out);
    if (in.version() > kFormatVersion<Record>)
        return damaged(key, "was written by a newer version of this server");
    if (!in.complete() || !key_in.ok() || !key_in.at_end()) return damaged(key, "is damaged");
    return out;
}

ContainerRid read_container_rid(ByteReader& in) {
    ContainerRid out;
    out.database.number = in.u32_be();
    out.number = in.u32_be();
    return out;
}

std::string written(const auto& record) {
    Writer out(kFormatVersion<std::remove_cvref_t<decltype(record)>>);
    fields(out, record);
    return out.take();
}

}  // namespace

std::string encode(const Account& record) {
    return written(record);
}
std::string encode(const Database& record) {
    return written(record);
}
std::string encode(const Container& record) {
    return written(record);
}
std::string encode(const Partition& record) {
    return written(record);
}
std::string encode(const Offer& record) {
    return written(record);
}
std::string encode(const User& record) {
    return written(record);
}
std::string encode(const Permission& record) {
    return written(record);
}
std::string encode(const EncryptionKey& record) {
    return written(record);
}
std::string encode(const MaterializedView& record) {
    return written(record);
}
std::string encode(const Move& record) {
    return written(record);
}
std::string encode(const RangeRequest& record) {
    return written(record);
}
std::string encode(const Script& record) {
    return written(record);
}

Result<Account> decode_account(std::string_view key, std::string_view value) {
    return read<Account>(key, value, [](ByteReader&, Account&) {});
}

Result<Database> decode_database(std::string_view key, std::string_view value) {
    return read<Database>(key, value,
                          [](ByteReader& in, Database& out) { out.rid.number = in.u32_be(); });
}

Result<Container> decode_container(std::string_view key, std::string_view value) {
    TRY(Container out, read<Container>(key, value, [](ByteReader& in, Container& record) {
            record.rid = read_container_rid(in);
        }));
    if (out.ranges.empty()) return damaged(key, "has no partitions");
    return out;
}

Result<Partition> decode_partition(std::string_view key, std::string_view value) {
    return read<Partition>(key, value,
                           [](ByteReader& in, Partition& out) { out.id = in.u32_be(); });
}

Result<Offer> decode_offer(std::string_view key, std::string_view value) {
    TRY(Offer out, read<Offer>(key, value,
                               [](ByteReader& in, Offer& record) { record.number = in.u32_be(); }));
    if (!out.buckets.valid()) return damaged(key, "has impossible throughput buckets");
    if (out.manual.has_value() == out.autoscale_max.has_value())
        return damaged(key, "is neither manual nor autoscale");
    return out;
}

Result<User> decode_user(std::string_view key, std::string_view value) {
    return read<User>(key, value, [](ByteReader& in, User& out) {
        out.rid.database.number = in.u32_be();
        out.rid.number = in.u32_be();
    });
}

Result<Permission> decode_permission(std::string_view key, std::string_view value) {
    TRY(Permission out, read<Permission>(key, value, [](ByteReader& in, Permission& record) {
            record.rid.user.database.number = in.u32_be();
            record.rid.user.number = in.u32_be();
            record.rid.number = in.u64_be();
        }));
    if (out.mode > PermissionMode::kAll) return damaged(key, "has an unknown mode");
    return out;
}

Result<EncryptionKey> decode_encryption_key(std::string_view key, std::string_view value) {
    return read<EncryptionKey>(key, value, [](ByteReader& in, EncryptionKey& out) {
        out.rid.database.number = in.u32_be();
        out.rid.number = in.u64_be();
    });
}

Result<MaterializedView> decode_materialized_view(std::string_view key, std::string_view value) {
    return read<MaterializedView>(key, value, [](ByteReader& in, MaterializedView& out) {
        out.rid = read_container_rid(in);
    });
}

Result<Move> decode_move(std::string_view key, std::string_view value) {
    uint32_t first = 0;
    TRY(Move out, read<Move>(key, value, [&](ByteReader& in, Move&) { first = in.u32_be(); }));
    if (out.targets.empty() || out.targets.front() != first) return damaged(key, "is damaged");
    return out;
}

Result<RangeRequest> decode_range_request(std::string_view key, std::string_view value) {
    TRY(RangeRequest out, read<RangeRequest>(key, value, [](ByteReader& in, RangeRequest& record) {
            record.change.request = record.number = in.u64_be();
        }));
    if (out.change.at > RangeChange::At::kGiven || out.change.range_ids.empty())
        return damaged(key, "is damaged");
    return out;
}

Result<Script> decode_script(std::string_view key, std::string_view value) {
    TRY(Script out, read<Script>(key, value, [](ByteReader& in, Script& record) {
            record.container = read_container_rid(in);
            record.type = static_cast<ChildType>(in.u8());
            record.number = in.u64_be();
        }));
    if (out.type < ChildType::kUdf || out.type > ChildType::kProcedure)
        return damaged(key, "is a script of an unknown type");
    if (out.operation > TriggerOperation::kReplace)
        return damaged(key, "is a trigger of an unknown kind");
    return out;
}

}  // namespace orrery::catalog::records
