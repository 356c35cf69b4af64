#include "heads/rest/authentication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/answers.h"
#include "heads/rest/authorization_token.h"
#include "heads/rest/rest_test_support.h"

namespace orrery::rest {
namespace {

using engine::Principal;
using ::testing::HasSubstr;
using testing_support::TestServer;

constexpr std::string_view kDate = "Thu, 27 Apr 2017 00:51:12 GMT";
constexpr int64_t kDateSeconds = 1'493'254'272;

class AuthenticationTest : public ::testing::Test {
protected:
    using Headers = std::vector<net::HttpHeader>;

    Result<Principal> authenticate(std::string_view method, std::string_view target,
                                   Headers headers) {
        const auto route = parse_route(target);
        EXPECT_TRUE(route.ok());
        net::HttpRequest request;
        request.headers = std::move(headers);
        const engine::Door door(server_.engine(), nullptr);
        engine::Session session(door);
        TRY_STATUS(rest::authenticate(session, method, *route, RequestHeaders(request)));
        return session.principal();
    }
    /// With the date of the vectors and this authorization header.
    Result<Principal> with_header(std::string_view method, std::string_view target,
                                  const std::string& authorization) {
        return authenticate(method, target,
                            {{"x-ms-date", kDate}, {"authorization", authorization}});
    }
    Result<Principal> with_signature(std::string_view method, std::string_view target,
                                     std::string_view signature) {
        return with_header(method, target,
                           percent_encode("type=master&ver=1.0&sig=" + std::string(signature)));
    }
    std::string sign(std::string_view method, std::string_view type, std::string_view link,
                     size_t key = 0) {
        return server_.signature(method, type, link, kDate, key);
    }
    static int status(const Result<Principal>& result) {
        return result.ok() ? 200 : status_of(result.error());
    }

