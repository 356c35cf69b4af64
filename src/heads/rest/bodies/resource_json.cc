#include "heads/rest/bodies/resource_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/random.h"
#include "heads/rest/bodies/encryption_body.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using catalog::ChildType;
using catalog::Container;
using catalog::PartitionRange;
using catalog::Version;

/// The first range of a container carries this number in its rid, as in the service.
constexpr uint64_t kFirstRangeRidNumber = 2;

std::string quoted(std::string_view text) {
    std::string out;
    json::write_string(out, text);
    return out;
}

/// `"_rid":…,"_self":…,"_etag":…,"_ts":…` (rids, links and etags need no escapes).
std::string system_properties(std::string_view rid, std::string_view self, const Version& version) {
    return fmt::format(R"("_rid":"{}","_self":"{}","_etag":"\"{}\"","_ts":{})", rid, self,
                       version.etag, version.ts);
}

/// An etag of a range that changes with the map only.
std::string range_etag(const Container& container, const PartitionRange& range) {
    std::string bytes;
    append_u32_be(bytes, container.rid.number);
    append_u32_be(bytes, range.number);
    append_u64_be(bytes, container.ranges->version);
    std::array<uint8_t, 16> guid{};
    std::copy(bytes.begin(), bytes.end(), guid.begin());
    return guid_text(guid);
}

std::string range_json(const Container& container, const PartitionRange& range, double fraction) {
    const partition::PartitionIdentity& identity = range.partition->identity();
    const std::string rid =
        child_rid(container.rid, ChildType::kRange, range.number + kFirstRangeRidNumber);
    std::string out = fmt::format(
        R"({{"_rid":"{}","id":"{}","_etag":"\"{}\"","minInclusive":"{}","maxExclusive":"{}",)", rid,
        range.id, range_etag(container, range), hex_encode_upper(identity.range.min),
        hex_encode_upper(identity.range.max));
    out += fmt::format(R"("ridPrefix":{},"_self":"{}pkranges/{}/","throughputFraction":)",
                       identity.rid_prefix, container.self(), rid);
    json::write_number(out, fraction);
    out += R"(,"status":"online","parents":[)";
    for (const std::string& parent : range.parents) {
        if (&parent != &range.parents.front()) out += ',';
        out += quoted(parent);
    }
    out += fmt::format(R"(],"ownedArchivalPKRangeIds":[],"_ts":{},"lsn":{}}})",
                       container.ranges->ts, range.partition->lsn());
    return out;
}

std::string self_of(const catalog::User& user) {
    return user.database->self() + "users/" + user.rid.text() + "/";
}

std::string_view script_segment(ChildType type) {
    switch (type) {
        case ChildType::kTrigger:
            return "triggers";
        case ChildType::kUdf:
            return "udfs";
        default:
            return "sprocs";
    }
}

}  // namespace

std::string database_json(const catalog::Database& database) {
    return fmt::format(R"({{"id":{},{},"_colls":"colls/","_users":"users/"}})", quoted(database.id),
                       system_properties(database.rid.text(), database.self(), database.version));
}

std::string ranges_json(const Container& container,
                        const std::vector<const PartitionRange*>& some) {
    std::string out = fmt::format(R"({{"_rid":"{}","PartitionKeyRanges":[)", container.rid_text);
    for (const PartitionRange* range : some) {
        if (range != some.front()) out += ',';
        out += range_json(container, *range, container.ranges->fraction(*range));
    }
    out += fmt::format(R"(],"_count":{}}})", some.size());
    return out;
}

