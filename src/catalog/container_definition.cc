#include "catalog/container_definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/errors.h"
#include "base/limits.h"
#include "catalog/names.h"
#include "index/policy_checks.h"

namespace orrery::catalog {
namespace {

constexpr int64_t kSecondsPerMinute = 60;

Result<std::vector<json::MemberPath>> unique_paths(const UniqueKeyDefinition& key) {
    if (key.paths.empty() || key.paths.size() > limits::kUniqueKeyPathsMax)
        return bad_property("uniqueKeyPolicy.uniqueKeys[].paths",
                            fmt::format("an array of 1 to {} paths", limits::kUniqueKeyPathsMax));
    std::vector<json::MemberPath> out;
    for (const std::string& path : key.paths) {
        TRY(json::MemberPath names, parse_member_path(path, "The unique key path"));
        if (std::find(out.begin(), out.end(), names) != out.end())
            return errors::bad_request(
                fmt::format("The unique key path '{}' appears twice in one key.", excerpt(path)));
        out.push_back(std::move(names));
    }
    return out;
}

Error bad_encryption(std::string_view what) {
    return bad_definition_member("clientEncryptionPolicy", what);
}

/// Ids and partition keys are compared by the server, so equal values must look equal.
Status check_identifying(const ClientEncryptionPolicy::Path& path, const std::string& name,
                         const ContainerDefinition& definition) {
    const auto& key_paths = definition.key.member_paths;
    const bool is_key = std::any_of(key_paths.begin(), key_paths.end(),
                                    [&](const auto& names) { return names.front() == name; });
    if (name != "id" && !is_key) return {};
    if (definition.encryption.version < 2)
        return Status(bad_encryption(
            fmt::format("'/{}' is the id or part of the partition key, which can be encrypted with "
                        "policyFormatVersion 2 only",
                        name)));
    if (!path.deterministic)
        return Status(bad_encryption(
            fmt::format("'/{}' is the id or part of the partition key; its encryptionType must be "
                        "'Deterministic'",
                        name)));
    return {};
}

Status check_encryption(const ContainerDefinition& definition) {
    const ClientEncryptionPolicy& policy = definition.encryption;
    if (policy.version < 1 || policy.version > 2)
        return Status(bad_encryption("policyFormatVersion must be 1 or 2"));
    std::set<std::string> seen;
    for (size_t i = 0; i < policy.paths.size(); ++i) {
        const ClientEncryptionPolicy::Path& path = policy.paths[i];
        const auto names = parse_member_path(path.path, "The encrypted path");
        if (!names.ok() || names->size() != 1)
            return Status(bad_encryption(fmt::format(
                "includedPaths[{}].path is '{}'; only properties at the top of an item can be "
                "encrypted, such as '/name'",
                i, excerpt(path.path))));
        const std::string& name = names->front();
        if (!seen.insert(name).second)
            return Status(bad_encryption(fmt::format("'/{}' appears twice", excerpt(name))));
        TRY_STATUS(check_identifying(path, name, definition));
    }
    return {};
}

/// What a materialized view cannot be: its items come and go with those of the source, and are
/// found by their id.
Status check_materialized_view(const ContainerDefinition& definition) {
    const auto refuse = [](std::string_view what) {
        return Status(errors::bad_request(fmt::format("A materialized view {}.", what)));
    };
    if (definition.default_ttl)
        return refuse("has no 'defaultTtl': its items go with the source's");
    if (definition.unique_keys && !definition.unique_keys->keys.empty())
        return refuse("has no 'uniqueKeyPolicy'");
    if (!definition.encryption.paths.empty()) return refuse("has no 'clientEncryptionPolicy'");
    if (definition.legacy_fixed()) return refuse("needs a partition key");
    if (definition.indexing.mode == index::IndexingMode::kNone || !definition.indexing.automatic)
        return refuse("needs its index: 'indexingMode' must be consistent and 'automatic' true");
    for (const json::MemberPath& path : definition.key.member_paths)
        if (const std::string& name = path.front();
            name != "id" && name != "_id" && !definition.materialized_view->shows(name))
            return refuse(fmt::format(
                "must show its own partition key: add the property '{}' to the SELECT", name));
    return {};
}

Status check_index_names(const ContainerDefinition& definition) {
    std::set<std::pair<IndexName::Kind, std::string>> known;
    for (const index::IndexPath& path : definition.indexing.included)
        known.emplace(IndexName::Kind::kPath, index_identity(path));
    for (const index::CompositeIndex& composite : definition.indexing.composites)
        known.emplace(IndexName::Kind::kComposite, index_identity(composite));
    for (const index::SpatialIndex& spatial : definition.indexing.spatials)
        known.emplace(IndexName::Kind::kSpatial, index_identity(spatial.path));
    if (definition.unique_keys)
        for (const UniqueKeyDefinition& key : definition.unique_keys->keys)
            known.emplace(IndexName::Kind::kUniqueKey, index_identity(key));
    std::set<std::string> names;
    for (const IndexName& name : definition.index_names) {
        if (name.name.empty() || !names.insert(name.name).second)
            return Status(errors::bad_request(
                fmt::format("The index name '{}' is empty or given twice.", excerpt(name.name))));
        if (!known.contains({name.kind, name.index}))
            return Status(errors::bad_request(fmt::format(
                "The index name '{}' stands for no index of the container.", excerpt(name.name))));
    }
    return {};
}

bool same_key(const partition::PartitionKeyDefinition& a,
              const partition::PartitionKeyDefinition& b) {
    return a.kind == b.kind && a.version == b.version && a.system_key == b.system_key &&
           a.paths == b.paths;
}

bool same_materialized_view(const ContainerDefinition& a, const ContainerDefinition& b) {
    if (a.materialized_view == nullptr || b.materialized_view == nullptr)
        return a.materialized_view == b.materialized_view;
    return a.materialized_view->source_rid == b.materialized_view->source_rid &&
           a.materialized_view->select == b.materialized_view->select;
}

std::vector<std::string> sorted_texts(const std::vector<index::IndexPath>& paths) {
    std::vector<std::string> out;
    out.reserve(paths.size());
    for (const index::IndexPath& path : paths) out.push_back(path.text);
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace

partition::PartitionKeyDefinition legacy_fixed_key() {
    partition::PartitionKeyDefinition out;
    out.system_key = true;
    out.paths = {"/_partitionKey"};
    out.member_paths = {{"_partitionKey"}};
    return out;
}

UniqueKeyPolicy number_unique_keys(std::vector<std::vector<std::string>> keys) {
    UniqueKeyPolicy out;
    for (std::vector<std::string>& paths : keys)
        out.keys.push_back({out.next_number++, std::move(paths)});
    return out;
}

Result<std::vector<partition::UniqueKey>> split_unique_keys(const UniqueKeyPolicy& policy) {
    std::vector<partition::UniqueKey> out;
    if (policy.keys.size() > limits::kUniqueKeysMax)
        return bad_property("uniqueKeyPolicy.uniqueKeys",
                            fmt::format("an array of at most {} keys", limits::kUniqueKeysMax));
    for (const UniqueKeyDefinition& key : policy.keys) {
        TRY(auto paths, unique_paths(key));
        for (const partition::UniqueKey& other : out) {
            if (other.paths == paths)
                return errors::bad_request("The unique key policy names the same key twice.");
            if (other.number == key.number)
                return errors::bad_request("Two unique keys have the same number.");
        }
        if (key.number >= policy.next_number)
            return errors::bad_request("The number of a unique key is not below the next one.");
        out.push_back({key.number, std::move(paths)});
    }
    return out;
}

std::string index_identity(const index::IndexPath& path) {
    return index::path_text(path.steps) + (path.subtree ? "/*" : "/?");
}

std::string index_identity(const index::CompositeIndex& composite) {
    std::string out;
    for (const index::CompositeIndex::Member& member : composite.members)
        out += index::path_text(member.steps) + (member.descending ? " desc\n" : " asc\n");
    return out;
}

std::string index_identity(const UniqueKeyDefinition& key) {
    return std::to_string(key.number);
}

Status validate(const ContainerDefinition& definition) {
    TRY_STATUS(check_encryption(definition));
    if (definition.unique_keys)
        TRY_STATUS(split_unique_keys(*definition.unique_keys).status().clone());
    if (definition.conflict_path != "/_ts")
        TRY_STATUS(parse_member_path(definition.conflict_path, "The conflict resolution path")
                       .status()
                       .clone());
    if (const auto ttl = definition.default_ttl;
        ttl && *ttl != -1 && (*ttl < 1 || *ttl > limits::kTtlSecondsMax))
        return Status(bad_property(
            "defaultTtl",
            fmt::format("-1 or an integer between 1 and {} (null: off)", limits::kTtlSecondsMax)));
    if (const auto minutes = definition.feed_retention_minutes;
        minutes && (*minutes < 0 || *minutes > limits::kFeedRetentionMinutesMax))
        return Status(bad_property("changeFeedPolicy.retentionDuration",
                                   fmt::format("a number of minutes between 0 (off) and {}",
                                               limits::kFeedRetentionMinutesMax)));
    if (const auto& expiry = definition.expiry) {
        TRY_STATUS(parse_member_path(expiry->path, "The path of the expiry").status().clone());
        if (expiry->seconds < 0 || expiry->seconds > limits::kTtlSecondsMax)
            return Status(errors::bad_request(
                fmt::format("Items expire 0 to {} seconds after the time that they state.",
                            limits::kTtlSecondsMax)));
    }
    TRY_STATUS(index::check_boxes(definition.indexing, definition.space));
    TRY_STATUS(index::check_included_paths(definition.indexing));
    if (definition.materialized_view != nullptr) TRY_STATUS(check_materialized_view(definition));
    return check_index_names(definition);
}

Status check_unchanged(const ContainerDefinition& before, const ContainerDefinition& after) {
    const std::string_view changed =
        !same_key(before.key, after.key)          ? "partitionKey"
        : before.unique_keys != after.unique_keys ? "uniqueKeyPolicy"
        : before.encryption != after.encryption   ? "clientEncryptionPolicy"
        : !same_materialized_view(before, after)  ? "materializedViewDefinition"
        : before.dialect != after.dialect         ? "dialect"
                                                  : "";
    return changed.empty() ? Status() : Status(cannot_change(changed));
}

Result<index::ComputedPropertiesPtr> compile_computed(
    const std::vector<index::ComputedProperty>& list, const index::ComputedCompiler& compiler) {
    if (list.empty()) return index::ComputedPropertiesPtr();
    if (!compiler)
        return errors::not_supported("The container's property 'computedProperties'",
                                     "Create the container without this property.");
    return compiler(list);
}

Result<partition::ContainerSettings> settings_of(const ContainerDefinition& definition,
                                                 const index::ComputedCompiler& compiler) {
    partition::ContainerSettings out;
    out.key = definition.key;
    TRY(auto computed,
        compile_computed(definition.computed.value_or(std::vector<index::ComputedProperty>()),
                         compiler));
    TRY(out.indexing,
        index::with_computed_properties(
            index::with_dialect(definition.indexing, definition.dialect), std::move(computed)));
    if (definition.unique_keys) {
        TRY(out.unique_keys, split_unique_keys(*definition.unique_keys));
    }
    out.default_ttl = definition.default_ttl;
    if (const auto& expiry = definition.expiry) {
        TRY(json::MemberPath path, parse_member_path(expiry->path, "The path of the expiry"));
        out.expiry = partition::ExpiryProperty{std::move(path), expiry->seconds};
        if (!out.default_ttl) out.default_ttl = -1;
    }
    out.feed_retention_seconds = definition.feed_retention_minutes.value_or(0) * kSecondsPerMinute;
    out.space = definition.space;
    return out;
}

bool same_indexing(const index::IndexingPolicy& a, const index::IndexingPolicy& b) {
    return a.mode == b.mode && a.automatic == b.automatic &&
           sorted_texts(a.included) == sorted_texts(b.included) &&
           sorted_texts(a.excluded) == sorted_texts(b.excluded) &&
           std::is_permutation(a.composites.begin(), a.composites.end(), b.composites.begin(),
                               b.composites.end()) &&
           std::is_permutation(a.spatials.begin(), a.spatials.end(), b.spatials.begin(),
                               b.spatials.end()) &&
           a.sorted == b.sorted && index::same_computed(a.computed.get(), b.computed.get());
}

}  // namespace orrery::catalog
