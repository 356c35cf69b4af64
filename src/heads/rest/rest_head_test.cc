// The head from end to end, over an engine in memory: what is refused and what answers
// carry.
#include "heads/rest/rest_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/rest_test_support.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using testing_support::Headers;
using testing_support::kDocs;
using testing_support::kKeyA;
using testing_support::kKeyB;
using testing_support::Reply;

class RestHeadTest : public testing_support::OneContainerTest {};

// Answers ----------------------------------------------------------------------------------------

TEST_F(RestHeadTest, AccountDocumentNamesTheAddressDialled) {
    const Reply account = server_.send("GET", "/");
    EXPECT_EQ(account.status, 200);
    EXPECT_THAT(account.body, HasSubstr(R"("databaseAccountEndpoint":"http://localhost:8081/")"));
    auto headers = server_.signed_headers("GET", "", "", 0, {});
    std::erase_if(headers, [](const auto& header) { return header.first == "host"; });
    EXPECT_EQ(server_.raw("GET", "/", headers).status, 400);
}

TEST_F(RestHeadTest, ItemAnswersCarrySessionAndPath) {
    const Reply made = create_item("i", "a");
    EXPECT_EQ(made.status, 201);
    EXPECT_EQ(made.header("x-ms-alt-content-path"), "dbs/d/colls/c");
    EXPECT_EQ(rid_decode(made.header("x-ms-content-path"))->size(), 8u);
    EXPECT_EQ(made.header("x-ms-session-token"), "0:-1#" + made.header("lsn"));
    EXPECT_EQ(made.header("x-ms-documentdb-partitionkeyrangeid"), "0");
    EXPECT_FALSE(made.header("etag").empty());
    EXPECT_THAT(made.header("x-ms-resource-quota"), HasSubstr("storedProcedures=100;"));
    const Reply second = create_item("j", "a");
    EXPECT_EQ(std::stoi(second.header("lsn")), std::stoi(made.header("lsn")) + 1);
}

TEST_F(RestHeadTest, IndexTransformationProgress) {
    const std::string container = "/dbs/d/colls/c";
    const auto progress = [&] {
        return server_.send("GET", container, {{"x-ms-documentdb-populatequotainfo", "true"}})
            .header("x-ms-documentdb-collection-index-transformation-progress");
    };
    for (int i = 0; i < 5; ++i) EXPECT_EQ(create_item(std::to_string(i), "a").status, 201);
    EXPECT_EQ(progress(), "100");
    const Reply replaced = server_.send(
        "PUT", container, {},
        R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"indexingPolicy":)"
        R"({"compositeIndexes":[[{"path":"/pk"},{"path":"/id","order":"descending"}]]}})");
    EXPECT_EQ(replaced.status, 200) << replaced.body;
    EXPECT_THAT(replaced.body, HasSubstr(R"({"path":"/id","order":"descending"})"));
    EXPECT_EQ(progress(), "0");
    while (server_.engine().catalog().carry_out_index_changes().value()) {
    }
    EXPECT_EQ(progress(), "100");
    EXPECT_EQ(server_.send("GET", container).header("etag"), replaced.header("etag"));
}

TEST_F(RestHeadTest, PartitionStatistics) {
    const std::string container = "/dbs/d/colls/c";
    for (int i = 0; i < 5; ++i) EXPECT_EQ(create_item(std::to_string(i), "a").status, 201);
    EXPECT_EQ(create_item("x", "b").status, 201);
    EXPECT_THAT(server_.send("GET", container).body, Not(HasSubstr("statistics")));
    const Reply read =
        server_.send("GET", container, {{"x-ms-documentdb-populatepartitionstatistics", "true"}});
    EXPECT_EQ(read.status, 200);
    EXPECT_EQ(read.header("x-ms-request-charge"), "1.00");
    EXPECT_THAT(read.body, HasSubstr(R"(,"statistics":[{"id":"0","sizeInKB":1,"documentCount":6,)"
                                     R"("partitionKeys":[{"partitionKey":["a"],"sizeInKB":1},)"
                                     R"({"partitionKey":["b"],"sizeInKB":1}]}]})"));
    // Clients send back what they have read.
    EXPECT_EQ(server_.send("PUT", container, {}, read.body).status, 200);
    EXPECT_EQ(
        server_.send("GET", container, {{"x-ms-documentdb-populatepartitionstatistics", "yes"}})
            .status,
        400);
}

TEST_F(RestHeadTest, ActivityIdIsEchoedWhenItIsHarmless) {
    EXPECT_EQ(
        server_.send("GET", "/dbs", {{"x-ms-activity-id", "0f8fad5b-d9cb-469f-a165-70867728950e"}})
            .header("x-ms-activity-id"),
        "0f8fad5b-d9cb-469f-a165-70867728950e");
    for (const std::string& bad : {std::string("a b"), std::string("\xFF"), std::string(65, 'a')})
        EXPECT_NE(
            server_.send("GET", "/dbs", {{"x-ms-activity-id", bad}}).header("x-ms-activity-id"),
            bad);
}

TEST_F(RestHeadTest, HeadIsGet) {
    create_item("i", "a");
    for (const std::string target :
         {"/", "/dbs/d", "/dbs/d/colls/c", "/dbs/d/colls/c/docs/i", "/dbs/d/users/u"}) {
        const Reply reply = server_.send("HEAD", target, {kKeyA});
        EXPECT_EQ(reply.status, 200) << target << reply.body;
    }
    EXPECT_EQ(server_.send("HEAD", "/dbs/d/colls/c/docs/none", {kKeyA}).status, 404);
}

TEST_F(RestHeadTest, NotModifiedHasNoBodyButTheEtag) {
    const std::string etag = create_item("i", "a").header("etag");
    const Reply same = server_.send("GET", kDocs + "/i", {kKeyA, {"if-none-match", etag}});
    EXPECT_EQ(same.status, 304);
    EXPECT_EQ(same.body, "");
    EXPECT_EQ(same.header("etag"), etag);
    EXPECT_EQ(server_.send("GET", kDocs + "/i", {kKeyA, {"if-none-match", "\"x\""}}).status, 200);
    const std::string container = server_.send("GET", "/dbs/d/colls/c").header("etag");
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c", {{"if-none-match", container}}).status, 304);
}

TEST_F(RestHeadTest, RangesAreAnIncrementalFeed) {
    const Reply all =
        server_.send("GET", "/dbs/d/colls/c/pkranges", {{"a-im", "Incremental Feed"}});
    EXPECT_EQ(all.status, 200);
    const Reply none =
        server_.send("GET", "/dbs/d/colls/c/pkranges",
                     {{"a-im", "incremental feed"}, {"if-none-match", all.header("etag")}});
    EXPECT_EQ(none.status, 304);
    EXPECT_EQ(none.header("etag"), all.header("etag"));
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c/pkranges", {{"a-im", "Other"}}).status, 400);
}

TEST_F(RestHeadTest, MinimalReturn) {
    const Reply made = server_.send("POST", kDocs, {kKeyA, {"prefer", "return=minimal"}},
                                    R"({"id":"i","pk":"a"})");
    EXPECT_EQ(made.status, 201);
    EXPECT_EQ(made.body, "");
    EXPECT_FALSE(made.header("etag").empty());
    EXPECT_NE(server_.send("GET", kDocs + "/i", {kKeyA, {"prefer", "return=minimal"}}).body, "");
}

// Refusals ---------------------------------------------------------------------------------------

TEST_F(RestHeadTest, EveryRefusalHasCodeAndMessage) {
    const std::vector<Reply> replies = {
        server_.raw("GET", "/dbs", {}),
        server_.raw("GET", "/nothing/here", {}),
        server_.raw("GET", "/dbs/%zz", {}),
        server_.send("GET", "/dbs/none"),
        server_.send("GET", "/dbs/none/colls/c"),
        server_.send("GET", kDocs + "/none", {kKeyA}),
        server_.send("GET", kDocs + "/none"),
        server_.send("POST", kDocs, {kKeyA}, "{"),
        server_.send("TRACE", "/dbs"),
        server_.send("POST", "/dbs", {}, R"({"id":"d"})"),
    };
    for (const auto& reply : replies) {
        EXPECT_GE(reply.status, 400);
        EXPECT_THAT(reply.body, HasSubstr("\"code\":\"")) << reply.status;
        EXPECT_THAT(reply.body, HasSubstr("\"message\":\"")) << reply.status;
        EXPECT_FALSE(reply.header("x-ms-activity-id").empty());
        EXPECT_FALSE(reply.header("x-ms-request-charge").empty());
    }
}

TEST_F(RestHeadTest, QuotedHeaderBytesKeepTheBodyUtf8) {
    const Reply reply = server_.send("GET", "/dbs", {{"x-ms-max-item-count", "\xFF\xFE"}});
    EXPECT_EQ(reply.status, 400);
    EXPECT_TRUE(is_valid_utf8(reply.body)) << reply.body;
}

TEST_F(RestHeadTest, NamesDoNotBecomeHeaderLines) {
    const std::string name = "c%0D%0AX-Evil:%201";
    const Reply reply = server_.send("GET", "/dbs/d/colls/" + name);
    EXPECT_EQ(reply.header("x-evil"), "");
    EXPECT_EQ(reply.status, 404);
}

TEST_F(RestHeadTest, AmbiguousRequestsAreRefused) {
    EXPECT_EQ(server_.send("POST", kDocs, {kKeyA, kKeyB}, R"({"id":"i","pk":"a"})").status, 400);
    // A query marked by something that is no boolean must not become an item.
    EXPECT_EQ(server_
                  .send("POST", kDocs, {kKeyA, {"x-ms-documentdb-isquery", "yes"}},
                        R"({"id":"q","pk":"a"})")
                  .status,
              400);
    EXPECT_EQ(server_.send("GET", kDocs + "/q", {kKeyA}).status, 404);
    EXPECT_EQ(server_.send("POST", kDocs, {kKeyA, {"content-encoding", "gzip"}}, "\x1f\x8b").status,
              415);
    EXPECT_EQ(server_.send("POST", "/dbs", {{"x-ms-documentdb-is-upsert", "true"}}, R"({"id":"e"})")
                  .status,
              400);
    EXPECT_EQ(server_.send("GET", "/dbs", {{"x-ms-continuation", "made-up"}}).status, 400);
    EXPECT_EQ(server_.send("GET", kDocs, {{"x-ms-continuation", "made-up"}}).status, 400);
}

TEST_F(RestHeadTest, ConditionsThatWouldBeIgnored) {
    create_item("i", "a");
    const std::pair<std::string, std::string> any{"if-none-match", "*"};
    const std::string body = R"({"id":"i","pk":"a","x":1})";
    EXPECT_EQ(server_.send("POST", kDocs, {kKeyA, any, {"x-ms-documentdb-is-upsert", "true"}}, body)
                  .status,
              400);
    EXPECT_EQ(server_.send("PUT", kDocs + "/i", {kKeyA, any}, body).status, 400);
    EXPECT_EQ(server_.send("DELETE", kDocs + "/i", {kKeyA, any}).status, 400);
    EXPECT_EQ(server_.send("POST", kDocs, {kKeyA, any}, R"({"id":"new","pk":"a"})").status, 201);
    const auto run = [&](const std::string& members) {
        return server_
            .send("POST", kDocs,
                  {kKeyA,
                   {"x-ms-cosmos-is-batch-request", "True"},
                   {"x-ms-cosmos-batch-atomic", "True"}},
                  R"([{"operationType":"Upsert","resourceBody":{"id":"i","pk":"a"},)" + members +
                      "}]")
            .status;
    };
    EXPECT_EQ(run(R"("ifNoneMatch":"*")"), 400);
    EXPECT_EQ(run(R"("timeToLiveInSeconds":5)"), 400);
    EXPECT_EQ(run(R"("preTriggers":["t"])"), 400);
    EXPECT_EQ(run(R"("postTriggers":"t")"), 400);
    EXPECT_EQ(run(R"("ifmatch":"no")"), 400);  // misspelt
    EXPECT_EQ(run(R"("minimalReturnPreference":"yes")"), 400);
    EXPECT_EQ(run(R"("ifMatch":null,"postTriggers":null)"), 200);
    // An atomic batch has one key: an operation may repeat it, not change it.
    EXPECT_EQ(run(R"("partitionKey":"[\"a\"]")"), 200);
    EXPECT_EQ(run(R"("partitionKey":"[\"b\"]")"), 400);
    EXPECT_EQ(run(R"("partitionKey":"a")"), 400);
    EXPECT_EQ(run(R"("indexingDirective":"Sometimes")"), 400);
    EXPECT_EQ(run(R"("indexingDirective":"Exclude")"), 200);
}

TEST_F(RestHeadTest, OffersArePaged) {
    for (const std::string id : {"e", "f", "g"})
        ASSERT_EQ(create_container(id, R"({"paths":["/pk"]})").status, 201);
    Reply page = server_.send("GET", "/offers", {{"x-ms-max-item-count", "3"}});
    EXPECT_EQ(page.header("x-ms-item-count"), "3");
    page = server_.send(
        "GET", "/offers",
        {{"x-ms-max-item-count", "3"}, {"x-ms-continuation", page.header("x-ms-continuation")}});
    EXPECT_EQ(page.header("x-ms-item-count"), "1");
    EXPECT_EQ(page.header("x-ms-continuation"), "");
    EXPECT_EQ(server_.send("GET", "/offers", {{"x-ms-continuation", "made-up"}}).status, 400);
}

TEST_F(RestHeadTest, UnknownAutoscalePolicyIsRefused) {
    const auto make = [&](const std::string& id, const std::string& settings) {
        return create_container(id, R"({"paths":["/pk"]})",
                                {{"x-ms-cosmos-offer-autopilot-settings", settings}})
            .status;
    };
    EXPECT_EQ(
        make(
            "e",
            R"({"maxThroughput":4000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":"5"}}})"),
        400);
    EXPECT_EQ(
        make(
            "f",
            R"({"maxThroughput":4000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":5}}})"),
        201);
    EXPECT_EQ(make("g", "{"), 400);
    EXPECT_EQ(make("h", R"({"maxThroughput":4000,"autoUpgradePolicy":5})"), 400);
    EXPECT_EQ(make("i", R"({"maxThroughput":4000,"maximum":5000})"), 400);
}

