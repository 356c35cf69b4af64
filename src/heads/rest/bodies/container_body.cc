#include "heads/rest/bodies/container_body.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/bodies/encryption_body.h"
#include "heads/rest/bodies/members.h"
#include "heads/rest/bodies/resource_json.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using catalog::bad_property;
using catalog::ContainerDefinition;
using catalog::excerpt;

/// True when `list` (a member of `policy`) is missing, null or an empty array.
bool lists_nothing(const json::Value& policy, std::string_view list) {
    const json::Value entries = policy.member(list);
    return is_absent(entries) || (entries.is_array() && entries.elements().empty());
}

bool is_empty_array(const json::Value& value) {
    return value.is_array() && value.elements().empty();
}

/// Refuses policies that the server does not enforce. A policy that asks for nothing is accepted.
Status refuse_unenforced(const json::Value& body) {
    constexpr std::string_view kAdvice = "Create the container without this property.";
    const auto refuse = [&](std::string_view name) {
        return Status(
            errors::not_supported(fmt::format("The container's property '{}'", name), kAdvice));
    };
    const auto policy = [&](std::string_view name, std::string_view list) -> Status {
        const json::Value value = body.member(name);
        if (is_absent(value)) return {};
        if (!value.is_object()) return Status(bad_property(name, "an object"));
        return lists_nothing(value, list) ? Status() : refuse(name);
    };
    TRY_STATUS(policy("vectorEmbeddingPolicy", "vectorEmbeddings"));
    TRY_STATUS(policy("fullTextPolicy", "fullTextPaths"));
    TRY_STATUS(policy("dataMaskingPolicy", "includedPaths"));
    for (std::string_view name : {"globalSecondaryIndexDefinition", "globalSecondaryIndexes"}) {
        const json::Value value = body.member(name);
        if (!is_absent(value) && !is_empty_array(value))
            return Status(errors::not_supported(
                fmt::format("The container's property '{}'", name),
                "Define a view by the property 'materializedViewDefinition'."));
    }
    const json::Value analytical = body.member("analyticalStorageTtl");
    if (!is_absent(analytical)) {
        const auto seconds = integral(analytical);
        if (!seconds || *seconds < -1 || *seconds > limits::kTtlSecondsMax)
            return Status(bad_property("analyticalStorageTtl", "null, -1 or a number of seconds"));
        if (*seconds != 0) return refuse("analyticalStorageTtl");
    }
    return {};
}

Status check_members(const json::Value& body) {
    return refuse_unknown(
        body, "A container",
        {"id", "partitionKey", "indexingPolicy", "uniqueKeyPolicy", "conflictResolutionPolicy",
         "defaultTtl", "analyticalStorageTtl", "changeFeedPolicy", "geospatialConfig",
         "computedProperties", "clientEncryptionPolicy", "vectorEmbeddingPolicy", "fullTextPolicy",
         "dataMaskingPolicy", "materializedViewDefinition", "materializedViews",
         "globalSecondaryIndexDefinition", "globalSecondaryIndexes", "statistics"});
}

Result<std::string> read_conflict_path(const json::Value& policy) {
    const std::string standard = ContainerDefinition().conflict_path;
    if (is_absent(policy)) return standard;
    if (!policy.is_object()) return bad_property("conflictResolutionPolicy", "an object");
    TRY_STATUS(refuse_unknown(policy, "The container's 'conflictResolutionPolicy'",
                              {"mode", "conflictResolutionPath", "conflictResolutionProcedure"}));
    const json::Value mode = policy.member("mode");
    const json::Value path = policy.member("conflictResolutionPath");
    const json::Value procedure = policy.member("conflictResolutionProcedure");
    if (mode.is_string() && equals_ignore_case(mode.as_string(), "custom"))
        return errors::not_supported(
            "The container's property 'conflictResolutionPolicy' with mode Custom",
            "Use the mode LastWriterWins.");
    if (!is_absent(mode) &&
        (!mode.is_string() || !equals_ignore_case(mode.as_string(), "lastwriterwins")))
        return bad_property("conflictResolutionPolicy.mode", "'LastWriterWins' or 'Custom'");
    if (!is_absent(procedure) && !(procedure.is_string() && procedure.as_string().empty()))
        return bad_property("conflictResolutionPolicy.conflictResolutionProcedure",
                            "empty with the mode LastWriterWins");
    if (is_absent(path)) return standard;
    if (!path.is_string())
        return bad_property("conflictResolutionPolicy.conflictResolutionPath", "a string");
    return path.as_string().empty() ? standard : std::string(path.as_string());
}

