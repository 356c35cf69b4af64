// Accounts whose settings change what requests cost and when they are refused: strong consistency,
// serverless, burst capacity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/throughput_test_support.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using testing_support::expect_explained;
using testing_support::explained;
using testing_support::Headers;
using testing_support::Reply;
using testing_support::Throughput;

engine::AccountSettings strong_account() {
    engine::AccountSettings settings;
    settings.consistency = engine::ConsistencyLevel::kStrong;
    settings.charges = meter::ChargeProfile::kClassic;
    settings.metadata_ru = 240;
    settings.control_plane_limits = true;
    return settings;
}
class StrongAccount : public Throughput {
protected:
    StrongAccount() : Throughput(strong_account()) {}
};

TEST_F(StrongAccount, ReadsCostTwiceUnlessTheRequestAsksForLess) {
    ASSERT_EQ(make().status, 201);
    EXPECT_THAT(server_.send("GET", "/").body, HasSubstr(R"("defaultConsistencyLevel":"Strong")"));
    EXPECT_EQ(item("1").header("x-ms-request-charge"), "5.76");  // 5 RU and four terms
    EXPECT_EQ(at("GET", "1").header("x-ms-request-charge"), "2.00");
    EXPECT_EQ(at("GET", "1", {{"x-ms-consistency-level", "BoundedStaleness"}})
                  .header("x-ms-request-charge"),
              "2.00");
    EXPECT_EQ(at("GET", "1", {{"x-ms-consistency-level", "Session"}}).header("x-ms-request-charge"),
              "1.00");
    Headers both = explained();
    expect_explained(at("GET", "1", both), {"readBytes", "strongConsistency"});
    EXPECT_THAT(at("GET", "1", both).header("x-orrery-charge-explanation"),
                HasSubstr(R"("profile":"classic")"));
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c").header("x-ms-request-charge"), "2.00");
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c", {{"x-ms-consistency-level", "Eventual"}})
                  .header("x-ms-request-charge"),
              "1.00");
    EXPECT_EQ(at("GET", "1", {{"x-ms-consistency-level", "Weak"}}).status, 400);
}

TEST_F(StrongAccount, MetadataHasABudgetWhenAskedFor) {
    int admitted = 0;
    Reply last;
    while (admitted < 1000 && (last = server_.send("GET", "/dbs/d")).status == 200) ++admitted;
    EXPECT_EQ(last.status, 429);
    EXPECT_EQ(admitted, 118);  // 240 RU less the create, at 2.00 each
    EXPECT_THAT(last.body, HasSubstr("due to a high rate of metadata requests"));
    EXPECT_EQ(server_.send("GET", "/").status, 200);  // the account document costs nothing
}

TEST_F(StrongAccount, ControlPlaneLimitsWhenAskedFor) {
    ASSERT_EQ(make().status, 201);
    for (int i = 0; i < 25; ++i) {
        server_.clock().advance_seconds(1);
        EXPECT_NE(server_.send("PUT", "/offers/none", {}, "{}").status, 429);
    }
    EXPECT_EQ(server_.send("PUT", "/offers/none", {}, "{}").status, 429);
    server_.clock().advance_seconds(300);
    EXPECT_EQ(server_.send("PUT", "/offers/none", {}, "{}").status, 404);
}

catalog::ThroughputSettings serverless() {
    catalog::ThroughputSettings settings;
    settings.serverless = true;
    return settings;
}
class ServerlessAccount : public Throughput {
protected:
    ServerlessAccount() : Throughput({}, serverless()) {}
};

TEST_F(ServerlessAccount, OffersAreErrors) {
    EXPECT_EQ(make({{"x-ms-offer-throughput", "400"}}).status, 400);
    ASSERT_EQ(make().status, 201);
    EXPECT_EQ(
        server_.send("POST", "/dbs", {{"x-ms-offer-throughput", "400"}}, R"({"id":"s"})").status,
        400);
    EXPECT_EQ(server_.send("GET", "/offers").status, 400);
    EXPECT_EQ(server_.send("GET", "/offers/abcd").status, 400);
    EXPECT_THAT(server_.send("PUT", "/offers/abcd", {}, "{}").body, HasSubstr("serverless"));
    EXPECT_THAT(
        server_.send("GET", "/_orrery/containers/d/c/throughput").body,
        HasSubstr(
            R"({"mode":"serverless","throttled":true,"physicalPartitions":[{"id":"0","throughput":5000)"));
    EXPECT_EQ(create_until_refused(), 875);
}

catalog::ThroughputSettings bursting() {
    catalog::ThroughputSettings settings;
    settings.burst = true;
    return settings;
}
class BurstAccount : public Throughput {
protected:
    BurstAccount() : Throughput({}, bursting()) {}
};

/// What five idle minutes left over is spent at 3,000 RU/s; requests of a bucket have no part in
/// it.
TEST_F(BurstAccount, IdleTimeIsBanked) {
    ASSERT_EQ(make().status, 201);
    EXPECT_EQ(create_until_refused(), 70);  // nothing is banked yet: 400 RU
    server_.clock().advance_seconds(300);
    EXPECT_EQ(create_until_refused(), 525);  // 3,000 RU in one second
    server_.clock().advance_seconds(1);
    EXPECT_GT(create_until_refused(), 500);
    ASSERT_EQ(server_
                  .send("PUT", "/_orrery/containers/d/c/throughput-buckets", {},
                        R"({"throughputBuckets":[{"id":1,"maxThroughputPercentage":100}]})")
                  .status,
              200);
    server_.clock().advance_seconds(300);
    EXPECT_LE(create_until_refused({{"x-ms-cosmos-throughput-bucket", "1"}}), 71);
}

}  // namespace
}  // namespace orrery::rest
