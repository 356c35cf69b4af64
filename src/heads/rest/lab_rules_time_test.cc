// Design rules about throughput and time, from requests: a workload with the flaw is found, the
// same without it is not.
#include "heads/rest/lab_rules_test_support.h"

namespace orrery::rest {
namespace {

using testing_support::kDay;
using testing_support::kHour;
using testing_support::LabRules;
using testing_support::Reply;

TEST_F(LabRules, ThroughputOfAWeek) {  // 26 and 28
    make("large", R"("/pk")", "5000");
    make("small", R"("/pk")", "400");
    const Reply made =
        server_.send("POST", "/dbs/d/colls",
                     {{"x-ms-cosmos-offer-autopilot-settings", R"({"maxThroughput":1000})"}},
                     R"({"id":"steady","partitionKey":{"paths":["/pk"],"version":2}})");
    ASSERT_EQ(made.status, 201) << made.body;
    for (int hour = 0; hour < 8 * 24; ++hour) {
        spend("steady", 800);
        put("large", "a", "1", {}, true);
        spend("small", 200);
        server_.clock().advance_seconds(kHour);
    }
    EXPECT_TRUE(finds("large", 26));
    EXPECT_FALSE(finds("small", 26));
    EXPECT_TRUE(finds("steady", 28));
    EXPECT_FALSE(finds("large", 28));
}

TEST_F(LabRules, OneOfThoseThatShareNeedsMostOfIt) {  // 29
    ASSERT_EQ(
        server_.send("POST", "/dbs", {{"x-ms-offer-throughput", "1000"}}, R"({"id":"shared"})")
            .status,
        201);
    for (const std::string name : {"greedy", "modest"})
        ASSERT_EQ(
            server_
                .send("POST", "/dbs/shared/colls", {},
                      fmt::format(R"({{"id":"{}","partitionKey":{{"paths":["/pk"],"version":2}}}})",
                                  name))
                .status,
            201);
    const auto judged = [&](const std::string& name) {
        return server_.send("GET", "/_orrery/containers/shared/" + name + "/lab/report")
                   .body.find("\"rule\":29") != std::string::npos;
    };
    for (int i = 0; i < 150; ++i)
        ASSERT_EQ(server_
                      .send("POST", "/dbs/shared/colls/greedy/docs", key_header(R"(["a"])"),
                            fmt::format(R"({{"id":"{}","pk":"a","n":1}})", i))
                      .status,
                  201);
    EXPECT_TRUE(judged("greedy"));
    EXPECT_FALSE(judged("modest"));
}

TEST_F(LabRules, DataThatNobodyWantsAnyMore) {  // 33 and 34
    make("log", R"("/pk")", "400");
    make("expiring", R"("/pk")", "400", R"(,"defaultTtl":86400)");
    server_.clock().advance_seconds(40 * kDay);
    for (int i = 0; i < 150; ++i)
        for (const std::string name : {"log", "expiring"}) {
            put(name, "a", fmt::format("i{}", i), R"("when":"2024-01-02T03:04:05Z")");
            read(name, "a", fmt::format("i{}", i));
        }
    EXPECT_TRUE(finds("log", 34));
    EXPECT_FALSE(finds("expiring", 34));
    EXPECT_FALSE(finds("log", 33));
    server_.clock().advance_seconds(31 * kDay);
    EXPECT_TRUE(finds("log", 33));
}

TEST_F(LabRules, TheKeyMeansNothingToSomeItems) {  // 36
    make("mixed", R"("/customer")", "400");
    make("alike", R"("/customer")", "400");
    for (int i = 0; i < 10; ++i) {
        const std::string id = fmt::format("i{}", i);
        write("mixed", R"(["c"])", "order" + id, R"("customer":"c","type":"order")");
        write("mixed", R"([{}])", "product" + id, R"("type":"product")");
        write("alike", R"(["c"])", "order" + id, R"("customer":"c","type":"order")");
        write("alike", R"(["c"])", "product" + id, R"("customer":"c","type":"product")");
    }
    EXPECT_TRUE(finds("mixed", 36));
    EXPECT_FALSE(finds("alike", 36));
}

class LabRulesStrong : public LabRules {
protected:
    static engine::AccountSettings strong() {
        auto settings = engine::testing_support::TestEngine::unthrottled();
        settings.consistency = engine::ConsistencyLevel::kStrong;
        return settings;
    }
    LabRulesStrong() : LabRules(strong()) {}
};

TEST_F(LabRulesStrong, StrongReadsInOneRegion) {  // 25
    make("c", R"("/pk")", "400");
    put("c", "a", "1");
    for (int i = 0; i < 20; ++i) read("c", "a", "1");
    EXPECT_TRUE(finds("c", 25));
}

class LabRulesThrottled : public LabRules {
protected:
    LabRulesThrottled() : LabRules(engine::AccountSettings{}) {}
};

TEST_F(LabRulesThrottled, TooLittleThroughput) {  // 27
    make("c", R"("/pk")", "400");
    make("enough", R"("/pk")", "4000");
    for (const std::string name : {"c", "enough"}) {
        put(name, "a", "1");
        int refused = 0;
        for (int i = 0; i < (name == "c" ? 5000 : 500) && refused < 500; ++i)
            refused +=
                server_.send("GET", "/dbs/d/colls/" + name + "/docs/1", key_header(R"(["a"])"))
                            .status == 429
                    ? 1
                    : 0;
        EXPECT_EQ(refused, name == "c" ? 500 : 0);
    }
    EXPECT_TRUE(finds("c", 27));
    EXPECT_FALSE(finds("enough", 27));
    EXPECT_FALSE(finds("enough", 25));
}

/// Offers that change: partitions that have become too many, and too few.
TEST_F(LabRules, ThroughputThatChanges) {  // 31 and 32
    make("wide", R"("/pk")", "12000");
    EXPECT_FALSE(finds("wide", 31));
    const std::string offers = server_.send("GET", "/offers").body;
    const std::string rid = offers.substr(offers.find("\"id\":\"") + 6, 4);
    const auto set = [&](const std::string& ru) {
        const Reply changed =
            server_.send("PUT", "/offers/" + rid, {},
                         R"({"offerVersion":"V2","content":{"offerThroughput":)" + ru + "}}");
        ASSERT_EQ(changed.status, 200) << changed.body;
    };
    set("2000");
    EXPECT_TRUE(finds("wide", 31));
    EXPECT_FALSE(finds("wide", 32));
    // Three partitions from two: one is halved, the other is not.
    set("30000");
    EXPECT_TRUE(finds("wide", 32));
}

}  // namespace
}  // namespace orrery::rest