Result<index::GeometrySpace> read_geospatial(const json::Value& config) {
    if (is_absent(config)) return index::GeometrySpace::kEarth;
    if (!config.is_object()) return bad_property("geospatialConfig", "an object");
    TRY_STATUS(refuse_unknown(config, "The container's 'geospatialConfig'", {"type"}));
    const json::Value type = config.member("type");
    if (is_absent(type)) return index::GeometrySpace::kEarth;
    if (type.is_string() && equals_ignore_case(type.as_string(), "geometry"))
        return index::GeometrySpace::kPlane;
    if (type.is_string() && equals_ignore_case(type.as_string(), "geography"))
        return index::GeometrySpace::kEarth;
    return bad_property("geospatialConfig.type", "'Geography' or 'Geometry'");
}

/// What is no number of seconds is no valid one either: the catalog reports that error.
std::optional<int64_t> read_default_ttl(const json::Value& ttl) {
    if (is_absent(ttl)) return std::nullopt;
    return integral(ttl).value_or(0);
}

/// A retention asks for all versions of items to be kept that long.
Result<std::optional<int64_t>> read_feed_retention(const json::Value& policy) {
    if (is_absent(policy)) return std::optional<int64_t>();
    if (!policy.is_object()) return bad_property("changeFeedPolicy", "an object");
    TRY_STATUS(refuse_unknown(policy, "The container's 'changeFeedPolicy'", {"retentionDuration"}));
    const json::Value retention = policy.member("retentionDuration");
    if (is_absent(retention)) return std::optional<int64_t>(0);
    return std::optional<int64_t>(integral(retention).value_or(-1));
}

Result<std::vector<std::string>> read_unique_key(const json::Value& key) {
    if (key.is_object())
        TRY_STATUS(refuse_unknown(key, "A unique key of the container", {"paths"}));
    const json::Value paths = key.member("paths");
    std::vector<std::string> out;
    if (!paths.is_array()) return out;  // the catalog reports that error
    for (const json::Value& path : paths.elements()) {
        if (!path.is_string())
            return bad_property("uniqueKeyPolicy.uniqueKeys[].paths", "an array of strings");
        out.emplace_back(path.as_string());
    }
    return out;
}

Result<std::optional<catalog::UniqueKeyPolicy>> read_unique_keys(const json::Value& policy) {
    if (is_absent(policy)) return std::optional<catalog::UniqueKeyPolicy>();
    if (!policy.is_object()) return bad_property("uniqueKeyPolicy", "an object");
    TRY_STATUS(refuse_unknown(policy, "The container's 'uniqueKeyPolicy'", {"uniqueKeys"}));
    const json::Value keys = policy.member("uniqueKeys");
    std::vector<std::vector<std::string>> all;
    if (!is_absent(keys)) {
        if (!keys.is_array())
            return bad_property("uniqueKeyPolicy.uniqueKeys",
                                fmt::format("an array of at most {} keys", limits::kUniqueKeysMax));
        for (const json::Value& key : keys.elements()) {
            TRY(auto paths, read_unique_key(key));
            all.push_back(std::move(paths));
        }
    }
    return std::optional(catalog::number_unique_keys(std::move(all)));
}

/// A member of a computed property. What is empty is no name or query: the catalog words that.
Result<std::string> computed_text(const json::Value& definition, std::string_view name) {
    const json::Value value = definition.member(name);
    if (value.is_null()) return std::string();
    if (!value.is_string()) return errors::bad_request("One of the specified inputs is invalid");
    return std::string(value.as_string());
}

