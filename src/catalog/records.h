#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "catalog/range_change.h"
#include "catalog/resources.h"
#include "storage/keys.h"

/// What the catalog keeps in Family::kMeta, below partition id 0 (docs/formats/catalog.md). One
/// record per resource; each value begins with a format version.
namespace orrery::catalog::records {

enum class Kind : uint8_t {
    kAccount = 1,
    kDatabase = 2,
    kContainer = 3,
    kPartition = 4,
    kOffer = 5,
    kUser = 6,
    kPermission = 7,
    kEncryptionKey = 12,
    kMaterializedView = 13,
    kMove = 16,
    kRangeRequest = 17,
    kScript = 20,
};

/// Counters hold the next number to hand out: numbers are never used twice.
struct Account {
    std::string secret;
    uint32_t next_database = 1;
    uint32_t next_offer = 1;
    storage::PartitionId next_partition = 1;
};
struct Database {
    DatabaseRid rid;
    std::string id;
    Version version;
    uint32_t next_user = 1;
};
/// What a container's definition does not say of its index.
struct IndexState {
    struct Policy {
        std::string policy;  ///< definition_record.h; a JSON text where `as_json` says so
        std::vector<std::string> sorted;  ///< path texts
        friend bool operator==(const Policy&, const Policy&) = default;
    };
    uint64_t change = 0;              ///< number of the policy change that runs, or was last
    std::vector<std::string> sorted;  ///< the present policy's sorted paths
    std::vector<Policy> previous;     ///< policies whose entries items may still have
    bool as_json = false;             ///< read from a record before version 3
    bool empty() const { return change == 0; }
    friend bool operator==(const IndexState&, const IndexState&) = default;
};
/// A range of a container's map; the rest of it is in the partition's own record.
struct Range {
    uint32_t number = 0;
    storage::PartitionId partition = 0;
    std::vector<uint32_t> parents;
    uint64_t weight = 0;  ///< PartitionRange::weight
};
struct Container {
    ContainerRid rid;
    std::string id;
    Version version;
    std::string definition;  ///< definition_record.h
    std::string json_tail;   ///< instead of it in records before version 3 (stored_json.h)
    SipKey path_key;
    uint64_t settings_version = 1;
    uint64_t map_version = 1;
    int64_t map_ts = 0;
    uint32_t next_range = 0;
    std::vector<Range> ranges;
    IndexState index;
};
/// All that a partition needs to come up without the catalog.
struct Partition {
    storage::PartitionId id = 0;
    ContainerRid container;
    uint32_t range_number = 0;
    uint32_t rid_prefix = 0;
    std::string epk_min;
    std::string epk_max;
    uint64_t settings_version = 1;
    SipKey path_key;
    std::string definition;
    std::string json_tail;
    IndexState index;
};
struct Offer {
    uint32_t number = 0;
    DatabaseRid database;
    uint32_t container = 0;  ///< 0: the database's own
    Version version;
    std::optional<int64_t> manual;
    std::optional<int64_t> autoscale_max;
    std::optional<int64_t> increment_percent;
    int64_t highest_ever = 0;
    int64_t storage_kb_ever = 0;
    ThroughputBuckets buckets;
};
struct User {
    UserRid rid;
    std::string id;
    Version version;
    uint64_t next_permission = 1;
};
struct Permission {
    PermissionRid rid;
    std::string id;
    Version version;
    PermissionMode mode = PermissionMode::kRead;
    std::string resource;
    std::string partition_key;
};

struct EncryptionKey {
    EncryptionKeyRid rid;
    std::string id;
    Version version;
    WrappedKey key;
};

/// How far a materialized view has come; its definition is its container's.
struct MaterializedView {
    ContainerRid rid;
    MaterializedViewProgress progress;
};

/// Partitions being filled by a split or merge that has not come to its switch. Found at start, it
/// never will: they are dead.
struct Move {
    std::vector<storage::PartitionId> targets;  ///< one or more; the first is in the key
};

/// Type, container and number are in the key.
struct Script {
    ContainerRid container;
    ChildType type = ChildType::kProcedure;
    uint64_t number = 0;
    std::string id;
    Version version;
    std::string body;
    bool runs_after = false;
    TriggerOperation operation = TriggerOperation::kAll;
};

std::string catalog_prefix();  ///< of all keys
std::string account_key();
std::string key(const Database& record);
std::string key(const Container& record);
std::string key(const Partition& record);
std::string key(const Offer& record);
std::string key(const User& record);
std::string key(const Permission& record);
std::string key(const EncryptionKey& record);
std::string key(const MaterializedView& record);
std::string key(const Move& record);
std::string key(const RangeRequest& record);
std::string key(const Script& record);
std::string database_key(const DatabaseRid& rid);
std::string container_key(const ContainerRid& rid);
std::string partition_key(storage::PartitionId id);
std::string offer_key(uint32_t number);
std::string user_key(const UserRid& rid);
std::string permission_key(const PermissionRid& rid);
std::string encryption_key_key(const EncryptionKeyRid& rid);
std::string materialized_view_key(const ContainerRid& rid);
std::string range_request_key(uint64_t number);

std::string encode(const Account& record);
std::string encode(const Database& record);
std::string encode(const Container& record);
std::string encode(const Partition& record);
std::string encode(const Offer& record);
std::string encode(const User& record);
std::string encode(const Permission& record);
std::string encode(const EncryptionKey& record);
std::string encode(const MaterializedView& record);
std::string encode(const Move& record);
std::string encode(const RangeRequest& record);
std::string encode(const Script& record);

/// The kind of a key of the catalog; nullopt for a foreign one.
std::optional<Kind> kind_of(std::string_view key);

// Errors (kInternal) say which record is damaged or of a newer format.
Result<Account> decode_account(std::string_view key, std::string_view value);
Result<Database> decode_database(std::string_view key, std::string_view value);
Result<Container> decode_container(std::string_view key, std::string_view value);
Result<Partition> decode_partition(std::string_view key, std::string_view value);
Result<Offer> decode_offer(std::string_view key, std::string_view value);
Result<User> decode_user(std::string_view key, std::string_view value);
Result<Permission> decode_permission(std::string_view key, std::string_view value);
Result<EncryptionKey> decode_encryption_key(std::string_view key, std::string_view value);
Result<MaterializedView> decode_materialized_view(std::string_view key, std::string_view value);
Result<Move> decode_move(std::string_view key, std::string_view value);
Result<RangeRequest> decode_range_request(std::string_view key, std::string_view value);
Result<Script> decode_script(std::string_view key, std::string_view value);

}  // namespace orrery::catalog::records
