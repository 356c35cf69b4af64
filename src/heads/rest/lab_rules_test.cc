// Design rules from requests: a workload with the flaw is found, the same without it is not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/encoding.h"
#include "heads/rest/rest_test_support.h"
#include "json/parse.h"

namespace orrery::rest {
namespace {

using testing_support::Headers;
using testing_support::Reply;
using testing_support::TestServer;

constexpr int64_t kStart = 1'700'000'040;
constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;

/// A server with one database, and containers as tests make them.
class LabRules : public ::testing::Test {
protected:
    explicit LabRules(const engine::AccountSettings& settings =
                          engine::testing_support::TestEngine::unthrottled())
        : server_(kStart, settings) {
        EXPECT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
    }

    void make(const std::string& id, const std::string& paths, const std::string& throughput,
              const std::string& more = {}) {
        const bool several = paths.find(',') != std::string::npos;
        const Reply made = server_.send(
            "POST", "/dbs/d/colls", {{"x-ms-offer-throughput", throughput}},
            fmt::format(
                R"({{"id":"{}","partitionKey":{{"paths":[{}],"kind":"{}","version":2}}{}}})", id,
                paths, several ? "MultiHash" : "Hash", more));
        ASSERT_EQ(made.status, 201) << made.body;
    }
    static Headers key_header(const std::string& key) {
        return {{"x-ms-documentdb-partitionkey", key}};
    }
    /// `key`: the JSON array of the header. `members`: of the item, its key included.
    /// Returns the charge.
    double write(const std::string& container, const std::string& key, const std::string& id,
                 const std::string& members, bool upsert = false) {
        Headers headers = key_header(key);
        if (upsert) headers.emplace_back("x-ms-documentdb-is-upsert", "true");
        const Reply reply = server_.send("POST", "/dbs/d/colls/" + container + "/docs", headers,
                                         fmt::format(R"({{"id":"{}",{}}})", id, members));
        EXPECT_TRUE(reply.status == 200 || reply.status == 201) << reply.body;
        return std::stod("0" + reply.header("x-ms-request-charge"));
    }
    /// An item whose key is /pk.
    double put(const std::string& container, const std::string& pk, const std::string& id,
               const std::string& more = {}, bool upsert = false) {
        return write(container, fmt::format(R"(["{}"])", pk), id,
                     fmt::format(R"("pk":"{}"{}{})", pk, more.empty() ? "" : ",", more), upsert);
    }
    /// Writes one item again until so much is charged, all within one second.
    void spend(const std::string& container, double ru) {
        const std::string text(60'000, 'x');
        for (double charged = 0; charged < ru;) {
            const double more = put(container, "a", "1", fmt::format(R"("text":"{}")", text), true);
            ASSERT_GT(more, 0);
            charged += more;
        }
    }
    void read(const std::string& container, const std::string& pk, const std::string& id) {
        const Reply reply = server_.send("GET", "/dbs/d/colls/" + container + "/docs/" + id,
                                         key_header(fmt::format(R"(["{}"])", pk)));
        ASSERT_EQ(reply.status, 200) << reply.body;
    }
    Reply query(const std::string& container, const std::string& text, const std::string& pk = {},
                Headers headers = {}) {
        headers.emplace_back("x-ms-documentdb-isquery", "true");
        headers.emplace_back("content-type", "application/query+json");
        headers.emplace_back("x-ms-documentdb-query-enablecrosspartition", "true");
        if (!pk.empty()) headers.emplace_back(key_header(fmt::format(R"(["{}"])", pk))[0]);
        Reply reply = server_.send("POST", "/dbs/d/colls/" + container + "/docs", headers,
                                   fmt::format(R"({{"query":"{}"}})", text));
        EXPECT_EQ(reply.status, 200) << reply.body;
        return reply;
    }
    /// Numbers of the rules that have found anything in the container.
    std::set<int64_t> found(const std::string& container) {
        const Reply reply =
            server_.send("GET", "/_orrery/containers/d/" + container + "/lab/report");
        EXPECT_EQ(reply.status, 200) << reply.body;
        json::Arena arena;
        const auto report = json::parse(reply.body, arena);
        std::set<int64_t> out;
        if (!report.ok()) return out;
        for (const auto& one :
             report->member("containers").elements()[0].member("findings").elements())
            out.insert(one.member("rule").as_int64());
        return out;
    }
    bool finds(const std::string& container, int64_t rule) {
        return found(container).contains(rule);
    }
    /// A GUID, different for each number.
    static std::string guid(int number) {
        const uint64_t mixed = static_cast<uint64_t>(number + 1) * 0x9E3779B97F4A7C15ULL;
        return fmt::format("{:08x}-{:04x}-4{:03x}-9{:03x}-{:012x}", mixed >> 32,
                           mixed >> 16 & 0xFFFF, mixed & 0xFFF, mixed >> 8 & 0xFFF,
                           mixed >> 7 & 0xFFFFFFFFFFFF);
    }

    TestServer server_;
};

/// What an application does that knows its data model. No rule has anything to say.
TEST_F(LabRules, AGoodDesignIsLeftAlone) {
    make(
        "good", R"("/pk")", "400",
        R"(,"defaultTtl":2592000,"indexingPolicy":{"includedPaths":[{"path":"/name/?"}],"excludedPaths":[{"path":"/*"}]})");
    for (int minute = 0; minute < 90; ++minute) {
        for (int i = 0; i < 4; ++i) {
            const int number = minute * 4 + i;
            put("good", fmt::format("tenant{}", number % 60), fmt::format("order{}", number),
                fmt::format(R"("name":"n{}","lines":[1,2,3],"note":"as agreed")", number % 97));
            read("good", fmt::format("tenant{}", number % 60), fmt::format("order{}", number));
        }
        query("good", fmt::format("SELECT c.id, c.name FROM c WHERE c.name = 'n{}'", minute % 97),
              fmt::format("tenant{}", minute % 60));
        server_.clock().advance_seconds(60);
    }
    EXPECT_EQ(found("good"), std::set<int64_t>());
}

TEST_F(LabRules, OneKeyHoldsMostOfTheData) {  // 1 and 6
    for (const std::string name : {"even", "skewed"}) {
        make(name, R"("/pk")", "400");
        for (int i = 0; i < 40; ++i) put(name, fmt::format("t{}", i), "1", R"("text":"few words")");
        for (int i = 0; i < 40; ++i)
            put(name, name == "even" ? fmt::format("t{}", i) : "whale", fmt::format("more{}", i),
                R"("text":"few words")");
    }
    EXPECT_TRUE(finds("skewed", 1));
    EXPECT_TRUE(finds("skewed", 6));
    EXPECT_FALSE(finds("even", 1));
    EXPECT_FALSE(finds("even", 6));
}

TEST_F(LabRules, OnePartitionDoesTheWork) {  // 2 and 3
    for (const std::string name : {"even", "hot"}) {
        make(name, R"("/pk")", "30000");
        for (int i = 0; i < 120; ++i)
            put(name, name == "even" ? fmt::format("key{}", i) : "one", fmt::format("i{}", i));
    }
    EXPECT_TRUE(finds("hot", 2));
    EXPECT_TRUE(finds("hot", 3));
    EXPECT_FALSE(finds("even", 2));
    EXPECT_FALSE(finds("even", 3));
}

TEST_F(LabRules, TheKeyIsADate) {  // 4
    make("days", R"("/pk")", "400");
    make("devices", R"("/pk")", "400");
    for (int i = 0; i < 50; ++i) {
        put("days", i < 2 ? "2024-05-01" : "2024-05-02", fmt::format("i{}", i));
        put("devices", fmt::format("device{}", i % 10), fmt::format("i{}", i));
    }
    EXPECT_TRUE(finds("days", 4));
    EXPECT_FALSE(finds("devices", 4));
}

TEST_F(LabRules, AKeyThatGrowsTowardsItsLimit) {  // 5, 13 and 14
    make("photos", R"("/pk")", "400");
    make("notes", R"("/pk")", "400");
    std::string picture;
    while (picture.size() < 1'600'000) picture += "QWxsIHRoYXQgZ2xpdHRlcnM5Ky8";
    for (int i = 0; i < 8; ++i) {
        put("photos", "album", fmt::format("i{}", i), fmt::format(R"("data":"{}")", picture));
        put("notes", "album", fmt::format("i{}", i), R"("data":"a few words")");
    }
    server_.clock().advance_seconds(kHour);
    for (const int64_t rule : {5, 13, 14}) {
        EXPECT_TRUE(finds("photos", rule)) << rule;
        EXPECT_FALSE(finds("notes", rule)) << rule;
    }
}

TEST_F(LabRules, TheFirstKeyLevelHasFewValues) {  // 7
    make("few", R"("/region","/user")", "12000");
    make("many", R"("/user","/region")", "12000");
    for (int i = 0; i < 60; ++i) {
        const std::string region = fmt::format("r{}", i % 3);
        const std::string user = fmt::format("u{}", i);
        const std::string members = fmt::format(R"("region":"{}","user":"{}")", region, user);
        write("few", fmt::format(R"(["{}","{}"])", region, user), "1", members);
        write("many", fmt::format(R"(["{}","{}"])", user, region), "1", members);
    }
    EXPECT_TRUE(finds("few", 7));
    EXPECT_FALSE(finds("many", 7));
}

TEST_F(LabRules, QueriesThatAreNoQueries) {  // 8, 9 and 21
    make("asked", R"("/pk")", "12000");
    make("read", R"("/pk")", "12000");
    for (const std::string name : {"asked", "read"})
        for (int i = 0; i < 40; ++i)
            put(name, fmt::format("k{}", i), "1", fmt::format(R"("city":"c{}")", i % 7));
    for (int i = 0; i < 200; ++i) {
        query("asked", fmt::format("SELECT * FROM c WHERE c.city = 'c{}'", i % 7));
        query("asked", fmt::format("SELECT * FROM c WHERE c.pk = 'k{0}' AND c.id = '1'", i % 40));
        read("read", fmt::format("k{}", i % 40), "1");
        query("read", fmt::format("SELECT * FROM c WHERE c.city = 'c{}'", i % 7),
              fmt::format("k{}", i % 40));
    }
    for (const int64_t rule : {8, 9, 21}) {
        EXPECT_TRUE(finds("asked", rule)) << rule;
        EXPECT_FALSE(finds("read", rule)) << rule;
    }
}

TEST_F(LabRules, IdsThatMeanNothing) {  // 10
    make("random", R"("/pk")", "400");
    make("telling", R"("/pk")", "400");
    for (int i = 0; i < 30; ++i) {
        const std::string mail = fmt::format(R"("mail":"m{}@example.org")", i);
        put("random", "a", guid(i), mail);
        put("telling", "a", fmt::format("m{}@example.org", i), mail);
    }
    for (int i = 0; i < 30; ++i)
        for (const std::string name : {"random", "telling"})
            query(name, fmt::format("SELECT * FROM c WHERE c.mail = 'm{}@example.org'", i), "a");
    EXPECT_TRUE(finds("random", 10));
    EXPECT_FALSE(finds("telling", 10));
}

TEST_F(LabRules, AnItemThatIsWrittenAgainAndAgain) {  // 11, 12 and 35
    make("bad", R"("/pk")", "400");
    make("good", R"("/pk")", "400");
    const auto replace = [&](const std::string& container, const std::string& id,
                             const std::string& more, const std::string& if_match) {
        Headers headers = key_header(R"(["a"])");
        headers.emplace_back("if-match", if_match);
        return server_
            .send("PUT", "/dbs/d/colls/" + container + "/docs/" + id, headers,
                  fmt::format(R"({{"id":"{}","pk":"a",{}}})", id, more))
            .status;
    };
    for (const std::string name : {"bad", "good"})
        for (const std::string id : {"page", "counter"}) put(name, "a", id);
    std::string comments = R"({"by":"someone","text":"the first of many comments"})";
    const std::string body(10'000, 'x');
    for (int i = 0; i < 30; ++i) {
        put("bad", "a", "post", fmt::format(R"("comments":[{}])", comments), true);
        put("good", "a", fmt::format("comment{}", i), R"("by":"someone","text":"one of many")");
        comments += R"(,{"by":"someone","text":"one more of many comments"})";
        // Views are counted in the page itself, and beside it.
        EXPECT_EQ(replace("bad", "page", fmt::format(R"("views":{},"body":"{}")", i, body), "*"),
                  200);
        EXPECT_EQ(replace("good", "page", fmt::format(R"("views":{})", i), "*"), 200);
    }
    for (int i = 0; i < 120; ++i) {
        const bool late = i % 4 == 0;
        EXPECT_EQ(replace("bad", "counter", R"("n":1)", late ? "\"stale\"" : "*"),
                  late ? 412 : 200);
        EXPECT_EQ(replace("good", "counter", R"("n":1)", "*"), 200);
    }
    for (const int64_t rule : {11, 12, 35}) {
        EXPECT_TRUE(finds("bad", rule)) << rule;
        EXPECT_FALSE(finds("good", rule)) << rule;
    }
}

TEST_F(LabRules, WhatIsIndexedAndWhatIsAskedFor) {  // 15, 16, 17 and 18
    make(
        "bad", R"("/pk")", "400",
        R"(,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/size/?"}]})");
    make(
        "good", R"("/pk")", "400",
        R"(,"indexingPolicy":{"includedPaths":[{"path":"/size/?"},{"path":"/name/?"},{"path":"/kind/?"},{"path":"/place/?"}],"excludedPaths":[{"path":"/*"}],
             "compositeIndexes":[[{"path":"/kind"},{"path":"/place"}]]})");
    std::string wide;
    for (int i = 0; i < 60; ++i) wide += fmt::format(R"(,"p{}":{})", i, i);
    for (int i = 0; i < 300; ++i)
        for (const std::string name : {"bad", "good"})
            put(name, "a", fmt::format("i{}", i),
                fmt::format(R"("size":{},"name":"n{}","kind":"k","place":{}{})", i, i % 3, i,
                            wide));
    for (int i = 0; i < 10; ++i)
        for (const std::string name : {"bad", "good"}) {
            const bool bad = name == "bad";
            query(name, fmt::format("SELECT c.id FROM c WHERE c.size = {}", i));
            query(name,
                  fmt::format("SELECT * FROM c WHERE c.kind = 'k' ORDER BY {}c.place",
                              bad ? "" : "c.kind, "),
                  {}, {{"x-ms-max-item-count", "-1"}});
            query(name, fmt::format("SELECT c.id FROM c WHERE {}",
                                    bad ? "UPPER(c.name) = 'N1'" : "c.name = 'n1'"));
        }
    for (const int64_t rule : {15, 16, 17, 18}) {
        EXPECT_TRUE(finds("bad", rule)) << rule;
        EXPECT_FALSE(finds("good", rule)) << rule;
    }
}

TEST_F(LabRules, RequestsThatFollowOneAnother) {  // 19, 20 and 30
    for (const std::string name : {"orders", "customers", "lines", "notes"}) {
        make(name, R"("/pk")", "400");
        put(name, "a", "1");
    }
    make("alone", R"("/other")", "400");
    write("alone", R"(["a"])", "1", R"("other":"a")");
    for (int i = 0; i < 120; ++i) {
        server_.use_connection(7);
        read("orders", "a", "1");
        read("customers", "a", "1");
        server_.clock().advance_seconds(1);
        read("orders", "a", "1");
        read("lines", "a", "1");
        server_.clock().advance_seconds(1);
        for (int k = 0; k < 4; ++k)
            query("orders", fmt::format("SELECT * FROM c WHERE c.kind = {}", k), "a");
        // The same, each on its own time.
        server_.use_connection(8);
        server_.clock().advance_seconds(1);
        read("alone", "a", "1");
        server_.clock().advance_seconds(1);
        query("alone", "SELECT * FROM c WHERE c.kind = 1", "a");
    }
    for (const int64_t rule : {19, 20, 30}) {
        EXPECT_TRUE(finds("orders", rule)) << rule;
        EXPECT_FALSE(finds("alone", rule)) << rule;
    }
}

TEST_F(LabRules, PagesThatAreTooLargeAndTooSmall) {  // 22 and 24
    make("bad", R"("/pk")", "400");
    make("good", R"("/pk")", "400");
    const std::string text(9'000, 'x');
    for (int i = 0; i < 20; ++i)
        for (const std::string name : {"bad", "good"})
            put(name, "a", fmt::format("i{}", i), fmt::format(R"("text":"{}")", text));
    for (int i = 0; i < 5; ++i) {
        query("bad", "SELECT * FROM c", "a");
        query("good", "SELECT c.id FROM c", "a");
        for (const std::string name : {"bad", "good"}) {
            std::string next;
            do {
                Headers headers = {{"x-ms-max-item-count", name == "bad" ? "2" : "100"}};
                if (!next.empty()) headers.emplace_back("x-ms-continuation", next);
                next = query(name, "SELECT c.id, c.pk FROM c", "a", headers)
                           .header("x-ms-continuation");
            } while (!next.empty());
        }
    }
    for (const int64_t rule : {22, 24}) {
        EXPECT_TRUE(finds("bad", rule)) << rule;
        EXPECT_FALSE(finds("good", rule)) << rule;
    }
}

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
