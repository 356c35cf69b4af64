#pragma once

#include "heads/rest/call.h"

namespace orrery::rest {

/// x-ms-resource-quota, x-ms-resource-usage and x-ms-last-state-change-utc of the call's container.
/// Usage is at most a second old; a container read with populatequotainfo sees it fresh.
void add_usage_headers(const Call& call);

}  // namespace orrery::rest
