#pragma once

#include <cstdint>

#include "base/status.h"

/// Errors of provisioned throughput; the rest of the table is in errors.h.
namespace orrery::errors {

/// Offers of a serverless account can be neither given nor read nor changed.
Error serverless_offer();
/// Manual throughput and autoscale settings in one request.
Error two_throughputs();
/// A change of an offer that speaks of the other kind.
Error offer_is_autoscale();
Error offer_is_manual();
/// The partitions of a resource are being split for another change of its throughput.
Error scale_running();
/// The account's metadata budget, or a limit of the control plane.
Error metadata_rate_too_large(int64_t retry_after_ms);

}  // namespace orrery::errors
