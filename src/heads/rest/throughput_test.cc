// 429s, explained charges, offers and their endpoints as clients see them.
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

TEST_F(Throughput, A429SaysWhenToComeBack) {
    ASSERT_EQ(make().status, 201);
    EXPECT_EQ(create_until_refused(), 70);  // 400 RU of 5.71 each
    const Reply refused = item("x");
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.header("x-ms-substatus"), "3200");
    EXPECT_EQ(refused.header("x-ms-retry-after-ms"), "1");
    EXPECT_EQ(refused.header("x-ms-request-charge"), "0.38");
    EXPECT_THAT(refused.body, HasSubstr(R"("code":"TooManyRequests")"));
    EXPECT_THAT(refused.body, HasSubstr("Request rate is large. More Request Units may be needed, "
                                        "so no changes were made."));
    EXPECT_EQ(at("GET", "n1").status, 429);
    EXPECT_EQ(query("SELECT * FROM c").status, 429);
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c/docs").status, 429);
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c").status, 200);  // metadata has its own budget
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c/pkranges").status, 200);
    const Headers batch = {{"x-ms-cosmos-is-batch-request", "true"},
                           {"x-ms-cosmos-batch-atomic", "true"},
                           {"x-ms-documentdb-partitionkey", R"(["a"])"}};
    EXPECT_EQ(
        server_
            .send("POST", "/dbs/d/colls/c/docs", batch, R"([{"operationType":"Read","id":"n1"}])")
            .status,
        429);
    const Headers bulk = {{"x-ms-cosmos-is-batch-request", "true"},
                          {"x-ms-cosmos-batch-continue-on-error", "true"},
                          {"x-ms-documentdb-partitionkeyrangeid", "0"}};
    const Reply answer =
        server_.send("POST", "/dbs/d/colls/c/docs", bulk,
                     R"([{"operationType":"Read","id":"n1","partitionKey":"[\"a\"]"}])");
    EXPECT_EQ(answer.status, 207);
    EXPECT_THAT(answer.body,
                HasSubstr(R"("statusCode":429,"subStatusCode":3200,"requestCharge":0.38,)"
                          R"("retryAfterMilliseconds":1)"));
    server_.clock().advance_seconds(1);
    EXPECT_EQ(item("x").status, 201);
}

TEST_F(Throughput, LowPriorityAndBuckets) {
    ASSERT_EQ(make().status, 201);
    EXPECT_EQ(create_until_refused({{"x-ms-cosmos-priority-level", "Low"}}), 50);
    EXPECT_EQ(item("high", {{"x-ms-cosmos-priority-level", "high"}}).status, 201);
    EXPECT_EQ(item("bad", {{"x-ms-cosmos-priority-level", "Medium"}}).status, 400);
    server_.clock().advance_seconds(2);
    const std::string target = "/_orrery/containers/d/c/throughput-buckets";
    const Reply set = server_.send(
        "PUT", target, {},
        R"({"throughputBuckets":[{"id":1,"maxThroughputPercentage":10},{"id":2,"maxThroughputPercentage":50}]})");
    EXPECT_EQ(set.status, 200);
    EXPECT_THAT(set.body,
                HasSubstr(R"({"id":1,"maxThroughputPercentage":10,"isDefaultBucket":false})"));
    EXPECT_EQ(create_until_refused({{"x-ms-cosmos-throughput-bucket", "1"}}), 7);  // 40 RU
    EXPECT_EQ(item("two", {{"x-ms-cosmos-throughput-bucket", "2"}}).status, 201);
    EXPECT_EQ(item("none").status, 201);
    EXPECT_EQ(item("bad", {{"x-ms-cosmos-throughput-bucket", "6"}}).status, 400);
    for (const char* bad :
         {R"({})", R"({"throughputBuckets":[{"id":6,"maxThroughputPercentage":10}]})",
          R"({"throughputBuckets":[{"id":1,"maxThroughputPercentage":0}]})",
          R"({"throughputBuckets":[{"id":1,"maxThroughputPercentage":101}]})",
          R"({"throughputBuckets":[{"id":1,"maxThroughputPercentage":9,"isDefault":true}]})",
          R"({"throughputBuckets":[{"id":1,"maxThroughputPercentage":9,"isDefaultBucket":1}]})",
          R"({"throughputBuckets":[],"typo":1})"})
        EXPECT_EQ(server_.send("PUT", target, {}, bad).status, 400) << bad;
}

