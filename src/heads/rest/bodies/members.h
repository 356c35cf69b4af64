#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "catalog/names.h"
#include "json/value.h"

/// Small rules for the members of all request bodies.
namespace orrery::rest {

/// The `id` of a request body, checked. The body must be an object.
Result<std::string> body_id(const json::Value& body);

/// 400 for a member that `what` ("A container") does not have: a mistake, or a feature that is
/// missing here. Clients send back what the server added (names that begin with '_'), and null for
/// what they do not use. The body must be an object.
Status refuse_unknown(const json::Value& body, std::string_view what,
                      std::initializer_list<std::string_view> known);

/// True for a member that is not there or null: most policies may be sent as null.
inline bool is_absent(const json::Value& value) {
    return value.is_undefined() || value.is_null();
}

/// A number without fraction within 64 bits, however written (5, 5.0, 5e0); nullopt otherwise.
std::optional<int64_t> integral(const json::Value& value);

}  // namespace orrery::rest