TEST_F(RestHeadTest, WhatIsNotOfferedIsRefusedByName) {
    const std::vector<std::pair<Reply, std::string>> refused = {
        {server_.raw("GET", "/addresses/?$resolveFor=x", {}), "Direct (TCP)"},
    };
    for (const auto& [reply, name] : refused) {
        EXPECT_EQ(reply.status, 400) << name;
        EXPECT_THAT(reply.body, HasSubstr(name));
        EXPECT_THAT(reply.body, HasSubstr("refused rather than ignored"));
    }
}

TEST_F(RestHeadTest, EmptyFeeds) {
    EXPECT_THAT(server_.send("GET", "/dbs/d/colls/c/sprocs").body,
                HasSubstr(R"("StoredProcedures":[],"_count":0)"));
    EXPECT_THAT(server_.send("GET", "/dbs/d/colls/c/conflicts").body,
                HasSubstr(R"("Conflicts":[],"_count":0)"));
    EXPECT_THAT(server_.send("GET", kDocs + "/i/attachments").body,
                HasSubstr(R"("Attachments":[],"_count":0)"));
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/none/docs/i/attachments").status, 404);
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c/sprocs/s").status, 404);
}

TEST_F(RestHeadTest, ConsistencyAndSession) {
    const Reply made = create_item("i", "a");
    const auto read = [&](const std::string& name, const std::string& value) {
        return server_.send("GET", kDocs + "/i", {kKeyA, {name, value}});
    };
    EXPECT_EQ(read("x-ms-consistency-level", "Strong").status, 400);
    EXPECT_EQ(read("x-ms-consistency-level", "Eventual").status, 200);
    EXPECT_EQ(read("x-ms-consistency-level", "Bogus").status, 400);
    EXPECT_EQ(read("x-ms-session-token", made.header("x-ms-session-token")).status, 200);
    EXPECT_EQ(read("x-ms-session-token", "7:-1#999999").status,
              200);  // of a range that is not asked
    const Reply ahead = read("x-ms-session-token", "0:1#999999#1=5");
    EXPECT_EQ(ahead.status, 404);
    EXPECT_EQ(ahead.header("x-ms-substatus"), "1002");
    EXPECT_EQ(read("x-ms-session-token", "0:-1#").status, 400);
    EXPECT_EQ(read("x-ms-session-token", "nonsense").status, 400);
    // Feeds check it too, for each range they read.
    EXPECT_EQ(server_.send("GET", kDocs, {{"x-ms-session-token", "0:-1#999999"}}).status, 404);
}

