#include "cli/account_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"

namespace orrery::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ResourceTest, SignsNamesAndEncodesPaths) {
    const Resource item = item_resource("d b", "ü/c", "a?b");
    EXPECT_EQ(item.link, "dbs/d b/colls/ü/c/docs/a?b");
    EXPECT_EQ(item.path, "/dbs/d%20b/colls/%C3%BC%2Fc/docs/a%3Fb");
    EXPECT_EQ(item.type, "docs");
    const Resource feed = item_feed("d", "c");
    EXPECT_EQ(feed.link, "dbs/d/colls/c");
    EXPECT_EQ(feed.path, "/dbs/d/colls/c/docs");
    EXPECT_EQ(database_feed().link, "");
    EXPECT_EQ(own_resource({"containers", "d", "c", "metrics"}, "minutes=1").path,
              "/_orrery/containers/d/c/metrics?minutes=1");
    EXPECT_EQ(own_resource({"metrics"}).link, "metrics");
}

TEST(ResourceTest, ContainerNamesHaveTwoParts) {
    const auto name = parse_container_name("shop/orders");
    ASSERT_TRUE(name.ok());
    EXPECT_EQ(name->database, "shop");
    EXPECT_EQ(name->container, "orders");
    for (const char* bad : {"", "shop", "/orders", "shop/", "a/b/c"})
        EXPECT_FALSE(parse_container_name(bad).ok()) << bad;
}

TEST(PartitionKeyTest, PathsMayBeQuoted) {
    EXPECT_THAT(parse_key_path("/a/b"), ElementsAre("a", "b"));
    EXPECT_THAT(parse_key_path("/\"a/b\"/c"), ElementsAre("a/b", "c"));
}

std::string header(const ContainerInfo& container, const char* item) {
    json::Arena arena;
    return partition_key_header(container, *json::parse(item, arena));
}

TEST(PartitionKeyTest, HeadersAreAsciiArrays) {
    ContainerInfo container;
    container.key_paths = {{"a", "b"}};
    EXPECT_EQ(header(container, R"({"a":{"b":"x"}})"), R"(["x"])");
    EXPECT_EQ(header(container, R"({"a":{"b":"é😀"}})"), R"(["\u00e9\ud83d\ude00"])");
    EXPECT_EQ(header(container, R"({"a":{"b":1.0}})"), "[1]");
    EXPECT_EQ(header(container, R"({"a":{"b":null}})"), "[null]");
    EXPECT_EQ(header(container, R"({"a":1})"), "[{}]");
    EXPECT_EQ(header(container, R"({"a":{"b":[1]}})"), "[{}]");
    container.key_paths = {{"t"}, {"u"}};
    EXPECT_EQ(header(container, R"({"t":"x"})"), R"(["x",{}])");
    container.system_key = true;
    EXPECT_EQ(header(container, R"({"t":"x"})"), "[]");
}

TEST(AnswerErrorTest, ShowsTheServersOwnWords) {
    EXPECT_EQ(
        error_text(
            R"({"code":"BadRequest","message":"Message: {\"Errors\":[\"No such thing.\"]}\r\nActivityId: 1, server"})"),
        "No such thing.");
    EXPECT_EQ(error_text(R"({"code":"Unauthorized","message":"Not this key.\r\nActivityId: 1"})"),
              "Not this key.");
    EXPECT_EQ(error_text("<html>"), "<html>");
    HttpAnswer answer;
    answer.status = 401;
    answer.body = R"({"message":"Not this key."})";
    EXPECT_THAT(answer_error(answer).message, HasSubstr("401: Not this key. Check the key"));
    answer.status = 410;
    answer.headers = {{"X-MS-Substatus", "1002"}};
    EXPECT_THAT(answer_error(answer).message, HasSubstr("410/1002"));
}

TEST(AnswerErrorTest, QueryProblemsHavePositions) {
    const auto problems = query_problems(
        R"({"code":"BadRequest","message":"Message: {\"errors\":[{\"severity\":\"Error\",\"location\":{\"start\":7,\"end\":14},\"code\":\"SC2005\",\"message\":\"unknown\",\"hint\":\"Write LENGTH(x).\"}]}\r\nActivityId: 1"})");
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].start, 7u);
    EXPECT_EQ(problems[0].end, 14u);
    EXPECT_EQ(problems[0].code, "SC2005");
    EXPECT_EQ(problems[0].message, "unknown");
    EXPECT_EQ(problems[0].hint, "Write LENGTH(x).");
    EXPECT_TRUE(query_problems("nothing").empty());
}

}  // namespace
}  // namespace orrery::cli
