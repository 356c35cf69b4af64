#include <gtest/gtest.h>

#include <map>
#include <set>

#include "heads/rest/rest_test_support.h"
#include "json/parse.h"

namespace orrery::rest {
namespace {

using testing_support::Headers;
using testing_support::Reply;
using testing_support::TestServer;

constexpr std::string_view kContainer =
    R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})";
constexpr int64_t kMinuteStart = 1'700'000'040;

class MetricsTest : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
        ASSERT_EQ(server_
                      .send("POST", "/dbs/d/colls", {{"x-ms-offer-throughput", "12000"}},
                            std::string(kContainer))
                      .status,
                  201);
    }
    void put(const std::string& pk, const std::string& id, size_t bytes) {
        const std::string body = R"({"id":")" + id + R"(","pk":")" + pk + R"(","x":")" +
                                 std::string(bytes, 'x') + R"("})";
        ASSERT_EQ(server_
                      .send("POST", "/dbs/d/colls/c/docs",
                            {{"x-ms-documentdb-partitionkey", "[\"" + pk + "\"]"}}, body)
                      .status,
                  201);
    }
    /// A page as JSON; the values live as long as the fixture.
    json::Value page(const std::string& target) {
        const Reply reply = server_.send("GET", target);
        EXPECT_EQ(reply.status, 200) << reply.body;
        texts_.push_back(std::make_unique<std::string>(reply.body));
        const auto parsed = json::parse(*texts_.back(), arena_);
        EXPECT_TRUE(parsed.ok()) << reply.body;
        return parsed.ok() ? *parsed : json::Value();
    }
    TestServer server_{kMinuteStart};
    json::Arena arena_;
    std::vector<std::unique_ptr<std::string>> texts_;
};

TEST_F(MetricsTest, ChargesOfPartitionsAreWhatAnswersSaid) {
    double charged = 0;
    for (int i = 0; i < 20; ++i) put("k" + std::to_string(i), "1", 10);
    const Reply read = server_.send("GET", "/dbs/d/colls/c/docs/1",
                                    {{"x-ms-documentdb-partitionkey", R"(["k3"])"}});
    ASSERT_EQ(read.status, 200);
    const json::Value found = page("/_orrery/containers/d/c/metrics?minutes=2&seconds=5");
    int64_t items = 0;
    int64_t requests = 0;
    for (const json::Value& range : found.member("ranges").elements()) {
        items += range.member("items").as_int64();
        EXPECT_EQ(range.member("provisioned").as_double(), 6000);
        const auto minutes = range.member("minutes").elements();
        ASSERT_EQ(minutes.size(), 2u);
        charged += minutes[1].member("charge").as_double();
        requests += minutes[1].member("requests").as_int64();
        ASSERT_EQ(range.member("seconds").elements().size(), 5u);
        EXPECT_EQ(range.member("seconds").elements()[4].elements()[0].as_double(),
                  minutes[1].member("charge").as_double());
        EXPECT_NEAR(minutes[1].member("normalized").as_double(),
                    minutes[1].member("peak").as_double() / 6000, 0.0001);
    }
    EXPECT_EQ(found.member("ranges").elements().size(), 2u);
    EXPECT_EQ(items, 20);
    EXPECT_EQ(requests, 21);
    // 20 creates with three indexed values, and a read.
    EXPECT_NEAR(charged, 20 * 6.10 + 1.0, 0.2);
}