std::string offer_json(const catalog::Offer& offer, std::optional<int64_t> current) {
    std::string content = fmt::format(
        R"({{"offerThroughput":{},"offerIsRUPerMinuteThroughputEnabled":false,)"
        R"("offerMinimumThroughputParameters":{{"maxThroughputEverProvisioned":{},)"
        R"("maxConsumedStorageEverInKB":{}}})",
        offer.is_autoscale() ? current.value_or(*offer.autoscale_max / 10) : offer.value(),
        offer.highest_ever, offer.storage_kb_ever);
    if (offer.is_autoscale()) {
        content +=
            fmt::format(R"(,"offerAutopilotSettings":{{"maxThroughput":{})", *offer.autoscale_max);
        if (offer.increment_percent)
            content += fmt::format(
                R"(,"autoUpgradePolicy":{{"throughputPolicy":{{"incrementPercent":{}}}}})",
                *offer.increment_percent);
        content += '}';
    }
    content += '}';
    return fmt::format(
        R"({{"id":"{0}",{1},"offerVersion":"V2","offerType":"Invalid","resource":"{2}",)"
        R"("offerResourceId":"{3}","content":{4}}})",
        offer.rid, system_properties(offer.rid, "offers/" + offer.rid + "/", offer.version),
        offer.resource, offer.resource_rid, content);
}

std::string script_json(const catalog::Script& script) {
    std::string out = fmt::format(R"({{"body":{},"id":{})", quoted(script.body), quoted(script.id));
    if (script.type == ChildType::kTrigger)
        out += fmt::format(R"(,"triggerType":"{}","triggerOperation":"{}")",
                           script.runs_after ? "Post" : "Pre",
                           catalog::trigger_operation_name(script.operation));
    const std::string self =
        fmt::format("dbs/{}/colls/{}/{}/{}/", script.container.database.text(),
                    script.container.text(), script_segment(script.type), script.rid());
    return out + "," + system_properties(script.rid(), self, script.version) + "}";
}

std::string user_json(const catalog::User& user) {
    return fmt::format(R"({{"id":{},{},"_permissions":"permissions/"}})", quoted(user.id),
                       system_properties(user.rid.text(), self_of(user), user.version));
}

std::string permission_json(const catalog::Permission& permission, std::string_view token) {
    const bool all = permission.mode == catalog::PermissionMode::kAll;
    std::string out =
        fmt::format(R"({{"id":{},"permissionMode":"{}","resource":{})", quoted(permission.id),
                    all ? "All" : "Read", quoted(permission.resource));
    if (!permission.partition_key.empty())
        out += R"(,"resourcePartitionKey":)" + permission.partition_key;
    const std::string rid = permission.rid.text();
    out += ',';
    out += system_properties(rid, self_of(*permission.user) + "permissions/" + rid + "/",
                             permission.version);
    if (!token.empty()) out += R"(,"_token":)" + quoted(token);
    out += '}';
    return out;
}

std::string encryption_key_json(const catalog::EncryptionKey& key) {
    const catalog::KeyWrapMetadata& metadata = key.key.metadata;
    std::string wrap = fmt::format(R"("type":{},"name":{},"value":{})", quoted(metadata.type),
                                   quoted(metadata.name), quoted(metadata.value));
    if (metadata.algorithm) wrap += R"(,"algorithm":)" + quoted(*metadata.algorithm);
    const std::string rid = key.rid.text();
    return fmt::format(
        R"({{"id":{},"encryptionAlgorithm":"{}","wrappedDataEncryptionKey":{},"keyWrapMetadata":{{{}}},{}}})",
        quoted(key.id), kEncryptionAlgorithm, quoted(key.key.wrapped), wrap,
        system_properties(rid, key.database->self() + "clientencryptionkeys/" + rid + "/",
                          key.version));
}

std::string container_json(const Container& container) {
    std::string out = definition_json(container.id, *container.definition);
    out.pop_back();
    if (container.materialized_view() != nullptr) {
        // Its definition is the last member: the status goes into it.
        out.pop_back();
        out += container.materialized_view_built ? R"(,"status":"Active"})"
                                                 : R"(,"status":"InitialBuildAfterCreate"})";
    }
    if (!container.materialized_views.empty()) {
        out += R"(,"materializedViews":[)";
        for (const auto& [name, view_rid] : container.materialized_views) {
            if (out.back() != '[') out += ',';
            out += fmt::format(R"({{"id":{},"_rid":"{}"}})", quoted(name), view_rid);
        }
        out += ']';
    }
    out += ',';
    out += system_properties(container.rid_text, container.self(), container.version);
    out += R"(,"_docs":"docs/","_sprocs":"sprocs/","_triggers":"triggers/","_udfs":"udfs/",)"
           R"("_conflicts":"conflicts/"})";
    return out;
}

}  // namespace orrery::rest
