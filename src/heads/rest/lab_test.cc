// The Design Lab over HTTP: what requests did is what it says.
#include <gtest/gtest.h>

#include "base/encoding.h"
#include "heads/rest/rest_test_support.h"
#include "json/parse.h"

namespace orrery::rest {
namespace {

using testing_support::Headers;
using testing_support::Reply;
using testing_support::TestServer;

class LabTest : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
        ASSERT_EQ(server_
                      .send("POST", "/dbs/d/colls", {{"x-ms-offer-throughput", "12000"}},
                            R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
                               "indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/hidden/?"}]}})")
                      .status,
                  201);
    }
    void put(const std::string& pk, const std::string& id, const std::string& more = {},
             bool upsert = false) {
        Headers headers = {{"x-ms-documentdb-partitionkey", "[\"" + pk + "\"]"}};
        if (upsert) headers.emplace_back("x-ms-documentdb-is-upsert", "true");
        const Reply reply =
            server_.send("POST", "/dbs/d/colls/c/docs", headers,
                         R"({"id":")" + id + R"(","pk":")" + pk + "\"" + more + "}");
        ASSERT_TRUE(reply.status == 200 || reply.status == 201) << reply.body;
    }
    Reply query(const std::string& text, const std::string& pk = {}, Headers headers = {}) {
        headers.emplace_back("x-ms-documentdb-isquery", "true");
        headers.emplace_back("content-type", "application/query+json");
        if (!pk.empty()) headers.emplace_back("x-ms-documentdb-partitionkey", "[\"" + pk + "\"]");
        return server_.send("POST", "/dbs/d/colls/c/docs", headers,
                            R"({"query":")" + text + R"("})");
    }
    json::Value page(const std::string& target) { return parsed(server_.send("GET", target)); }
    json::Value parsed(const Reply& reply) {
        EXPECT_EQ(reply.status, 200) << reply.body;
        texts_.push_back(std::make_unique<std::string>(reply.body));
        const auto value = json::parse(*texts_.back(), arena_);
        EXPECT_TRUE(value.ok()) << reply.body;
        return value.ok() ? *value : json::Value();
    }
    json::Value finding(const json::Value& report, int rule) {
        for (const auto& one :
             report.member("containers").elements()[0].member("findings").elements())
            if (one.member("rule").as_int64() == rule) return one;
        return {};
    }
    TestServer server_{1'700'000'040};
    json::Arena arena_;
    std::vector<std::unique_ptr<std::string>> texts_;
};

TEST_F(LabTest, QueriesAreCountedByShape) {
    for (int i = 0; i < 50; ++i) put("k" + std::to_string(i), "1", R"(,"n":)" + std::to_string(i));
    double charged = 0;
    for (int i = 0; i < 30; ++i) {
        const Reply reply = query("SELECT * FROM c WHERE c.n = " + std::to_string(i));
        ASSERT_EQ(reply.status, 200) << reply.body;
        charged += std::stod(std::string(reply.header("x-ms-request-charge")));
    }
    query("select * from c where c.pk = 'k1' order by c.n desc", "k1");
    const json::Value seen = page("/_orrery/containers/d/c/lab/observation");
    const auto queries = seen.member("queries").elements();
    ASSERT_EQ(queries.size(), 2u);
    EXPECT_EQ(queries[0].member("text").as_string(), "SELECT * FROM c WHERE c.n = ?");
    EXPECT_EQ(queries[0].member("runs").as_int64(), 30);
    EXPECT_EQ(queries[0].member("keyedRuns").as_int64(), 0);
    EXPECT_EQ(queries[0].member("rangesMax").as_int64(), 2);
    EXPECT_EQ(queries[0].member("output").as_int64(), 30);
    EXPECT_NEAR(queries[0].member("ru").as_double(), charged, 0.2);
    EXPECT_EQ(queries[0].member("equalityPaths").elements()[0].as_string(), "/n");
    EXPECT_EQ(queries[1].member("keyedRuns").as_int64(), 1);
    EXPECT_EQ(queries[1].member("orderPaths").elements()[0].as_string(), "/n DESC");
    EXPECT_EQ(seen.member("items").as_int64(), 50);
    EXPECT_EQ(seen.member("storageKeys").member("distinct").as_int64(), 50);
    EXPECT_TRUE(seen.member("storageKeys").member("complete").as_bool());
    EXPECT_NEAR(seen.member("storageKeys").member("gini").as_double(), 0, 0.05);
}

