#include "catalog/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <map>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/errors.h"

namespace orrery::catalog::records {
namespace {

/// 2: weights of ranges, throughput buckets of offers.
constexpr uint8_t kFormatVersion = 2;
constexpr uint8_t kFirstWithWeights = 2;

// The fields of a record are named once, in `fields` below: what writes them and what reads them
// follow the same list. Signed numbers of a record are -1 or more.

class Writer {
public:
    uint8_t version() const { return kFormatVersion; }
    /// Whether fields at the end of a record, which may be left out, are there.
    bool present(bool present) const { return present; }
    void byte(uint8_t v) { out_.push_back(static_cast<char>(v)); }
    template <typename Enum>
    void choice(Enum v) {
        byte(static_cast<uint8_t>(v));
    }
    void flag(bool v) { byte(v ? 1 : 0); }
    void fixed(uint32_t v) { append_u32_be(out_, v); }
    void fixed(uint64_t v) { append_u64_le(out_, v); }
    void count(uint64_t v) { append_varint(out_, v); }
    void number(int64_t v) { append_varint(out_, static_cast<uint64_t>(v + 1)); }
    void optional(const std::optional<int64_t>& v) {
        flag(v.has_value());
        if (v) number(*v);
    }
    void bytes(std::string_view v) { append_bytes(out_, v); }
    template <typename List, typename Each>
    void list(const List& all, Each each) {
        count(all.size());
        for (const auto& one : all) each(one);
    }
    template <typename Key, typename Value>
    void map(const std::map<Key, Value>& all) {
        count(all.size());
        for (const auto& [key, value] : all) {
            count(key);
            count(value);
        }
    }
    std::string take() { return std::move(out_); }

private:
    std::string out_{static_cast<char>(kFormatVersion)};
};

Error damaged(std::string_view key, std::string_view what) {
    return errors::internal(
        fmt::format("The catalog record {} {}. Run `orrery check` on the data folder.",
                    hex_encode_upper(key), what));
}

/// Key and value of one record while it is read.
class Reader {
public:
    Reader(std::string_view key_in, std::string_view value_in)
        : key(key_in.substr(std::min<size_t>(key_in.size(), 6))),
          whole_key_(key_in),
          value_(value_in),
          version_(value_.u8()) {}

    uint8_t version() const { return version_; }
    bool present(bool) const { return !value_.at_end(); }
    void byte(uint8_t& v) { v = value_.u8(); }
    template <typename Enum>
    void choice(Enum& v) {
        v = static_cast<Enum>(value_.u8());
    }
    void flag(bool& v) {
        const uint8_t found = value_.u8();
        v = found == 1;
        sound_ = sound_ && found <= 1;
    }
    void fixed(uint32_t& v) { v = value_.u32_be(); }
    void fixed(uint64_t& v) { v = value_.u64_le(); }
    template <std::unsigned_integral T>
    void count(T& v) {
        v = static_cast<T>(value_.varint());
    }
    void number(int64_t& v) { v = static_cast<int64_t>(value_.varint()) - 1; }
    void optional(std::optional<int64_t>& v) {
        bool there = false;
        flag(there);
        if (there) number(v.emplace());
    }
    void bytes(std::string& v) { v = value_.bytes(); }
    template <typename List, typename Each>
    void list(List& all, Each each) {
        const uint64_t size = value_.varint();
        for (uint64_t i = 0; i < size && value_.ok(); ++i) {
            typename List::value_type one{};
            each(one);
            all.push_back(std::move(one));
        }
    }
    template <typename Key, typename Value>
    void map(std::map<Key, Value>& all) {
        const uint64_t size = value_.varint();
        for (uint64_t i = 0; i < size && value_.ok(); ++i) {
            const Key key_of_one = static_cast<Key>(value_.varint());
            all[key_of_one] = static_cast<Value>(value_.varint());
        }
    }

