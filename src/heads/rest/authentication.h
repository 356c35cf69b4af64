#pragma once

#include <string_view>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/principal.h"
#include "heads/rest/request_headers.h"
#include "heads/rest/route.h"

namespace orrery::rest {

/// Who signed this request. Master keys in constant time, resource tokens through the engine.
/// 401 for a missing, malformed or wrong signature, 403 for clock skew and expired tokens.
Result<engine::Principal> authenticate(const engine::Engine& engine, std::string_view method,
                                       const Route& route, const RequestHeaders& headers);

}  // namespace orrery::rest