TEST_F(LabTest, AFanOutQueryIsFoundAndAKeyedOneIsNot) {
    for (int i = 0; i < 50; ++i) put("k" + std::to_string(i), "1", R"(,"n":1)");
    for (int i = 0; i < 200; ++i) query("SELECT c.id FROM c WHERE c.pk = 'k1'");
    server_.clock().advance_seconds(3600);
    EXPECT_TRUE(finding(page("/_orrery/containers/d/c/lab/report"), 8).is_undefined());
    for (int i = 0; i < 200; ++i) query("SELECT c.id FROM c WHERE c.n = 1");
    const json::Value found =
        finding(page("/_orrery/containers/d/c/lab/report?observations=true"), 8);
    ASSERT_TRUE(found.is_object());
    // Two partitions each time, 200 times in an hour: one visit of 2.79 RU too many, 730 hours.
    EXPECT_EQ(found.member("saving").member("ruPerMonth").as_int64(), 200 * 730 * 279 / 100);
}

TEST_F(LabTest, ItemsAreSampledWithTheirPaths) {
    std::string list = R"({"t":1})";
    for (int version = 0; version < 8; ++version) {
        put("a", "post",
            R"(,"type":"post","when":"2024-01-02T03:04:05Z","comments":[)" + list + "]",
            version > 0);
        list += R"(,{"t":)" + std::to_string(version) + "}";
        server_.clock().advance_seconds(600);
    }
    const json::Value seen = page("/_orrery/containers/d/c/lab/observation");
    EXPECT_EQ(seen.member("itemUse").member("samples").as_int64(), 8);
    EXPECT_EQ(seen.member("itemUse").member("updates").as_int64(), 7);
    EXPECT_EQ(seen.member("itemUse").member("typeProperty").as_string(), "type");
    EXPECT_GT(seen.member("itemUse").member("growthBytesPerDay").as_double(), 0);
    bool comments = false;
    bool when = false;
    for (const auto& path : seen.member("paths").elements()) {
        if (path.member("path").as_string() == "/comments") {
            comments = true;
            EXPECT_EQ(path.member("array").member("max").as_int64(), 8);
            EXPECT_EQ(path.member("array").member("rises").as_int64(), 7);
            EXPECT_EQ(path.member("array").member("falls").as_int64(), 0);
            EXPECT_EQ(path.member("changes").as_int64(), 7);
        }
        if (path.member("path").as_string() == "/when") {
            when = true;
            EXPECT_TRUE(path.member("timeLike").as_bool());
            EXPECT_EQ(path.member("changes").as_int64(), 0);
        }
    }
    EXPECT_TRUE(comments && when);
    const json::Value relations = page("/_orrery/containers/d/c/lab/relations").member("relations");
    ASSERT_EQ(relations.elements().size(), 1u);
    EXPECT_EQ(relations.elements()[0].member("path").as_string(), "/comments");
}

TEST_F(LabTest, ConflictsOnOneItemAreSeen) {
    put("a", "counter");
    for (int i = 0; i < 150; ++i) {
        const Headers headers = {{"x-ms-documentdb-partitionkey", R"(["a"])"},
                                 {"if-match", i % 3 == 0 ? "\"stale\"" : "*"}};
        const int status =
            server_
                .send("PUT", "/dbs/d/colls/c/docs/counter", headers, R"({"id":"counter","pk":"a"})")
                .status;
        ASSERT_EQ(status, i % 3 == 0 ? 412 : 200);
    }
    const json::Value found = finding(page("/_orrery/containers/d/c/lab/report"), 35);
    ASSERT_TRUE(found.is_object());
    EXPECT_EQ(found.member("evidence").elements()[0].member("value").as_int64(), 150);
    EXPECT_EQ(found.member("evidence").elements()[1].member("value").as_int64(), 50);
}

