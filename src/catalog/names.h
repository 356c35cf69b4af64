#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "json/item.h"

/// Small rules shared by all resources.
namespace orrery::catalog {

/// A name of a resource that is no item: 1..255 characters, none of / \ ? #, no trailing blank.
Status check_name(std::string_view name);

/// A bad request: a property of a container's definition must be `expected`.
Error bad_property(std::string_view name, std::string_view expected);
/// A bad request: `what` is wrong inside a property of a container's definition.
Error bad_definition_member(std::string_view property, std::string_view what);
/// A bad request: a property of a container's definition stays as it was created.
Error cannot_change(std::string_view property);

/// `if_match`: empty and "*" always hold.
Status check_if_match(std::string_view if_match, std::string_view etag);

/// A client's text for an error message: never long, never cut inside a character.
std::string excerpt(std::string_view text);

/// "/a/b" and "/\"a b\"/c" as member names. `what` begins the error's text.
Result<json::MemberPath> parse_member_path(std::string_view path, std::string_view what);

}  // namespace orrery::catalog
