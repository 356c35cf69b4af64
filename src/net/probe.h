#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace orrery::net {

/// The status of a plain `GET path` to a loopback or other address; an error when nobody answers in
/// time. For `orrery healthcheck`; blocks.
Result<int> probe(const std::string& address, uint16_t port, const std::string& path,
                  int64_t timeout_ms);

}  // namespace orrery::net