TEST_F(Throughput, EveryChargeExplainsItself) {
    ASSERT_EQ(make({{"x-ms-offer-throughput", "6000"}}).status, 201);
    expect_explained(item("1", explained()), {"writeBytes", "termsAdded"});
    expect_explained(item("1", explained()), {"failure"});
    expect_explained(at("GET", "1", explained()), {"readBytes"});
    expect_explained(at("GET", "none", explained()), {"failure"});
    expect_explained(at("PUT", "1", explained(), R"({"id":"1","pk":"a","n":1})"),
                     {"replacedBytes", "writeBytes", "termsAdded"});
    expect_explained(
        at("PATCH", "1", explained(), R"([{"op":"incr","path":"/n","value":1}])"),
        {"replacedBytes", "writeBytes", "termsRemoved", "termsAdded", "patchOperations"});
    const Reply read = at("GET", "1");
    Headers unchanged = explained();
    unchanged.emplace_back("if-none-match", read.header("etag"));
    expect_explained(at("GET", "1", unchanged), {"notModified"});
    expect_explained(query("SELECT * FROM c WHERE c.pk = 'a' AND c.n = 2", explained()),
                     {"compileAndRun", "firstSeek", "furtherSeeks", "loadedItems", "loadedBytes",
                      "returnedBytes"});
    expect_explained(query("SELECT * FRO", explained()), {"failure"});
    expect_explained(server_.send("GET", "/dbs/d/colls/c/docs", explained()), {"readBytes"});
    expect_explained(server_.send("GET", "/dbs/d/colls/c", explained()), {"metadataRead"});
    expect_explained(server_.send("POST", "/dbs", explained(), R"({"id":"e"})"), {"metadataWrite"});
    Headers batch = explained();
    batch.emplace_back("x-ms-cosmos-is-batch-request", "true");
    batch.emplace_back("x-ms-cosmos-batch-atomic", "true");
    batch.emplace_back("x-ms-documentdb-partitionkey", R"(["a"])");
    expect_explained(
        server_.send("POST", "/dbs/d/colls/c/docs", batch,
                     R"([{"operationType":"Read","id":"1"},{"operationType":"Delete","id":"1"}])"),
        {"readBytes", "deletedBytes", "termsRemoved"});
    // A hundred operations do not fit line by line: they are added up by term.
    std::string many = "[";
    for (int i = 0; i < 100; ++i)
        many += (i > 0 ? "," : "") +
                std::string(R"({"operationType":"Create","resourceBody":{"id":"b)") +
                std::to_string(i) + R"(","pk":"a"}})";
    expect_explained(server_.send("POST", "/dbs/d/colls/c/docs", batch, many + "]"),
                     {"writeBytes", "termsAdded"});
    EXPECT_EQ(item("2").header("x-orrery-charge-explanation"), "");
    EXPECT_EQ(item("3", {{"x-orrery-explain-charge", "maybe"}}).status, 400);
    EXPECT_EQ(item("3", {{"x-orrery-housekeeping", "maybe"}}).status, 400);
}

