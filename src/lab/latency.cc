#include "lab/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace orrery::lab {
namespace {

constexpr size_t kSteps = 4;  // buckets per power of two; values below have one each

}  // namespace

size_t LatencyHistogram::bucket_of(int64_t microseconds) {
    const uint64_t value = microseconds < 0 ? 0 : static_cast<uint64_t>(microseconds);
    if (value < kSteps) return static_cast<size_t>(value);
    const auto power = static_cast<size_t>(std::bit_width(value) - 1);  // >= 2
    const size_t step = static_cast<size_t>(value >> (power - 2)) & (kSteps - 1);
    return std::min(kBuckets - 1, (power - 1) * kSteps + step);
}

int64_t LatencyHistogram::upper_bound_us(size_t bucket) {
    if (bucket < kSteps) return static_cast<int64_t>(bucket);
    const size_t power = bucket / kSteps + 1;
    const size_t step = bucket % kSteps;
    return static_cast<int64_t>(((kSteps + step + 1) << (power - 2)) - 1);
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
    for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_us_ += other.sum_us_;
}

int64_t LatencyHistogram::quantile_us(double share) const {
    if (count_ == 0) return 0;
    const auto wanted = static_cast<uint64_t>(
        std::max(1.0, std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_))));
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
        seen += buckets_[i];
        if (seen >= wanted) return upper_bound_us(i);
    }
    return upper_bound_us(kBuckets - 1);
}

uint64_t LatencyHistogram::at_most(int64_t microseconds) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < kBuckets && upper_bound_us(i) <= microseconds; ++i) sum += buckets_[i];
    return sum;
}

void LatencySeries::open(int64_t minute) {
    for (size_t kind = 0; kind < kKinds; ++kind) {
        if (open_[kind].count() == 0) continue;
        totals_[kind].merge(open_[kind]);
        auto& minutes = minutes_[kind];
        minutes[open_minute_].merge(open_[kind]);
        minutes.erase(minutes.begin(), minutes.lower_bound(open_minute_ - kMinutes + 1));
        open_[kind] = {};
    }
    open_minute_ = minute;
}

LatencyHistogram LatencySeries::total(size_t kind) const {
    LatencyHistogram sum = totals_[kind];
    sum.merge(open_[kind]);
    return sum;
}

LatencyHistogram LatencySeries::since(size_t kind, int64_t minute) const {
    LatencyHistogram sum;
    if (open_minute_ >= minute) sum = open_[kind];
    const auto& minutes = minutes_[kind];
    for (auto it = minutes.lower_bound(minute); it != minutes.end(); ++it) sum.merge(it->second);
    return sum;
}

}  // namespace orrery::lab