Result<std::optional<std::vector<index::ComputedProperty>>> read_computed(const json::Value& list) {
    if (is_absent(list)) return std::optional<std::vector<index::ComputedProperty>>();
    if (!list.is_array()) return bad_property("computedProperties", "an array");
    std::vector<index::ComputedProperty> out;
    for (const json::Value& entry : list.elements()) {
        if (entry.is_object())
            TRY_STATUS(
                refuse_unknown(entry, "A computed property of the container", {"name", "query"}));
        TRY(std::string name, computed_text(entry, "name"));
        TRY(std::string query, computed_text(entry, "query"));
        out.push_back({std::move(name), std::move(query)});
    }
    return std::optional(std::move(out));
}

Result<catalog::MaterializedViewDefinitionPtr> read_materialized_view(const json::Value& value) {
    if (is_absent(value)) return catalog::MaterializedViewDefinitionPtr();
    const auto bad = [](std::string_view what) {
        return catalog::bad_definition_member("materializedViewDefinition", what);
    };
    if (!value.is_object()) return bad("it must be an object");
    std::string source_id;
    std::string source_rid;
    std::string select;
    for (const json::Member& member : value.members()) {
        // What the server says of a materialized view comes back with a replace.
        if (is_absent(member.value) || member.name.starts_with('_') || member.name == "status")
            continue;
        std::string* const target = member.name == "sourceCollectionId"    ? &source_id
                                    : member.name == "sourceCollectionRid" ? &source_rid
                                    : member.name == "definition"          ? &select
                                                                           : nullptr;
        if (target == nullptr)
            return bad(fmt::format("it has no member '{}'", excerpt(member.name)));
        if (!member.value.is_string())
            return bad(fmt::format("'{}' must be a string", member.name));
        *target = member.value.as_string();
    }
    return catalog::make_materialized_view(std::move(source_id), std::move(source_rid),
                                           std::move(select));
}

/// What a container may be given again after its creation.
Status read_changeable(const json::Value& body, ContainerDefinition& out) {
    const json::Value indexing = body.member("indexingPolicy");
    TRY(out.indexing, index::parse_indexing_policy(indexing.is_null() ? json::Value() : indexing));
    TRY(out.conflict_path, read_conflict_path(body.member("conflictResolutionPolicy")));
    out.default_ttl = read_default_ttl(body.member("defaultTtl"));
    TRY(out.feed_retention_minutes, read_feed_retention(body.member("changeFeedPolicy")));
    TRY(out.space, read_geospatial(body.member("geospatialConfig")));
    TRY(out.computed, read_computed(body.member("computedProperties")));
    return {};
}

/// A replace may repeat the key, also without the members that the server filled in.
bool repeats_key(const json::Value& given, const partition::PartitionKeyDefinition& stored) {
    if (!given.is_object() || !given.member("paths").is_array()) return false;
    const auto paths = given.member("paths").elements();
    const bool same_paths =
        std::equal(paths.begin(), paths.end(), stored.paths.begin(), stored.paths.end(),
                   [](const json::Value& a, const std::string& b) {
                       return a.is_string() && a.as_string() == b;
                   });
    const json::Value kind = given.member("kind");
    const json::Value version = given.member("version");
    const bool multi = stored.kind == partition::KeyKind::kMultiHash;
    return same_paths &&
           (is_absent(kind) ||
            (kind.is_string() && kind.as_string() == (multi ? "MultiHash" : "Hash"))) &&
           (is_absent(version) || (version.is_number() && version.as_double() == stored.version));
}

/// The order of constraints, and of paths in one, has no meaning.
Result<std::vector<std::vector<json::MemberPath>>> sorted_keys(
    const std::optional<catalog::UniqueKeyPolicy>& policy) {
    std::vector<std::vector<json::MemberPath>> out;
    if (!policy) return out;
    TRY(const auto keys, catalog::split_unique_keys(*policy));
    for (const partition::UniqueKey& key : keys) {
        out.push_back(key.paths);
        std::sort(out.back().begin(), out.back().end());
    }
    std::sort(out.begin(), out.end());
    return out;
}