TEST_F(RestHeadTest, IntendedContainer) {
    const Reply wrong = server_.send(
        "POST", kDocs, {kKeyA, {"x-ms-cosmos-intended-collection-rid", "AAAAAIAAAAE="}},
        R"({"id":"i","pk":"a"})");
    EXPECT_EQ(wrong.status, 400);
    EXPECT_EQ(wrong.header("x-ms-substatus"), "1024");
}

// Scopes -----------------------------------------------------------------------------------------

TEST_F(RestHeadTest, RangeKeyAndEpkHeadersNarrowEachOther) {
    ASSERT_EQ(create_container("w", R"({"paths":["/pk"],"version":2})",
                               {{"x-ms-offer-throughput", "12000"}})
                  .status,
              201);
    const std::string docs = "/dbs/d/colls/w/docs";
    std::string home;
    for (int i = 0; i < 20; ++i) {
        const std::string pk = "k" + std::to_string(i);
        const Reply made =
            server_.send("POST", docs, {{"x-ms-documentdb-partitionkey", "[\"" + pk + "\"]"}},
                         R"({"id":"i","pk":")" + pk + "\"}");
        ASSERT_EQ(made.status, 201);
        if (i == 0) home = made.header("x-ms-documentdb-partitionkeyrangeid");
    }
    const std::string away = home == "0" ? "1" : "0";
    const auto count = [&](Headers headers) {
        return server_.send("GET", docs, std::move(headers)).header("x-ms-item-count");
    };
    const std::pair<std::string, std::string> key{"x-ms-documentdb-partitionkey", R"(["k0"])"};
    EXPECT_EQ(count({}), "20");
    EXPECT_EQ(std::stoi(count({{"x-ms-documentdb-partitionkeyrangeid", "0"}})) +
                  std::stoi(count({{"x-ms-documentdb-partitionkeyrangeid", "1"}})),
              20);
    EXPECT_EQ(count({key}), "1");
    EXPECT_EQ(count({key, {"x-ms-documentdb-partitionkeyrangeid", home}}), "1");
    const Reply empty =
        server_.send("GET", docs, {key, {"x-ms-documentdb-partitionkeyrangeid", away}});
    EXPECT_EQ(empty.header("x-ms-item-count"), "0");
    EXPECT_EQ(empty.header("x-ms-session-token"), "");
    EXPECT_EQ(count({{"x-ms-start-epk", "00"},
                     {"x-ms-end-epk", "FF"},
                     {"x-ms-read-key-type", "EffectivePartitionKeyRange"}}),
              "20");
    EXPECT_EQ(count({{"x-ms-start-epk", "3FFFFFFF"}, {"x-ms-end-epk", "00"}}), "0");
    EXPECT_EQ(server_.send("GET", docs, {{"x-ms-start-epk", "zz"}}).status, 400);
    const Reply gone = server_.send("GET", docs, {{"x-ms-documentdb-partitionkeyrangeid", "9"}});
    EXPECT_EQ(gone.status, 410);
    EXPECT_EQ(gone.header("x-ms-substatus"), "1002");
    // A point operation sent to the wrong range: the client's map is old.
    EXPECT_EQ(server_.send("GET", docs + "/i", {key, {"x-ms-documentdb-partitionkeyrangeid", home}})
                  .status,
              200);
    EXPECT_EQ(server_.send("GET", docs + "/i", {key, {"x-ms-documentdb-partitionkeyrangeid", away}})
                  .status,
              410);
}

