#include "heads/rest/session_token.h"

#include <charconv>

#include "heads/rest/answers.h"

namespace orrery::rest {

Result<std::optional<engine::SeenPosition>> next_position(std::string_view& token) {
    const size_t comma = token.find(',');
    std::string_view part = token.substr(0, comma);
    token.remove_prefix(comma == std::string_view::npos ? token.size() : comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    const auto malformed = [&] {
        return bad_header("x-ms-session-token", part, "'{range id}:{version}#{lsn}'");
    };
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) return malformed();
    std::string_view rest = part.substr(colon + 1);
    if (const size_t hash = rest.find('#'); hash != std::string_view::npos)
        rest.remove_prefix(hash + 1);
    rest = rest.substr(0, rest.find('#'));
    engine::SeenPosition position{part.substr(0, colon), 0};
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), position.lsn);
    if (error != std::errc() || end != rest.data() + rest.size()) return malformed();
    return std::optional(position);
}

}  // namespace orrery::rest
