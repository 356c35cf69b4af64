#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/materialized_view.h"
#include "index/computed.h"
#include "index/policy.h"
#include "json/dialect.h"
#include "partition/partition.h"

/// What a container is told to be, by whichever protocol. How a protocol writes it is that head's
/// business; how it is kept on disk is definition_record.h.
namespace orrery::catalog {

/// A unique key constraint.
struct UniqueKeyDefinition {
    uint32_t number = 0;             ///< partition::UniqueKey::number
    std::vector<std::string> paths;  ///< as given: "/a/b"
    friend bool operator==(const UniqueKeyDefinition&, const UniqueKeyDefinition&) = default;
};
struct UniqueKeyPolicy {
    std::vector<UniqueKeyDefinition> keys;
    uint32_t next_number = 0;  ///< above all that were ever used
    friend bool operator==(const UniqueKeyPolicy&, const UniqueKeyPolicy&) = default;
};

/// Which properties clients encrypt, and how. The server never sees a key or a plain value.
struct ClientEncryptionPolicy {
    struct Path {
        std::string path;    ///< "/name": a property at the top of an item
        std::string key_id;  ///< of a client encryption key of the database
        bool deterministic = false;
        friend bool operator==(const Path&, const Path&) = default;
    };
    uint8_t version = 1;
    std::vector<Path> paths;  ///< empty: no such policy
    friend bool operator==(const ClientEncryptionPolicy&, const ClientEncryptionPolicy&) = default;
};

/// A name that a client gave to an index. Several names may stand for one.
struct IndexName {
    enum class Kind : uint8_t { kPath, kComposite, kSpatial, kUniqueKey };
    std::string name;
    Kind kind = Kind::kPath;
    std::string index;  ///< index_identity()
    friend bool operator==(const IndexName&, const IndexName&) = default;
};

/// partition::ExpiryProperty, with its path as given.
struct ExpiryDefinition {
    std::string path;
    int64_t seconds = 0;
    friend bool operator==(const ExpiryDefinition&, const ExpiryDefinition&) = default;
};

/// What a dialect keeps about a container beyond all this. The catalog does not look inside.
struct DialectSchema {
    uint8_t version = 0;  ///< of the bytes; 0: there are none
    std::string bytes;
    friend bool operator==(const DialectSchema&, const DialectSchema&) = default;
};

struct ContainerDefinition {
    json::Dialect dialect = json::Dialect::kNosql;
    DialectSchema schema;
    partition::PartitionKeyDefinition key;
    index::IndexingPolicy indexing;              ///< without sorted paths and computed properties
    std::optional<UniqueKeyPolicy> unique_keys;  ///< absent and empty are shown differently
    std::string conflict_path = "/_ts";          ///< the highest value here wins
    std::optional<int64_t> default_ttl;          ///< ContainerSettings::default_ttl
    std::optional<int64_t> feed_retention_minutes;  ///< 0: the latest versions only
    index::GeometrySpace space = index::GeometrySpace::kEarth;
    std::optional<std::vector<index::ComputedProperty>> computed;
    ClientEncryptionPolicy encryption;
    MaterializedViewDefinitionPtr materialized_view;  ///< null: none
    std::vector<IndexName> index_names;
    /// Items expire at times that they state: those written since it is so. Absent: after a time
    /// to live.
    std::optional<ExpiryDefinition> expiry;

    /// Made without partition key by an old client: one partition for ever.
    bool legacy_fixed() const { return key.system_key; }
};
using ContainerDefinitionPtr = std::shared_ptr<const ContainerDefinition>;

/// The key of such a container.
partition::PartitionKeyDefinition legacy_fixed_key();

/// A policy with the numbers of its keys in the order of the list.
UniqueKeyPolicy number_unique_keys(std::vector<std::vector<std::string>> keys);

/// The constraints with their paths split: a bad request for paths and keys that cannot be.
Result<std::vector<partition::UniqueKey>> split_unique_keys(const UniqueKeyPolicy& policy);

/// What an index is called inside IndexName: equal exactly for the same index.
std::string index_identity(const index::IndexPath& path);
std::string index_identity(const index::CompositeIndex& composite);
std::string index_identity(const UniqueKeyDefinition& key);

/// Whether it means something that a container can be: a bad request names the property that does
/// not. For definitions that a head has read; those that are stored have passed it.
Status validate(const ContainerDefinition& definition);

/// What must stay as it was created: a bad request names the property that differs.
Status check_unchanged(const ContainerDefinition& before, const ContainerDefinition& after);

/// What the partitions are told; path_key and the state of the index are the caller's. `compiler`:
/// without one, a definition with computed properties is refused.
Result<partition::ContainerSettings> settings_of(const ContainerDefinition& definition,
                                                 const index::ComputedCompiler& compiler = {});

/// Computed properties, compiled; null: none.
Result<index::ComputedPropertiesPtr> compile_computed(
    const std::vector<index::ComputedProperty>& list, const index::ComputedCompiler& compiler);

/// True when the same items get the same index entries under both.
bool same_indexing(const index::IndexingPolicy& a, const index::IndexingPolicy& b);

}  // namespace orrery::catalog
