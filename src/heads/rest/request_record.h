#pragma once

#include "heads/rest/call.h"

namespace orrery::rest {

/// Tells the call's recorder what was asked and how it ended. When the answer is complete.
void record_request(const Call& call, const Answer& answer);

}  // namespace orrery::rest
