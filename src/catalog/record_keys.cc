#include "base/bytes.h"
#include "catalog/records.h"

// Where records stand; what they hold is in records.cc.
namespace orrery::catalog::records {
namespace {

constexpr char kCatalogByte = 'C';

std::string kind_prefix(Kind kind) {
    std::string key = catalog_prefix();
    key.push_back(static_cast<char>(kind));
    return key;
}

}  // namespace

std::string catalog_prefix() {
    return storage::keys::partition(0) + kCatalogByte;
}
std::string account_key() {
    return kind_prefix(Kind::kAccount);
}
std::string database_key(const DatabaseRid& rid) {
    std::string key = kind_prefix(Kind::kDatabase);
    append_u32_be(key, rid.number);
    return key;
}
std::string container_key(const ContainerRid& rid) {
    std::string key = kind_prefix(Kind::kContainer);
    append_u32_be(key, rid.database.number);
    append_u32_be(key, rid.number);
    return key;
}
std::string partition_key(storage::PartitionId id) {
    std::string key = kind_prefix(Kind::kPartition);
    append_u32_be(key, id);
    return key;
}
std::string offer_key(uint32_t number) {
    std::string key = kind_prefix(Kind::kOffer);
    append_u32_be(key, number);
    return key;
}
std::string user_key(const UserRid& rid) {
    std::string key = kind_prefix(Kind::kUser);
    append_u32_be(key, rid.database.number);
    append_u32_be(key, rid.number);
    return key;
}
std::string permission_key(const PermissionRid& rid) {
    std::string key = kind_prefix(Kind::kPermission);
    append_u32_be(key, rid.user.database.number);
    append_u32_be(key, rid.user.number);
    append_u64_be(key, rid.number);
    return key;
}
std::string encryption_key_key(const EncryptionKeyRid& rid) {
    std::string key = kind_prefix(Kind::kEncryptionKey);
    append_u32_be(key, rid.database.number);
    append_u64_be(key, rid.number);
    return key;
}
std::string materialized_view_key(const ContainerRid& rid) {
    std::string key = kind_prefix(Kind::kMaterializedView);
    append_u32_be(key, rid.database.number);
    append_u32_be(key, rid.number);
    return key;
}
std::string key(const Database& record) {
    return database_key(record.rid);
}
std::string key(const Container& record) {
    return container_key(record.rid);
}
std::string key(const Partition& record) {
    return partition_key(record.id);
}
std::string key(const Offer& record) {
    return offer_key(record.number);
}
std::string key(const User& record) {
    return user_key(record.rid);
}
std::string key(const Permission& record) {
    return permission_key(record.rid);
}

std::string key(const EncryptionKey& record) {
    return encryption_key_key(record.rid);
}

std::string key(const MaterializedView& record) {
    return materialized_view_key(record.rid);
}

std::string key(const Move& record) {
    std::string key = kind_prefix(Kind::kMove);
    append_u32_be(key, record.targets.front());
    return key;
}

std::string range_request_key(uint64_t number) {
    std::string key = kind_prefix(Kind::kRangeRequest);
    append_u64_be(key, number);
    return key;
}

std::string key(const RangeRequest& record) {
    return range_request_key(record.number);
}

std::string key(const Script& record) {
    std::string key = kind_prefix(Kind::kScript);
    append_u32_be(key, record.container.database.number);
    append_u32_be(key, record.container.number);
    key.push_back(static_cast<char>(record.type));
    append_u64_be(key, record.number);
    return key;
}

std::optional<Kind> kind_of(std::string_view key) {
    const std::string prefix = catalog_prefix();
    if (key.size() <= prefix.size() || !key.starts_with(prefix)) return std::nullopt;
    const auto kind = static_cast<uint8_t>(key[prefix.size()]);
    if ((kind < static_cast<uint8_t>(Kind::kAccount) ||
         kind > static_cast<uint8_t>(Kind::kPermission)) &&
        kind != static_cast<uint8_t>(Kind::kEncryptionKey) &&
        kind != static_cast<uint8_t>(Kind::kMaterializedView) &&
        kind != static_cast<uint8_t>(Kind::kMove) &&
        kind != static_cast<uint8_t>(Kind::kRangeRequest) &&
        kind != static_cast<uint8_t>(Kind::kScript))
        return std::nullopt;
    return static_cast<Kind>(kind);
}

}  // namespace orrery::catalog::records
