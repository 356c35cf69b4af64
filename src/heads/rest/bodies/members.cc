#include "heads/rest/bodies/members.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.h"

namespace orrery::rest {

Result<std::string> body_id(const json::Value& body) {
    if (!body.is_object())
        return errors::bad_request("The request body must be a JSON object with the member 'id'.");
    const json::Value id = body.member("id");
    if (id.is_undefined()) return errors::missing_property("id");
    if (!id.is_string()) return errors::invalid_id("it must be a string");
    TRY_STATUS(catalog::check_name(id.as_string()));
    return std::string(id.as_string());
}

Status refuse_unknown(const json::Value& body, std::string_view what,
                      std::initializer_list<std::string_view> known) {
    for (const json::Member& member : body.members()) {
        if (member.name.starts_with('_') || is_absent(member.value)) continue;
        if (std::find(known.begin(), known.end(), member.name) == known.end())
            return Status(errors::bad_request(
                fmt::format("{} has no property '{}'. Remove it from the definition.", what,
                            catalog::excerpt(member.name))));
    }
    return {};
}

std::optional<int64_t> integral(const json::Value& value) {
    if (!value.is_number()) return std::nullopt;
    if (value.is_int64()) return value.as_int64();
    const double number = value.as_double();
    constexpr double kExactMax = 9007199254740992.0;  // beyond 2^53 the text is not what we hold
    if (!(std::abs(number) <= kExactMax) || number != std::trunc(number)) return std::nullopt;
    return static_cast<int64_t>(number);
}

}  // namespace orrery::rest