Status check_unique_keys_stay(const json::Value& policy, const ContainerDefinition& stored) {
    if (is_absent(policy)) return {};
    TRY(const auto given, read_unique_keys(policy));
    TRY(const auto after, sorted_keys(given));
    TRY(const auto before, sorted_keys(stored.unique_keys));
    return before == after ? Status() : Status(catalog::cannot_change("uniqueKeyPolicy"));
}

Status check_view_stays(const json::Value& value, const ContainerDefinition& stored) {
    if (is_absent(value)) return {};
    TRY(const auto after, read_materialized_view(value));
    const auto& before = stored.materialized_view;
    const auto same = [](const std::string& a, const std::string& b) {
        return a.empty() || a == b;
    };
    if (before != nullptr && same(after->source_id, before->source_id) &&
        same(after->source_rid, before->source_rid) && after->select == before->select)
        return {};
    return Status(catalog::cannot_change("materializedViewDefinition"));
}

/// 400 unless `materializedViews` of a body lists exactly those that exist.
Status check_listed_views(const json::Value& body, const catalog::Container* before) {
    const json::Value list = body.member("materializedViews");
    if (is_absent(list)) return {};
    const auto refuse = [] {
        return Status(errors::bad_request(
            "The container's property 'materializedViews' lists the views that exist and cannot be "
            "changed. Create a container with 'materializedViewDefinition' to have another one."));
    };
    if (!list.is_array()) return refuse();
    const size_t known = before == nullptr ? 0 : before->materialized_views.size();
    if (list.elements().size() != known) return refuse();
    for (size_t i = 0; i < known; ++i) {
        const json::Value id = list.elements()[i].member("id");
        if (!id.is_string() || id.as_string() != before->materialized_views[i].first)
            return refuse();
    }
    return {};
}

}  // namespace

Result<ContainerBody> read_container_body(const json::Value& body, bool allow_missing_key) {
    ContainerBody out;
    ContainerDefinition& definition = out.definition;
    TRY(out.id, body_id(body));
    TRY_STATUS(check_members(body));
    const json::Value key = body.member("partitionKey");
    if (is_absent(key) && !allow_missing_key) return errors::missing_property("partitionKey");
    TRY_STATUS(refuse_unenforced(body));
    definition.key = catalog::legacy_fixed_key();
    if (!is_absent(key)) {
        TRY(definition.key, partition::parse_partition_key_definition(key));
    }
    TRY(definition.encryption, read_encryption_policy(body.member("clientEncryptionPolicy")));
    TRY(definition.unique_keys, read_unique_keys(body.member("uniqueKeyPolicy")));
    TRY_STATUS(read_changeable(body, definition));
    TRY(definition.materialized_view,
        read_materialized_view(body.member("materializedViewDefinition")));
    TRY_STATUS(check_listed_views(body, nullptr));
    return out;
}

Result<ContainerDefinition> read_container_replacement(const json::Value& body,
                                                       const catalog::Container& before) {
    TRY(const std::string id, body_id(body));
    if (id != before.id) return catalog::cannot_change("id");
    TRY_STATUS(check_listed_views(body, &before));
    TRY_STATUS(check_members(body));
    ContainerDefinition out = *before.definition;
    if (const json::Value key = body.member("partitionKey");
        !is_absent(key) && !repeats_key(key, out.key))
        return catalog::cannot_change("partitionKey");
    TRY_STATUS(check_unique_keys_stay(body.member("uniqueKeyPolicy"), out));
    if (const json::Value policy = body.member("clientEncryptionPolicy"); !is_absent(policy)) {
        TRY(const catalog::ClientEncryptionPolicy given, read_encryption_policy(policy));
        if (given != out.encryption) return catalog::cannot_change("clientEncryptionPolicy");
    }
    TRY_STATUS(check_view_stays(body.member("materializedViewDefinition"), out));
    TRY_STATUS(refuse_unenforced(body));
    TRY_STATUS(read_changeable(body, out));
    return out;
}

}  // namespace orrery::rest