    TestServer server_{kDateSeconds};
};

TEST_F(AuthenticationTest, PublishedVectors) {
    EXPECT_TRUE(
        with_signature("GET", "/dbs/ToDo", "RKPRDeFTkXpQuohnwb8QlujeTyp7nbzERgUTZLDRnqA=").ok());
    EXPECT_TRUE(with_signature("POST", "/dbs/ToDo/colls/Items/docs",
                               "v/cVYMu7GxjHCLiNc+MGU3vX9QPm6WiCgxoD37sMFjA=")
                    .ok());
    EXPECT_TRUE(with_signature("GET", "/", "gFB1bRB/PLJTG3bCgMuoVgNzOyFvZAamzEtLuSITjRc=").ok());
    const auto first = with_header(
        "GET", "/dbs/ToDo",
        "type%3Dmaster%26ver%3D1.0%26sig%3DRKPRDeFTkXpQuohnwb8QlujeTyp7nbzERgUTZLDRnqA%3D");
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first->kind, Principal::Kind::kMaster);
}

TEST_F(AuthenticationTest, PlainTokenIsAcceptedToo) {
    // '+' and '/' of the base64 must survive.
    EXPECT_TRUE(with_header("POST", "/dbs/ToDo/colls/Items/docs",
                            "type=master&ver=1.0&sig=v/cVYMu7GxjHCLiNc+MGU3vX9QPm6WiCgxoD37sMFjA=")
                    .ok());
}

TEST_F(AuthenticationTest, EverythingSignedIsChecked) {
    const std::string signature = sign("GET", "docs", "dbs/d/colls/c/docs/i");
    EXPECT_EQ(status(with_signature("GET", "/dbs/d/colls/c/docs/i", signature)), 200);
    EXPECT_EQ(status(with_signature("get", "/dbs/d/colls/c/docs/i/", signature)), 200);
    EXPECT_EQ(status(with_signature("DELETE", "/dbs/d/colls/c/docs/i", signature)), 401);
    EXPECT_EQ(status(with_signature("GET", "/dbs/d/colls/c/docs/I", signature)), 401);
    EXPECT_EQ(status(with_signature("GET", "/dbs/d/colls/x/docs/i", signature)), 401);
    EXPECT_EQ(status(with_signature("GET", "/dbs/d/colls/c", signature)), 401);
    EXPECT_EQ(status(authenticate("GET", "/dbs/d/colls/c/docs/i",
                                  {{"x-ms-date", "Thu, 27 Apr 2017 00:51:13 GMT"},
                                   {"authorization", "type=master&ver=1.0&sig=" + signature}})),
              401);
    // A feed signs its parent.
    EXPECT_EQ(
        status(with_signature("GET", "/dbs/d/colls/c/docs", sign("GET", "docs", "dbs/d/colls/c"))),
        200);
    EXPECT_EQ(
        status(with_signature("GET", "/dbs/d/colls/c/docs", sign("GET", "colls", "dbs/d/colls/c"))),
        401);
}

TEST_F(AuthenticationTest, LinksAreSignedDecoded) {
    EXPECT_EQ(status(with_signature("GET", "/dbs/d/colls/c/docs/x%25y%20%C3%A9",
                                    sign("GET", "docs", "dbs/d/colls/c/docs/x%y é"))),
              200);
}

TEST_F(AuthenticationTest, RidsAreSignedInLowerCase) {
    EXPECT_EQ(status(with_signature("GET", "/dbs/KjtMXQ==/colls/KjtMXYAAAAE=/pkranges",
                                    sign("GET", "pkranges", "kjtmxyaaaae="))),
              200);
    EXPECT_EQ(status(with_signature("PUT", "/offers/AbC1", sign("PUT", "offers", "abc1"))), 200);
    EXPECT_EQ(status(with_signature("PUT", "/offers/AbC1", sign("PUT", "offers", "abc2"))), 401);
}

TEST_F(AuthenticationTest, DeleteByPartitionKeySignsTwoWays) {
    const auto target = "/dbs/d/colls/c/operations/partitionkeydelete";
    EXPECT_EQ(status(with_signature("POST", target, sign("POST", "colls", "dbs/d/colls/c"))), 200);
    EXPECT_EQ(status(with_signature("POST", target, sign("POST", "partitionkey", "dbs/d/colls/c"))),
              200);
    EXPECT_EQ(status(with_signature("POST", target, sign("POST", "docs", "dbs/d/colls/c"))), 401);
}

TEST_F(AuthenticationTest, FourKeysTwoOfThemReadOnly) {
    for (size_t key = 0; key < 4; ++key) {
        const auto result = with_signature("GET", "/dbs", sign("GET", "dbs", "", key));
        ASSERT_TRUE(result.ok()) << key;
        EXPECT_EQ(result->kind, key < 2 ? Principal::Kind::kMaster : Principal::Kind::kReadOnly)
            << key;
    }
    const engine::HmacKey other("some other key of 64 bytes");
    EXPECT_EQ(status(with_signature(
                  "GET", "/dbs", other.sign_text("get\ndbs\n\n" + to_lower_ascii(kDate) + "\n\n"))),
              401);
}

TEST_F(AuthenticationTest, ClockSkew) {
    const std::string signature = sign("GET", "dbs", "");
    server_.clock().advance_seconds(15 * 60);
    EXPECT_EQ(status(with_signature("GET", "/dbs", signature)), 200);
    server_.clock().advance_seconds(1);
    EXPECT_EQ(status(with_signature("GET", "/dbs", signature)), 403);
    server_.clock().advance_seconds(-(15 * 60 + 1) - 15 * 60);
    EXPECT_EQ(status(with_signature("GET", "/dbs", signature)), 200);
    server_.clock().advance_seconds(-1);
    EXPECT_EQ(status(with_signature("GET", "/dbs", signature)), 403);
    // Without a right signature nobody learns about the clock.
    EXPECT_EQ(status(with_signature("GET", "/dbs", "AAAA")), 401);
}

TEST_F(AuthenticationTest, DateHeaderInsteadOfXMsDate) {
    const std::string text = "get\ndbs\n\n\n" + to_lower_ascii(kDate) + "\n";
    const std::string signature = server_.engine().account().keys()[0].hmac.sign_text(text);
    EXPECT_EQ(status(authenticate(
                  "GET", "/dbs",
                  {{"date", kDate}, {"authorization", "type=master&ver=1.0&sig=" + signature}})),
              200);
}

TEST_F(AuthenticationTest, MissingAndMalformedHeaders) {
    const auto missing = authenticate("GET", "/dbs", {{"x-ms-date", kDate}});
    EXPECT_EQ(status(missing), 401);
    EXPECT_THAT(missing.error().message, HasSubstr("Required Header authorization is missing"));
    const std::string good = "type=master&ver=1.0&sig=" + sign("GET", "dbs", "");
    EXPECT_EQ(status(authenticate("GET", "/dbs", {{"authorization", good}})), 401);  // no date
    EXPECT_EQ(
        status(authenticate("GET", "/dbs", {{"authorization", good}, {"x-ms-date", "yesterday"}})),
        401);
    for (const std::string text :
         {"", "Bearer x", "type=master", "type=master&ver=1.0", "ver=1.0&type=master&sig=x",
          "type=master&ver=2.0&sig=x", "type=master&ver=1.0&sig=", "%", "%zz", "type%3Dmaster",
          "type=aad&ver=1.0&sig=a.b.c", "type=sas&ver=1.0&sig=x;y"})
        EXPECT_EQ(status(with_header("GET", "/dbs", text)), 401) << text;
}

TEST_F(AuthenticationTest, RefusalShowsThePayload) {
    const auto result = with_signature("GET", "/dbs/d", "AAAA");
    EXPECT_EQ(answer_to(result.error()).form, BodyForm::kGateway);
    EXPECT_THAT(result.error().message,
                HasSubstr("The following payload was used: 'get\\ndbs\\ndbs/d\\nthu, 27 apr 2017 "
                          "00:51:12 gmt\\n\\n'"));
}

TEST(AuthorizationTokenTest, Parts) {
    const auto token = parse_authorization("type=resource&ver=1.0&sig=a=b;c&d;");
    ASSERT_TRUE(token);
    EXPECT_EQ(token->type, "resource");
    EXPECT_EQ(token->version, "1.0");
    EXPECT_EQ(token->signature, "a=b;c&d;");
    EXPECT_EQ(token->text, "type=resource&ver=1.0&sig=a=b;c&d;");
    EXPECT_FALSE(parse_authorization(" type=a&ver=1.0&sig=x"));
}

}  // namespace
}  // namespace orrery::rest
