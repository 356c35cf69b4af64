#include "heads/rest/authorization_token.h"

#include "base/encoding.h"

namespace orrery::rest {

std::optional<AuthorizationToken> parse_authorization(std::string_view header) {
    auto decoded = percent_decode(header);
    if (!decoded) return std::nullopt;
    AuthorizationToken token;
    std::string_view rest = *decoded;
    const auto take = [&](std::string_view name, std::string& value, bool last) {
        if (!rest.starts_with(name)) return false;
        rest.remove_prefix(name.size());
        const size_t end = last ? rest.size() : rest.find('&');
        if (end == std::string_view::npos) return false;
        value = std::string(rest.substr(0, end));
        rest.remove_prefix(last ? end : end + 1);
        return true;
    };
    if (!take("type=", token.type, false) || !take("ver=", token.version, false) ||
        !take("sig=", token.signature, true))
        return std::nullopt;
    token.text = std::move(*decoded);
    return token;
}

}  // namespace orrery::rest
