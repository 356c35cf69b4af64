#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "engine/statement.h"

namespace orrery::rest {

/// Takes the first position from a session token, "{range id}:{version}#{lsn}[#{region}={lsn}]…" or
/// with the older bare LSN, several of them with commas between. 400 for another form.
Result<std::optional<engine::SeenPosition>> next_position(std::string_view& token);

}  // namespace orrery::rest
