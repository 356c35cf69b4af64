#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "heads/rest/rest_test_support.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using testing_support::Headers;
using testing_support::kDocs;
using testing_support::kKeyA;
using testing_support::OneContainerTest;
using testing_support::Reply;

using Header = std::pair<std::string, std::string>;
const Header kIsQuery{"x-ms-documentdb-isquery", "True"};
const Header kIsPlan{"x-ms-cosmos-is-query-plan-request", "True"};
const std::string kStar = R"({"query":"SELECT * FROM c"})";

class HeaderRulesTest : public OneContainerTest {
protected:
    HeaderRulesTest() { EXPECT_EQ(create_item("i", "a").status, 201); }

    Reply query(Headers headers, const std::string& path = kDocs, const std::string& body = kStar) {
        headers.push_back(kIsQuery);
        return server_.send("POST", path, std::move(headers), body);
    }
    Reply plan(Headers headers, const std::string& path = kDocs) {
        headers.push_back(kIsPlan);
        return query(std::move(headers), path);
    }
    static void expect_refused(const Reply& reply, const std::string& name) {
        EXPECT_EQ(reply.status, 400) << name << reply.body;
        EXPECT_THAT(reply.body, HasSubstr(name));
    }
};

TEST_F(HeaderRulesTest, AMalformedValueIsRefusedWhereverItComes) {
    const Header malformed[] = {
        {"x-orrery-explain", "abc"},
        {"x-ms-documentdb-populatequerymetrics", "abc"},
        {"x-ms-cosmos-populateindexmetrics", "abc"},
        {"x-ms-cosmos-populateindexmetrics-v2", "abc"},
        {"x-ms-documentdb-populatequotainfo", "abc"},
        {"x-ms-documentdb-populatepartitionstatistics", "abc"},
        {"x-ms-documentdb-script-enable-logging", "abc"},
        {"x-ms-documentdb-responsecontinuationtokenlimitinkb", "x"},
        {"x-ms-documentdb-expiry-seconds", "9"},
        {"x-ms-max-item-count", "abc"},
        {"x-ms-max-item-count", "-2"},
        {"x-ms-read-key-type", "bla"},
        {"x-ms-start-epk", "zz"},
        {"x-ms-end-epk", "1"},
        {"x-ms-indexing-directive", "Sometimes"},
        {"x-ms-offer-throughput", "many"},
        {"x-ms-cosmos-offer-autopilot-settings", "many"},
    };
    for (const Header& header : malformed) {
        expect_refused(query({header}), header.first);
        expect_refused(plan({header}), header.first);
        expect_refused(query({header}, "/dbs"), header.first);
        expect_refused(query({header}, "/offers"), header.first);
        for (const std::string& feed : {kDocs, std::string("/dbs"), std::string("/dbs/d/colls"),
                                        std::string("/dbs/d/colls/c/pkranges")})
            expect_refused(server_.send("GET", feed, {header}), header.first);
        expect_refused(server_.send("GET", kDocs + "/i", {kKeyA, header}), header.first);
        expect_refused(server_.send("GET", "/dbs/d/colls/c", {header}), header.first);
        expect_refused(server_.send("DELETE", kDocs + "/i", {kKeyA, header}), header.first);
    }
    expect_refused(server_.send("GET", kDocs + "/i", {kKeyA, {"a-im", "Nonsense"}}), "A-IM");
}

TEST_F(HeaderRulesTest, WhatClientsSendEverywhereStays) {
    const Header harmless[] = {
        {"x-ms-documentdb-populatequerymetrics", "True"},
        {"x-ms-cosmos-populateindexmetrics", "true"},
        {"x-ms-documentdb-populatequotainfo", "false"},
        {"x-ms-documentdb-responsecontinuationtokenlimitinkb", "1"},
        {"x-ms-max-item-count", "-1"},
        {"x-ms-read-key-type", "EffectivePartitionKeyRange"},
        {"x-orrery-explain", "false"},
        {"x-orrery-explain", ""},
    };
    for (const Header& header : harmless) {
        EXPECT_EQ(query({header}).status, 200) << header.first;
        EXPECT_EQ(plan({header}).status, 200) << header.first;
        EXPECT_EQ(query({header}, "/dbs").status, 200) << header.first;
        EXPECT_EQ(server_.send("GET", kDocs, {header}).status, 200) << header.first;
        EXPECT_EQ(server_.send("GET", kDocs + "/i", {kKeyA, header}).status, 200) << header.first;
    }
    const Headers off = {{"x-ms-documentdb-populatequotainfo", "false"}};
    const std::string progress = "x-ms-documentdb-collection-index-transformation-progress";
    EXPECT_EQ(server_.send("GET", "/dbs/d/colls/c", off).header(progress), "");
}

TEST_F(HeaderRulesTest, OnlyQueriesOverItemsAreExplained) {
    const Header explain{"x-orrery-explain", "true"};
    EXPECT_NE(query({explain}).header("x-orrery-explain"), "");
    expect_refused(query({explain}, "/dbs"), explain.first);
    expect_refused(query({explain}, "/dbs/d/colls/c/sprocs"), explain.first);
    expect_refused(plan({explain}), explain.first);
    expect_refused(server_.send("GET", kDocs, {explain}), explain.first);
    expect_refused(server_.send("GET", kDocs + "/i", {kKeyA, explain}), explain.first);
}