TEST_F(LabTest, WritesOfOneTraceToSeveralKeys) {
    for (int i = 0; i < 40; ++i)
        for (const std::string key : {"a", "b"}) {
            const std::string trace = std::to_string(10'000'000 + i);
            const Headers headers = {
                {"x-ms-documentdb-partitionkey", "[\"" + key + "\"]"},
                {"traceparent", "00-" + std::string(24, '0') + trace + "-0000000000000001-01"}};
            ASSERT_EQ(server_
                          .send("POST", "/dbs/d/colls/c/docs", headers,
                                R"({"id":")" + std::to_string(i) + R"(","pk":")" + key + "\"}")
                          .status,
                      201);
        }
    const json::Value found = finding(page("/_orrery/containers/d/c/lab/report"), 37);
    ASSERT_TRUE(found.is_object());
    EXPECT_EQ(found.member("evidence").elements()[0].member("value").as_int64(), 40);
    EXPECT_EQ(found.member("evidence").elements()[1].member("value").as_int64(), 40);
}

TEST_F(LabTest, FeedConsumersReportThemselves) {
    EXPECT_EQ(server_
                  .send("POST", "/_orrery/containers/d/c/lab/feed-use", {},
                        R"({"consumer":"m","read":10,"used":11})")
                  .status,
              400);
    EXPECT_EQ(server_.send("POST", "/_orrery/containers/d/c/lab/feed-use", {}, "{}").status, 400);
    EXPECT_EQ(server_
                  .send("POST", "/_orrery/containers/d/c/lab/feed-use", {},
                        R"({"consumer":"m","read":1000,"used":10,"requestCharge":500})")
                  .status,
              200);
    EXPECT_TRUE(finding(page("/_orrery/containers/d/c/lab/report"), 23).is_object());
}

TEST_F(LabTest, ReportsInThreeFormatsAndJudgementsOfUploads) {
    put("a", "1");
    EXPECT_NE(server_.send("GET", "/_orrery/lab/report?format=md").body.find("# Design report"),
              std::string::npos);
    EXPECT_NE(server_.send("GET", "/_orrery/lab/report?format=html").body.find("<!doctype html>"),
              std::string::npos);
    EXPECT_EQ(server_.send("GET", "/_orrery/lab/report?format=pdf").status, 400);
    EXPECT_EQ(
        server_.send("GET", "/_orrery/lab/report?thresholds=" + percent_encode(R"({"nothing":1})"))
            .status,
        400);
    const Reply whole = server_.send("GET", "/_orrery/lab/report?observations=true");
    const json::Value again = parsed(server_.send("POST", "/_orrery/lab/judge", {}, whole.body));
    EXPECT_EQ(again.member("containers").elements()[0].member("container").as_string(), "c");
    EXPECT_EQ(server_.send("POST", "/_orrery/lab/judge", {}, R"({"queries":1})").status, 400);
    EXPECT_EQ(server_.send("GET", "/_orrery/lab/nothing").status, 404);
    EXPECT_EQ(server_.send("POST", "/_orrery/lab/report").status, 405);
    EXPECT_EQ(server_.send("GET", "/_orrery/containers/d/nothing/lab/report").status, 404);
    EXPECT_EQ(server_.raw("GET", "/_orrery/lab/report", {}).status, 401);
}

