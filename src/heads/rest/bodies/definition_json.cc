#include <fmt/format.h>

#include "heads/rest/bodies/encryption_body.h"
#include "heads/rest/bodies/resource_json.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

/// An object while it is written.
class Object {
public:
    std::string& member(std::string_view name) {
        out_ += out_.empty() ? '{' : ',';
        json::write_string(out_, name);
        out_ += ':';
        return out_;
    }
    void text(std::string_view name, std::string_view value) {
        json::write_string(member(name), value);
    }
    void number(std::string_view name, int64_t value) { member(name) += std::to_string(value); }
    std::string close() { return std::move(out_) + '}'; }

private:
    std::string out_;
};

std::string unique_keys_json(const catalog::UniqueKeyPolicy& policy) {
    std::string out = R"({"uniqueKeys":[)";
    for (const catalog::UniqueKeyDefinition& key : policy.keys) {
        out += &key == &policy.keys.front() ? R"({"paths":[)" : R"(,{"paths":[)";
        for (const std::string& path : key.paths) {
            if (&path != &key.paths.front()) out += ',';
            json::write_string(out, path);
        }
        out += "]}";
    }
    return out + "]}";
}

std::string conflict_resolution_json(const std::string& path) {
    Object out;
    out.text("mode", "LastWriterWins");
    out.text("conflictResolutionPath", path);
    out.text("conflictResolutionProcedure", "");
    return out.close();
}

std::string computed_json(const std::vector<index::ComputedProperty>& list) {
    std::string out = "[";
    for (const index::ComputedProperty& property : list) {
        if (out.size() > 1) out += ',';
        Object one;
        one.text("name", property.name);
        one.text("query", property.query);
        out += one.close();
    }
    return out + "]";
}

std::string materialized_view_json(const catalog::MaterializedViewDefinition& view) {
    Object out;
    out.text("sourceCollectionId", view.source_id);
    out.text("sourceCollectionRid", view.source_rid);
    out.text("definition", view.select);
    return out.close();
}

}  // namespace

std::string definition_json(std::string_view id, const catalog::ContainerDefinition& definition) {
    Object out;
    out.text("id", id);
    out.member("indexingPolicy") += definition.indexing.json;
    out.member("partitionKey") += partition::partition_key_definition_json(definition.key);
    if (definition.unique_keys)
        out.member("uniqueKeyPolicy") += unique_keys_json(*definition.unique_keys);
    out.member("conflictResolutionPolicy") += conflict_resolution_json(definition.conflict_path);
    if (definition.default_ttl) out.number("defaultTtl", *definition.default_ttl);
    if (definition.feed_retention_minutes)
        out.member("changeFeedPolicy") +=
            fmt::format(R"({{"retentionDuration":{}}})", *definition.feed_retention_minutes);
    out.member("geospatialConfig") += definition.space == index::GeometrySpace::kPlane
                                          ? R"({"type":"Geometry"})"
                                          : R"({"type":"Geography"})";
    if (definition.computed)
        out.member("computedProperties") += computed_json(*definition.computed);
    if (!definition.encryption.paths.empty())
        out.member("clientEncryptionPolicy") += encryption_policy_json(definition.encryption);
    if (definition.materialized_view != nullptr)
        out.member("materializedViewDefinition") +=
            materialized_view_json(*definition.materialized_view);
    return out.close();
}

}  // namespace orrery::rest
