#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery::rest {

/// An authorization header, taken apart: `type={t}&ver={v}&sig={s}`, percent-encoded or not.
struct AuthorizationToken {
    std::string text;  ///< decoded, whole
    std::string type;
    std::string version;
    std::string signature;  ///< may itself hold '=', '&' and ';'
};

/// nullopt when the header has another form. '+' stays '+': signatures are base64.
std::optional<AuthorizationToken> parse_authorization(std::string_view header);

}  // namespace orrery::rest
