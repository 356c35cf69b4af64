#include "query/exec/retained.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/errors.h"
#include "query/limits.h"

namespace orrery::query {
namespace {

constexpr size_t kStepBytes = size_t{1} << 20;
std::atomic<size_t> all_retained{0};

}  // namespace

size_t Retained::total() {
    return all_retained.load(std::memory_order_relaxed);
}

void Retained::release() {
    all_retained.fetch_sub(counted_, std::memory_order_relaxed);
    counted_ = 0;
}

Status Retained::grow(size_t bytes) {
    if (bytes > limits::kRetainedBytesMax)
        return Status(errors::bad_request(fmt::format(
            "DISTINCT, ORDER BY, GROUP BY or an aggregate of the query must hold more than "
            "{} MB in memory. Narrow the query with WHERE, TOP or LIMIT.",
            limits::kRetainedBytesMax >> 20)));
    const size_t steps = (bytes - counted_ + kStepBytes - 1) / kStepBytes;
    const size_t more = std::min(steps * kStepBytes, limits::kRetainedBytesMax - counted_);
    if (all_retained.fetch_add(more, std::memory_order_relaxed) + more >
        limits::kRetainedTotalBytesMax) {
        all_retained.fetch_sub(more, std::memory_order_relaxed);
        return Status(errors::service_unavailable(fmt::format(
            "DISTINCT, ORDER BY, GROUP BY and aggregates of all queries that are running hold {} "
            "MB in memory, and may not hold more. Try again, or narrow the query with WHERE, TOP "
            "or LIMIT.",
            limits::kRetainedTotalBytesMax >> 20)));
    }
    counted_ += more;
    return {};
}

}  // namespace orrery::query