/// However many ranges there are, the plan fits into the headers that clients take.
TEST_F(HeaderRulesTest, PlansOverManyRangesStayShort) {
    const std::string definition =
        R"({"id":"wide","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})";
    ASSERT_EQ(
        server_.send("POST", "/dbs/d/colls", {{"x-ms-offer-throughput", "300000"}}, definition)
            .status,
        201);
    const Reply reply = query({{"x-orrery-explain", "true"}}, "/dbs/d/colls/wide/docs",
                              R"({"query":"SELECT VALUE COUNT(1) FROM c WHERE c.a.b.c = 1"})");
    ASSERT_EQ(reply.status, 200) << reply.body;
    const std::string plan = reply.header("x-orrery-explain");
    EXPECT_THAT(plan, HasSubstr("stepsLeftOut"));
    EXPECT_LT(plan.size(), 12U * 1024);
    EXPECT_THAT(query({{"x-orrery-explain", "true"}}).header("x-orrery-explain"),
                ::testing::Not(HasSubstr("stepsLeftOut")));
}

TEST_F(HeaderRulesTest, QueriesHaveNoConditionsAndCreateNothing) {
    const Header misplaced[] = {
        {"A-IM", "Incremental Feed"},
        {"If-Match", "\"x\""},
        {"If-None-Match", "*"},
        {"x-ms-indexing-directive", "Exclude"},
        {"x-ms-offer-throughput", "400"},
        {"x-ms-cosmos-offer-autopilot-settings", R"({"maxThroughput":4000})"}};
    for (const Header& header : misplaced) {
        expect_refused(query({header}), "'" + header.first + "' has no meaning for a query");
        expect_refused(plan({header}), "'" + header.first + "' has no meaning for a query");
        expect_refused(query({header}, "/dbs/d/colls"),
                       "'" + header.first + "' has no meaning for a query");
        EXPECT_EQ(query({{header.first, ""}}).status, 200);
    }
}

TEST_F(HeaderRulesTest, PlansAreOfQueriesOverItemsOfTheContainer) {
    EXPECT_EQ(plan({{"x-ms-documentdb-partitionkeyrangeid", "0"}}).status, 200);
    const Reply gone = plan({{"x-ms-documentdb-partitionkeyrangeid", "99"}});
    EXPECT_EQ(gone.status, 410);
    EXPECT_EQ(gone.header("x-ms-substatus"), "1002");
    for (const std::string path : {"/dbs", "/dbs/d/colls", "/dbs/d/colls/c", "/dbs/d/users",
                                   "/offers", "/dbs/d/colls/c/sprocs", "/dbs/d/colls/c/docs/i"}) {
        expect_refused(plan({}, path), "/dbs/{database}/colls/{container}/docs");
        // As some clients send them: without a word of a query.
        expect_refused(server_.send("POST", path, {kIsPlan}, kStar), kIsPlan.first);
    }
    expect_refused(server_.send("GET", kDocs, {kIsPlan}), kIsPlan.first);
    EXPECT_EQ(server_.send("POST", kDocs, {kIsPlan}, kStar).status, 200);
}

TEST_F(HeaderRulesTest, PagesOfNoSizeAreForQueries) {
    const Header none{"x-ms-max-item-count", "0"};
    EXPECT_EQ(query({none}).status, 200);
    EXPECT_EQ(query({none}, "/dbs").status, 200);
    EXPECT_EQ(server_.send("POST", kDocs, {kIsPlan, none}, kStar).status, 200);
    expect_refused(server_.send("GET", kDocs, {none}), "0 (the default) is for queries only");
    expect_refused(query({{"x-ms-max-item-count", "x"}}), "0 (the default) or a positive integer");
}

TEST_F(HeaderRulesTest, BodiesOfQueriesAreLimited) {
    const auto body = [](size_t bytes) {
        std::string text = R"({"query":"SELECT * FROM c","parameters":[{"name":"@x","value":")";
        const std::string end = R"("}]})";
        text.append(bytes - text.size() - end.size(), 'x');
        return text + end;
    };
    for (const std::string& path : {kDocs, std::string("/dbs/d/colls")}) {
        EXPECT_EQ(query({}, path, body(limits::kRequestBodyBytesMax)).status, 200) << path;
        const Reply larger = query({}, path, body(limits::kRequestBodyBytesMax + 1));
        EXPECT_EQ(larger.status, 413) << path;
        EXPECT_THAT(larger.body, HasSubstr("Request size is too large"));
    }
    EXPECT_EQ(server_.send("POST", kDocs, {kIsPlan}, body(limits::kRequestBodyBytesMax + 1)).status,
              413);
}

TEST_F(HeaderRulesTest, AWholeRangeIsNotTheContainer) {
    const std::string rewritten = R"({"query":"SELECT VALUE [{\"item\": SUM(c.n)}] FROM c"})";
    const Headers epks = {{"x-ms-start-epk", ""},
                          {"x-ms-end-epk", "FF"},
                          {"x-ms-read-key-type", "EffectivePartitionKeyRange"}};
    for (const Headers& scope :
         {epks, Headers{{"x-ms-end-epk", "FF"}}, Headers{{"x-ms-start-epk", ""}},
          Headers{{"x-ms-documentdb-partitionkeyrangeid", "0"}}, Headers{kKeyA}}) {
        const Reply one = query(scope, kDocs, rewritten);
        EXPECT_EQ(one.status, 200) << one.body;
    }
    expect_refused(query({}, kDocs, rewritten), "Compositions of aggregates");
}

}  // namespace
}  // namespace orrery::rest
