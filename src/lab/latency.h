#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace orrery::lab {

/// Durations in buckets that grow by a quarter of a power of two: a quantile is at most 25 % too
/// large.
class LatencyHistogram {
public:
    static constexpr size_t kBuckets = 96;

    void add(int64_t microseconds) {
        ++buckets_[bucket_of(microseconds)];
        ++count_;
        sum_us_ += static_cast<uint64_t>(microseconds < 0 ? 0 : microseconds);
    }
    void merge(const LatencyHistogram& other);
    uint64_t count() const { return count_; }
    uint64_t sum_us() const { return sum_us_; }
    /// Upper bound of the bucket in which the quantile lies; 0 when nothing was added.
    int64_t quantile_us(double share) const;
    /// How many took at most that long (up to the width of a bucket).
    uint64_t at_most(int64_t microseconds) const;

    static size_t bucket_of(int64_t microseconds);
    static int64_t upper_bound_us(size_t bucket);

private:
    std::array<uint32_t, kBuckets> buckets_{};
    uint64_t count_ = 0;
    uint64_t sum_us_ = 0;
};

/// Durations of several kinds of requests, since the start and by minute for a day. Not
/// thread-safe.
class LatencySeries {
public:
    static constexpr int64_t kMinutes = 24 * 60;
    static constexpr size_t kKinds = 16;

    void add(size_t kind, int64_t minute, int64_t microseconds) {
        if (minute != open_minute_) open(minute);
        open_[kind].add(microseconds);
    }
    LatencyHistogram total(size_t kind) const;
    LatencyHistogram since(size_t kind, int64_t minute) const;

private:
    void open(int64_t minute);

    // Of one minute, not yet among the others.
    int64_t open_minute_ = 0;
    std::array<LatencyHistogram, kKinds> open_;

    std::array<LatencyHistogram, kKinds> totals_;
    std::array<std::map<int64_t, LatencyHistogram>, kKinds> minutes_;
};

}  // namespace orrery::lab
