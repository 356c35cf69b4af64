#include "catalog/stored_json.h"

#include <span>

#include "base/errors.h"
#include "json/parse.h"

namespace orrery::catalog {
namespace {

std::string text_of(const json::Value& value) {
    return value.is_string() ? std::string(value.as_string()) : std::string();
}

std::span<const json::Value> elements_of(const json::Value& value) {
    return value.is_array() ? value.elements() : std::span<const json::Value>();
}

std::vector<index::ComputedProperty> computed_of(const json::Value& list) {
    std::vector<index::ComputedProperty> out;
    for (const json::Value& entry : elements_of(list))
        out.push_back({text_of(entry.member("name")), text_of(entry.member("query"))});
    return out;
}

UniqueKeyPolicy unique_keys_of(const json::Value& policy) {
    std::vector<std::vector<std::string>> keys;
    for (const json::Value& key : elements_of(policy.member("uniqueKeys"))) {
        keys.emplace_back();
        for (const json::Value& path : elements_of(key.member("paths")))
            keys.back().push_back(text_of(path));
    }
    return number_unique_keys(std::move(keys));
}

ClientEncryptionPolicy encryption_of(const json::Value& policy) {
    ClientEncryptionPolicy out;
    const json::Value version = policy.member("policyFormatVersion");
    out.version = version.is_number() && version.as_double() == 2 ? 2 : 1;
    for (const json::Value& path : elements_of(policy.member("includedPaths")))
        out.paths.push_back({text_of(path.member("path")),
                             text_of(path.member("clientEncryptionKeyId")),
                             text_of(path.member("encryptionType")) == "Deterministic"});
    return out;
}

}  // namespace

Result<ContainerDefinition> definition_of_json(std::string_view tail) {
    json::Arena arena;
    TRY(const json::Value stored, json::parse("{" + std::string(tail), arena));
    ContainerDefinition out;
    TRY(out.key, partition::parse_partition_key_definition(stored.member("partitionKey")));
    TRY(out.indexing, index::parse_indexing_policy(stored.member("indexingPolicy")));
    if (const json::Value policy = stored.member("uniqueKeyPolicy"); policy.is_object())
        out.unique_keys = unique_keys_of(policy);
    out.conflict_path =
        text_of(stored.member("conflictResolutionPolicy").member("conflictResolutionPath"));
    if (const json::Value ttl = stored.member("defaultTtl"); ttl.is_int64())
        out.default_ttl = ttl.as_int64();
    if (const json::Value minutes = stored.member("changeFeedPolicy").member("retentionDuration");
        minutes.is_int64())
        out.feed_retention_minutes = minutes.as_int64();
    if (text_of(stored.member("geospatialConfig").member("type")) == "Geometry")
        out.space = index::GeometrySpace::kPlane;
    if (const json::Value list = stored.member("computedProperties"); list.is_array())
        out.computed = computed_of(list);
    if (const json::Value policy = stored.member("clientEncryptionPolicy"); policy.is_object())
        out.encryption = encryption_of(policy);
    if (const json::Value view = stored.member("materializedViewDefinition"); view.is_object()) {
        TRY(out.materialized_view,
            make_materialized_view(text_of(view.member("sourceCollectionId")),
                                   text_of(view.member("sourceCollectionRid")),
                                   text_of(view.member("definition"))));
    }
    return out;
}

Result<StoredPolicy> policy_of_json(std::string_view text) {
    json::Arena arena;
    TRY(const json::Value record, json::parse(text, arena));
    const json::Value inner = record.member("indexingPolicy");
    StoredPolicy out;
    TRY(out.policy, index::parse_indexing_policy(inner.is_undefined() ? record : inner));
    out.computed = computed_of(record.member("computedProperties"));
    return out;
}

bool read_json_key(std::string_view members, WrappedKey& key) {
    json::Arena arena;
    const auto stored = json::parse("{" + std::string(members) + "}", arena);
    if (!stored.ok()) return false;
    const json::Value metadata = stored->member("keyWrapMetadata");
    key.wrapped = text_of(stored->member("wrappedDataEncryptionKey"));
    key.metadata.type = text_of(metadata.member("type"));
    key.metadata.name = text_of(metadata.member("name"));
    key.metadata.value = text_of(metadata.member("value"));
    if (const json::Value algorithm = metadata.member("algorithm"); algorithm.is_string())
        key.metadata.algorithm = algorithm.as_string();
    return metadata.is_object() && !key.wrapped.empty();
}

}  // namespace orrery::catalog
