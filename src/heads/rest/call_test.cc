#include "heads/rest/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "heads/rest/rest_test_support.h"
#include "json/parse.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::FakeExchange;
using testing_support::Reply;
using testing_support::TestServer;

TEST(ErrorBodyTest, OrdinaryErrorsNestTheirText) {
    EXPECT_EQ(
        error_body(errors::conflict(), "2f1c", "/dbs/d/colls/c/docs"),
        R"({"code":"Conflict","message":"Message: {\"Errors\":[\"Resource with specified id or name already )"
        R"(exists.\"]}\r\nActivityId: 2f1c, Request URI: /dbs/d/colls/c/docs, RequestStats: , SDK: )" +
            std::string(server_name()) + "\"}");
}

TEST(ErrorBodyTest, TooLargeIsWhatTheBulkClientsLookFor) {
    EXPECT_THAT(
        error_body(errors::entity_too_large(1), "a", "/"),
        HasSubstr(R"("message":"Message: {\"Errors\":[\"Request size is too large\"]}\r\n)"));
}

TEST(ErrorBodyTest, GatewayErrorsArePlain) {
    EXPECT_EQ(
        error_body(errors::not_found(), "2f1c", "/x"),
        R"({"code":"NotFound","message":"Entity with the specified id does not exist in the system.\r\n)"
        R"(ActivityId: 2f1c, )" +
            std::string(server_name()) + "\"}");
}

TEST(ErrorBodyTest, QueryErrorsKeepTheirJson) {
    EXPECT_EQ(
        error_body(errors::query_compile(R"({"errors":[{"severity":"Error","code":"SC1001"}]})"),
                   "2f1c", "/x"),
        R"({"code":"BadRequest","message":"Message: {\"errors\":[{\"severity\":\"Error\",\"code\":\"SC1001\"}]})"
        R"(\r\nActivityId: 2f1c, )" +
            std::string(server_name()) + "\"}");
}

/// Tools cut the text between "Message: " and the line break and parse it.
TEST(ErrorBodyTest, NestedTextIsOneJsonTextWhateverItQuotes) {
    for (const std::string text :
         {"plain", "quote \" backslash \\ newline \n tab \t", "bell \a", "é 😀",
          "bytes \xFF\xC3 end", "Message: {\"Errors\":[]}\r\nActivityId: x"}) {
        const std::string body = error_body(errors::bad_request(text), "2f1c", "/dbs");
        json::Arena arena;
        const auto parsed = json::parse(body, arena);
        ASSERT_TRUE(parsed.ok()) << body;
        const std::string message(parsed->member("message").as_string());
        ASSERT_THAT(message, StartsWith("Message: "));
        const size_t end = message.find("\r\nActivityId");
        const std::string nested = message.substr(9, end - 9);
        const auto inner = json::parse(nested, arena);
        ASSERT_TRUE(inner.ok()) << nested;
        EXPECT_EQ(inner->member("Errors").elements().size(), 1u);
        EXPECT_THAT(nested, Not(HasSubstr("\n")));
    }
}

TEST(ErrorBodyTest, AdditionalInfo) {
    Error error = errors::bad_request("x");
    error.additional_info = R"({"a":1})";
    EXPECT_THAT(error_body(error, "a", "/"), HasSubstr(R"(,"additionalErrorInfo":"{\"a\":1}"})"));
}

TEST(ErrorBodyTest, EveryStatusHasItsName) {
    const std::vector<std::pair<int, std::string_view>> names = {
        {400, "BadRequest"},         {401, "Unauthorized"},
        {403, "Forbidden"},          {404, "NotFound"},
        {405, "MethodNotAllowed"},   {408, "RequestTimeout"},
        {409, "Conflict"},           {410, "Gone"},
        {412, "PreconditionFailed"}, {413, "RequestEntityTooLarge"},
        {424, "FailedDependency"},   {429, "TooManyRequests"},
        {449, "RetryWith"},          {500, "InternalServerError"},
        {503, "ServiceUnavailable"}};
    for (const auto& [status, name] : names) {
        Error error = errors::bad_request("x");
        error.http_status = status;
        EXPECT_THAT(error_body(error, "a", "/"),
                    StartsWith("{\"code\":\"" + std::string(name) + "\","));
    }
}

TEST(FeedBodyTest, Shape) {
    EXPECT_EQ(feed_body("AAA=", "Documents", {}), R"({"_rid":"AAA=","Documents":[],"_count":0})");
    EXPECT_EQ(feed_body("AAA=", "Documents", {"1", "{}"}),
              R"({"_rid":"AAA=","Documents":[1,{}],"_count":2})");
}

class ReplyTest : public ::testing::Test {
protected:
    /// Sends an error as the answer to `target`, through a call without container.
    Reply reply_to(const Error& error, const std::string& target = "/dbs/d") {
        auto exchange = std::make_unique<FakeExchange>("GET", target,
                                                       FakeExchange::Headers{{"host", "h:1"}}, "");
        auto reply = exchange->reply();
        auto call = std::make_shared<Call>(server_.engine(), std::move(exchange));
        call->activity_id = "2f1c";
        reply_error(call, error);
        return reply.get();
    }

    TestServer server_;
};

TEST_F(ReplyTest, StatusSubStatusAndCharge) {
    const Reply reply = reply_to(errors::owner_not_found("x"));
    EXPECT_EQ(reply.status, 404);
    EXPECT_EQ(reply.header("x-ms-substatus"), "1003");
    EXPECT_EQ(reply.header("x-ms-activity-id"), "2f1c");
    EXPECT_FALSE(reply.header("x-ms-request-charge").empty());
    EXPECT_EQ(reply.header("content-type"), "application/json");
    EXPECT_EQ(reply.header("content-location"), "http://h:1/dbs/d");
    EXPECT_EQ(reply_to(errors::bad_request("x")).header("x-ms-substatus"), "");
}

TEST_F(ReplyTest, RetryAfter) {
    const Reply reply = reply_to(errors::request_rate_too_large(17));
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.header("x-ms-substatus"), "3200");
    EXPECT_EQ(reply.header("x-ms-retry-after-ms"), "17");
}

TEST_F(ReplyTest, TargetsThatAreNoUtf8AreNotEchoedIntoTheBody) {
    const Reply reply = reply_to(errors::bad_request("x"), "/dbs/\xFF");
    EXPECT_THAT(reply.body, HasSubstr("(not UTF-8)"));
    EXPECT_TRUE(is_valid_utf8(reply.body));
}

}  // namespace
}  // namespace orrery::rest
