#pragma once

#include "engine/requests.h"
#include "heads/rest/call.h"

/// What a client may ask to be told about a query's work.
namespace orrery::rest {

/// Query metrics, index metrics (both encodings) and the plan that was carried out, each if asked
/// for; and what clients that merge ordered rows must know of them.
Status add_query_reports(const CallPtr& call, const engine::QueryAnswer& answer);

/// Bytes that a continuation token may have; 400 when the header is no limit.
Result<size_t> token_limit(const RequestHeaders& headers);

}  // namespace orrery::rest