    /// After the last field: all was there and nothing is left.
    Status finish() const {
        if (version_ > kFormatVersion)
            return Status(damaged(whole_key_, "was written by a newer version of this server"));
        if (version_ == 0 || !sound_ || !key.ok() || !key.at_end() || !value_.ok() ||
            !value_.at_end())
            return Status(damaged(whole_key_, "is damaged"));
        return {};
    }

    ByteReader key;

private:
    std::string_view whole_key_;
    ByteReader value_;
    uint8_t version_ = 0;
    bool sound_ = true;
};

/// A record that is written, or one that is read.
template <typename T, typename Record>
concept Either = std::same_as<std::remove_const_t<T>, Record>;

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
        v.bytes(policy.json);
        fields(v, policy.sorted);
    });
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
    v.bytes(r.tail);
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
    v.bytes(r.tail);
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
    v.bytes(r.members);
}
void fields(auto& v, Either<View> auto& r) {
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

std::string written(const auto& record) {
    Writer out;
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
std::string encode(const View& record) {
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
    Reader in(key, value);
    Account out;
    fields(in, out);
    TRY_STATUS(in.finish());
    return out;
}

Result<Database> decode_database(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Database out;
    out.rid.number = in.key.u32_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    return out;
}

Result<Container> decode_container(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Container out;
    out.rid.database.number = in.key.u32_be();
    out.rid.number = in.key.u32_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    if (out.ranges.empty()) return damaged(key, "has no partitions");
    return out;
}

Result<Partition> decode_partition(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Partition out;
    out.id = in.key.u32_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    return out;
}

Result<Offer> decode_offer(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Offer out;
    out.number = in.key.u32_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    if (!out.buckets.valid()) return damaged(key, "has impossible throughput buckets");
    if (out.manual.has_value() == out.autoscale_max.has_value())
        return damaged(key, "is neither manual nor autoscale");
    return out;
}

Result<User> decode_user(std::string_view key, std::string_view value) {
    Reader in(key, value);
    User out;
    out.rid.database.number = in.key.u32_be();
    out.rid.number = in.key.u32_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    return out;
}

Result<Permission> decode_permission(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Permission out;
    out.rid.user.database.number = in.key.u32_be();
    out.rid.user.number = in.key.u32_be();
    out.rid.number = in.key.u64_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    if (out.mode > PermissionMode::kAll) return damaged(key, "has an unknown mode");
    return out;
}

Result<EncryptionKey> decode_encryption_key(std::string_view key, std::string_view value) {
    Reader in(key, value);
    EncryptionKey out;
    out.rid.database.number = in.key.u32_be();
    out.rid.number = in.key.u64_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    return out;
}

Result<View> decode_view(std::string_view key, std::string_view value) {
    Reader in(key, value);
    View out;
    out.rid.database.number = in.key.u32_be();
    out.rid.number = in.key.u32_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    return out;
}

Result<Move> decode_move(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Move out;
    const uint32_t first = in.key.u32_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    if (out.targets.empty() || out.targets.front() != first) return damaged(key, "is damaged");
    return out;
}

Result<RangeRequest> decode_range_request(std::string_view key, std::string_view value) {
    Reader in(key, value);
    RangeRequest out;
    out.number = in.key.u64_be();
    out.change.request = out.number;
    fields(in, out);
    TRY_STATUS(in.finish());
    if (out.change.at > RangeChange::At::kGiven || out.change.range_ids.empty())
        return damaged(key, "is damaged");
    return out;
}

Result<Script> decode_script(std::string_view key, std::string_view value) {
    Reader in(key, value);
    Script out;
    out.container.database.number = in.key.u32_be();
    out.container.number = in.key.u32_be();
    out.type = static_cast<ChildType>(in.key.u8());
    out.number = in.key.u64_be();
    fields(in, out);
    TRY_STATUS(in.finish());
    if (out.type < ChildType::kUdf || out.type > ChildType::kProcedure)
        return damaged(key, "is a script of an unknown type");
    if (out.operation > TriggerOperation::kReplace)
        return damaged(key, "is a trigger of an unknown kind");
    return out;
}

}  // namespace orrery::catalog::records
