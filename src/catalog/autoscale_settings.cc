#include "catalog/autoscale_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "catalog/names.h"

namespace orrery::catalog {

Error bad_offer_member(std::string_view name, std::string_view expected) {
    return errors::bad_request(
        fmt::format("The member '{}' of the offer must be {}.", name, expected));
}

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

}  // namespace orrery::catalog
