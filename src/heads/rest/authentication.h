#pragma once

#include <string_view>

#include "base/status.h"
#include "engine/session.h"
#include "heads/rest/request_headers.h"
#include "heads/rest/route.h"

namespace orrery::rest {

/// Signs the session in as whoever signed this request. 401 for a missing, malformed or wrong
/// signature, 403 for clock skew and expired tokens.
Status authenticate(engine::Session& session, std::string_view method, const Route& route,
                    const RequestHeaders& headers);

}  // namespace orrery::rest
