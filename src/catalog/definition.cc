#include "catalog/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "catalog/client_encryption.h"
#include "catalog/names.h"
#include "index/policy_checks.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::catalog {
namespace {

constexpr std::string_view kLegacyKey =
    R"({"paths":["/_partitionKey"],"kind":"Hash","systemKey":true})";

Error bad_member(std::string_view name, std::string_view expected) {
    return errors::bad_request(
        fmt::format("The container's property '{}' is invalid: it must be {}.", name, expected));
}

void append_member(std::string& out, std::string_view name, std::string_view json_text) {
    if (!out.empty()) out += ',';
    json::write_string(out, name);
    out += ':';
    out += json_text;
}

/// True when `list` (a member of `policy`) is missing, null or an empty array.
bool lists_nothing(const json::Value& policy, std::string_view list) {
    const json::Value entries = policy.member(list);
    return is_absent(entries) || (entries.is_array() && entries.elements().empty());
}

bool is_empty_array(const json::Value& value) {
    return value.is_array() && value.elements().empty();
}

/// Policies that would have to be enforced and are not. What asks for nothing is let through.
Status refuse_unenforced(const json::Value& body) {
    constexpr std::string_view kAdvice = "Create the container without this property.";
    const auto refuse = [&](std::string_view name) {
        return Status(
            errors::not_supported(fmt::format("The container's property '{}'", name), kAdvice));
    };
    const auto policy = [&](std::string_view name, std::string_view list) -> Status {
        const json::Value value = body.member(name);
        if (is_absent(value)) return {};
        if (!value.is_object()) return Status(bad_member(name, "an object"));
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
            return Status(bad_member("analyticalStorageTtl", "null, -1 or a number of seconds"));
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

Result<std::string> read_conflict_resolution(const json::Value& policy) {
    std::string path = "/_ts";
    if (!is_absent(policy)) {
        if (!policy.is_object()) return bad_member("conflictResolutionPolicy", "an object");
        TRY_STATUS(
            refuse_unknown(policy, "The container's 'conflictResolutionPolicy'",
                           {"mode", "conflictResolutionPath", "conflictResolutionProcedure"}));
        const json::Value mode = policy.member("mode");
        const json::Value given_path = policy.member("conflictResolutionPath");
        const json::Value procedure = policy.member("conflictResolutionProcedure");
        if (mode.is_string() && equals_ignore_case(mode.as_string(), "custom"))
            return errors::not_supported(
                "The container's property 'conflictResolutionPolicy' with mode Custom",
                "Use the mode LastWriterWins.");
        if (!is_absent(mode) &&
            (!mode.is_string() || !equals_ignore_case(mode.as_string(), "lastwriterwins")))
            return bad_member("conflictResolutionPolicy.mode", "'LastWriterWins' or 'Custom'");
        if (!is_absent(procedure) && !(procedure.is_string() && procedure.as_string().empty()))
            return bad_member("conflictResolutionPolicy.conflictResolutionProcedure",
                              "empty with the mode LastWriterWins");
        if (!is_absent(given_path)) {
            if (!given_path.is_string())
                return bad_member("conflictResolutionPolicy.conflictResolutionPath", "a string");
            if (!given_path.as_string().empty()) path = given_path.as_string();
        }
        if (path != "/_ts")
            TRY_STATUS(parse_member_path(path, "The conflict resolution path").status().clone());
    }
    std::string out = R"({"mode":"LastWriterWins","conflictResolutionPath":)";
    json::write_string(out, path);
    out += R"(,"conflictResolutionProcedure":""})";
    return out;
}

Result<index::GeometrySpace> read_geospatial(const json::Value& config) {
    if (is_absent(config)) return index::GeometrySpace::kEarth;
    if (!config.is_object()) return bad_member("geospatialConfig", "an object");
    TRY_STATUS(refuse_unknown(config, "The container's 'geospatialConfig'", {"type"}));
    const json::Value type = config.member("type");
    if (is_absent(type)) return index::GeometrySpace::kEarth;
    if (type.is_string() && equals_ignore_case(type.as_string(), "geometry"))
        return index::GeometrySpace::kPlane;
    if (type.is_string() && equals_ignore_case(type.as_string(), "geography"))
        return index::GeometrySpace::kEarth;
    return bad_member("geospatialConfig.type", "'Geography' or 'Geometry'");
}

Result<std::optional<int64_t>> read_default_ttl(const json::Value& ttl) {
    if (is_absent(ttl)) return std::optional<int64_t>();
    const auto seconds = integral(ttl);
    if (!seconds || (*seconds != -1 && (*seconds < 1 || *seconds > limits::kTtlSecondsMax)))
        return bad_member("defaultTtl", fmt::format("-1 or an integer between 1 and {} (null: off)",
                                                    limits::kTtlSecondsMax));
    return std::optional<int64_t>(*seconds);
}

/// Empty text: no such policy. A retention asks for all versions of items to be kept that long.
Result<std::string> read_change_feed(const json::Value& policy, int64_t& retention_seconds) {
    if (is_absent(policy)) return std::string();
    if (!policy.is_object()) return bad_member("changeFeedPolicy", "an object");
    TRY_STATUS(refuse_unknown(policy, "The container's 'changeFeedPolicy'", {"retentionDuration"}));
    const json::Value retention = policy.member("retentionDuration");
    const auto minutes = is_absent(retention) ? std::optional<int64_t>(0) : integral(retention);
    if (!minutes || *minutes < 0 || *minutes > limits::kFeedRetentionMinutesMax)
        return bad_member("changeFeedPolicy.retentionDuration",
                          fmt::format("a number of minutes between 0 (off) and {}",
                                      limits::kFeedRetentionMinutesMax));
    retention_seconds = *minutes * 60;
    return fmt::format(R"({{"retentionDuration":{}}})", *minutes);
}

Result<std::vector<json::MemberPath>> read_unique_key(const json::Value& key,
                                                      std::string& json_text) {
    if (key.is_object())
        TRY_STATUS(refuse_unknown(key, "A unique key of the container", {"paths"}));
    const json::Value paths = key.member("paths");
    if (!paths.is_array() || paths.elements().empty() ||
        paths.elements().size() > limits::kUniqueKeyPathsMax)
        return bad_member("uniqueKeyPolicy.uniqueKeys[].paths",
                          fmt::format("an array of 1 to {} paths", limits::kUniqueKeyPathsMax));
    std::vector<json::MemberPath> out;
    json_text += R"({"paths":[)";
    for (const json::Value& path : paths.elements()) {
        if (!path.is_string())
            return bad_member("uniqueKeyPolicy.uniqueKeys[].paths", "an array of strings");
        TRY(json::MemberPath names, parse_member_path(path.as_string(), "The unique key path"));
        if (std::find(out.begin(), out.end(), names) != out.end())
            return errors::bad_request(fmt::format(
                "The unique key path '{}' appears twice in one key.", excerpt(path.as_string())));
        if (!out.empty()) json_text += ',';
        json::write_string(json_text, path.as_string());
        out.push_back(std::move(names));
    }
    json_text += "]}";
    return out;
}

/// Empty text: no such policy.
Result<std::string> read_unique_keys(const json::Value& policy,
                                     std::vector<std::vector<json::MemberPath>>& out) {
    if (is_absent(policy)) return std::string();
    if (!policy.is_object()) return bad_member("uniqueKeyPolicy", "an object");
    TRY_STATUS(refuse_unknown(policy, "The container's 'uniqueKeyPolicy'", {"uniqueKeys"}));
    const json::Value keys = policy.member("uniqueKeys");
    std::string json_text = R"({"uniqueKeys":[)";
    if (!is_absent(keys)) {
        if (!keys.is_array() || keys.elements().size() > limits::kUniqueKeysMax)
            return bad_member("uniqueKeyPolicy.uniqueKeys",
                              fmt::format("an array of at most {} keys", limits::kUniqueKeysMax));
        for (const json::Value& key : keys.elements()) {
            if (!out.empty()) json_text += ',';
            TRY(auto paths, read_unique_key(key, json_text));
            if (std::find(out.begin(), out.end(), paths) != out.end())
                return errors::bad_request("The unique key policy names the same key twice.");
            out.push_back(std::move(paths));
        }
    }
    json_text += "]}";
    return json_text;
}

/// What stays as a container was created: a replace substitutes the stored ones.
struct Immutable {
    json::Value key;
    json::Value unique_keys;
    json::Value encryption;
    json::Value view;
};
Immutable immutable_of(const json::Value& definition) {
    return {definition.member("partitionKey"), definition.member("uniqueKeyPolicy"),
            definition.member("clientEncryptionPolicy"),
            definition.member("materializedViewDefinition")};
}

/// What a view cannot be: its items come and go with those of the source, and are found by their
/// id.
Status check_view(const ViewDefinition& view, const Definition& definition) {
    const auto refuse = [](std::string_view what) {
        return Status(errors::bad_request(fmt::format("A materialized view {}.", what)));
    };
    const partition::ContainerSettings& settings = definition.settings;
    if (settings.default_ttl) return refuse("has no 'defaultTtl': its items go with the source's");
    if (!settings.unique_keys.empty()) return refuse("has no 'uniqueKeyPolicy'");
    if (!definition.encryption_keys.empty()) return refuse("has no 'clientEncryptionPolicy'");
    if (settings.key.system_key) return refuse("needs a partition key");
    if (settings.indexing.mode == index::IndexingMode::kNone || !settings.indexing.automatic)
        return refuse("needs its index: 'indexingMode' must be consistent and 'automatic' true");
    for (const json::MemberPath& path : settings.key.member_paths)
        if (const std::string& name = path.front();
            name != "id" && name != "_id" && !view.shows(name))
            return refuse(fmt::format(
                "must show its own partition key: add the property '{}' to the SELECT", name));
    return {};
}

/// Everything but `id`.
Result<Definition> read_policies(const json::Value& body, const Immutable& immutable,
                                 const index::ComputedCompiler& compiler) {
    Definition out;
    TRY_STATUS(refuse_unenforced(body));
    TRY(out.settings.key, partition::parse_partition_key_definition(immutable.key));
    TRY(EncryptionPolicy encryption,
        read_encryption_policy(immutable.encryption, out.settings.key));
    const json::Value indexing = body.member("indexingPolicy");
    TRY(out.settings.indexing,
        index::parse_indexing_policy(indexing.is_null() ? json::Value() : indexing));
    TRY(std::string unique_text, read_unique_keys(immutable.unique_keys, out.settings.unique_keys));
    TRY(std::string conflicts, read_conflict_resolution(body.member("conflictResolutionPolicy")));
    TRY(out.settings.default_ttl, read_default_ttl(body.member("defaultTtl")));
    TRY(std::string change_feed,
        read_change_feed(body.member("changeFeedPolicy"), out.settings.feed_retention_seconds));
    TRY(out.settings.space, read_geospatial(body.member("geospatialConfig")));
    const bool plane = out.settings.space == index::GeometrySpace::kPlane;
    TRY_STATUS(index::check_boxes(out.settings.indexing, out.settings.space));
    const json::Value computed_list = body.member("computedProperties");
    TRY(auto computed, read_computed_properties(computed_list, compiler));
    TRY(out.settings.indexing,
        index::with_computed_properties(std::move(out.settings.indexing), computed));

    append_member(out.tail, "indexingPolicy", out.settings.indexing.json);
    append_member(out.tail, "partitionKey", partition_key_definition_json(out.settings.key));
    if (!unique_text.empty()) append_member(out.tail, "uniqueKeyPolicy", unique_text);
    append_member(out.tail, "conflictResolutionPolicy", conflicts);
    if (out.settings.default_ttl)
        append_member(out.tail, "defaultTtl", std::to_string(*out.settings.default_ttl));
    if (!change_feed.empty()) append_member(out.tail, "changeFeedPolicy", change_feed);
    append_member(out.tail, "geospatialConfig",
                  plane ? R"({"type":"Geometry"})" : R"({"type":"Geography"})");
    if (!is_absent(computed_list))
        append_member(out.tail, "computedProperties",
                      computed == nullptr ? std::string("[]") : computed->json());
    if (!encryption.json.empty())
        append_member(out.tail, "clientEncryptionPolicy", encryption.json);
    out.encryption_keys = std::move(encryption.key_ids);
    TRY(out.view, read_view_definition(immutable.view));
    if (out.view != nullptr) {
        TRY_STATUS(check_view(*out.view, out));
        // The last member: Container::json() adds to it.
        append_member(out.tail, "materializedViewDefinition", out.view->json());
    }
    out.tail += '}';
    out.legacy_fixed = out.settings.key.system_key;
    return out;
}

/// The same for a definition that comes from a client.
Result<Definition> read_new_policies(const json::Value& body, const Immutable& immutable,
                                     const index::ComputedCompiler& compiler) {
    TRY(Definition out, read_policies(body, immutable, compiler));
    TRY_STATUS(index::check_included_paths(out.settings.indexing));
    return out;
}

/// A replace may repeat the key, also without the members that the server filled in.
Status check_same_key(const json::Value& given, const json::Value& stored) {
    const auto same = [&](std::string_view name, const json::Value& implied) {
        const json::Value mine = given.member(name);
        const json::Value theirs = stored.member(name);
        if (is_absent(mine)) return true;
        return json::to_text(mine, json::NumberForm::kCanonical) ==
               json::to_text(theirs.is_undefined() ? implied : theirs,
                             json::NumberForm::kCanonical);
    };
    const json::Value one = json::Value::integer(1);
    if (given.is_object() && !is_absent(given.member("paths")) && same("paths", {}) &&
        same("kind", json::Value::string("Hash")) && same("version", one))
        return {};
    return Status(errors::bad_request(
        "The container's property 'partitionKey' cannot be changed after its creation."));
}

/// The order of constraints, and of paths in one, has no meaning.
std::vector<std::vector<json::MemberPath>> sorted(std::vector<std::vector<json::MemberPath>> keys) {
    for (auto& paths : keys) std::sort(paths.begin(), paths.end());
    std::sort(keys.begin(), keys.end());
    return keys;
}

}  // namespace

Result<index::ComputedPropertiesPtr> read_computed_properties(
    const json::Value& list, const index::ComputedCompiler& compiler) {
    if (is_absent(list)) return index::ComputedPropertiesPtr();
    if (!list.is_array()) return bad_member("computedProperties", "an array");
    if (list.elements().empty()) return index::ComputedPropertiesPtr();
    if (!compiler)
        return errors::not_supported("The container's property 'computedProperties'",
                                     "Create the container without this property.");
    for (const json::Value& entry : list.elements())
        if (entry.is_object())
            TRY_STATUS(
                refuse_unknown(entry, "A computed property of the container", {"name", "query"}));
    return compiler(list);
}

std::string definition_json(std::string_view id, std::string_view tail) {
    std::string out = R"({"id":)";
    json::write_string(out, id);
    out += ',';
    out += tail;
    return out;
}

void set_view(Definition& definition, ViewDefinitionPtr view) {
    // The last member and the brace behind it.
    definition.tail.resize(definition.tail.size() - definition.view->json().size() - 1);
    definition.tail += view->json() + "}";
    definition.view = std::move(view);
}

Result<Definition> parse_definition(const json::Value& body, bool allow_missing_key,
                                    const index::ComputedCompiler& compiler) {
    TRY_STATUS(check_members(body));
    json::Arena arena;
    Immutable immutable = immutable_of(body);
    if (is_absent(immutable.key)) {
        if (!allow_missing_key) return errors::missing_property("partitionKey");
        TRY(immutable.key, json::parse(kLegacyKey, arena));
    }
    return read_new_policies(body, immutable, compiler);
}

Result<Definition> parse_replacement(const json::Value& body, std::string_view stored_definition,
                                     const index::ComputedCompiler& compiler) {
    TRY_STATUS(check_members(body));
    json::Arena arena;
    TRY(const json::Value stored, json::parse(stored_definition, arena));
    const Immutable before_all = immutable_of(stored);
    const Immutable given = immutable_of(body);
    if (!is_absent(given.key)) TRY_STATUS(check_same_key(given.key, before_all.key));
    if (!is_absent(given.unique_keys)) {
        std::vector<std::vector<json::MemberPath>> before;
        std::vector<std::vector<json::MemberPath>> after;
        TRY_STATUS(read_unique_keys(before_all.unique_keys, before).status().clone());
        TRY_STATUS(read_unique_keys(given.unique_keys, after).status().clone());
        if (sorted(std::move(before)) != sorted(std::move(after)))
            return errors::bad_request(
                "The container's property 'uniqueKeyPolicy' cannot be changed after its creation.");
    }
    if (!is_absent(given.encryption)) {
        TRY(const auto key, partition::parse_partition_key_definition(before_all.key));
        TRY(const EncryptionPolicy before, read_encryption_policy(before_all.encryption, key));
        TRY(const EncryptionPolicy after, read_encryption_policy(given.encryption, key));
        if (before.json != after.json)
            return errors::bad_request(
                "The container's property 'clientEncryptionPolicy' cannot be changed after its "
                "creation.");
    }
    if (!is_absent(given.view)) {
        TRY(const ViewDefinitionPtr before, read_view_definition(before_all.view));
        TRY(const ViewDefinitionPtr after, read_view_definition(given.view));
        const auto same = [](const std::string& a, const std::string& b) {
            return a.empty() || a == b;
        };
        if (before == nullptr || !same(after->source_id, before->source_id) ||
            !same(after->source_rid, before->source_rid) || after->select != before->select)
            return errors::bad_request(
                "The container's property 'materializedViewDefinition' cannot be changed after its "
                "creation.");
    }
    return read_new_policies(body, before_all, compiler);
}

Result<Definition> parse_stored_tail(std::string_view tail,
                                     const index::ComputedCompiler& compiler) {
    json::Arena arena;
    TRY(const json::Value body, json::parse("{" + std::string(tail), arena));
    return read_policies(body, immutable_of(body), compiler);
}

}  // namespace orrery::catalog
