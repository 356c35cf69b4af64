#pragma once

#include <cstdint>

#include "base/status.h"

/// Errors of provisioned throughput; the rest of the table is in errors.h.
namespace orrery::errors {

/// 400: offers of a serverless account can be neither given nor read nor changed.
Error serverless_offer();
/// 423: the partitions of a resource are being split for another change of its throughput.
Error scale_running();
/// 429: the account's metadata budget, or a limit of the control plane.
Error metadata_rate_too_large(int64_t retry_after_ms);

}  // namespace orrery::errors
