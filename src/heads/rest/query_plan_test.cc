#include <gtest/gtest.h>

#include "heads/rest/rest_test_support.h"

namespace orrery::rest {
namespace {

using testing_support::Headers;
using testing_support::Reply;
using testing_support::TestServer;

class QueryPlanTest : public ::testing::Test {
protected:
    QueryPlanTest() {
        EXPECT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
        create("c", R"({"paths":["/pk"],"kind":"Hash","version":2})");
    }

    void create(const std::string& id, const std::string& key) {
        const Reply reply =
            server_.send("POST", "/dbs/d/colls", {{"x-ms-offer-throughput", "18000"}},
                         R"({"id":")" + id + R"(","partitionKey":)" + key + "}");
        ASSERT_EQ(reply.status, 201) << reply.body;
    }

    Reply plan(const std::string& query, Headers more = {}, const std::string& container = "c") {
        more.emplace_back("x-ms-cosmos-is-query-plan-request", "True");
        more.emplace_back("content-type", "application/query+json");
        return server_.send("POST", "/dbs/d/colls/" + container + "/docs", std::move(more),
                            R"({"query":")" + query + R"("})");
    }

    TestServer server_;
};

TEST_F(QueryPlanTest, EveryMemberIsThere) {
    const Reply reply = plan("SELECT * FROM c");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("x-ms-request-charge"), "0.00");
    EXPECT_EQ(
        reply.body,
        R"({"partitionedQueryExecutionInfoVersion":2,"queryInfo":{"distinctType":"None","top":null,"offset":null,)"
        R"("limit":null,"orderBy":[],"orderByExpressions":[],"groupByExpressions":[],"groupByAliases":[],)"
        R"("aggregates":[],"groupByAliasToAggregateType":{},"rewrittenQuery":"","hasSelectValue":false,)"
        R"("hasNonStreamingOrderBy":false,"dCountInfo":null},)"
        R"("queryRanges":[{"min":"","max":"FF","isMinInclusive":true,"isMaxInclusive":false}],)"
        R"("hybridSearchQueryInfo":null})");
}

TEST_F(QueryPlanTest, MembersInTheirProtocolForm) {
    const std::string ordered =
        plan("SELECT DISTINCT TOP 3 VALUE c.a FROM c ORDER BY c.a DESC OFFSET 1 LIMIT 2").body;
    EXPECT_NE(
        ordered.find(
            R"("distinctType":"Ordered","top":3,"offset":1,"limit":2,"orderBy":["Descending"],)"
            R"("orderByExpressions":["c.a"])"),
        std::string::npos)
        << ordered;
    EXPECT_NE(ordered.find(R"("hasSelectValue":true)"), std::string::npos);
    EXPECT_NE(
        ordered.find(
            R"(\nWHERE (({documentdb-formattableorderbyquery-filter}) AND IS_DEFINED(c.a))\n)"),
        std::string::npos);
    const std::string grouped = plan("SELECT c.k, AVG(c.a) FROM c GROUP BY c.k").body;
    EXPECT_NE(
        grouped.find(R"("groupByExpressions":["c.k"],"groupByAliases":["k","$1"],"aggregates":[],)"
                     R"("groupByAliasToAggregateType":{"k":null,"$1":"Average"})"),
        std::string::npos)
        << grouped;
    EXPECT_NE(plan("SELECT VALUE MAX(c.a) FROM c").body.find(R"("aggregates":["Max"])"),
              std::string::npos);
    EXPECT_NE(plan("SELECT COUNT(1) AS n FROM (SELECT DISTINCT c.a FROM c)")
                  .body.find(R"("dCountInfo":{"dCountAlias":"n"})"),
              std::string::npos);
}

TEST_F(QueryPlanTest, RangesAreHex) {
    const auto ranges = [](const Reply& reply) {
        const size_t at = reply.body.find("\"queryRanges\"");
        return at == std::string::npos ? reply.body : reply.body.substr(at);
    };
    // V2 of "a", as every SDK computes it.
    const std::string point = ranges(plan("SELECT * FROM c WHERE c.pk = 'a'"));
    const size_t min = point.find("\"min\":\"") + 7;
    const std::string epk = point.substr(min, 32);
    EXPECT_EQ(epk.find_first_not_of("0123456789ABCDEF"), std::string::npos) << point;
    EXPECT_NE(point.find(R"("max":")" + epk + R"(","isMinInclusive":true,"isMaxInclusive":true}])"),
              std::string::npos)
        << point;
    EXPECT_NE(ranges(plan("SELECT * FROM c WHERE c.pk = 'a' AND c.pk = 'b'"))
                  .find(R"([{"min":"","max":"","isMinInclusive":true,"isMaxInclusive":true}])"),
              std::string::npos);
    create("h", R"({"paths":["/pk","/b"],"kind":"MultiHash","version":2})");
    EXPECT_NE(ranges(plan("SELECT * FROM c WHERE c.pk = 'a'", {}, "h"))
                  .find(R"([{"min":")" + epk + R"(","max":")" + epk +
                        R"(FF","isMinInclusive":true,"isMaxInclusive":false}])"),
              std::string::npos);
}

