#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "engine/engine_test_support.h"

namespace orrery::engine {
namespace {

using testing_support::TestEngine;

void put(Engine& engine, const catalog::ContainerPtr& container, int number) {
    const std::string pk = "k" + std::to_string(number % 7);
    partition::Transaction transaction;
    transaction.epk =
        partition::effective_partition_key(container->settings->key, {json::Value::string(pk)})
            .value();
    partition::ItemOperation operation;
    operation.kind = partition::OperationKind::kUpsert;
    operation.body = R"({"id":"i)" + std::to_string(number) + R"(","pk":")" + pk + R"(","v":)" +
                     std::to_string(number) + "}";
    transaction.operations.push_back(std::move(operation));
    std::promise<bool> done;
    engine.execute(container, std::move(transaction),
                   [&](TransactionAnswer answer) { done.set_value(answer.result.committed); });
    EXPECT_TRUE(done.get_future().get());
}

/// The engine's own thread carries changes of indexing policies out, one after the other.
TEST(Background, CarriesOutIndexChanges) {
    TestEngine test;
    Engine& engine = test.engine();
    engine.start_background();
    test.create_database("d");
    const auto container = test.create_container(
        "d", R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})");
    for (int i = 0; i < 150; ++i) put(engine, container, i);
    for (const char* policy :
         {R"({"compositeIndexes":[[{"path":"/pk"},{"path":"/v","order":"descending"}]]})",
          R"({"indexingMode":"none"})", "{}"}) {
        json::Arena arena;
        const std::string body = R"({"id":"c","indexingPolicy":)" + std::string(policy) + "}";
        const auto replaced = rest::by_body::replace_container(test.catalog(), "d", "c",
                                                               json::parse(body, arena).value());
        ASSERT_TRUE(replaced.ok()) << replaced.error().message;
        put(engine, container, 3);
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
        while (!test.catalog().find_container("d", "c")->settings->previous.empty()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::vector<std::string> findings;
        for (const auto& range : container->ranges->ranges)
            EXPECT_TRUE(range.partition->check(*engine.store().view(), findings).ok());
        EXPECT_EQ(findings, std::vector<std::string>()) << policy;
        EXPECT_EQ(test.catalog().index_progress(**replaced), 100);
    }
    engine.stop_background();
    // Nobody is woken any more.
    json::Arena arena;
    EXPECT_TRUE(
        rest::by_body::replace_container(
            test.catalog(), "d", "c",
            json::parse(R"({"id":"c","indexingPolicy":{"indexingMode":"none"}})", arena).value(),
            "")
            .ok());
    EXPECT_EQ(test.catalog().index_progress(*test.catalog().find_container("d", "c")), 0);
}

/// Removals in the background are paid: expired items from what is left over, a key's items little
/// by little afterwards.
TEST(Background, RemovalsArePaid) {
    AccountSettings settings;
    TestEngine test(1'700'000'000, settings);
    Engine& engine = test.engine();
    test.create_database("d");
    const auto container = test.create_container(
        "d",
        R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":10})");
    const auto& range = container->ranges->ranges.front();
    const auto tokens = [&] { return range.budget->pool()->tokens(test.clock().monotonic_us()); };
    put(engine, container, 1);
    put(engine, container, 2);
    const std::string text = R"({"id":"i1","pk":"k1","v":1})";
    const meter::Charge price = meter::remove(text.size(), 2 * 3);  // three pairs

    // By key: at once, and owed.
    test.clock().advance_seconds(2);
    const int64_t full = tokens();
    const std::string epk =
        partition::effective_partition_key(container->settings->key, {json::Value::string("k2")})
            .value();
    ASSERT_TRUE(engine.delete_partition_key(*container, epk).ok());
    EXPECT_EQ(tokens(), full);
    EXPECT_EQ(range.budget->owed().units, price.units);
    range.budget->pay_owed(test.clock().monotonic_us());
    EXPECT_EQ(tokens(), full - price.units);
    EXPECT_EQ(range.budget->owed().units, 0);

    // Expired: while enough is left over.
    test.clock().advance_seconds(20);
    engine.start_background();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (range.partition->bytes() > 0) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    engine.stop_background();
    EXPECT_EQ(tokens(), full - price.units);
}

/// A change of the indexing policy pays for every term that an item gains or loses, from what is
/// left over: clients find something left at any time.
TEST(Background, IndexChangesArePaid) {
    TestEngine test(1'700'000'000, AccountSettings());
    Engine& engine = test.engine();
    test.create_database("d");
    const auto container = test.create_container(
        "d", R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})");
    constexpr int kItems = 300;
    for (int i = 0; i < kItems; ++i) {
        test.clock().advance_seconds(1);
        put(engine, container, i);
    }
    test.clock().advance_seconds(2);
    const auto& range = container->ranges->ranges.front();
    const auto tokens = [&] { return range.budget->pool()->tokens(test.clock().monotonic_us()); };
    // `v` goes from every item: two terms each.
    json::Arena arena;
    ASSERT_TRUE(rest::by_body::replace_container(
                    test.catalog(), "d", "c",
                    json::parse(R"({"id":"c","indexingPolicy":{"includedPaths":[{"path":"/*"}],)"
                                R"("excludedPaths":[{"path":"/v/?"}]}})",
                                arena)
                        .value(),
                    "")
                    .ok());
    const auto changing = [&] {
        return !test.catalog().find_container("d", "c")->settings->previous.empty();
    };
    int64_t used = 0;
    for (int rounds = 0; changing(); ++rounds) {
        ASSERT_LT(rounds, 10'000);
        if (test.catalog().index_changes_must_wait()) test.clock().advance_us(100'000);
        const int64_t before = tokens();
        ASSERT_TRUE(test.catalog().carry_out_index_changes().ok());
        used += before - tokens();
        ASSERT_GT(tokens(), 0);
    }
    EXPECT_EQ(used, kItems * meter::index_change(2).units);
    EXPECT_EQ(meter::ru_text(meter::index_change(2)), "0.38");
    EXPECT_EQ(range.budget->owed().units, 0);
    // Entries that cost nothing in a write cost nothing here either.
    test.clock().advance_seconds(1);
    const int64_t before = tokens();
    index::PathStep missing;
    missing.name = "missing";
    ASSERT_TRUE(test.catalog()
                    .request_sorted_path(*test.catalog().find_container("d", "c"), {missing})
                    .ok());
    ASSERT_TRUE(changing());
    while (changing()) ASSERT_TRUE(test.catalog().carry_out_index_changes().ok());
    EXPECT_EQ(tokens(), before);
}

/// Nothing is removed while clients use everything.
TEST(Background, ExpiredItemsWaitForLeftovers) {
    AccountSettings settings;
    TestEngine test(1'700'000'000, settings);
    Engine& engine = test.engine();
    test.create_database("d");
    const auto container = test.create_container(
        "d",
        R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":10})");
    for (int i = 0; i < 30; ++i) put(engine, container, i);
    const auto& range = container->ranges->ranges.front();
    test.clock().advance_seconds(20);
    const int64_t second = range.budget->pool()->tokens(test.clock().monotonic_us());
    // Three quarters of a second are used up: no leftovers.
    range.budget->settle(test.clock().monotonic_us(), {}, {second * 3 / 4});
    const int64_t before = range.partition->bytes();
    engine.start_background();
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    EXPECT_EQ(range.partition->bytes(), before);
    test.clock().advance_seconds(1);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (range.partition->bytes() > 0) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        test.clock().advance_us(20'000);
    }
    engine.stop_background();
}

}  // namespace
}  // namespace orrery::engine
