#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "heads/rest/rest_test_support.h"
#include "json/parse.h"
#include "partition/partition_key.h"

namespace orrery::rest {
namespace {

using testing_support::Headers;
using testing_support::Reply;
using testing_support::TestServer;

const std::string kOwn = "/_orrery/containers/d/c/";

class PartitionsTest : public ::testing::Test {
protected:
    void SetUp() override {
        server_.engine().start_background();
        ASSERT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
        ASSERT_EQ(server_
                      .send("POST", "/dbs/d/colls", {},
                            R"({"id":"c","partitionKey":{"paths":["/pk"],"version":2}})")
                      .status,
                  201);
        for (int i = 0; i < 40; ++i) put("p" + std::to_string(i));
    }
    Reply put(const std::string& pk, Headers headers = {}) {
        headers.emplace_back("x-ms-documentdb-partitionkey", "[\"" + pk + "\"]");
        headers.emplace_back("x-ms-documentdb-is-upsert", "true");
        return server_.send("POST", "/dbs/d/colls/c/docs", std::move(headers),
                            R"({"id":"x","pk":")" + pk + R"("})");
    }
    Reply query(Headers headers) {
        headers.emplace_back("x-ms-documentdb-isquery", "true");
        headers.emplace_back("content-type", "application/query+json");
        return server_.send("POST", "/dbs/d/colls/c/docs", std::move(headers),
                            R"({"query":"SELECT VALUE c.pk FROM c"})");
    }
    /// Asks, and waits until it is done.
    void change(const std::string& verb, const std::string& body) {
        const Reply reply = server_.send("POST", kOwn + verb, {}, body);
        ASSERT_EQ(reply.status, 202) << reply.body;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (server_.engine().partitions().busy(
            server_.engine().catalog().find_container("d", "c")->rid)) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }

