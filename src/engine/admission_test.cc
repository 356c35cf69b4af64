// Budgets at work: who is refused, what refusals change, and what partitions pay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/ended_test_support.h"
#include "engine/engine_test_support.h"

namespace orrery::engine {
namespace {

using partition::OperationKind;
using testing_support::TestEngine;

constexpr std::string_view kContainer =
    R"({"id":"c","partitionKey":{"paths":["/pk"],"version":2}})";

class Throttled : public ::testing::Test {
protected:
    explicit Throttled(const catalog::ThroughputSettings& throughput = {})
        : server_(1'700'000'000, AccountSettings(), throughput) {
        server_.create_database("d");
    }

    void make(const catalog::ThroughputRequest& throughput) {
        container_ = server_.create_container("d", kContainer, false, throughput);
    }
    std::string epk(const std::string& key) const {
        return TestEngine::epk(*container_, '"' + key + '"');
    }
    /// A key in the range with this index.
    std::string key_in(size_t range) const {
        for (int i = 0;; ++i) {
            const std::string key = "k" + std::to_string(i);
            if (&container_->ranges->of_epk(epk(key)) == &container_->ranges->ranges[range])
                return key;
        }
    }
    TransactionAnswer run(const std::string& key, partition::ItemOperation operation,
                          const RequestTerms& terms = {}) {
        return server_.run(container_, '"' + key + '"', {std::move(operation)}, terms);
    }
    TransactionAnswer create(const std::string& key, const std::string& id,
                             const RequestTerms& terms = {}) {
        partition::ItemOperation operation;
        operation.kind = OperationKind::kCreate;
        operation.body = R"({"id":")" + id + R"(","pk":")" + key + "\"}";
        return run(key, std::move(operation), terms);
    }
    TransactionAnswer read(const std::string& key, const std::string& id,
                           const RequestTerms& terms = {}) {
        partition::ItemOperation operation;
        operation.kind = OperationKind::kRead;
        operation.id = id;
        return run(key, std::move(operation), terms);
    }
    /// Creates until refused; how many were admitted.
    int create_until_refused(const std::string& key, const RequestTerms& terms = {}) {
        for (int i = 0;; ++i) {
            const auto answer = create(key, key + "-" + std::to_string(++numbers_), terms);
            if (answer.refused) return i;
            EXPECT_TRUE(answer.result.committed);
            if (i > 100'000) return i;
        }
    }
    const meter::PartitionBudget& budget(size_t range) const {
        return *container_->ranges->ranges[range].budget;
    }
    Result<QueryAnswer> query(const std::string& text) {
        QueryRequest request;
        request.text = text;
        request.over_container = true;
        return server_.engine().query(*container_, request);
    }

    TestEngine server_;
    catalog::ContainerPtr container_;
    int numbers_ = 0;
};

catalog::ThroughputRequest manual(int64_t ru) {
    return {ru, std::nullopt, std::nullopt};
}
catalog::ThroughputRequest autoscale(int64_t ru) {
    return {std::nullopt, ru, std::nullopt};
}

TEST_F(Throttled, RefusesWhenASecondsTokensAreSpent) {
    make(manual(400));
    EXPECT_EQ(create_until_refused("a"), 70);  // 70 · 120 q = 400 RU
    const auto refused = create("a", "late");
    ASSERT_TRUE(refused.refused);
    const Error& error = refused.result.results.front().status.error();
    EXPECT_EQ(error.code, Code::kRateLimited);
    EXPECT_EQ(error.details.retry_after_ms, 1);
    EXPECT_EQ(meter::ru_text(refused.total), "0.38");
    server_.clock().advance_us(1'000);
    EXPECT_FALSE(create("a", "late").refused);  // 0.4 RU are enough to begin
    // 5.714 − 0.4 RU are owed now; 400 RU/s pay them in 13.29 ms.
    EXPECT_EQ(create("a", "later").result.results.front().status.error().details.retry_after_ms,
              14);
    server_.clock().advance_us(13'000);
    EXPECT_TRUE(create("a", "later").refused);  // refusals cost nothing: the time owed is the same
    server_.clock().advance_us(1'000);
    EXPECT_FALSE(create("a", "later").refused);
    EXPECT_TRUE(create("b", "another key of the same partition").refused);
}

TEST_F(Throttled, RefusedWorkChangesNothing) {
    make(manual(400));
    create_until_refused("a");
    const auto lsn = container_->ranges->ranges[0].partition->lsn();
    EXPECT_TRUE(create("a", "x").refused);
    EXPECT_EQ(container_->ranges->ranges[0].partition->lsn(), lsn);
    server_.clock().advance_seconds(1);
    EXPECT_EQ(ended(read("a", "x").result.results.front().status.error()), Ended::kNotFound);
}

TEST_F(Throttled, AHotPartitionLeavesTheOthersAlone) {
    make(autoscale(30'000));
    ASSERT_EQ(container_->ranges->ranges.size(), 3u);
    const std::string hot = key_in(0);
    const int admitted = create_until_refused(hot);
    EXPECT_EQ(admitted, 1750);  // 10,000 RU, usable at once
    for (size_t range = 1; range < 3; ++range) {
        EXPECT_FALSE(create(key_in(range), "calm").refused);
        EXPECT_GT(budget(range).pool()->tokens(server_.clock().monotonic_us()),
                  9'900 * meter::kUnitsPerRu);
    }
    // A query that must look everywhere is refused, one that is limited to a calm key is not.
    EXPECT_EQ(ended(query("SELECT * FROM c").error()), Ended::kThrottled);
    EXPECT_TRUE(query("SELECT * FROM c WHERE c.pk = \"" + key_in(1) + "\"").ok());
    EXPECT_EQ(ended(query("SELECT * FROM c WHERE c.pk = \"" + hot + "\"").error()),
              Ended::kThrottled);
}

TEST_F(Throttled, AutoscaleRisesAndFalls) {
    make(autoscale(30'000));
    const auto offer = server_.catalog().offer_of(container_->rid_text);
    const auto current = [&] { return server_.catalog().offer_state(*offer).current; };
    EXPECT_EQ(current(), 3'000);
    const std::string hot = key_in(0);
    for (int i = 0; i < 5; ++i) {
        create_until_refused(hot);
        server_.clock().advance_seconds(1);
        if (i == 0) {
            EXPECT_EQ(current(), 2'000 + 2 * 1'000);  // one second of five
        }
    }
    EXPECT_EQ(current(), 10'000 + 2 * 1'000);  // each partition scales on its own
    ASSERT_TRUE(server_.catalog().watch_throughput().ok());
    server_.clock().advance_seconds(6);
    EXPECT_EQ(current(), 3'000);
    EXPECT_EQ(server_.catalog().offer_state(*offer).peak_of_hour, 12'000);
    server_.clock().advance_seconds(3600);
    EXPECT_EQ(server_.catalog().offer_state(*offer).peak_of_hour, 3'000);
}

TEST_F(Throttled, LowPriorityIsRefusedFirst) {
    make(manual(400));
    RequestTerms low;
    low.traffic.priority = meter::Priority::kLow;
    EXPECT_EQ(create_until_refused("a", low), 50);  // 280 of 400 RU
    EXPECT_GE(create_until_refused("a"), 20);
}

TEST_F(Throttled, WhatWasReadCostsTwiceUnderStrongConsistency) {
    make(manual(400));
    ASSERT_FALSE(create("a", "1").refused);
    RequestTerms strong;
    strong.strong = true;
    EXPECT_EQ(meter::ru_text(read("a", "1").total), "1.00");
    EXPECT_EQ(meter::ru_text(read("a", "1", strong).total), "2.00");
    EXPECT_EQ(meter::ru_text(read("a", "none", strong).total), "1.00");
    EXPECT_EQ(meter::ru_text(create("a", "2", strong).total), "5.71");
    QueryRequest request;
    request.text = "SELECT * FROM c";
    const auto once = server_.engine().query(*container_, request);
    request.terms = strong;
    const auto twice = server_.engine().query(*container_, request);
    EXPECT_EQ(twice->charge.units, 2 * once->charge.units);
    FeedRequest feed;
    const auto page = server_.engine().read_feed(*container_, feed);
    feed.terms = strong;
    EXPECT_EQ(server_.engine().read_feed(*container_, feed)->charge.units, 2 * page->charge.units);
}

TEST_F(Throttled, PartitionsPayTheirPartOfAQuery) {
    make(autoscale(30'000));
    for (size_t range = 0; range < 3; ++range)
        for (int i = 0; i < 3; ++i) create(key_in(range), std::to_string(i));
    const int64_t now = server_.clock().monotonic_us();
    std::vector<int64_t> before;
    for (size_t i = 0; i < 3; ++i) before.push_back(budget(i).pool()->tokens(now));
    meter::Bill bill;
    QueryRequest request;
    request.text = "SELECT * FROM c WHERE c.id = \"1\"";
    request.bill = &bill;
    const auto answer = server_.engine().query(*container_, request);
    ASSERT_TRUE(answer.ok());
    ASSERT_EQ(answer->range_charges.size(), 3u);
    int64_t sum = 0;
    for (size_t i = 0; i < 3; ++i) {
        const int64_t paid = before[i] - budget(i).pool()->tokens(now);
        EXPECT_EQ(paid, answer->range_charges[i].charge.units);
        EXPECT_GT(paid, 2 * meter::kUnitsPerRu);
        sum += paid;
    }
    EXPECT_EQ(sum, answer->charge.units);
    EXPECT_EQ(bill.total(), answer->charge);
}

TEST_F(Throttled, AFeedEndsItsPageAtAHotPartition) {
    make(autoscale(30'000));
    for (size_t range = 0; range < 3; ++range) create(key_in(range), "1");
    create_until_refused(key_in(1));
    FeedRequest request;
    const auto first = server_.engine().read_feed(*container_, request);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first->items.size(), 1u);
    ASSERT_FALSE(first->continuation.empty());
    request.continuation = first->continuation;
    EXPECT_EQ(ended(server_.engine().read_feed(*container_, request).error()), Ended::kThrottled);
    server_.clock().advance_seconds(1);
    request.items_max = 10'000;
    const auto rest = server_.engine().read_feed(*container_, request);
    ASSERT_TRUE(rest.ok());
    EXPECT_GT(rest->items.size(), 1'000u);
}

class Serverless : public Throttled {
protected:
    Serverless() : Throttled(settings()) {}
    static catalog::ThroughputSettings settings() {
        catalog::ThroughputSettings out;
        out.serverless = true;
        return out;
    }
};

TEST_F(Serverless, FiveThousandPerPartitionAndNoOffers) {
    make({});
    EXPECT_EQ(server_.catalog().list_offers().size(), 0u);
    EXPECT_EQ(budget(0).rate_ru(), 5'000);
    EXPECT_EQ(create_until_refused("a"), 875);
    json::Arena arena;
    const auto body = json::parse(R"({"id":"x","partitionKey":{"paths":["/pk"]}})", arena);
    const auto refused =
        rest::by_body::create_container(server_.catalog(), "d", *body, manual(400));
    EXPECT_EQ(ended(refused.error()), Ended::kBadRequest);
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("serverless"));
    EXPECT_FALSE(server_.catalog().check_offers().ok());
}

TEST(ControlPlaneLimits, CountPerFiveMinutes) {
    ControlPlane limits;
    constexpr int64_t kStart = 1'000'000;
    for (int i = 0; i < 25; ++i) EXPECT_EQ(limits.admit(MetadataKind::kThroughput, kStart), 0);
    EXPECT_EQ(limits.admit(MetadataKind::kThroughput, kStart + 1'000'000), 299'000);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(limits.admit(MetadataKind::kCreate, kStart), 0);
    EXPECT_GT(limits.admit(MetadataKind::kCreate, kStart), 0);
    EXPECT_EQ(limits.admit(MetadataKind::kRead, kStart), 0);
    EXPECT_EQ(limits.admit(MetadataKind::kOther, kStart), 0);
    EXPECT_EQ(limits.admit(MetadataKind::kThroughput, kStart + 300'000'000), 0);
}

}  // namespace
}  // namespace orrery::engine