TEST_F(QueryPlanTest, MissingFeaturesAreNamed) {
    const std::string query = "SELECT TOP 1 * FROM c ORDER BY c.a";
    EXPECT_EQ(plan(query, {{"x-ms-cosmos-supported-query-features", "OrderBy, Top"}}).status, 200);
    const Reply reply = plan(query, {{"x-ms-cosmos-supported-query-features", "Aggregate"}});
    EXPECT_EQ(reply.status, 400);
    EXPECT_NE(reply.body.find("which the calling client does not support: OrderBy, Top"),
              std::string::npos)
        << reply.body;
    EXPECT_EQ(plan(query, {{"x-ms-cosmos-supported-query-features", ""}}).status, 400);
}

TEST_F(QueryPlanTest, MistakesAreReportedAsForQueries) {
    const Reply syntax = plan("SELECT * FROM c WHERE");
    EXPECT_EQ(syntax.status, 400);
    EXPECT_NE(syntax.body.find(
                  R"("message":"Gateway Failed to Retrieve Query Plan: Message: {\"errors\":[)"),
              std::string::npos)
        << syntax.body;
    EXPECT_NE(syntax.body.find("SC1002"), std::string::npos);
    const Reply composed = plan("SELECT VALUE SUM(c.a) / 2 FROM c");
    EXPECT_EQ(composed.status, 400);
    EXPECT_NE(
        composed.body.find(
            R"(Message: {\"Errors\":[\"Compositions of aggregates and other expressions are not allowed.\"]})"),
        std::string::npos)
        << composed.body;
    EXPECT_EQ(plan("SELECT * FROM c WHERE c.a = @missing").status, 400);
    EXPECT_EQ(plan("SELECT * FROM c", {}, "none").status, 404);
}

TEST_F(QueryPlanTest, OneKeyAnswersByItself) {
    const Headers key = {{"x-ms-documentdb-partitionkey", R"(["a"])"}};
    EXPECT_EQ(plan("SELECT VALUE SUM(c.a) / 2 FROM c", key).status, 200);
    EXPECT_EQ(plan("SELECT d FROM (SELECT DISTINCT c.a FROM c) AS d", key).status, 200);
    EXPECT_EQ(plan("SELECT d FROM (SELECT DISTINCT c.a FROM c) AS d").status, 400);
    EXPECT_EQ(plan("SELECT * FROM c", {{"x-ms-documentdb-partitionkey", "[[]]"}}).status, 400);
}

TEST_F(QueryPlanTest, AQueryMayAskForPagesOfNothing) {
    const auto query = [&](const std::string& size) {
        return server_.send("POST", "/dbs/d/colls/c/docs",
                            {{"content-type", "application/query+json"},
                             {"x-ms-documentdb-isquery", "True"},
                             {"x-ms-documentdb-partitionkeyrangeid", "0"},
                             {"x-ms-max-item-count", size}},
                            R"({"query":"SELECT TOP 0 * FROM c"})");
    };
    EXPECT_EQ(query("0").status, 200);
    EXPECT_EQ(query("-2").status, 400);
}

}  // namespace
}  // namespace orrery::rest
