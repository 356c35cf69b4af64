#include "engine/background/partition_keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "base/ended_test_support.h"
#include "engine/durable_test_support.h"
#include "engine/engine_test_support.h"
#include "engine/ranges_test_support.h"
#include "json/document.h"

namespace orrery::engine {
namespace {

using catalog::RangeChange;
using namespace testing_support;

/// A range above the storage threshold is split, again and again; a key of its own never is.
TEST(PartitionKeeper, SplitsByStorage) {
    catalog::RangeLimits limits;
    limits.storage_bytes = 20'000;
    TestEngine test(1'700'000'000, TestEngine::unthrottled(), {}, limits);
    Engine& engine = test.engine();
    engine.start_background();
    test.create_database("d");
    const auto container = test.create_container("d", kRangedContainer);
    for (int i = 0; i < 120; ++i)
        ASSERT_TRUE(put(engine, container, "p" + std::to_string(i), "x", i, 500).result.committed);
    const auto current = [&] { return test.catalog().find_container("d", "c"); };
    ASSERT_TRUE(wait_for([&] {
        const auto now = current();
        return !engine.partitions().busy(now->rid) &&
               std::all_of(now->ranges->ranges.begin(), now->ranges->ranges.end(),
                           [](const auto& range) { return range.partition->bytes() <= 20'000; });
    }));
    EXPECT_GE(current()->ranges->ranges.size(), 4U);
    expect_clean(engine, *current());
    for (const auto& job : engine.partitions().jobs(container->rid)) {
        EXPECT_TRUE(job.automatic);
        EXPECT_EQ(job.new_range_ids.size(), 2U);
    }
    // One key alone cannot be divided: the keeper gives up on it, for a while.
    const size_t before = current()->ranges->ranges.size();
    for (int i = 0; i < 60; ++i)
        ASSERT_TRUE(
            put(engine, current(), "one", "i" + std::to_string(i), i, 500).result.committed);
    ASSERT_TRUE(wait_for([&] {
        const auto jobs = engine.partitions().jobs(container->rid);
        return std::any_of(jobs.begin(), jobs.end(), [](const auto& job) {
            return job.progress->phase == catalog::RangeProgress::Phase::kFailed;
        });
    }));
    EXPECT_LE(current()->ranges->ranges.size(), before + 2);
    expect_clean(engine, *current());
}

TEST(PartitionKeeper, SplitsByThroughput) {
    TestEngine test;
    Engine& engine = test.engine();
    engine.start_background();
    test.create_database("d");
    const auto container = test.create_container("d", kRangedContainer);
    ASSERT_TRUE(put(engine, container, "p", "x", 1).result.committed);
    const auto offer = test.catalog().offer_of(container->rid_text);
    ASSERT_NE(offer, nullptr);
    ASSERT_TRUE(
        test.catalog().replace_offer(offer->rid, {45'000, {}}, catalog::Migrate::kNo, "").ok());
    ASSERT_TRUE(wait_for([&] {
        return test.catalog().find_container("d", "c")->ranges->ranges.size() == 5 &&
               !engine.partitions().busy(container->rid);
    }));
    expect_clean(engine, *test.catalog().find_container("d", "c"));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(test.catalog().find_container("d", "c")->ranges->ranges.size(), 5U);
}

/// Writers, point readers and a paging query beside splits and merges, all through containers that
/// they looked up at some time before.
TEST(PartitionKeeper, UnderLoad) {
    TestEngine test;
    Engine& engine = test.engine();
    engine.start_background();
    test.create_database("d");
    const auto first = test.create_container("d", kRangedContainer);
    constexpr int kStable = 300;
    for (int i = 0; i < kStable; ++i)
        ASSERT_TRUE(put(engine, first, "s" + std::to_string(i % 50), "i" + std::to_string(i), -i)
                        .result.committed);
    std::atomic<bool> stop{false};
    std::atomic<int> writes{0};
    std::vector<std::thread> threads;
    for (int w = 0; w < 2; ++w) {
        threads.emplace_back([&, w] {
            for (int n = 1; !stop; ++n) {
                const auto container = n % 4 == 0 ? test.catalog().find_container("d", "c") : first;
                const std::string pk = "w" + std::to_string(w) + "-" + std::to_string(n % 20);
                const auto answer = put(engine, container, pk, "x", n);
                ASSERT_TRUE(answer.result.committed);
                // The token's range holds the key now or did so then.
                const auto read = engine.read_cached(*container, epk_of(*container, pk), "x", {});
                if (read) {
                    ASSERT_TRUE(read->result.has_item);
                    const auto text = json::decode_document(*read->result.item.document)->text();
                    ASSERT_NE(text.find("\"n\":" + std::to_string(n) + ","),
                              std::string_view::npos);
                }
                ++writes;
            }
        });
    }
    threads.emplace_back([&] {
        while (!stop) {
            std::set<std::string> rows;
            size_t count = 0;
            std::string token;
            do {
                QueryRequest request;
                request.text = "SELECT VALUE c.n FROM c WHERE c.n <= 0";
                request.items_max = 29;
                request.continuation = token;
                const auto page = engine.query(*first, request);
                ASSERT_TRUE(page.ok()) << page.error().message;
                rows.insert(page->rows.begin(), page->rows.end());
                count += page->rows.size();
                token = page->continuation;
            } while (!token.empty());
            ASSERT_EQ(count, static_cast<size_t>(kStable));
            ASSERT_EQ(rows.size(), count);
        }
    });
    for (int round = 0; round < 8; ++round) {
        const auto now = test.catalog().find_container("d", "c");
        const auto& ranges = now->ranges->ranges;
        RangeChange change;
        change.container = now->rid;
        if (round % 3 == 2)
            change.range_ids = {ranges[0].id, ranges[1].id};
        else
            change.range_ids = {ranges[ranges.size() - 1].id};
        const auto job = engine.partitions().submit(change);
        ASSERT_TRUE(job.ok()) << job.error().message;
        EXPECT_TRUE(wait_for([&] { return !engine.partitions().busy(now->rid); }));
        EXPECT_EQ(job->progress->phase, catalog::RangeProgress::Phase::kDone);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(writes, 0);
    expect_clean(engine, *test.catalog().find_container("d", "c"));
}

json::Value parsed(std::string_view text) {
    static json::Arena arena;
    return json::parse(text, arena).value();
}

/// A split that is asked for while the index is being changed waits for that, and lets those of
/// other containers go first; a restart does not forget it.
TEST(PartitionKeeper, WaitsForTheIndex) {
    DurableEngine test(false);
    const auto container = test.create_container(std::string(kRangedContainer));
    const auto other = test.create_container(
        R"({"id":"other","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})");
    for (int i = 0; i < 100; ++i)
        for (const auto& one : {container, other})
            ASSERT_TRUE(put(test.engine(), one, "p" + std::to_string(i), "x", i).result.committed);
    ASSERT_TRUE(rest::by_body::replace_container(
                    test.catalog(), "d", "c",
                    parsed(R"({"id":"c","indexingPolicy":{"indexingMode":"none"}})"), "")
                    .ok());
    const auto ask = [&](const catalog::ContainerPtr& of) {
        RangeChange change;
        change.container = of->rid;
        change.range_ids = {"0"};
        const auto job = test.engine().partitions().submit(change);
        ASSERT_TRUE(job.ok()) << job.error().message;
    };
    ASSERT_NO_FATAL_FAILURE(ask(container));
    ASSERT_NO_FATAL_FAILURE(ask(other));
    // Nobody changes indexes here: splits only.
    test.engine().partitions().start();
    const auto phase_of = [&](const catalog::ContainerPtr& of) {
        return test.engine().partitions().jobs(of->rid).at(0).progress->phase.load();
    };
    using Phase = catalog::RangeProgress::Phase;
    ASSERT_TRUE(wait_for([&] { return phase_of(other) == Phase::kDone; }));
    ASSERT_TRUE(wait_for([&] { return phase_of(container) == Phase::kWaitingForIndex; }));
    EXPECT_TRUE(test.engine().partitions().busy(container->rid));
    EXPECT_EQ(test.container("c")->ranges->ranges.size(), 1U);
    for (const bool crash : {false, true}) {
        if (crash)
            test.crash();
        else
            test.restart();
        const auto jobs = test.engine().partitions().jobs(container->rid);
        ASSERT_EQ(jobs.size(), 1U);
        EXPECT_EQ(jobs[0].number, 1U);
        EXPECT_FALSE(jobs[0].automatic);
        EXPECT_TRUE(test.engine().partitions().jobs(other->rid).empty());
        EXPECT_EQ(test.container("c")->ranges->ranges.size(), 1U);
    }
    test.engine().start_background();
    ASSERT_TRUE(wait_for([&] { return phase_of(container) == Phase::kDone; }));
    EXPECT_EQ(test.container("c")->ranges->ranges.size(), 2U);
    EXPECT_TRUE(test.container("c")->settings->previous.empty());
    expect_clean(test.engine(), *test.container("c"));
    test.restart();
    EXPECT_TRUE(test.engine().partitions().jobs(container->rid).empty());
    EXPECT_EQ(test.container("c")->ranges->ranges.size(), 2U);
}

/// A container without throughput to spare does not keep its index, and thereby a split, waiting
/// for ever; the work is paid afterwards.
TEST(PartitionKeeper, HurriesTheIndex) {
    TestEngine test(1'700'000'000, AccountSettings());
    Engine& engine = test.engine();
    test.create_database("d");
    const auto container = test.create_container("d", kRangedContainer);
    for (int i = 0; i < 60; ++i) {
        test.clock().advance_us(1'000'000);
        ASSERT_TRUE(put(engine, container, "p" + std::to_string(i), "x", i).result.committed);
    }
    while (put(engine, container, "p", "x", 1).result.committed) {
    }
    ASSERT_TRUE(rest::by_body::replace_container(
                    test.catalog(), "d", "c",
                    parsed(R"({"id":"c","indexingPolicy":{"indexingMode":"none"}})"), "")
                    .ok());
    EXPECT_TRUE(test.catalog().index_changes_must_wait());
    engine.start_background();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_FALSE(test.catalog().find_container("d", "c")->settings->previous.empty());
    RangeChange change;
    change.container = container->rid;
    change.range_ids = {"0"};
    ASSERT_TRUE(engine.partitions().submit(change).ok());
    ASSERT_TRUE(wait_for([&] { return !engine.partitions().busy(container->rid); }));
    EXPECT_EQ(test.catalog().find_container("d", "c")->ranges->ranges.size(), 2U);
    EXPECT_GT(container->ranges->ranges[0].budget->owed().units, 0);
}

/// More than a partition serves: it has that much for the time being, and two halves share it then,
/// also where the number of partitions would do.
TEST(PartitionKeeper, RedistributionAboveWhatAPartitionServes) {
    TestEngine test(1'700'000'000, AccountSettings());
    Engine& engine = test.engine();
    test.create_database("d");
    catalog::ThroughputRequest throughput;
    throughput.manual = 12'000;
    auto container = test.create_container("d", kRangedContainer, false, throughput);
    ASSERT_EQ(container->ranges->ranges.size(), 2U);
    const auto rates = [&] {
        std::vector<double> out;
        // Held while it is looked at: the keeper may have replaced it meanwhile.
        for (const auto now = test.catalog().find_container("d", "c");
             const auto& range : now->ranges->ranges)
            out.push_back(range.budget->rate_ru());
        return out;
    };
    const auto redistribute = [&](std::string_view targets) {
        const std::string body =
            R"({"targetPhysicalPartitionThroughputInfo":)" + std::string(targets) + "}";
        const auto now = test.catalog().find_container("d", "c");
        const auto wanted = rest::read_redistribution(parsed(body), *now->ranges);
        ASSERT_TRUE(wanted.ok()) << wanted.error().message;
        const auto moved = test.catalog().redistribute(*now, *wanted);
        ASSERT_TRUE(moved.ok()) << moved.error().message;
        ASSERT_TRUE(
            engine.partitions().split_overloaded(*test.catalog().find_container("d", "c")).ok());
    };
    ASSERT_NO_FATAL_FAILURE(
        redistribute(R"([{"id":"0","throughput":5000},{"id":"1","throughput":20000}])"));
    EXPECT_EQ(rates(), (std::vector<double>{5'000, 10'000}));
    engine.start_background();
    ASSERT_TRUE(
        wait_for([&] { return rates().size() == 3 && !engine.partitions().busy(container->rid); }));
    EXPECT_EQ(rates(), (std::vector<double>{5'000, 10'000, 10'000}));
    EXPECT_EQ(test.catalog().offer_of(container->rid_text)->value(), 25'000);
    // 1,000, 1,000 and 16,000 would do with two partitions by their sum.
    const auto ids = test.catalog().find_container("d", "c")->ranges->ranges;
    ASSERT_NO_FATAL_FAILURE(redistribute(R"([{"id":"0","throughput":16000},{"id":")" + ids[1].id +
                                         R"(","throughput":1000},{"id":")" + ids[2].id +
                                         R"(","throughput":1000}])"));
    ASSERT_TRUE(
        wait_for([&] { return rates().size() == 4 && !engine.partitions().busy(container->rid); }));
    EXPECT_EQ(rates(), (std::vector<double>{8'000, 8'000, 1'000, 1'000}));
}

/// Offers, splits and deletes of one container all at once.
TEST(PartitionKeeper, DeletedWhileItWaits) {
    TestEngine test;
    Engine& engine = test.engine();
    test.create_database("d");
    const auto container = test.create_container("d", kRangedContainer);
    for (int i = 0; i < 50; ++i)
        ASSERT_TRUE(put(engine, container, "p" + std::to_string(i), "x", i).result.committed);
    RangeChange change;
    change.container = container->rid;
    change.range_ids = {"0"};
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 3; ++i) {
        const auto job = engine.partitions().submit(change);
        ASSERT_TRUE(job.ok());
        numbers.push_back(job->number);
    }
    EXPECT_LT(numbers[0], numbers[1]);
    ASSERT_TRUE(test.catalog().delete_container("d", "c", "").ok());
    engine.start_background();
    ASSERT_TRUE(wait_for([&] { return !engine.partitions().busy(container->rid); }));
    for (const auto& job : engine.partitions().jobs(container->rid)) {
        EXPECT_EQ(job.progress->phase, catalog::RangeProgress::Phase::kFailed);
        EXPECT_NE(job.error.find("not exist"), std::string::npos) << job.error;
    }
}

/// The same split asked for twice: the second finds its range gone. Ranges that hold nothing, or
/// one key, can be halved by width, not by size.
TEST(PartitionKeeper, ClumsySplits) {
    TestEngine test;
    Engine& engine = test.engine();
    engine.start_background();
    test.create_database("d");
    const auto container = test.create_container("d", kRangedContainer);
    const auto ask = [&](std::vector<std::string> ranges, RangeChange::At at) {
        RangeChange change;
        change.container = container->rid;
        change.range_ids = std::move(ranges);
        change.at = at;
        return engine.partitions().submit(change);
    };
    using At = RangeChange::At;
    EXPECT_EQ(ended(ask({"0"}, At::kBytes).status().error()), Ended::kBadRequest);
    ASSERT_TRUE(put(engine, container, "only", "x", 1).result.committed);
    const auto one_key = ask({"0"}, At::kBytes);
    ASSERT_FALSE(one_key.ok());
    EXPECT_EQ(ended(one_key.error()), Ended::kBadRequest);
    EXPECT_NE(one_key.error().message.find("one partition key"), std::string::npos);
    EXPECT_EQ(ended(ask({"7"}, At::kMiddle).status().error()), Ended::kRangeGone);
    EXPECT_EQ(ended(ask({"0", "0"}, At::kMiddle).status().error()), Ended::kBadRequest);
    EXPECT_EQ(ended(ask({}, At::kMiddle).status().error()), Ended::kBadRequest);
    EXPECT_EQ(ended(ask({"0", "1", "2"}, At::kMiddle).status().error()), Ended::kBadRequest);
    const auto first = ask({"0"}, At::kMiddle);
    ASSERT_TRUE(first.ok());
    const auto second = ask({"0"}, At::kMiddle);
    ASSERT_TRUE(wait_for([&] { return !engine.partitions().busy(container->rid); }));
    EXPECT_EQ(first->progress->phase, catalog::RangeProgress::Phase::kDone);
    if (second.ok()) {
        EXPECT_EQ(second->progress->phase, catalog::RangeProgress::Phase::kFailed);
    }
    const auto now = test.catalog().find_container("d", "c");
    EXPECT_EQ(now->ranges->ranges.size(), 2U);
    // An empty half can be halved again, and all be put together again.
    const std::string epk = epk_of(*now, "only");
    const auto& empty = &now->ranges->of_epk(epk) == &now->ranges->ranges[0]
                            ? now->ranges->ranges[1]
                            : now->ranges->ranges[0];
    ASSERT_TRUE(ask({empty.id}, At::kMiddle).ok());
    ASSERT_TRUE(wait_for([&] { return !engine.partitions().busy(container->rid); }));
    for (int i = 0; i < 2; ++i) {
        const auto map = test.catalog().find_container("d", "c")->ranges;
        ASSERT_TRUE(ask({map->ranges[0].id, map->ranges[1].id}, At::kMiddle).ok());
        ASSERT_TRUE(wait_for([&] { return !engine.partitions().busy(container->rid); }));
    }
    const auto whole = test.catalog().find_container("d", "c");
    EXPECT_EQ(whole->ranges->ranges.size(), 1U);
    EXPECT_TRUE(put(engine, container, "only", "x", 2).result.committed);
    expect_clean(engine, *whole);
}

/// 403/1014 at the limit of a logical partition; reads, deletes and smaller replaces still work.
TEST(PartitionKeeper, LogicalPartitionLimit) {
    catalog::RangeLimits limits;
    limits.logical_partition_bytes = 1 << 20;
    TestEngine test(1'700'000'000, TestEngine::unthrottled(), {}, limits);
    Engine& engine = test.engine();
    test.create_database("d");
    const auto container = test.create_container("d", kRangedContainer);
    int stored = 0;
    for (;; ++stored) {
        const auto answer = put(engine, container, "p", "i" + std::to_string(stored), 1, 100'000);
        if (answer.result.committed) continue;
        const Error& error = answer.result.results[0].status.error();
        EXPECT_EQ(error.code, Code::kLogicalPartitionFull);
        EXPECT_NE(error.message.find("1 MB"), std::string::npos) << error.message;
        break;
    }
    EXPECT_EQ(stored, 10);
    EXPECT_TRUE(put(engine, container, "other", "x", 1, 100'000).result.committed);
    EXPECT_TRUE(put(engine, container, "p", "i3", 1, 50'000).result.committed);
    EXPECT_FALSE(put(engine, container, "p", "i4", 1, 200'000).result.committed);
    EXPECT_TRUE(put(engine, container, "p", "i10", 1, 40'000).result.committed);
}

}  // namespace
}  // namespace orrery::engine