    TestServer server_;
};

TEST_F(PartitionsTest, OldRangesAreGoneAndSessionsHold) {
    const Reply before = put("p1");
    const std::string token = before.header("x-ms-session-token");
    EXPECT_EQ(token.substr(0, 2), "0:");
    const Reply old_map =
        server_.send("GET", "/dbs/d/colls/c/pkranges", {{"A-IM", "Incremental Feed"}});
    const std::string etag = old_map.header("etag");
    ASSERT_NO_FATAL_FAILURE(change("split", R"({"rangeId":"0","at":"bytes"})"));

    // The map is a new one, and its etag has moved.
    const Reply map = server_.send("GET", "/dbs/d/colls/c/pkranges",
                                   {{"A-IM", "Incremental Feed"}, {"If-None-Match", etag}});
    EXPECT_EQ(map.status, 200);
    EXPECT_EQ(map.header("x-ms-item-count"), "2");
    EXPECT_NE(map.header("etag"), etag);
    EXPECT_NE(map.body.find(R"("id":"1")"), std::string::npos);
    EXPECT_NE(map.body.find(R"("parents":["0"])"), std::string::npos);
    EXPECT_NE(map.body.find(R"("throughputFraction":0.5)"), std::string::npos);
    EXPECT_EQ(server_
                  .send("GET", "/dbs/d/colls/c/pkranges",
                        {{"A-IM", "Incremental Feed"}, {"If-None-Match", map.header("etag")}})
                  .status,
              304);

    // Requests that name the range of before.
    for (const Reply& gone : {query({{"x-ms-documentdb-partitionkeyrangeid", "0"}}),
                              put("p1", {{"x-ms-documentdb-partitionkeyrangeid", "0"}})}) {
        EXPECT_EQ(gone.status, 410);
        EXPECT_EQ(gone.header("x-ms-substatus"), "1002");
    }
    // Those that do not, with the parent's session token.
    for (int i = 0; i < 40; ++i) {
        const std::string pk = "p" + std::to_string(i);
        const Reply read = server_.send(
            "GET", "/dbs/d/colls/c/docs/x",
            {{"x-ms-documentdb-partitionkey", "[\"" + pk + "\"]"}, {"x-ms-session-token", token}});
        ASSERT_EQ(read.status, 200) << read.body;
        const Reply written = put(pk, {{"x-ms-session-token", token}});
        ASSERT_EQ(written.status, 200);
        const std::string range = written.header("x-ms-documentdb-partitionkeyrangeid");
        EXPECT_TRUE(range == "1" || range == "2");
        EXPECT_EQ(written.header("x-ms-session-token").substr(0, 2), range + ":");
    }
    EXPECT_EQ(query({{"x-ms-session-token", token}}).status, 200);
    // A token ahead of the server stays one.
    EXPECT_EQ(server_
                  .send("GET", "/dbs/d/colls/c/docs/x",
                        {{"x-ms-documentdb-partitionkey", R"(["p1"])"},
                         {"x-ms-session-token", "0:-1#100000"}})
                  .status,
              404);

    ASSERT_NO_FATAL_FAILURE(change("merge", R"({"rangeIds":["1","2"]})"));
    const Reply merged = server_.send("GET", "/dbs/d/colls/c/pkranges");
    EXPECT_NE(merged.body.find(R"("id":"3")"), std::string::npos);
    EXPECT_NE(merged.body.find(R"("parents":["0","1","2"])"), std::string::npos);
    const Reply page = server_.send("GET", kOwn + "partitions");
    EXPECT_EQ(page.status, 200);
    EXPECT_NE(page.body.find(R"("items":40)"), std::string::npos) << page.body;
    EXPECT_NE(page.body.find(R"("kind":"merge")"), std::string::npos);
    EXPECT_NE(page.body.find(R"("newRangeIds":["3"])"), std::string::npos);
}

TEST_F(PartitionsTest, WhatIfAndRefusals) {
    const Reply what_if =
        server_.send("POST", kOwn + "split", {}, R"({"rangeId":"0","at":"bytes","whatIf":true})");
    EXPECT_EQ(what_if.status, 200) << what_if.body;
    EXPECT_NE(what_if.body.find(R"("maxExclusive":"FF")"), std::string::npos);
    EXPECT_EQ(server_.engine().catalog().find_container("d", "c")->ranges->ranges.size(), 1U);
    for (const char* body :
         {"", "[]", "{}", R"({"rangeId":0})", R"({"rangeId":"0","at":"here"})",
          R"({"rangeId":"0","epk":"XY"})", R"({"rangeId":"0","epk":""})",
          R"({"rangeId":"0","epk":"10","at":"bytes"})", R"({"rangeId":"0","whatIf":1})",
          R"({"rangeId":"0","typo":1})", R"({"rangeId":"0","epk":"FF"})"})
        EXPECT_EQ(server_.send("POST", kOwn + "split", {}, body).status, 400) << body;
    EXPECT_EQ(server_.send("POST", kOwn + "split", {}, R"({"rangeId":"9"})").status, 410);
    for (const char* body :
         {"{}", R"({"rangeIds":["0"]})", R"({"rangeIds":["0","0"]})", R"({"rangeIds":[0,1]})"})
        EXPECT_EQ(server_.send("POST", kOwn + "merge", {}, body).status, 400) << body;
    EXPECT_EQ(
        server_.send("POST", "/_orrery/containers/d/none/split", {}, R"({"rangeId":"0"})").status,
        404);
    EXPECT_EQ(server_.send("GET", kOwn + "split").status, 405);
    // A read-only key sees, but does not change.
    EXPECT_EQ(server_.send("GET", kOwn + "partitions", {}, {}, 2).status, 200);
    EXPECT_EQ(server_.send("POST", kOwn + "split", {}, R"({"rangeId":"0"})", 2).status, 403);
    ASSERT_NO_FATAL_FAILURE(
        change("split", R"({"rangeId":"0","epk":"10000000000000000000000000000000"})"));
    const Reply map = server_.send("GET", "/dbs/d/colls/c/pkranges");
    EXPECT_NE(map.body.find(R"("maxExclusive":"10000000000000000000000000000000")"),
              std::string::npos);
}

/// A prefix of a hierarchical key reaches the ranges that can hold it and no other, also when a
/// split went through the middle of one first-level value; shown by what each range charges.
TEST_F(PartitionsTest, PrefixQueriesVisitOnlyTheirRanges) {
    ASSERT_EQ(
        server_
            .send(
                "POST", "/dbs/d/colls", {{"x-ms-offer-throughput", "18000"}},
                R"({"id":"h","partitionKey":{"paths":["/t","/u"],"kind":"MultiHash","version":2}})")
            .status,
        201);
    const auto put_user = [&](const std::string& tenant, int user) {
        const std::string name = std::to_string(user);
        return server_
            .send("POST", "/dbs/d/colls/h/docs",
                  {{"x-ms-documentdb-partitionkey", R"([")" + tenant + R"(","u)" + name + R"("])"}},
                  R"({"id":"i","t":")" + tenant + R"(","u":"u)" + name + R"(","s":")" +
                      std::string(200, 'x') + R"("})")
            .status;
    };
    for (int i = 0; i < 60; ++i) ASSERT_EQ(put_user("whale", i), 201);
    ASSERT_EQ(put_user("small", 1), 201);
    struct Seen {
        size_t ranges = 0;
        std::string count;
    };
    const auto ask = [&](const std::string& text, Headers headers = {}) -> Seen {
        headers.emplace_back("x-ms-documentdb-isquery", "true");
        headers.emplace_back("content-type", "application/query+json");
        headers.emplace_back("x-orrery-explain-charge", "true");
        headers.emplace_back("x-ms-max-item-count", "-1");
        const Reply reply = server_.send("POST", "/dbs/d/colls/h/docs", std::move(headers),
                                         R"({"query":")" + text + R"("})");
        EXPECT_EQ(reply.status, 200) << reply.body;
        Seen seen{0, reply.header("x-ms-item-count")};
        const std::string lines = reply.header("x-orrery-charge-explanation");
        for (size_t at = lines.find(R"("term":"compileAndRun")"); at != std::string::npos;
             at = lines.find(R"("term":"compileAndRun")", at + 1))
            ++seen.ranges;
        EXPECT_GT(seen.ranges, 0U) << lines;
        return seen;
    };
    const Headers whale = {{"x-ms-documentdb-partitionkey", R"(["whale"])"}};
    EXPECT_EQ(ask("SELECT * FROM c ORDER BY c.u").ranges, 3U);
    // By header without any WHERE, by filter, and by both.
    for (const Seen& seen : {ask("SELECT * FROM c ORDER BY c.u", whale),
                             ask("SELECT * FROM c WHERE c.t = 'whale' ORDER BY c.u"),
                             ask("SELECT * FROM c WHERE c.t = 'whale' ORDER BY c.u", whale)}) {
        EXPECT_EQ(seen.ranges, 1U);
        EXPECT_EQ(seen.count, "60");
    }
    // The second level alone says nothing about the place.
    EXPECT_EQ(ask("SELECT * FROM c WHERE c.u = 'u1' ORDER BY c.u").ranges, 3U);
    const auto container = server_.engine().catalog().find_container("d", "h");
    const auto& key = container->settings->key;
    json::Arena arena;
    const auto components = partition::parse_partition_key_header(R"(["whale","u1"])", arena);
    const auto epk = partition::effective_partition_key(key, *components);
    const std::string owner = container->ranges->of_epk(*epk).id;
    const Reply split = server_.send("POST", "/_orrery/containers/d/h/split", {},
                                     R"({"rangeId":")" + owner + R"(","at":"bytes"})");
    ASSERT_EQ(split.status, 202) << split.body;
    for (int i = 0; i < 6000 && server_.engine().partitions().busy(container->rid); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(server_.engine().catalog().find_container("d", "h")->ranges->ranges.size(), 4U);
    EXPECT_EQ(ask("SELECT * FROM c ORDER BY c.u").ranges, 4U);
    for (const Seen& seen : {ask("SELECT * FROM c ORDER BY c.u", whale),
                             ask("SELECT * FROM c WHERE c.t = 'whale' ORDER BY c.u")}) {
        EXPECT_EQ(seen.ranges, 2U);  // the tenant is in both halves now
        EXPECT_EQ(seen.count, "60");
    }
    EXPECT_EQ(ask("SELECT * FROM c WHERE c.t = 'small' ORDER BY c.u").ranges, 1U);
    EXPECT_EQ(ask("SELECT * FROM c WHERE c.t = 'whale' AND c.u = 'u7' ORDER BY c.u").ranges, 1U);
}

TEST_F(PartitionsTest, AnOlderMapIsToldWhatChanged) {
    const auto since = [&](const std::string& etag) {
        return server_.send("GET", "/dbs/d/colls/c/pkranges",
                            {{"A-IM", "Incremental Feed"}, {"If-None-Match", etag}});
    };
    const std::string first =
        server_.send("GET", "/dbs/d/colls/c/pkranges", {{"A-IM", "Incremental Feed"}})
            .header("etag");
    ASSERT_NO_FATAL_FAILURE(change("split", R"({"rangeId":"0","at":"bytes"})"));
    const Reply one = since(first);
    EXPECT_EQ(one.header("x-ms-item-count"), "2");
    ASSERT_NO_FATAL_FAILURE(change("split", R"({"rangeId":"1","at":"bytes"})"));
    const Reply two = since(one.header("etag"));
    EXPECT_EQ(two.status, 200);
    EXPECT_EQ(two.header("x-ms-item-count"), "2");
    EXPECT_EQ(two.body.find(R"("id":"2")"), std::string::npos) << "it has not changed";
    EXPECT_NE(two.body.find(R"("id":"3")"), std::string::npos);
    EXPECT_NE(two.body.find(R"("id":"4")"), std::string::npos);
    // From before both: everything that is alive has changed. Without a known etag: everything.
    EXPECT_EQ(since(first).header("x-ms-item-count"), "3");
    for (const std::string unknown : {"\"999\"", "\"x\"", "\"0\"", ""})
        EXPECT_EQ(since(unknown).header("x-ms-item-count"), "3") << unknown;
    EXPECT_EQ(since(two.header("etag")).status, 304);
}

}  // namespace
}  // namespace orrery::rest
