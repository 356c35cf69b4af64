// Design rules about data and queries, from requests: a workload with the flaw is found, the same
// without it is not.
#include "heads/rest/lab_rules_test_support.h"

namespace orrery::rest {
namespace {

using testing_support::Headers;
using testing_support::kHour;
using testing_support::LabRules;
using testing_support::Reply;

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

/// The same by requests whose path does not name the item.
TEST_F(LabRules, AnItemThatIsUpsertedAgainAndAgain) {  // 12 and 35
    for (const std::string name : {"upserts", "batches"}) make(name, R"("/pk")", "400");
    const std::string body(10'000, 'x');
    for (int i = 0; i < 120; ++i) {
        const std::string page =
            fmt::format(R"({{"id":"page","pk":"a","views":{},"body":"{}"}})", i, body);
        Headers headers = key_header(R"(["a"])");
        headers.emplace_back("x-ms-cosmos-is-batch-request", "true");
        headers.emplace_back("x-ms-cosmos-batch-atomic", "true");
        const Reply batch =
            server_.send("POST", "/dbs/d/colls/batches/docs", headers,
                         R"([{"operationType":"Upsert","resourceBody":)" + page + "}]");
        ASSERT_EQ(batch.status, 200) << batch.body;
        headers = key_header(R"(["a"])");
        headers.emplace_back("x-ms-documentdb-is-upsert", "true");
        const bool late = i > 0 && i % 4 == 0;
        if (late) headers.emplace_back("if-match", "\"stale\"");
        ASSERT_EQ(server_.send("POST", "/dbs/d/colls/upserts/docs", headers, page).status,
                  late    ? 412
                  : i > 0 ? 200
                          : 201);
    }
    EXPECT_TRUE(finds("upserts", 12));
    EXPECT_TRUE(finds("upserts", 35));
    EXPECT_TRUE(finds("batches", 12));
    EXPECT_FALSE(finds("batches", 35));
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

}  // namespace
}  // namespace orrery::rest
