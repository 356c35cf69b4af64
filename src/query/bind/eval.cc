#include "query/bind/eval.h"

#include "base/clock.h"

namespace orrery::query {

bool EvalContext::may_go_on() {
    if (cancelled != nullptr && *cancelled && (*cancelled)()) {
        fail(errors::request_timeout("The client has gone."));
        return false;
    }
    if (clock == nullptr) return true;
    const int64_t now = clock->monotonic_us();
    if (deadline_us_ == 0) deadline_us_ = now + limits::kItemMicrosMax;
    if (now <= deadline_us_) return true;
    fail(errors::bad_request(
        "The query takes too long on a single item. Narrow its JOINs or subqueries."));
    return false;
}

}  // namespace orrery::query
