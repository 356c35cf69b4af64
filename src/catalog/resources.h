#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/container_definition.h"
#include "catalog/rid.h"
#include "meter/budget.h"
#include "partition/partition.h"

/// Databases, containers, offers, users, permissions and client encryption keys as of one moment.
/// All immutable and shared; a change makes a new object with a new etag.
namespace orrery::catalog {

/// Etag text without quotes, and `_ts`.
struct Version {
    std::string etag;
    int64_t ts = 0;
};

struct Database {
    std::string id;
    DatabaseRid rid;
    Version version;
    std::string self() const;  ///< "dbs/{rid}/"
};
using DatabasePtr = std::shared_ptr<const Database>;

/// One physical partition in a container's range map.
struct PartitionRange {
    std::string id;  ///< "0", "1", …: never reused within the container
    uint32_t number = 0;
    std::vector<std::string> parents;
    std::shared_ptr<partition::Partition> partition;
    /// Its part of the container's throughput: weight / sum of all weights. All zero: equal parts.
    uint64_t weight = 0;
    uint64_t since = 0;  ///< version of the map that changed it last; 0: before the server started
    std::shared_ptr<meter::PartitionBudget> budget = std::make_shared<meter::PartitionBudget>();
};

/// The container's range map: sorted, contiguous from "" to FF. Its version is the pkranges etag.
struct RangeMap {
    uint64_t version = 1;
    int64_t ts = 0;           ///< of the last change
    uint64_t known_from = 1;  ///< what changed after this version is known range by range
    std::vector<PartitionRange> ranges;
    const PartitionRange& of_epk(std::string_view epk) const;
    const PartitionRange* find(std::string_view range_id) const;
    /// The range's part of the container's throughput, from 0 to 1.
    double fraction(const PartitionRange& range) const;
    /// Those that overlap, in order.
    std::vector<const PartitionRange*> overlapping(const partition::EpkRange& range) const;
};

struct Container {
    std::string id;
    DatabasePtr database;
    ContainerRid rid;
    std::string rid_text;
    std::string alt_path;  ///< "dbs/{db}/colls/{id}"
    Version version;
    partition::ContainerSettingsPtr settings;
    ContainerDefinitionPtr definition;
    std::shared_ptr<const RangeMap> ranges;
    bool materialized_view_built = false;
    /// Materialized views of this container: their ids and rids.
    std::vector<std::pair<std::string, std::string>> materialized_views;

    std::string self() const;  ///< "dbs/{rid}/colls/{rid}/"
    /// What it shows of another container; null: it is no materialized view. Only the server writes
    /// to one.
    const MaterializedViewDefinition* materialized_view() const {
        return definition->materialized_view.get();
    }
    /// Ranges of the map that changed after a version of it; all of them where that is not known.
    std::vector<const PartitionRange*> ranges_since(uint64_t version) const;
};
using ContainerPtr = std::shared_ptr<const Container>;

/// Provisioned throughput as a client asks for it.
struct ThroughputRequest {
    std::optional<int64_t> manual;
    std::optional<int64_t> autoscale_max;
    std::optional<int64_t> increment_percent;
    bool given() const { return manual || autoscale_max; }
};

/// Parts of a container's throughput that requests may be held to, by number.
struct ThroughputBuckets {
    std::array<uint8_t, meter::kThroughputBuckets> percent{};  ///< 0: not defined
    uint8_t standard = 0;  ///< number of the one for requests that name none; 0: none
    bool valid() const;
    friend bool operator==(const ThroughputBuckets&, const ThroughputBuckets&) = default;
};

struct Offer {
    std::string rid;       ///< also its id
    std::string resource;  ///< "dbs/{rid}/colls/{rid}/" or "dbs/{rid}/"
    std::string resource_rid;
    std::optional<int64_t> manual;
    std::optional<int64_t> autoscale_max;
    std::optional<int64_t> increment_percent;
    int64_t highest_ever = 400;
    int64_t storage_kb_ever = 0;  ///< most storage seen below it, as of the last replace
    ThroughputBuckets buckets;
    Version version;
    bool is_autoscale() const { return autoscale_max.has_value(); }
    int64_t value() const { return is_autoscale() ? *autoscale_max : manual.value_or(0); }
};
using OfferPtr = std::shared_ptr<const Offer>;

/// What an offer means for its resource at one moment.
struct OfferState {
    int64_t minimum = 0;          ///< it cannot be set lower
    int64_t instant_maximum = 0;  ///< what the present physical partitions can give
    bool pending = false;         ///< partitions are being split to give more
    int64_t current = 0;          ///< RU/s that autoscale has scaled to; manual: the throughput
    int64_t peak_of_hour = 0;     ///< the most of it since the hour began
};

struct User {
    std::string id;
    DatabasePtr database;
    UserRid rid;
    Version version;
};
using UserPtr = std::shared_ptr<const User>;

/// Which writes a trigger may be named for.
enum class TriggerOperation : uint8_t { kAll, kCreate, kUpdate, kDelete, kReplace };

std::string_view trigger_operation_name(TriggerOperation operation);  ///< "All", "Create", …

/// A stored procedure, trigger or user-defined function of a container.
struct Script {
    ChildType type = ChildType::kProcedure;
    std::string id;
    ContainerRid container;
    uint64_t number = 0;  ///< inside its rid
    Version version;
    std::string body;         ///< JavaScript
    bool runs_after = false;  ///< triggers: after the write rather than before
    TriggerOperation operation = TriggerOperation::kAll;  ///< triggers
    std::string rid() const { return child_rid(container, type, number); }
};
using ScriptPtr = std::shared_ptr<const Script>;

enum class PermissionMode : uint8_t { kRead, kAll };

struct Permission {
    std::string id;
    UserPtr user;
    PermissionRid rid;
    PermissionMode mode = PermissionMode::kRead;
    std::string resource;       ///< link as given: "dbs/d/colls/c" or …/docs/x; rid form too
    std::string partition_key;  ///< JSON array text of resourcePartitionKey; empty if none
    Version version;
};
using PermissionPtr = std::shared_ptr<const Permission>;

/// A data key of clients, wrapped: what the server cannot open. Both are the clients' texts.
struct KeyWrapMetadata {
    std::string type;
    std::string name;
    std::string value;
    std::optional<std::string> algorithm;  ///< absent: from a client of before it was part of it
    friend bool operator==(const KeyWrapMetadata&, const KeyWrapMetadata&) = default;
};
struct WrappedKey {
    std::string wrapped;  ///< base64
    KeyWrapMetadata metadata;
    friend bool operator==(const WrappedKey&, const WrappedKey&) = default;
};
struct EncryptionKey {
    std::string id;
    DatabasePtr database;
    EncryptionKeyRid rid;
    WrappedKey key;
    Version version;
};
using EncryptionKeyPtr = std::shared_ptr<const EncryptionKey>;

}  // namespace orrery::catalog
