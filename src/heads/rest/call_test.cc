#include "heads/rest/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "heads/rest/rest_test_support.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using testing_support::FakeExchange;
using testing_support::Reply;
using testing_support::TestServer;

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
        auto call = std::make_shared<Call>(door_, std::move(exchange));
        call->activity_id = "2f1c";
        reply_error(call, error);
        return reply.get();
    }

    TestServer server_;
    const engine::Door door_{server_.engine(), nullptr};
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