TEST_F(LabTest, CostsFromTrafficAndFromAForm) {
    EXPECT_FALSE(page("/_orrery/containers/d/c/lab/cost").member("measured").as_bool());
    EXPECT_FALSE(page("/_orrery/containers/d/c/lab/candidates").member("recorded").as_bool());
    for (int i = 0; i < 20; ++i) put("k" + std::to_string(i), "1");
    const json::Value measured = page("/_orrery/containers/d/c/lab/cost").member("costs");
    EXPECT_EQ(measured.member("options").elements().size(), 5u);
    EXPECT_GT(measured.member("input").member("peakRuPerSecond").as_int64(), 100);
    const json::Value form = parsed(
        server_.send("POST", "/_orrery/lab/cost", {},
                     R"({"peakRuPerSecond":1000,"ruPerMonth":20000000,"hourlyPeakPercent":30})"));
    EXPECT_EQ(form.member("cheapest").as_string(), "serverless");
    EXPECT_EQ(server_.send("POST", "/_orrery/lab/cost", {}, R"({"regions":"two"})").status, 400);
}

TEST_F(LabTest, RecordedRequestsAreReplayedUnderOtherKeys) {
    for (int i = 0; i < 60; ++i)
        put("k" + std::to_string(i % 6), "i" + std::to_string(i),
            R"(,"city":"c)" + std::to_string(i % 20) + "\"");
    for (int i = 0; i < 40; ++i)
        query("SELECT * FROM c WHERE c.city = 'c" + std::to_string(i % 20) + "'");
    query("SELECT * FROM c WHERE c.city = 'c1'", "k1");
    const json::Value candidates =
        page("/_orrery/containers/d/c/lab/candidates").member("candidates");
    bool city = false;
    for (const auto& one : candidates.elements())
        city = city || one.member("keyPaths").elements()[0].as_string() == "/city";
    EXPECT_TRUE(city);
    EXPECT_EQ(server_.send("POST", "/_orrery/lab/what-if", {}, "{}").status, 400);
    EXPECT_EQ(server_.send("POST", "/_orrery/lab/what-if", {}, R"({"demo":"nothing"})").status,
              404);
    EXPECT_EQ(server_
                  .send("POST", "/_orrery/lab/what-if", {},
                        R"({"database":"d","container":"c","candidates":[["city"]]})")
                  .status,
              400);
    EXPECT_EQ(server_
                  .send("POST", "/_orrery/lab/what-if", {},
                        R"({"database":"d","container":"c","scale":{"data":-1}})")
                  .status,
              400);
    const Reply started = server_.send(
        "POST", "/_orrery/lab/what-if", {},
        R"({"database":"d","container":"c","candidates":[["/pk"],["/city"]],"scale":{"throughput":20000}})");
    ASSERT_EQ(started.status, 202) << started.body;
    json::Value run;
    do {
        run = page("/_orrery/lab/what-if?id=1");
    } while (run.member("state").as_string() == "running" ||
             run.member("state").as_string() == "waiting");
    ASSERT_EQ(run.member("state").as_string(), "done")
        << server_.send("GET", "/_orrery/lab/what-if?id=1").body;
    const auto outcomes = run.member("outcomes").elements();
    ASSERT_EQ(outcomes.size(), 2u);
    for (const auto& outcome : outcomes) {
        EXPECT_TRUE(outcome.member("ran").as_bool());
        EXPECT_EQ(outcome.member("failed").as_double(), 0) << outcome.member("failure").as_string();
    }
    EXPECT_EQ(outcomes[0].member("logicalPartitions").as_int64(), 6);
    EXPECT_EQ(outcomes[1].member("logicalPartitions").as_int64(), 20);
    // By city, most queries ask one partition; by the present key, all of them.
    EXPECT_GT(outcomes[0].member("rangesPerQuery").as_double(), 1.5);
    EXPECT_EQ(outcomes[1].member("rangesPerQuery").as_double(), 1);
    EXPECT_EQ(server_.send("GET", "/_orrery/lab/what-if?id=77").status, 404);
    EXPECT_EQ(server_.send("DELETE", "/_orrery/lab/what-if?id=1").status, 200);
    EXPECT_EQ(page("/_orrery/lab/demos").elements().size(), 2u);
}

}  // namespace
}  // namespace orrery::rest