TEST_F(Throughput, OffersAndPendingScale) {
    ASSERT_EQ(make({{"x-ms-cosmos-offer-autopilot-settings", R"({"maxThroughput":10000})"}}).status,
              201);
    const std::string rid = rid_of(server_.send("GET", "/offers").body);
    const Reply read = server_.send("GET", "/offers/" + rid);
    EXPECT_THAT(read.body, HasSubstr(R"("offerThroughput":1000)"));
    EXPECT_EQ(read.header("x-ms-offer-replace-pending"), "false");
    EXPECT_EQ(read.header("x-ms-cosmos-min-throughput"), "1000");
    EXPECT_EQ(read.header("x-orrery-instant-maximum-throughput"), "10000");
    const auto autoscale = [](int64_t max) {
        return R"({"offerAutopilotSettings":{"maxThroughput":)" + std::to_string(max) + "}}";
    };
    const Reply raised = put_offer(autoscale(20'000));
    EXPECT_EQ(raised.status, 200);
    EXPECT_EQ(raised.header("x-ms-offer-replace-pending"), "true");
    const Reply locked = put_offer(autoscale(30'000));
    EXPECT_EQ(locked.status, 423);
    EXPECT_THAT(locked.body, HasSubstr(R"("code":"Locked")"));
    const Reply lowered = put_offer(autoscale(8'000));  // down is always possible
    EXPECT_EQ(lowered.status, 200);
    EXPECT_EQ(lowered.header("x-ms-offer-replace-pending"), "false");
    EXPECT_EQ(lowered.header("x-ms-cosmos-min-throughput"), "2000");  // a tenth of the highest ever
    EXPECT_EQ(put_offer(autoscale(1'000)).status, 400);
    const Reply manual =
        put_offer("{}", {{"x-ms-cosmos-migrate-offer-to-manual-throughput", "true"}});
    EXPECT_THAT(manual.body, HasSubstr(R"("offerThroughput":8000)"));
    server_.clock().advance_seconds(1);
    const Reply own = server_.send("GET", "/_orrery/containers/d/c/throughput");
    EXPECT_EQ(own.status, 200);
    EXPECT_THAT(own.body,
                HasSubstr(R"("mode":"manual","shared":false,"throttled":true,"throughput":8000)"));
    EXPECT_THAT(own.body, HasSubstr(R"("physicalPartitions":[{"id":"0","throughput":8000)"));
    EXPECT_EQ(server_.send("GET", "/_orrery/containers/d/none/throughput").status, 404);
}

TEST_F(Throughput, RedistributionKeepsFractions) {
    ASSERT_EQ(make({{"x-ms-cosmos-offer-autopilot-settings", R"({"maxThroughput":30000})"}}).status,
              201);
    EXPECT_EQ(put_offer(R"({"offerAutopilotSettings":{"maxThroughput":6000}})").status, 200);
    const std::string target = "/_orrery/containers/d/c/redistribute";
    const auto redistribute = [&](const std::string& body) {
        return server_.send("POST", target, {}, body);
    };
    const Reply done = redistribute(
        R"({"throughputPolicy":"custom","targetPhysicalPartitionThroughputInfo":[{"id":"1","throughput":4000}],)"
        R"("sourcePhysicalPartitionThroughputInfo":[{"id":"0","throughput":1000},{"id":"2","throughput":1000}]})");
    EXPECT_EQ(done.status, 200) << done.body;
    EXPECT_THAT(done.body, HasSubstr(R"({"id":"0","throughput":1000,)"));
    EXPECT_THAT(done.body, HasSubstr(R"({"id":"1","throughput":4000,)"));
    EXPECT_THAT(server_.send("GET", "/dbs/d/colls/c/pkranges").body,
                HasSubstr(R"("throughputFraction":0.6666666666666666)"));
    // Up: the fraction of the new value, but never more than a partition gives.
    EXPECT_EQ(put_offer(R"({"offerAutopilotSettings":{"maxThroughput":24000}})").status, 200);
    const Reply up = server_.send("GET", "/_orrery/containers/d/c/throughput");
    EXPECT_THAT(up.body, HasSubstr(R"({"id":"0","throughput":4000,)"));
    EXPECT_THAT(up.body, HasSubstr(R"({"id":"1","throughput":10000,)"));
    EXPECT_THAT(up.body, HasSubstr(R"("usableThroughput":18000)"));
    EXPECT_EQ(put_offer(R"({"offerAutopilotSettings":{"maxThroughput":3000}})").status, 200);
    EXPECT_THAT(server_.send("GET", "/_orrery/containers/d/c/throughput").body,
                HasSubstr(R"({"id":"1","throughput":2000,)"));
    const Reply equal = redistribute(R"({"throughputPolicy":"equal"})");
    EXPECT_THAT(equal.body, HasSubstr(R"({"id":"1","throughput":1000,)"));
    for (
        const char* bad :
        {R"({})", R"({"targetPhysicalPartitionThroughputInfo":[{"id":"9","throughput":4000}]})",
         R"({"targetPhysicalPartitionThroughputInfo":[{"id":"1","throughput":20001}]})",
         R"({"targetPhysicalPartitionThroughputInfo":[{"id":"1","throughput":1500}]})",
         R"({"throughputPolicy":"fair"})", R"({"throughputPolicy":"equal","typo":1})",
         R"({"throughputPolicy":"equal","targetPhysicalPartitionThroughputInfo":[{"id":"1","throughput":1000}]})",
         R"({"targetPhysicalPartitionThroughputInfo":[{"id":"1","throughput":1000,"max":1}]})"})
        EXPECT_EQ(redistribute(bad).status, 400) << bad;
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(redistribute(R"({"throughputPolicy":"equal"})").status, 200);
    const Reply often = redistribute(R"({"throughputPolicy":"equal"})");
    EXPECT_EQ(often.status, 429);  // five in a minute
    EXPECT_GT(std::stoi(often.header("x-ms-retry-after-ms")), 50'000);
    EXPECT_EQ(server_.send("POST", target, {}, R"({"throughputPolicy":"equal"})", 2).status, 403);
}

TEST_F(Throughput, RedistributionNamesAtMostTwentyPartitions) {
    ASSERT_EQ(make({{"x-ms-offer-throughput", "126000"}}).status, 201);  // 21 partitions
    const auto partitions = [](size_t count) {
        std::string list;
        for (size_t i = 0; i < count; ++i)
            list += (i == 0 ? "" : ",") + std::string(R"({"id":")") + std::to_string(i) +
                    R"(","throughput":6000})";
        return "[" + list + "]";
    };
    const auto redistribute = [&](size_t targets, size_t sources) {
        return server_.send("POST", "/_orrery/containers/d/c/redistribute", {},
                            R"({"targetPhysicalPartitionThroughputInfo":)" + partitions(targets) +
                                R"(,"sourcePhysicalPartitionThroughputInfo":)" +
                                partitions(sources) + "}");
    };
    const Reply targets = redistribute(21, 0);
    EXPECT_EQ(targets.status, 400);
    EXPECT_THAT(targets.body, HasSubstr("20"));
    EXPECT_EQ(redistribute(1, 21).status, 400);
    EXPECT_EQ(redistribute(20, 0).status, 200);
}

/// What a refusal costs, status by status.
TEST_F(Throughput, FailedRequestsCharge) {
    ASSERT_EQ(make({{"x-ms-offer-throughput", "4000"}}).status, 201);
    ASSERT_EQ(item("1").status, 201);
    const auto costs = [](const Reply& reply, int status, std::string_view charge) {
        EXPECT_EQ(reply.status, status) << reply.body;
        EXPECT_EQ(reply.header("x-ms-request-charge"), charge) << status;
    };
    const std::pair<std::string, std::string> key{"x-ms-documentdb-partitionkey", R"(["a"])"};
    const std::string docs = "/dbs/d/colls/c/docs";
    costs(at("GET", "none"), 404, "1.00");
    costs(at("GET", "1", {{"If-None-Match", at("GET", "1").header("etag")}}), 304, "1.00");
    costs(server_.send("POST", docs, {key}, R"({"pk":"a"})"), 400, "1.00");
    costs(server_.send("POST", docs, {key}, R"({"id":"x","pk":"b"})"), 400, "1.00");
    costs(server_.send("POST", docs, {key},
                       R"({"id":"x","pk":"a","s":")" + std::string(2'100'000, 'x') + "\"}"),
          413, "1.00");
    costs(item("1"), 409, "1.24");
    costs(server_.send("PUT", docs + "/1", {key, {"If-Match", "\"no\""}}, R"({"id":"1","pk":"a"})"),
          412, "1.24");
    costs(at("DELETE", "none"), 404, "1.00");
    costs(query("SELECT * FROM c WHERE"), 400, "1.00");
    costs(server_.raw("GET", docs + "/1", {key}), 401, "0.00");
    costs(server_.send("POST", docs, {key}, R"({"id":"2","pk":"a"})", 2), 403, "0.00");
}

TEST_F(Throughput, SharedDatabaseHasOneBudget) {
    EXPECT_EQ(
        server_.send("POST", "/dbs", {{"x-ms-offer-throughput", "400"}}, R"({"id":"s"})").status,
        201);
    for (const char* name : {"one", "two"})
        EXPECT_EQ(
            server_
                .send("POST", "/dbs/s/colls", {},
                      R"({"id":")" + std::string(name) + R"(","partitionKey":{"paths":["/pk"]}})")
                .status,
            201);
    EXPECT_EQ(server_
                  .send("POST", "/dbs/s/colls", {{"x-ms-offer-throughput", "400"}},
                        R"({"id":"own","partitionKey":{"paths":["/pk"]}})")
                  .status,
              201);
    const auto write = [&](const std::string& container) {
        return server_
            .send("POST", "/dbs/s/colls/" + container + "/docs",
                  {{"x-ms-documentdb-partitionkey", R"(["a"])"}},
                  R"({"id":")" + std::to_string(++numbers_) + R"(","pk":"a"})")
            .status;
    };
    int admitted = 0;
    while (admitted < 200 && write(admitted % 2 == 0 ? "one" : "two") == 201) ++admitted;
    EXPECT_EQ(admitted, 70);
    EXPECT_EQ(write("one"), 429);
    EXPECT_EQ(write("two"), 429);
    EXPECT_EQ(write("own"), 201);
    EXPECT_EQ(server_
                  .send("POST", "/_orrery/containers/s/one/redistribute", {},
                        R"({"throughputPolicy":"equal"})")
                  .status,
              400);
    EXPECT_THAT(server_.send("GET", "/_orrery/containers/s/one/throughput").body,
                HasSubstr(R"("shared":true)"));
}

/// A refused query, feed or change feed counts where it was refused.
TEST_F(Throughput, MetricsNameTheRangeThatRefused) {
    ASSERT_EQ(make({{"x-ms-offer-throughput", "12000"}}).status, 201);
    ASSERT_EQ(server_
                  .send("PUT", "/_orrery/containers/d/c/throughput-buckets", {},
                        R"({"throughputBuckets":[{"id":1,"maxThroughputPercentage":1}]})")
                  .status,
              200);
    const Headers bucket = {{"x-ms-cosmos-throughput-bucket", "1"}};
    const int admitted = create_until_refused(bucket);
    ASSERT_GT(admitted, 0);
    Headers feed = bucket;
    feed.emplace_back("x-ms-documentdb-partitionkey", R"(["a"])");
    Headers changes = feed;
    changes.emplace_back("A-IM", "Incremental Feed");
    EXPECT_EQ(query("SELECT * FROM c WHERE c.pk = 'a'", bucket).status, 429);
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c/docs", feed).status, 429);
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c/docs", changes).status, 429);
    const Reply page = server_.send("GET", "/_orrery/containers/d/c/metrics?minutes=1");
    json::Arena arena;
    const auto parsed = json::parse(page.body, arena);
    ASSERT_TRUE(parsed.ok());
    std::vector<int64_t> throttled;
    for (const json::Value& range : parsed->member("ranges").elements())
        throttled.push_back(range.member("minutes").elements()[0].member("throttled").as_int64());
    std::sort(throttled.begin(), throttled.end());
    EXPECT_EQ(throttled, (std::vector<int64_t>{0, 4})) << page.body;
}

}  // namespace
}  // namespace orrery::rest