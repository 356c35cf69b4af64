#pragma once

#include "heads/rest/call.h"

/// What the handlers of endpoints under /_orrery/ share.
namespace orrery::rest {

/// The container of /_orrery/containers/{database}/{container}/…, or a 404 that names both.
Result<catalog::ContainerPtr> named_container(Call& call);

/// Answers a request that no endpoint serves: 405 if some endpoint has the path (`known`), else
/// 404.
void reply_no_endpoint(const CallPtr& call, bool known);

}  // namespace orrery::rest
