#include "heads/rest/bodies/offer_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/errors.h"
#include "heads/rest/bodies/members.h"

namespace orrery::rest {
namespace {

using catalog::AutoscaleSettings;
using catalog::excerpt;
using catalog::Offer;
using catalog::OfferChange;
using catalog::PartitionRange;
using catalog::RangeMap;
using catalog::Redistribution;
using catalog::ThroughputBuckets;

constexpr size_t kRedistributedMax = 20;  ///< partitions as source, and as target

/// 400: the member must be `expected`.
Error bad_offer_member(std::string_view name, std::string_view expected) {
    return errors::bad_request(
        fmt::format("The member '{}' of the offer must be {}.", name, expected));
}

/// 400 unless `object` is one and has no other members than `known`: an ignored member would
/// mislead its sender.
Status check_offer_members(const json::Value& object, std::string_view where,
                           std::initializer_list<std::string_view> known) {
    if (!object.is_object()) return Status(bad_offer_member(where, "an object"));
    for (const json::Member& member : object.members())
        if (!is_absent(member.value) &&
            std::find(known.begin(), known.end(), member.name) == known.end())
            return Status(errors::bad_request(fmt::format(
                "The member '{}.{}' of the offer is unknown here.", where, excerpt(member.name))));
    return {};
}

std::string_view without_slashes(std::string_view link) {
    while (!link.empty() && link.front() == '/') link.remove_prefix(1);
    while (!link.empty() && link.back() == '/') link.remove_suffix(1);
    return link;
}

/// A body about another offer or resource is an error.
Status check_identity(const json::Value& body, const Offer& stored) {
    const auto differs = [&](std::string_view name, std::string_view expected) {
        const json::Value given = body.member(name);
        return !is_absent(given) && (!given.is_string() || without_slashes(given.as_string()) !=
                                                               without_slashes(expected));
    };
    for (std::string_view name : {"id", "_rid"})
        if (differs(name, stored.rid))
            return Status(bad_offer_member(name, fmt::format("'{}'", stored.rid)));
    if (differs("offerResourceId", stored.resource_rid))
        return Status(
            bad_offer_member("offerResourceId", fmt::format("'{}'", stored.resource_rid)));
    if (differs("resource", stored.resource))
        return Status(bad_offer_member("resource", fmt::format("'{}'", stored.resource)));
    if (differs("offerVersion", "V2")) return Status(bad_offer_member("offerVersion", "'V2'"));
    return {};
}

/// A misspelt member must not be ignored silently.
Status know_all(const json::Value& object, std::initializer_list<std::string_view> known) {
    if (!object.is_object()) return Status(errors::bad_request("An object was expected."));
    for (const json::Member& member : object.members())
        if (std::find(known.begin(), known.end(), member.name) == known.end())
            return Status(
                errors::bad_request(fmt::format("The member '{}' is unknown here.", member.name)));
    return {};
}

Status read_partitions(const json::Value& list, std::string_view name, const RangeMap& map,
                       Redistribution& out) {
    if (is_absent(list)) return {};
    const auto bad = [&](std::string_view what) {
        return Status(errors::bad_request(fmt::format("'{}' must be {}.", name, what)));
    };
    if (!list.is_array()) return bad("an array of {\"id\":…,\"throughput\":…}");
    if (list.elements().size() > kRedistributedMax)
        return bad(fmt::format("a list of at most {} physical partitions", kRedistributedMax));
    for (const json::Value& entry : list.elements()) {
        TRY_STATUS(know_all(entry, {"id", "throughput"}));
        const json::Value id = entry.member("id");
        const auto ru = integral(entry.member("throughput"));
        if (!id.is_string() || !ru) return bad("an array of {\"id\":…,\"throughput\":…}");
        const PartitionRange* range = map.find(id.as_string());
        if (range == nullptr)
            return Status(errors::bad_request(
                fmt::format("'{}' names no physical partition of the container.", id.as_string())));
        if (!out.throughput.emplace(range->number, *ru).second)
            return Status(errors::bad_request(
                fmt::format("The physical partition '{}' is named twice.", id.as_string())));
    }
    return {};
}

Result<OfferChange> read_content(const json::Value& content, const Offer& stored) {
    OfferChange out;
    TRY_STATUS(check_offer_members(
        content, "content",
        {"offerThroughput", "offerAutopilotSettings", "offerIsRUPerMinuteThroughputEnabled",
         "offerMinimumThroughputParameters"}));
    const json::Value rate_per_minute = content.member("offerIsRUPerMinuteThroughputEnabled");
    if (!is_absent(rate_per_minute) && !(rate_per_minute.is_bool() && !rate_per_minute.as_bool()))
        return errors::not_supported("offerIsRUPerMinuteThroughputEnabled",
                                     "Provision request units per second.");
    const json::Value autopilot = content.member("offerAutopilotSettings");
    if (!is_absent(autopilot)) {
        TRY(out.autoscale, read_autoscale_settings(autopilot, "content.offerAutopilotSettings"));
        if (!out.autoscale->max && !stored.autoscale_max)
            return bad_offer_member("content.offerAutopilotSettings.maxThroughput", "an integer");
        return out;
    }
    const json::Value throughput = content.member("offerThroughput");
    if (is_absent(throughput)) return out;
    out.manual = integral(throughput);
    if (!out.manual) return bad_offer_member("content.offerThroughput", "an integer");
    return out;
}

}  // namespace

Result<AutoscaleSettings> read_autoscale_settings(const json::Value& settings,
                                                  std::string_view where) {
    AutoscaleSettings out;
    TRY_STATUS(check_offer_members(settings, where, {"maxThroughput", "autoUpgradePolicy"}));
    const json::Value maximum = settings.member("maxThroughput");
    out.max = integral(maximum);
    if (!out.max && !is_absent(maximum))
        return bad_offer_member(fmt::format("{}.maxThroughput", where), "an integer");
    const json::Value upgrade = settings.member("autoUpgradePolicy");
    if (is_absent(upgrade)) return out;
    const std::string above = fmt::format("{}.autoUpgradePolicy", where);
    TRY_STATUS(check_offer_members(upgrade, above, {"throughputPolicy"}));
    out.has_upgrade = true;
    const json::Value policy = upgrade.member("throughputPolicy");
    if (is_absent(policy)) return out;
    TRY_STATUS(check_offer_members(policy, above + ".throughputPolicy", {"incrementPercent"}));
    const json::Value percent = policy.member("incrementPercent");
    out.increment_percent = integral(percent);
    if (!out.increment_percent && !is_absent(percent))
        return bad_offer_member(above + ".throughputPolicy.incrementPercent", "an integer");
    return out;
}

Result<OfferChange> read_offer_change(const json::Value& body, const Offer& stored) {
    if (!body.is_object()) return errors::bad_request("The request body must be an offer object.");
    TRY_STATUS(check_identity(body, stored));
    const json::Value content = body.member("content");
    return is_absent(content) ? OfferChange() : read_content(content, stored);
}

Result<Redistribution> read_redistribution(const json::Value& body, const RangeMap& map) {
    const json::Value nested = body.member("properties").member("resource");
    const json::Value content = nested.is_object() ? nested : body;
    if (!content.is_object()) return errors::bad_request("The request body must be an object.");
    Redistribution out;
    const json::Value policy = content.member("throughputPolicy");
    constexpr std::string_view kLists[] = {"sourcePhysicalPartitionThroughputInfo",
                                           "targetPhysicalPartitionThroughputInfo"};
    TRY_STATUS(know_all(content, {"throughputPolicy", kLists[0], kLists[1]}));
    if (policy.is_string() && policy.as_string() == "equal") {
        for (const std::string_view name : kLists)
            if (const json::Value list = content.member(name);
                !is_absent(list) && !(list.is_array() && list.elements().empty()))
                return errors::bad_request(
                    fmt::format("'throughputPolicy':'equal' takes no '{}'.", name));
        out.equal = true;
        return out;
    }
    if (!is_absent(policy) && !(policy.is_string() && policy.as_string() == "custom"))
        return errors::bad_request("'throughputPolicy' must be 'custom' or 'equal'.");
    for (const std::string_view name : kLists)
        TRY_STATUS(read_partitions(content.member(name), name, map, out));
    if (out.throughput.empty())
        return errors::bad_request(
            "Name physical partitions in 'targetPhysicalPartitionThroughputInfo' and "
            "'sourcePhysicalPartitionThroughputInfo', or send 'throughputPolicy':'equal'.");
    return out;
}

Result<ThroughputBuckets> read_throughput_buckets(const json::Value& body) {
    const json::Value list = body.member("throughputBuckets");
    if (!list.is_array())
        return errors::bad_request(
            R"(The body must be {"throughputBuckets":[{"id":1,"maxThroughputPercentage":20}]}.)");
    TRY_STATUS(know_all(body, {"throughputBuckets"}));
    ThroughputBuckets out;
    for (const json::Value& entry : list.elements()) {
        TRY_STATUS(know_all(entry, {"id", "maxThroughputPercentage", "isDefaultBucket"}));
        const auto id = integral(entry.member("id"));
        const auto percent = integral(entry.member("maxThroughputPercentage"));
        const json::Value standard = entry.member("isDefaultBucket");
        if (!id || *id < 1 || *id > static_cast<int64_t>(out.percent.size()))
            return errors::bad_request(
                "A throughput bucket's 'id' must be an integer from 1 to 5.");
        if (!percent || *percent < 1 || *percent > 100)
            return errors::bad_request(
                "A throughput bucket's 'maxThroughputPercentage' must be an integer from 1 to "
                "100.");
        uint8_t& stored = out.percent[static_cast<size_t>(*id - 1)];
        if (stored != 0)
            return errors::bad_request(
                fmt::format("The throughput bucket {} is named twice.", *id));
        stored = static_cast<uint8_t>(*percent);
        if (!is_absent(standard) && !standard.is_bool())
            return errors::bad_request(
                "A throughput bucket's 'isDefaultBucket' must be a boolean.");
        if (is_absent(standard) || !standard.as_bool()) continue;
        if (out.standard != 0)
            return errors::bad_request("Only one throughput bucket can be the default.");
        out.standard = static_cast<uint8_t>(*id);
    }
    return out;
}

}  // namespace orrery::rest
