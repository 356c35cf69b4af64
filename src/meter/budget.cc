#include "meter/budget.h"

namespace orrery::meter {
namespace {

constexpr int64_t kUsPerSecond = 1'000'000;
constexpr int64_t kBurstUnitsPerUs = 3'000 * kUnitsPerUsPerRu;
constexpr int64_t kBankSeconds = 300;
/// Low priority is refused below this part of a second's tokens.
constexpr int64_t kLowPriorityPercent = 30;
constexpr int64_t kLeftoverPercent = 50;
constexpr int64_t kOwedDivisor = 10;
constexpr int64_t kAutoscaleSeconds = 5;
constexpr int64_t kAutoscaleFloorDivisor = 10;
constexpr int64_t kUnitsPerCount = 1000;
constexpr int kCountBits = 40;
constexpr uint64_t kCountMax = (uint64_t{1} << kCountBits) - 1;

uint64_t second_number(int64_t now_us) {
    return static_cast<uint64_t>(now_us / kUsPerSecond) & 0xff'ffff;
}

int64_t second_of(int64_t rate) {
    return rate * kUsPerSecond;
}

bool can_burst(const PoolRates& rates) {
    return rates.burst && rates.units_per_us < kBurstUnitsPerUs;
}

PoolRates effective(PoolRates rates) {
    rates.burst = can_burst(rates);
    return rates;
}

}  // namespace

Pool::Pool(const PoolRates& rates, int64_t now_us, const Pool* before)
    : rates_(effective(rates)),
      regular_(rates.units_per_us, second_of(rates.units_per_us), now_us,
               before == nullptr ? second_of(rates.units_per_us) : before->regular_.tokens(now_us)),
      bank_(rates.units_per_us, kBankSeconds * second_of(rates.units_per_us), now_us,
            before == nullptr ? second_of(rates.units_per_us) : before->tokens(now_us)),
      burst_speed_(
          kBurstUnitsPerUs, second_of(kBurstUnitsPerUs), now_us,
          before == nullptr ? second_of(kBurstUnitsPerUs) : before->burst_speed_.tokens(now_us)) {
    buckets_.resize(kThroughputBuckets);
    for (size_t i = 0; i < kThroughputBuckets; ++i) {
        if (rates_.bucket_percent[i] == 0) continue;
        const int64_t rate =
            std::max<int64_t>(1, rates_.units_per_us * rates_.bucket_percent[i] / 100);
        const TokenBucket* same = before == nullptr ? nullptr : before->buckets_[i].get();
        buckets_[i] =
            std::make_unique<TokenBucket>(rate, second_of(rate), now_us,
                                          same == nullptr ? second_of(rate) : same->tokens(now_us));
    }
    if (before != nullptr)
        for (size_t i = 0; i < kSeconds; ++i) used_[i] = before->used_[i].load();
}

uint8_t Pool::bucket_of(const Traffic& traffic) const {
    const uint8_t number = traffic.bucket == 0 ? rates_.default_bucket : traffic.bucket;
    if (number == 0 || number > kThroughputBuckets || buckets_[number - 1] == nullptr) return 0;
    return number;
}

Verdict Pool::admit(int64_t now_us, const Traffic& traffic) const {
    const auto refuse = [](int64_t wait_ms) { return Verdict{false, false, wait_ms}; };
    const int64_t left = main().tokens(now_us);
    if (left <= 0) return refuse(main().wait_ms(now_us, 0));
    if (rates_.burst && burst_speed_.tokens(now_us) <= 0)
        return refuse(burst_speed_.wait_ms(now_us, 0));
    if (traffic.priority == Priority::kLow) {
        const int64_t floor = regular_.capacity() * kLowPriorityPercent / 100;
        if (left < floor) return refuse(main().wait_ms(now_us, floor));
    }
    const bool burst = rates_.burst && regular_.tokens(now_us) <= 0;
    if (const uint8_t number = bucket_of(traffic); number != 0) {
        // A request that names a throughput bucket cannot burst.
        if (burst) return refuse(regular_.wait_ms(now_us, 0));
        const TokenBucket& bucket = *buckets_[number - 1];
        if (bucket.tokens(now_us) <= 0) return refuse(bucket.wait_ms(now_us, 0));
    }
    return {true, burst, 0};
}

void Pool::settle(int64_t now_us, const Traffic& traffic, int64_t units) {
    if (units <= 0) return;
    if (rates_.burst) {
        bank_.take(now_us, units);
        burst_speed_.take(now_us, units);
        // This only tells bursts from regular use; the bank decides. A burst leaves a debt of one
        // second at most.
        const int64_t room = regular_.tokens(now_us) + regular_.capacity();
        regular_.take(now_us, std::clamp<int64_t>(units, 0, std::max<int64_t>(room, 0)));
    } else {
        regular_.take(now_us, units);
    }
    if (const uint8_t number = bucket_of(traffic); number != 0)
        buckets_[number - 1]->take(now_us, units);
    count(now_us, units);
}

bool Pool::has_leftovers(int64_t now_us) const {
    return main().tokens(now_us) >= regular_.capacity() * kLeftoverPercent / 100;
}

void Pool::count(int64_t now_us, int64_t units) {
    const uint64_t second = second_number(now_us);
    const auto used = static_cast<uint64_t>(units / kUnitsPerCount);
    std::atomic<uint64_t>& slot = used_[second % kSeconds];
    uint64_t before = slot.load(std::memory_order_relaxed);
    uint64_t after = 0;
    do {
        const uint64_t sum = (before >> kCountBits == second ? before & kCountMax : 0) + used;
        after = second << kCountBits | std::min(sum, kCountMax);
    } while (!slot.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

int64_t Pool::scaled_units_per_us(int64_t now_us) const {
    if (!rates_.autoscale) return rates_.units_per_us;
    const int64_t share = second_of(rates_.units_per_us) / kUnitsPerCount;
    int64_t sum = 0;
    for (int64_t back = 1; back <= kAutoscaleSeconds; ++back) {
        const uint64_t second = second_number(now_us - back * kUsPerSecond);
        const uint64_t slot = used_[second % kSeconds].load(std::memory_order_relaxed);
        if (slot >> kCountBits != second) continue;
        sum += std::min(static_cast<int64_t>(slot & kCountMax), share);
    }
    const int64_t mean = sum * kUnitsPerCount / (kAutoscaleSeconds * kUsPerSecond);
    return std::max(rates_.units_per_us / kAutoscaleFloorDivisor, mean);
}

void PartitionBudget::install(std::shared_ptr<Pool> pool) {
    const std::lock_guard lock(mutex_);
    pool_.store(pool.get(), std::memory_order_release);
    if (pool != nullptr) kept_.push_back(std::move(pool));
}

std::shared_ptr<Pool> PartitionBudget::shared_pool() const {
    const std::lock_guard lock(mutex_);
    return kept_.empty() ? nullptr : kept_.back();
}

void PartitionBudget::pay_owed(int64_t now_us) {
    Pool* current = pool();
    const int64_t owed = owed_.load(std::memory_order_relaxed);
    if (owed <= 0) return;
    if (current == nullptr) {
        owed_.fetch_sub(owed, std::memory_order_relaxed);
        return;
    }
    const int64_t part = std::min(owed, second_of(current->rates().units_per_us) / kOwedDivisor);
    owed_.fetch_sub(part, std::memory_order_relaxed);
    current->settle(now_us, {}, part);
}

double PartitionBudget::rate_ru() const {
    const Pool* current = pool();
    return current == nullptr ? 0.0
                              : static_cast<double>(current->rates().units_per_us) /
                                    static_cast<double>(kUnitsPerUsPerRu);
}

double PartitionBudget::scaled_ru(int64_t now_us) const {
    const Pool* current = pool();
    return current == nullptr ? 0.0
                              : static_cast<double>(current->scaled_units_per_us(now_us)) /
                                    static_cast<double>(kUnitsPerUsPerRu);
}

}  // namespace orrery::meter