TEST_F(RestHeadTest, BatchesOfReadsAreBounded) {
    for (const std::string id : {"1", "2", "3"})
        ASSERT_EQ(server_
                      .send("POST", kDocs, {kKeyA, {"x-ms-indexing-directive", "Exclude"}},
                            R"({"id":")" + id + R"(","pk":"a","v":")" +
                                std::string(1'900'000, 'x') + "\"}")
                      .status,
                  201);
    const Headers atomic = {
        kKeyA, {"x-ms-cosmos-is-batch-request", "True"}, {"x-ms-cosmos-batch-atomic", "True"}};
    const auto read = [](const std::string& id) {
        return R"({"operationType":"Read","id":")" + id + R"(","partitionKey":"[\"a\"]"})";
    };
    EXPECT_EQ(server_.send("POST", kDocs, atomic, "[" + read("1") + "," + read("2") + "]").status,
              200);
    const Reply whole = server_.send("POST", kDocs, atomic,
                                     "[" + read("1") + "," + read("2") + "," + read("3") + "]");
    EXPECT_EQ(whole.status, 413);
    EXPECT_EQ(whole.header("x-ms-substatus"), "3402");
    // With a write among them the batch fails as a whole, and nothing is written.
    const std::string create =
        R"({"operationType":"Create","partitionKey":"[\"a\"]","resourceBody":{"id":"new","pk":"a"}})";
    const Reply mixed =
        server_.send("POST", kDocs, atomic,
                     "[" + create + "," + read("1") + "," + read("2") + "," + read("3") + "]");
    EXPECT_EQ(mixed.status, 413);
    EXPECT_EQ(mixed.header("x-ms-substatus"), "3402");
    EXPECT_EQ(server_.send("GET", kDocs + "/new", {kKeyA}).status, 404);
    // Three patches return the item three times, unless the client wants none of them.
    const auto patch = [](bool minimal) {
        return std::string(R"({"operationType":"Patch","id":"1","partitionKey":"[\"a\"]",)") +
               R"("resourceBody":{"operations":[{"op":"incr","path":"/n","value":1}]})" +
               (minimal ? R"(,"minimalReturnPreference":true})" : "}");
    };
    EXPECT_EQ(server_
                  .send("POST", kDocs, atomic,
                        "[" + patch(false) + "," + patch(false) + "," + patch(false) + "]")
                  .status,
              413);
    const Reply quiet = server_.send(
        "POST", kDocs, atomic, "[" + patch(true) + "," + patch(true) + "," + patch(false) + "]");
    EXPECT_EQ(quiet.status, 200);
    EXPECT_THAT(quiet.body, HasSubstr(R"("n":3)"));
    const Reply bulk = server_.send(
        "POST", kDocs,
        {{"x-ms-cosmos-is-batch-request", "True"}, {"x-ms-cosmos-batch-continue-on-error", "True"}},
        "[" + read("1") + "," + read("2") + "," + read("3") + "]");
    EXPECT_EQ(bulk.status, 207);
    EXPECT_THAT(bulk.body, HasSubstr(R"("statusCode":413,"subStatusCode":3402)"));
    EXPECT_LT(bulk.body.size(), 5'000'000u);
}

