#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace orrery::catalog {

/// `{"maxThroughput":4000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":5}}}`, each
/// member optional.
struct AutoscaleSettings {
    std::optional<int64_t> max;
    bool has_upgrade = false;
    std::optional<int64_t> increment_percent;
};

/// A bad request, with `where` in its text, for anything else.
Result<AutoscaleSettings> read_autoscale_settings(const json::Value& settings,
                                                  std::string_view where);

/// A bad request unless `object` is one and has no other members than `known`: a member that is not
/// read would leave its sender in the belief that it is in force.
Status check_offer_members(const json::Value& object, std::string_view where,
                           std::initializer_list<std::string_view> known);

/// A bad request: the member must be `expected`.
Error bad_offer_member(std::string_view name, std::string_view expected);

}  // namespace orrery::catalog
