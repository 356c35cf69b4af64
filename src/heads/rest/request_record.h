#pragma once

#include "heads/rest/call.h"

namespace orrery::rest {

/// Tells the call's recorder what was asked, how it ended and how long it took. When the answer is
/// complete.
void record_request(const Call& call, const Answer& answer, int64_t duration_us);

}  // namespace orrery::rest