TEST_F(RestHeadTest, QueriesOverUsersSeeMoreThanOnePage) {
    for (int i = 0; i < 120; ++i)
        ASSERT_EQ(
            server_.send("POST", "/dbs/d/users", {}, R"({"id":"user)" + std::to_string(i) + "\"}")
                .status,
            201);
    const Reply found = server_.send(
        "POST", "/dbs/d/users", {{"x-ms-documentdb-isquery", "true"}},
        R"({"query":"SELECT * FROM root r WHERE r.id = 'user119' OR r.id = 'user0'"})");
    EXPECT_EQ(found.status, 200) << found.body;
    EXPECT_EQ(found.header("x-ms-item-count"), "2");
}

// Public paths -----------------------------------------------------------------------------------

TEST_F(RestHeadTest, PublicPathsNeedNoKey) {
    EXPECT_EQ(server_.raw("GET", "/ready", {}).status, 200);
    EXPECT_EQ(server_.raw("GET", "/alive", {}).status, 200);
    EXPECT_EQ(server_.raw("GET", "/_explorer/emulator.pem", {}).body, "PEM");
    EXPECT_EQ(server_.raw("POST", "/ready", {}).status, 405);
    EXPECT_EQ(server_.raw("GET", "/_explorer/../dbs", {}).status, 404);
    const Reply browser = server_.raw("GET", "/", {{"accept", "text/html,*/*"}});
    EXPECT_EQ(browser.status, 302);
    EXPECT_EQ(browser.header("location"), "/_explorer/");
    EXPECT_EQ(server_.raw("GET", "/dbs", {{"accept", "text/html"}}).status, 401);
}

}  // namespace
}  // namespace orrery::rest
