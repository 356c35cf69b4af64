#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace orrery::meter {

/// Tokens arrive at a fixed rate, up to a capacity. The bucket may be in debt. Lock-free and exact:
/// what has been granted since the bucket was made is rate · time, `spent_` lies on the same axis,
/// and the tokens are their difference. One RU/s is 21 u per microsecond, so a whole number of RU/s
/// is never rounded. Invariant: between two takes less than 2^63 u are granted (500 days at 10,000
/// RU/s).
class TokenBucket {
public:
    TokenBucket(int64_t units_per_us, int64_t capacity, int64_t now_us, int64_t tokens)
        : units_per_us_(units_per_us),
          capacity_(capacity),
          start_us_(now_us),
          spent_(-std::min(tokens, capacity)) {}

    int64_t units_per_us() const { return units_per_us_; }
    int64_t capacity() const { return capacity_; }

    /// At most the capacity; zero or less: nothing is left.
    int64_t tokens(int64_t now_us) const {
        return std::min(granted(now_us) - spent_.load(std::memory_order_relaxed), capacity_);
    }

    void take(int64_t now_us, int64_t units) {
        const int64_t grant = granted(now_us);
        int64_t before = spent_.load(std::memory_order_relaxed);
        int64_t after = 0;
        do {
            after = std::max(before, grant - capacity_) + units;
        } while (!spent_.compare_exchange_weak(before, after, std::memory_order_relaxed));
    }

    /// How long until the bucket holds `wanted`: at least 1 ms, as clients wait in milliseconds.
    int64_t wait_ms(int64_t now_us, int64_t wanted) const {
        const int64_t missing = wanted - tokens(now_us);
        const int64_t per_ms = units_per_us_ * 1000;
        return std::max<int64_t>(1, (missing + per_ms - 1) / per_ms);
    }

private:
    /// The clock is monotonic; a reading from before the bucket was made counts as its start.
    int64_t granted(int64_t now_us) const {
        return units_per_us_ * std::max<int64_t>(0, now_us - start_us_);
    }

    const int64_t units_per_us_;
    const int64_t capacity_;
    const int64_t start_us_;
    std::atomic<int64_t> spent_;
};

}  // namespace orrery::meter
