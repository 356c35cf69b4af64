#include "lab/recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "base/check.h"
#include "query/query.h"

namespace orrery::lab {
namespace {

using engine::OperationClass;
using engine::RequestRecord;

constexpr int64_t kStart = 1'700'000'040;  // begins a minute

RequestRecord record(int64_t second, uint32_t range, int64_t ru, uint16_t status = 200) {
    RequestRecord out;
    out.wall_seconds = second;
    out.duration_us = 100;
    out.container = 7;
    out.range = range;
    out.status = status;
    out.operation = OperationClass::kRead;
    out.charge = {ru * meter::kUnitsPerRu};
    return out;
}

TEST(LatencyHistogram, QuantilesAreAtMostAQuarterTooLarge) {
    LatencyHistogram histogram;
    EXPECT_EQ(histogram.quantile_us(0.5), 0);
    for (int64_t us = 1; us <= 100'000; ++us) histogram.add(us);
    for (const double share : {0.01, 0.5, 0.9, 0.99, 1.0}) {
        const double exact = share * 100'000;
        const auto found = static_cast<double>(histogram.quantile_us(share));
        EXPECT_GE(found, exact);
        EXPECT_LE(found, exact * 1.25 + 1);
    }
    EXPECT_EQ(histogram.count(), 100'000u);
    EXPECT_EQ(histogram.at_most(0), 0u);
    for (size_t bucket = 0; bucket + 1 < LatencyHistogram::kBuckets; ++bucket) {
        const int64_t bound = LatencyHistogram::upper_bound_us(bucket);
        EXPECT_EQ(LatencyHistogram::bucket_of(bound), bucket);
        EXPECT_EQ(LatencyHistogram::bucket_of(bound + 1), bucket + 1);
    }
    histogram.add(-5);
    histogram.add(INT64_MAX);
}

TEST(UseSeries, SecondsAndMinutes) {
    UseSeries series(100, 100);
    const PartitionId p{7, 0};
    series.add(p, kStart, {3 * meter::kUnitsPerRu}, true, false);
    series.add(p, kStart, {2 * meter::kUnitsPerRu}, true, false);
    series.add(p, kStart + 59, {4 * meter::kUnitsPerRu}, true, false);
    series.add(p, kStart + 60, {}, true, true);
    const auto seconds = series.seconds(p, kStart - 1, kStart + 61);
    ASSERT_EQ(seconds.size(), 62u);
    EXPECT_EQ(seconds[0].requests, 0u);
    EXPECT_EQ(seconds[1].charge_units, 5 * meter::kUnitsPerRu);
    EXPECT_EQ(seconds[60].charge_units, 4 * meter::kUnitsPerRu);
    EXPECT_EQ(seconds[61].throttled, 1u);
    const auto minutes = series.minutes(p, kStart / 60, kStart / 60 + 2);
    EXPECT_EQ(minutes[0].charge_units, 9 * meter::kUnitsPerRu);
    EXPECT_EQ(minutes[0].peak_units, 5 * meter::kUnitsPerRu);
    EXPECT_EQ(minutes[1].throttled, 1u);
    EXPECT_EQ(series.total(p).requests, 4u);
    EXPECT_TRUE(series.seconds({7, 1}, kStart, kStart + 5)[0].requests == 0);
}

/// Storage per minute: minutes in which nothing happened hold what the one before held.
TEST(UseSeries, StoragePerMinute) {
    UseSeries series(100, 100);
    const PartitionId p{7, 0};
    series.add(p, kStart, {}, true, false, 100);
    series.add(p, kStart + 1, {}, true, false, 150);
    series.add(p, kStart + 2, {}, true, false);
    series.add(p, kStart + 180, {}, true, false, 90);
    std::vector<int64_t> bytes;
    for (const MinuteUse& use : series.minutes(p, kStart / 60 - 1, kStart / 60 + 5))
        bytes.push_back(use.bytes);
    EXPECT_EQ(bytes, (std::vector<int64_t>{0, 150, 150, 150, 90, 90}));
    EXPECT_EQ(series.minutes(p, kStart / 60 + 1, kStart / 60 + 2)[0].bytes, 150);
}

TEST(UseSeries, SpaceIsBounded) {
    UseSeries series(10, 3);
    for (int64_t minute = 0; minute < 3 * UseSeries::kMinutes; ++minute)
        series.add({7, 0}, kStart + minute * 60, {meter::kUnitsPerRu}, true, false);
    EXPECT_LE(series.second_blocks(), 10u);
    const int64_t now = kStart / 60 + 3 * UseSeries::kMinutes;
    // The newest seconds are there, minutes of a day too, older ones are not.
    EXPECT_EQ(series.seconds({7, 0}, (now - 1) * 60, (now - 1) * 60 + 1)[0].requests, 1u);
    EXPECT_EQ(series.seconds({7, 0}, (now - 20) * 60, (now - 20) * 60 + 1)[0].requests, 0u);
    EXPECT_EQ(series.minutes({7, 0}, now - UseSeries::kMinutes, now)[0].requests, 1u);
    EXPECT_EQ(series.minutes({7, 0}, now - UseSeries::kMinutes - 1, now)[0].requests, 0u);
    for (uint32_t range = 0; range < 10; ++range)
        series.add({8, range}, kStart + 10'000'000 + range, {}, true, false);
    EXPECT_EQ(series.partition_count(), 3u);
    EXPECT_EQ(series.total({8, 9}).requests, 1u);
    EXPECT_EQ(series.total({8, 0}).requests, 0u);
}

TEST(Recorder, NothingIsLostBetweenThreads) {
    ManualClock clock(kStart * 1'000'000);
    Recorder recorder(clock);
    constexpr int kThreads = 4;
    constexpr int kEach = 30'000;
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < kEach; ++i) {
                RequestRecord r = record(kStart + i % 120, t % 2, 1);
                r.set_key("[\"k" + std::to_string(t) + "\"]", 1000 + t * 2);
                recorder.observe(r);
            }
        });
    // Whoever asks takes records, too, and may be in the way of those who count their own.
    std::atomic<bool> done = false;
    std::thread asking([&] {
        while (!done) recorder.pack();
    });
    for (auto& thread : threads) thread.join();
    done = true;
    asking.join();
    uint64_t requests = 0;
    for (const auto& [key, counter] : recorder.counters()) requests += counter.requests;
    EXPECT_EQ(requests, static_cast<uint64_t>(kThreads * kEach));
    EXPECT_EQ(recorder.total({7, 0}).requests + recorder.total({7, 1}).requests, requests);
    EXPECT_EQ(recorder.latency(OperationClass::kRead).count(), requests);
    const auto top = recorder.top_keys(7, 24, 10);
    ASSERT_EQ(top.keys.size(), 4u);
    for (const auto& key : top.keys) EXPECT_EQ(key.weight, kEach * meter::kUnitsPerRu);
    EXPECT_EQ(top.error_max, 0);
}

/// A shape is known by its sample, which is given before its first record; whoever asks in between
/// must not lose the record.
TEST(Recorder, EveryRunOfAQueryIsCountedFromTheFirst) {
    ManualClock clock(kStart * 1'000'000);
    Recorder recorder(clock);
    std::atomic<bool> done = false;
    std::thread asking([&] {
        while (!done) recorder.counters();
    });
    constexpr int kShapes = 200;
    for (int i = 0; i < kShapes; ++i) {
        const auto compiled = query::compile("SELECT c.p" + std::to_string(i) + " FROM c");
        CHECK(compiled.ok());
        RequestRecord query = record(kStart, 0, 3);
        query.operation = OperationClass::kQuery;
        query.query_hash = 1000 + static_cast<uint64_t>(i);
        engine::RequestSample sample;
        sample.record = query;
        sample.query = *compiled;
        recorder.observe_sample(std::move(sample));
        recorder.observe(query);
    }
    done = true;
    asking.join();
    Observation seen;
    recorder.describe(7, seen);
    EXPECT_EQ(seen.queries.size(), static_cast<size_t>(kShapes));
    for (const QueryUse& query : seen.queries) EXPECT_EQ(query.runs, 1) << query.text;
}

/// More places than are added up at once, in any order: every sum comes out as if each record had
/// been counted by itself.
TEST(Recorder, EveryPlaceIsCountedExactly) {
    ManualClock clock((kStart + 60) * 1'000'000);
    Recorder recorder(clock);
    std::mt19937_64 random(5);
    std::map<Recorder::CounterKey, Recorder::Counter> counters;
    std::map<std::pair<uint32_t, int64_t>, SecondUse> seconds;
    uint64_t throttled = 0;
    LatencyHistogram latency;
    for (int i = 0; i < 20'000; ++i) {
        RequestRecord r =
            record(kStart + static_cast<int64_t>(random() % 60),
                   static_cast<uint32_t>(random() % 40), static_cast<int64_t>(random() % 9));
        r.container = 1 + random() % 3;
        r.operation = random() % 2 == 0 ? OperationClass::kRead : OperationClass::kCreate;
        r.status = std::array<uint16_t, 4>{200, 201, 404, 429}[random() % 4];
        if (r.status == 429) r.charge = {};
        r.request_bytes = static_cast<uint32_t>(random() % 1000);
        r.response_bytes = static_cast<uint32_t>(random() % 1000);
        r.duration_us = static_cast<int64_t>(random() % 5000);
        recorder.observe(r);
        auto& counter = counters[{r.container, r.operation, r.status}];
        ++counter.requests;
        counter.charge += r.charge;
        counter.request_bytes += r.request_bytes;
        counter.response_bytes += r.response_bytes;
        if (r.operation == OperationClass::kRead) latency.add(r.duration_us);
        if (r.container != 2) continue;
        auto& second = seconds[{r.range, r.wall_seconds}];
        second.charge_units += r.charge.units;
        ++second.requests;
        second.throttled += r.status == 429 ? 1 : 0;
        throttled += r.status == 429 ? 1 : 0;
    }
    const auto counted = recorder.counters();
    ASSERT_EQ(counted.size(), counters.size());
    for (const auto& [key, counter] : counters) {
        EXPECT_EQ(counted.at(key).requests, counter.requests);
        EXPECT_EQ(counted.at(key).charge, counter.charge);
        EXPECT_EQ(counted.at(key).request_bytes, counter.request_bytes);
        EXPECT_EQ(counted.at(key).response_bytes, counter.response_bytes);
    }
    for (const auto& [place, use] : seconds) {
        const auto found = recorder.seconds({2, place.first}, place.second, place.second + 1)[0];
        EXPECT_EQ(found.charge_units, use.charge_units);
        EXPECT_EQ(found.requests, use.requests);
        EXPECT_EQ(found.throttled, use.throttled);
    }
    EXPECT_EQ(recorder.latency(OperationClass::kRead).sum_us(), latency.sum_us());
    EXPECT_EQ(recorder.latency(OperationClass::kRead).count(), latency.count());
    Observation seen;
    recorder.describe(2, seen);
    int64_t refused = 0;
    for (const auto& operation : seen.operations) refused += operation.throttled;
    EXPECT_EQ(refused, static_cast<int64_t>(throttled));
}

TEST(LatencySeries, TotalsAndMinutes) {
    LatencySeries series;
    series.add(3, 1000, 10);
    series.add(3, 1001, 20);
    series.add(3, 1000, 30);  // late
    series.add(2, 1001, 7);
    EXPECT_EQ(series.total(3).count(), 3u);
    EXPECT_EQ(series.total(3).sum_us(), 60u);
    EXPECT_EQ(series.since(3, 1000).sum_us(), 60u);
    EXPECT_EQ(series.since(3, 1001).sum_us(), 20u);
    EXPECT_EQ(series.since(2, 1001).count(), 1u);
    EXPECT_EQ(series.since(3, 1002).count(), 0u);
    // A day later the minutes are gone, the total is not.
    series.add(3, 1001 + LatencySeries::kMinutes, 5);
    series.add(3, 1002 + LatencySeries::kMinutes, 5);
    EXPECT_EQ(series.since(3, 0).sum_us(), 10u);
    EXPECT_EQ(series.total(3).sum_us(), 70u);
}

TEST(Recorder, PartsAreChargesAndNoRequests) {
    ManualClock clock(kStart * 1'000'000);
    Recorder recorder(clock);
    RequestRecord whole = record(kStart, RequestRecord::kNoRange, 9);
    whole.operation = OperationClass::kQuery;
    recorder.observe(whole);
    for (uint32_t range = 0; range < 3; ++range) {
        RequestRecord part = record(kStart, range, 3);
        part.part = true;
        recorder.observe(part);
    }
    EXPECT_EQ(recorder.counters().size(), 1u);
    EXPECT_EQ(recorder.total({7, 2}).charge.units, 3 * meter::kUnitsPerRu);
    EXPECT_EQ(recorder.total({7, 2}).requests, 0u);
}

TEST(Recorder, ThrottledRequestsAreSeenPerSecond) {
    ManualClock clock(kStart * 1'000'000);
    Recorder recorder(clock);
    recorder.observe(record(kStart + 1, 0, 0, 429));
    recorder.observe(record(kStart + 1, 0, 5));
    const auto seconds = recorder.seconds({7, 0}, kStart, kStart + 2);
    EXPECT_EQ(seconds[1].throttled, 1u);
    EXPECT_EQ(seconds[1].requests, 2u);
    EXPECT_EQ(seconds[1].charge_units, 5 * meter::kUnitsPerRu);
}

TEST(Recorder, TooManyContainersAreCountedTogether) {
    ManualClock clock(kStart * 1'000'000);
    Recorder::Limits limits;
    limits.counters = 5;
    limits.containers = 4;
    Recorder recorder(clock, limits);
    for (uint64_t container = 1; container <= 50; ++container) {
        RequestRecord r = record(kStart + static_cast<int64_t>(container), 0, 1);
        r.container = container;
        r.set_key("k", 5);
        recorder.observe(r);
    }
    const auto counters = recorder.counters();
    EXPECT_LE(counters.size(), 6u);
    uint64_t requests = 0;
    for (const auto& [key, counter] : counters) requests += counter.requests;
    EXPECT_EQ(requests, 50u);
    EXPECT_EQ(recorder.top_keys(50, 1, 5).keys.size(), 1u);
    EXPECT_EQ(recorder.top_keys(1, 1, 5).keys.size(), 0u);
}

TEST(Recorder, SamplesAreBoundedButEveryShapeOfAQueryIsSampled) {
    ManualClock clock(kStart * 1'000'000);
    Recorder recorder(clock);
    int sampled = 0;
    for (uint64_t i = 0; i < 5000; ++i) {
        RequestRecord write = record(kStart, 0, 5);
        write.operation = OperationClass::kCreate;
        write.writes = 1;
        write.docref_hash = i + 1;
        sampled += recorder.wants_sample(write) ? 1 : 0;
    }
    EXPECT_EQ(sampled, 200);
    for (uint64_t shape = 1; shape <= 50; ++shape) {
        RequestRecord query = record(kStart, 0, 3);
        query.operation = OperationClass::kQuery;
        query.query_hash = shape;
        EXPECT_TRUE(recorder.wants_sample(query)) << shape;
        EXPECT_FALSE(recorder.wants_sample(query)) << shape;
    }
    // Later the same thread is choosier.
    sampled = 0;
    for (int64_t second = 1; second <= 20; ++second)
        for (uint64_t i = 0; i < 2000; ++i) {
            RequestRecord read = record(kStart + second, 0, 1);
            sampled += recorder.wants_sample(read) ? 1 : 0;
        }
    EXPECT_LT(sampled, 20 * 120);
    EXPECT_GT(sampled, 20 * 5);
}

TEST(Recorder, RequestsThatFollowOneAnotherOnAConnection) {
    ManualClock clock(kStart * 1'000'000);
    Recorder recorder(clock);
    const auto at = [](uint16_t ms, uint64_t container, OperationClass operation,
                       uint64_t connection) {
        RequestRecord out = record(kStart, 0, 2);
        out.wall_ms = ms;
        out.container = container;
        out.operation = operation;
        out.connection = connection;
        out.set_key("[\"a\"]", 9);
        return out;
    };
    // An order, then its customer, in time; a third read comes too late, a fourth from somebody
    // else.
    recorder.observe(at(0, 7, OperationClass::kRead, 1));
    recorder.observe(at(40, 8, OperationClass::kRead, 1));
    recorder.observe(at(95, 8, OperationClass::kRead, 1));
    recorder.observe(at(96, 8, OperationClass::kRead, 2));
    const auto pairs = recorder.pairs(7);
    ASSERT_EQ(pairs.size(), 1u);
    EXPECT_EQ(pairs[0].second_container, 8u);
    EXPECT_EQ(pairs[0].count, 1u);
    EXPECT_EQ(pairs[0].units, 2 * meter::kUnitsPerRu);
    EXPECT_TRUE(recorder.pairs(8).empty());
    // Four queries on one key within 50 ms are one burst; the fifth is not part of it.
    for (const int ms : {200, 210, 220, 230, 280})
        recorder.observe(at(static_cast<uint16_t>(ms), 7, OperationClass::kQuery, 3));
    Observation seen;
    recorder.describe(7, seen);
    ASSERT_TRUE(seen.bursts.has_value());
    EXPECT_EQ(seen.bursts->bursts, 1);
    EXPECT_EQ(seen.bursts->queries, 4);
    EXPECT_EQ(seen.bursts->example_key, "[\"a\"]");
}

TEST(Recorder, HoursKeepTheirBusiestSecond) {
    ManualClock clock((kStart + 7200) * 1'000'000);
    Recorder recorder(clock);
    recorder.observe(record(kStart, 0, 3));
    recorder.observe(record(kStart, 1, 4));
    recorder.observe(record(kStart + 10, 0, 5));
    recorder.observe(record(kStart + 7200, 0, 1));
    Observation seen;
    recorder.describe(7, seen);
    ASSERT_EQ(seen.hours.size(), 3u);  // the one between without any request
    EXPECT_EQ(seen.hours[0].peak_ru, 7);
    EXPECT_EQ(seen.hours[0].normalized, 5);  // one range's busiest second; shares are divided later
    EXPECT_EQ(seen.hours[0].ru, 12);
    EXPECT_EQ(seen.hours[1].requests, 0);
    EXPECT_EQ(seen.hours[2].peak_ru, 1);
    ASSERT_TRUE(seen.last_request_seconds.has_value());
    EXPECT_EQ(*seen.last_request_seconds, kStart + 7200);
}

}  // namespace
}  // namespace orrery::lab
