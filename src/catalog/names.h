#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/item.h"
#include "json/value.h"

/// Small rules shared by all resources.
namespace orrery::catalog {

/// A name of a resource that is no item: 1..255 characters, none of / \ ? #, no trailing blank.
Status check_name(std::string_view name);
/// The `id` of a request body, checked. The body must be an object.
Result<std::string> body_id(const json::Value& body);

/// A bad request for a member that `what` ("A container") does not have: a mistake, or a feature
/// that is missing here. Clients send back what the server added (names that begin with '_'), and
/// null for what they do not use. The body must be an object.
Status refuse_unknown(const json::Value& body, std::string_view what,
                      std::initializer_list<std::string_view> known);

/// `if_match`: empty and "*" always hold.
Status check_if_match(std::string_view if_match, std::string_view etag);

/// A client's text for an error message: never long, never cut inside a character.
std::string excerpt(std::string_view text);

/// True for a member that is not there or null: most policies may be sent as null.
inline bool is_absent(const json::Value& value) {
    return value.is_undefined() || value.is_null();
}

/// A number without fraction within 64 bits, however written (5, 5.0, 5e0); nullopt otherwise.
std::optional<int64_t> integral(const json::Value& value);

/// "/a/b" and "/\"a b\"/c" as member names. `what` begins the error's text.
Result<json::MemberPath> parse_member_path(std::string_view path, std::string_view what);

}  // namespace orrery::catalog
