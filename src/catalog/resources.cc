#include "catalog/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/check.h"
#include "base/encoding.h"
#include "base/random.h"
#include "catalog/throughput.h"
#include "json/write.h"

namespace orrery::catalog {
namespace {

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

}  // namespace

std::string Database::self() const {
    return "dbs/" + rid.text() + "/";
}

std::string Database::json() const {
    return fmt::format(R"({{"id":{},{},"_colls":"colls/","_users":"users/"}})", quoted(id),
                       system_properties(rid.text(), self(), version));
}

const PartitionRange& RangeMap::of_epk(std::string_view epk) const {
    CHECK(!ranges.empty());
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), epk,
                                        [](std::string_view key, const PartitionRange& range) {
                                            return key < range.partition->identity().range.min;
                                        });
    // The first range begins at "", so that nothing lies before it.
    return after == ranges.begin() ? ranges.front() : *std::prev(after);
}

double RangeMap::fraction(const PartitionRange& range) const {
    uint64_t sum = 0;
    for (const PartitionRange& one : ranges) sum += one.weight;
    return sum == 0 ? 1.0 / static_cast<double>(ranges.size())
                    : static_cast<double>(range.weight) / static_cast<double>(sum);
}

bool ThroughputBuckets::valid() const {
    for (const uint8_t part : percent)
        if (part > 100) return false;
    return standard <= percent.size() && (standard == 0 || percent[standard - 1] != 0);
}

const PartitionRange* RangeMap::find(std::string_view range_id) const {
    for (const PartitionRange& range : ranges)
        if (range.id == range_id) return &range;
    return nullptr;
}

std::vector<const PartitionRange*> RangeMap::overlapping(const partition::EpkRange& wanted) const {
    std::vector<const PartitionRange*> out;
    if (wanted.min >= wanted.max) return out;
    for (const PartitionRange& range : ranges) {
        const partition::EpkRange& own = range.partition->identity().range;
        if (own.min < wanted.max && wanted.min < own.max) out.push_back(&range);
    }
    return out;
}

std::string Container::self() const {
    return database->self() + "colls/" + rid_text + "/";
}

std::string Container::json() const {
    DCHECK(definition.size() > 2 && definition.back() == '}');
    std::string out = definition.substr(0, definition.size() - 1);
    if (view != nullptr) {
        // Its definition is the last member: the status goes into it.
        out.pop_back();
        out += view_built ? R"(,"status":"Active"})" : R"(,"status":"InitialBuildAfterCreate"})";
    }
    if (!views.empty()) {
        out += R"(,"materializedViews":[)";
        for (const auto& [name, view_rid] : views) {
            if (out.back() != '[') out += ',';
            out += fmt::format(R"({{"id":{},"_rid":"{}"}})", quoted(name), view_rid);
        }
        out += ']';
    }
    out += ',';
    out += system_properties(rid_text, self(), version);
    out += R"(,"_docs":"docs/","_sprocs":"sprocs/","_triggers":"triggers/","_udfs":"udfs/",)"
           R"("_conflicts":"conflicts/"})";
    return out;
}

std::vector<const PartitionRange*> Container::ranges_since(uint64_t since) const {
    const bool known = since >= ranges->known_from && since <= ranges->version;
    std::vector<const PartitionRange*> out;
    for (const PartitionRange& range : ranges->ranges)
        if (!known || range.since > since) out.push_back(&range);
    return out;
}

std::string Container::pkranges_json(const std::vector<const PartitionRange*>& some) const {
    std::string out = fmt::format(R"({{"_rid":"{}","PartitionKeyRanges":[)", rid_text);
    for (const PartitionRange* range : some) {
        if (range != some.front()) out += ',';
        out += range_json(*this, *range, ranges->fraction(*range));
    }
    out += fmt::format(R"(],"_count":{}}})", some.size());
    return out;
}

std::string Offer::json(std::optional<int64_t> current) const {
    std::string content =
        fmt::format(R"({{"offerThroughput":{},"offerIsRUPerMinuteThroughputEnabled":false,)"
                    R"("offerMinimumThroughputParameters":{{"maxThroughputEverProvisioned":{},)"
                    R"("maxConsumedStorageEverInKB":{}}})",
                    is_autoscale() ? current.value_or(*autoscale_max / 10) : value(), highest_ever,
                    storage_kb_ever);
    if (is_autoscale()) {
        content += fmt::format(R"(,"offerAutopilotSettings":{{"maxThroughput":{})", *autoscale_max);
        if (increment_percent)
            content += fmt::format(
                R"(,"autoUpgradePolicy":{{"throughputPolicy":{{"incrementPercent":{}}}}})",
                *increment_percent);
        content += '}';
    }
    content += '}';
    return fmt::format(
        R"({{"id":"{0}",{1},"offerVersion":"V2","offerType":"Invalid","resource":"{2}",)"
        R"("offerResourceId":"{3}","content":{4}}})",
        rid, system_properties(rid, "offers/" + rid + "/", version), resource, resource_rid,
        content);
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

std::string_view trigger_operation_name(TriggerOperation operation) {
    constexpr std::array<std::string_view, 5> kNames = {"All", "Create", "Update", "Delete",
                                                        "Replace"};
    return kNames[static_cast<size_t>(operation)];
}

std::string Script::self() const {
    return fmt::format("dbs/{}/colls/{}/{}/{}/", container.database.text(), container.text(),
                       script_segment(type), rid());
}

std::string Script::json() const {
    std::string out = fmt::format(R"({{"body":{},"id":{})", quoted(body), quoted(id));
    if (type == ChildType::kTrigger)
        out += fmt::format(R"(,"triggerType":"{}","triggerOperation":"{}")",
                           runs_after ? "Post" : "Pre", trigger_operation_name(operation));
    return out + "," + system_properties(rid(), self(), version) + "}";
}

std::string User::self() const {
    return database->self() + "users/" + rid.text() + "/";
}

std::string User::json() const {
    return fmt::format(R"({{"id":{},{},"_permissions":"permissions/"}})", quoted(id),
                       system_properties(rid.text(), self(), version));
}

std::string Permission::self() const {
    return user->self() + "permissions/" + rid.text() + "/";
}

std::string Permission::json(std::string_view token) const {
    std::string out = fmt::format(R"({{"id":{},"permissionMode":"{}","resource":{})", quoted(id),
                                  mode == PermissionMode::kAll ? "All" : "Read", quoted(resource));
    if (!partition_key.empty()) out += R"(,"resourcePartitionKey":)" + partition_key;
    out += ',';
    out += system_properties(rid.text(), self(), version);
    if (!token.empty()) out += R"(,"_token":)" + quoted(token);
    out += '}';
    return out;
}

std::string EncryptionKey::self() const {
    return database->self() + "clientencryptionkeys/" + rid.text() + "/";
}

std::string EncryptionKey::json() const {
    return fmt::format(R"({{"id":{},{},{}}})", quoted(id), members,
                       system_properties(rid.text(), self(), version));
}

}  // namespace orrery::catalog
