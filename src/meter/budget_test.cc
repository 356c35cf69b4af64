#include "meter/budget.h"

#include <gtest/gtest.h>

#include <thread>

namespace orrery::meter {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kStart = 77 * kSecond;

PoolRates ru(int64_t per_second) {
    PoolRates rates;
    rates.units_per_us = per_second * kUnitsPerUsPerRu;
    return rates;
}
int64_t units(double request_units) {
    return static_cast<int64_t>(request_units * static_cast<double>(kUnitsPerRu));
}

TEST(TokenBucket, GrantsExactlyTheRate) {
    TokenBucket bucket(400 * kUnitsPerUsPerRu, units(400), kStart, units(400));
    EXPECT_EQ(bucket.tokens(kStart), units(400));
    EXPECT_EQ(bucket.tokens(kStart + 10 * kSecond), units(400));  // never above the capacity
    bucket.take(kStart, units(400));
    EXPECT_EQ(bucket.tokens(kStart), 0);
    EXPECT_EQ(bucket.tokens(kStart + 1), 8400);  // 400 RU/s is 8,400 u per microsecond
    EXPECT_EQ(bucket.tokens(kStart + kSecond / 2), units(200));
    // A take after a long pause begins from a full bucket, not from all that would have come.
    bucket.take(kStart + 100 * kSecond, units(100));
    EXPECT_EQ(bucket.tokens(kStart + 100 * kSecond), units(300));
    EXPECT_EQ(bucket.tokens(kStart - kSecond), bucket.tokens(kStart));  // no grant before the start
}

TEST(TokenBucket, ConcurrentTakesAddUp) {
    TokenBucket bucket(400 * kUnitsPerUsPerRu, units(400), kStart, units(400));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int j = 0; j < 10'000; ++j) bucket.take(kStart, 7);
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(bucket.tokens(kStart), units(400) - 4 * 10'000 * 7);
}

TEST(Pool, AdmitsWhileTokensAreLeftAndAllowsDebt) {
    Pool pool(ru(400), kStart, nullptr);
    EXPECT_TRUE(pool.admit(kStart, {}).admitted);
    pool.settle(kStart, {}, units(400) - 1);
    EXPECT_TRUE(pool.admit(kStart, {}).admitted);  // one unit is enough for work of any cost
    pool.settle(kStart, {}, units(1000) + 1);
    const Verdict refused = pool.admit(kStart, {});
    EXPECT_FALSE(refused.admitted);
    EXPECT_EQ(refused.retry_after_ms, 2500);  // 1,000 RU owed at 400 RU/s
    EXPECT_FALSE(
        pool.admit(kStart + 2'500'000, {}).admitted);  // exactly zero is not more than zero
    EXPECT_EQ(pool.admit(kStart + 2'500'000, {}).retry_after_ms, 1);
    EXPECT_TRUE(pool.admit(kStart + 2'500'001, {}).admitted);
}

TEST(Pool, RetryAfterIsTheCeilingInMilliseconds) {
    Pool pool(ru(1000), kStart, nullptr);  // one RU per millisecond
    pool.settle(kStart, {}, units(1000));
    for (const auto& [owed, wait] : std::vector<std::pair<int64_t, int64_t>>{
             {0, 1}, {1, 1}, {kUnitsPerRu, 1}, {kUnitsPerRu + 1, 2}, {units(2238), 2238}}) {
        Pool copy(ru(1000), kStart, &pool);
        copy.settle(kStart, {}, owed);
        EXPECT_EQ(copy.admit(kStart, {}).retry_after_ms, wait) << owed;
    }
}

TEST(Pool, SustainsItsRate) {
    Pool pool(ru(1000), kStart, nullptr);
    int admitted = 0;
    for (int64_t now = kStart; now < kStart + 10 * kSecond; now += 100) {
        if (!pool.admit(now, {}).admitted) continue;
        pool.settle(now, {}, units(5));
        ++admitted;
    }
    // Ten seconds of rate, the full bucket at the start, and at most one request of debt.
    EXPECT_GE(admitted, 2200);
    EXPECT_LE(admitted, 2201);
}

TEST(Pool, LowPriorityLeavesThirtyPercent) {
    Pool pool(ru(1000), kStart, nullptr);
    const Traffic low{Priority::kLow, 0};
    pool.settle(kStart, {}, units(700));
    EXPECT_TRUE(pool.admit(kStart, low).admitted);
    pool.settle(kStart, {}, 1);
    EXPECT_FALSE(pool.admit(kStart, low).admitted);
    EXPECT_TRUE(pool.admit(kStart, {}).admitted);
    pool.settle(kStart, {}, units(200) - 1);
    EXPECT_EQ(pool.admit(kStart, low).retry_after_ms, 200);
    EXPECT_TRUE(pool.admit(kStart + 200'000, low).admitted);
}

TEST(Pool, BurstSpendsWhatWasBanked) {
    PoolRates rates = ru(100);
    rates.burst = true;
    Pool pool(rates, kStart, nullptr);
    const int64_t later = kStart + 300 * kSecond;  // five idle minutes: 30,000 RU
    EXPECT_EQ(pool.tokens(later), units(30'000));
    int64_t spent = 0;
    int64_t now = later;
    int burst = 0;
    for (; now < later + 60 * kSecond && pool.tokens(now) > 0; now += 1000) {
        const Verdict verdict = pool.admit(now, {});
        if (!verdict.admitted) continue;
        pool.settle(now, {}, units(10));
        spent += 10;
        burst += verdict.burst;
    }
    // 3,000 RU/s in all: ten seconds, a bit more as 100 RU/s keep coming, less the first full
    // second.
    EXPECT_GT(now - later, 9 * kSecond);
    EXPECT_LT(now - later, 10 * kSecond + kSecond / 2);
    EXPECT_GT(spent, 30'000);
    EXPECT_GT(burst, 2'800);
    // Afterwards the share is what is left, without a debt from the burst.
    EXPECT_TRUE(pool.admit(now + kSecond, {}).admitted);
    PoolRates large = ru(3000);
    large.burst = true;
    EXPECT_FALSE(Pool(large, kStart, nullptr).rates().burst);
}

TEST(Pool, ThroughputBuckets) {
    PoolRates rates = ru(1000);
    rates.bucket_percent = {20, 50, 0, 0, 0};
    Pool pool(rates, kStart, nullptr);
    const Traffic first{Priority::kHigh, 1};
    const Traffic second{Priority::kHigh, 2};
    const Traffic undefined{Priority::kHigh, 3};
    pool.settle(kStart, first, units(300));
    EXPECT_FALSE(pool.admit(kStart, first).admitted);
    EXPECT_EQ(pool.admit(kStart, first).retry_after_ms, 500);  // 100 RU owed at 200 RU/s
    EXPECT_TRUE(pool.admit(kStart, second).admitted);
    EXPECT_TRUE(pool.admit(kStart, undefined).admitted);
    EXPECT_TRUE(pool.admit(kStart, {}).admitted);
    EXPECT_EQ(pool.tokens(kStart), units(700));  // the partition pays as well
    rates.default_bucket = 1;
    Pool with_default(rates, kStart, &pool);
    EXPECT_FALSE(with_default.admit(kStart, {}).admitted);  // without a bucket: the default one
    EXPECT_TRUE(with_default.admit(kStart, second).admitted);
}

TEST(Pool, AutoscaleRisesAndFalls) {
    PoolRates rates = ru(1000);
    rates.autoscale = true;
    Pool pool(rates, kStart, nullptr);
    const auto scaled = [&](int64_t second) {
        return pool.scaled_units_per_us(kStart + second * kSecond) / kUnitsPerUsPerRu;
    };
    EXPECT_EQ(scaled(0), 100);  // a tenth at rest
    pool.settle(kStart, {}, units(1000));
    EXPECT_EQ(scaled(0), 100);  // seconds count when they are over
    EXPECT_EQ(scaled(1), 200);  // a short peak raises it in part
    for (int i = 1; i < 5; ++i) pool.settle(kStart + i * kSecond, {}, units(5000));
    EXPECT_EQ(scaled(5), 1000);  // five seconds at 100 %; more than that does not count
    EXPECT_EQ(scaled(7), 600);
    EXPECT_EQ(scaled(10), 100);
    EXPECT_EQ(scaled(1'000'000), 100);
    rates.autoscale = false;
    EXPECT_EQ(Pool(rates, kStart, nullptr).scaled_units_per_us(kStart), 1000 * kUnitsPerUsPerRu);
}

/// Four partitions of 500 RU/s (two partitions in two regions, 1,000 RU/s at most) scale alone.
TEST(Pool, PartitionsScaleAlone) {
    PoolRates rates = ru(500);
    rates.autoscale = true;
    int64_t sum = 0;
    for (const int percent : {100, 40, 30, 10}) {
        Pool pool(rates, kStart, nullptr);
        for (int second = 0; second < 5; ++second)
            pool.settle(kStart + second * kSecond, {}, units(5.0 * percent));
        sum += pool.scaled_units_per_us(kStart + 5 * kSecond) / kUnitsPerUsPerRu;
    }
    EXPECT_EQ(sum, 900);
}

TEST(Pool, LeftoversAreHalfASecond) {
    Pool pool(ru(1000), kStart, nullptr);
    EXPECT_TRUE(pool.has_leftovers(kStart));
    pool.settle(kStart, {}, units(500));
    EXPECT_TRUE(pool.has_leftovers(kStart));
    pool.settle(kStart, {}, 1);
    EXPECT_FALSE(pool.has_leftovers(kStart));
}

TEST(PartitionBudget, KeepsTokensOverAChangeOfTheRate) {
    PartitionBudget budget;
    EXPECT_TRUE(budget.admit(kStart, {}).admitted);  // nothing installed: no limit
    EXPECT_TRUE(budget.has_leftovers(kStart));
    EXPECT_EQ(budget.rate_ru(), 0);
    budget.install(std::make_shared<Pool>(ru(400), kStart, nullptr));
    budget.settle(kStart, {}, Charge{units(1000)});
    EXPECT_EQ(budget.admit(kStart, {}).retry_after_ms, 1500);
    budget.install(std::make_shared<Pool>(ru(1200), kStart, budget.pool()));
    EXPECT_EQ(budget.admit(kStart, {}).retry_after_ms, 500);  // the debt stays, the rate is new
    PartitionBudget child;
    child.inherit(budget);
    EXPECT_EQ(child.admit(kStart, {}).retry_after_ms, 500);
    EXPECT_EQ(child.rate_ru(), 1200);
}

TEST(PartitionBudget, BackgroundWorkIsPaidByATenth) {
    PartitionBudget budget;
    budget.install(std::make_shared<Pool>(ru(400), kStart, nullptr));
    budget.owe(Charge{units(100)});
    for (int second = 0; second < 2; ++second) {
        budget.pay_owed(kStart + second * kSecond);
        EXPECT_EQ(budget.pool()->tokens(kStart + second * kSecond), units(360));
    }
    EXPECT_EQ(budget.owed().units, units(20));
    budget.pay_owed(kStart + 2 * kSecond);
    EXPECT_EQ(budget.pool()->tokens(kStart + 2 * kSecond), units(380));
    EXPECT_EQ(budget.owed().units, 0);
}

TEST(PartitionBudget, ExchangeWhileRequestsRun) {
    PartitionBudget budget;
    budget.install(std::make_shared<Pool>(ru(400), kStart, nullptr));
    std::atomic<bool> stop{false};
    std::thread worker([&] {
        for (int64_t now = kStart; !stop; ++now)
            if (budget.admit(now, {}).admitted) budget.settle(now, {}, Charge{units(1)});
    });
    for (int i = 0; i < 200; ++i)
        budget.install(std::make_shared<Pool>(ru(400 + i), kStart, budget.pool()));
    stop = true;
    worker.join();
    EXPECT_EQ(budget.rate_ru(), 599);
}

}  // namespace
}  // namespace orrery::meter