TEST_F(MetricsTest, TopKeysByChargeAndByStorage) {
    for (int i = 0; i < 30; ++i) put("hot", std::to_string(i), 10);
    put("big", "1", 20'000);
    put("small", "1", 10);
    const json::Value charge = page("/_orrery/containers/d/c/top?by=charge&count=2");
    ASSERT_EQ(charge.member("keys").elements().size(), 2u);
    EXPECT_EQ(charge.member("keys").elements()[0].member("key").as_string(), R"(["hot"])");
    EXPECT_EQ(charge.member("errorMax").as_double(), 0);
    const json::Value storage = page("/_orrery/containers/d/c/top?by=storage");
    EXPECT_TRUE(storage.member("complete").as_bool());
    EXPECT_EQ(storage.member("logicalPartitions").as_int64(), 3);
    ASSERT_EQ(storage.member("keys").elements().size(), 3u);
    EXPECT_EQ(storage.member("keys").elements()[0].member("key").as_string(), R"(["big"])");
    EXPECT_GT(storage.member("keys").elements()[0].member("bytes").as_int64(), 20'000);
    EXPECT_EQ(storage.member("keys").elements()[1].member("items").as_int64(), 30);
}

TEST_F(MetricsTest, BulkIsSeenByRangeAndKey) {
    std::string operations;
    for (int i = 0; i < 40; ++i) {
        // The key in raw UTF-8: in headers it is escaped, and it is one key.
        const std::string pk = i < 20 ? "h\u00e9t" : "k" + std::to_string(i);
        operations += (i == 0 ? "" : ",");
        operations += R"({"operationType":"Create","partitionKey":"[\")" + pk +
                      R"(\"]","resourceBody":{"id":")" + std::to_string(i) + R"(","pk":")" + pk +
                      R"("}})";
    }
    const Reply bulk = server_.send(
        "POST", "/dbs/d/colls/c/docs",
        {{"x-ms-cosmos-is-batch-request", "true"}, {"x-ms-cosmos-batch-continue-on-error", "true"}},
        "[" + operations + "]");
    ASSERT_EQ(bulk.status, 200) << bulk.body;
    ASSERT_EQ(server_
                  .send("GET", "/dbs/d/colls/c/docs/0",
                        {{"x-ms-documentdb-partitionkey", R"(["h\u00e9t"])"}})
                  .status,
              200);
    const json::Value top = page("/_orrery/containers/d/c/top?by=charge&count=30");
    const auto keys = top.member("keys").elements();
    ASSERT_EQ(keys.size(), 21u);
    EXPECT_EQ(keys[0].member("key").as_string(), R"(["h\u00e9t"])");
    EXPECT_NEAR(keys[0].member("charge").as_double(), 20 * 5.71 + 1, 0.3);
    EXPECT_NEAR(keys[1].member("charge").as_double(), 5.71, 0.01);
    // Every range has its part, and no more than the answer said.
    const json::Value found = page("/_orrery/containers/d/c/metrics?minutes=1");
    double charged = 0;
    for (const json::Value& range : found.member("ranges").elements()) {
        const double part = range.member("minutes").elements()[0].member("charge").as_double();
        EXPECT_GT(part, 5.7);
        charged += part;
    }
    EXPECT_NEAR(charged, 40 * 5.714 + 1, 0.3);
}

TEST_F(MetricsTest, AccountPageAndPrometheus) {
    put(R"(a\"b)", "1", 10);
    EXPECT_EQ(
        server_
            .send("GET", "/dbs/d/colls/c/docs/none", {{"x-ms-documentdb-partitionkey", R"(["x"])"}})
            .status,
        404);
    const json::Value account = page("/_orrery/metrics?minutes=5");
    ASSERT_EQ(account.member("containers").elements().size(), 1u);
    EXPECT_EQ(account.member("containers").elements()[0].member("requests").as_int64(), 2);
    const Reply text = server_.raw("GET", "/metrics", {});
    ASSERT_EQ(text.status, 200);
    for (const std::string_view line :
         {R"(orrery_requests_total{database="d",container="c",operation="create",status="201"} 1)",
          R"(orrery_requests_total{database="d",container="c",operation="read",status="404"} 1)",
          R"(orrery_partition_provisioned_rus{database="d",container="c",range="0"} 6000)",
          R"(orrery_request_duration_seconds_count{operation="create"} 1)", "orrery_containers 1",
          "orrery_scripts_stuck 0"})
        EXPECT_NE(text.body.find(line), std::string::npos) << line << "\n" << text.body;
}

/// Everything that the page promises has a line, with the figures of what was done.
TEST_F(MetricsTest, PrometheusHasEveryFamily) {
    for (int i = 0; i < 3; ++i) put("k" + std::to_string(i), "1", 3000);
    const Reply text = server_.raw("GET", "/metrics", {});
    ASSERT_EQ(text.status, 200);
    std::set<std::string> families;
    std::map<std::string, double> sums;
    size_t at = 0;
    while (at < text.body.size()) {
        const size_t end = text.body.find('\n', at);
        const std::string line = text.body.substr(at, end - at);
        at = end + 1;
        if (line.empty() || line[0] == '#') continue;
        const std::string name = line.substr(0, line.find_first_of("{ "));
        families.insert(name);
        sums[name] += std::stod(line.substr(line.rfind(' ') + 1));
        // Every family says what it is; a histogram has lines of three names.
        const std::string family = name.starts_with("orrery_request_duration_seconds")
                                       ? "orrery_request_duration_seconds"
                                       : name;
        EXPECT_NE(text.body.find("# TYPE " + family + " "), std::string::npos) << name;
    }
    for (const char* name :
         {"orrery_requests_total", "orrery_request_units_total",
          "orrery_partition_request_units_total", "orrery_partition_throttled_total",
          "orrery_partition_data_bytes", "orrery_partition_items",
          "orrery_partition_provisioned_rus", "orrery_request_duration_seconds_bucket"})
        EXPECT_TRUE(families.contains(name)) << name << "\n" << text.body;
    EXPECT_GT(sums["orrery_partition_data_bytes"], 9000);
    EXPECT_EQ(sums["orrery_partition_items"], 3);
    // The database and the container cost 104 quanta each, which no partition pays.
    EXPECT_NEAR(sums["orrery_request_units_total"] - sums["orrery_partition_request_units_total"],
                2 * 104.0 / 21, 0.01);
}

TEST_F(MetricsTest, WhoMayLook) {
    EXPECT_EQ(server_.raw("GET", "/_orrery/metrics", {}).status, 401);
    EXPECT_EQ(server_.send("GET", "/_orrery/metrics", {}, {}, 2).status, 200);
    EXPECT_EQ(server_.send("POST", "/_orrery/metrics", {}, {}, 2).status, 403);
    EXPECT_EQ(server_.send("POST", "/_orrery/metrics").status, 405);
    EXPECT_EQ(server_.send("GET", "/_orrery/nothing").status, 404);
    EXPECT_EQ(server_.send("GET", "/_orrery").status, 404);
    EXPECT_EQ(server_.raw_guarded("GET", "/metrics", {}).status, 401);
    EXPECT_EQ(server_.raw_guarded("GET", "/metrics", {{"authorization", "Bearer wrong"}}).status,
              401);
    const std::string key = server_.account().keys()[2].text;
    EXPECT_EQ(server_.raw_guarded("GET", "/metrics", {{"authorization", "Bearer " + key}}).status,
              200);
    EXPECT_EQ(server_.raw("POST", "/metrics", {}).status, 405);
}

TEST_F(MetricsTest, BadQuestions) {
    for (const std::string_view target :
         {"/_orrery/metrics?minutes=0", "/_orrery/metrics?minutes=x",
          "/_orrery/metrics?minutes=99999", "/_orrery/containers/d/c/top?by=colour",
          "/_orrery/containers/d/c/top?count=-1", "/_orrery/containers/d/c/metrics?seconds=1e3"})
        EXPECT_EQ(server_.send("GET", std::string(target)).status, 400) << target;
    EXPECT_EQ(server_.send("GET", "/_orrery/containers/d/none/metrics").status, 404);
    EXPECT_EQ(server_.send("GET", "/_orrery/containers/d").status, 404);
}

}  // namespace
}  // namespace orrery::rest
