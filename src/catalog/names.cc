#include "catalog/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/limits.h"

namespace orrery::catalog {

Status check_name(std::string_view name) {
    if (name.empty()) return Status(errors::invalid_id("it is empty"));
    if (name.find_first_of("/\\?#") != std::string_view::npos)
        return Status(errors::invalid_id("'/', '\\', '?' and '#' are not allowed"));
    if (name.back() == ' ') return Status(errors::invalid_id("it ends with a blank"));
    const auto characters = std::count_if(
        name.begin(), name.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
    if (characters > limits::kNameCharactersMax)
        return Status(errors::invalid_id(
            fmt::format("it is longer than {} characters", limits::kNameCharactersMax)));
    return {};
}

Error bad_property(std::string_view name, std::string_view expected) {
    return errors::bad_request(
        fmt::format("The container's property '{}' is invalid: it must be {}.", name, expected));
}

Error bad_definition_member(std::string_view property, std::string_view what) {
    return errors::bad_request(
        fmt::format("The container's property '{}' is invalid: {}.", property, what));
}

Error cannot_change(std::string_view property) {
    return errors::bad_request(fmt::format(
        "The container's property '{}' cannot be changed after its creation.", property));
}

Status check_if_match(std::string_view if_match, std::string_view etag) {
    if (if_match.size() >= 2 && if_match.front() == '"' && if_match.back() == '"')
        if_match = if_match.substr(1, if_match.size() - 2);
    if (if_match.empty() || if_match == "*" || if_match == etag) return {};
    return Status(errors::precondition_failed());
}

std::string excerpt(std::string_view text) {
    constexpr size_t kBytesMax = 100;
    if (text.size() <= kBytesMax) return std::string(text);
    size_t end = kBytesMax;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

Result<json::MemberPath> parse_member_path(std::string_view path, std::string_view what) {
    const auto bad = [&](std::string_view why) {
        return errors::bad_request(
            fmt::format("{} '{}' is invalid: {}.", what, excerpt(path), why));
    };
    if (path.empty() || path.front() != '/') return bad("it must begin with '/'");
    json::MemberPath names;
    size_t position = 0;
    while (position < path.size()) {
        if (path[position] != '/') return bad("'/' expected after a quoted name");
        ++position;
        std::string_view name;
        if (position < path.size() && path[position] == '"') {
            const size_t end = path.find('"', position + 1);
            if (end == std::string_view::npos) return bad("a quoted name does not end");
            name = path.substr(position + 1, end - position - 1);
            if (name.find('\\') != std::string_view::npos) return bad("a backslash inside a name");
            position = end + 1;
        } else {
            const size_t end = std::min(path.find('/', position), path.size());
            name = path.substr(position, end - position);
            if (name.find_first_of("*?[]{}\"\\") != std::string_view::npos)
                return bad("wildcards, brackets, quotes and backslashes are not allowed in a name");
            position = end;
        }
        if (name.empty()) return bad("a name is empty");
        if (names.size() >= limits::kNestingDepthMax) return bad("it is deeper than items can be");
        names.emplace_back(name);
    }
    if (json::is_system_property(names.front())) return bad("it names a system property");
    return names;
}

}  // namespace orrery::catalog
