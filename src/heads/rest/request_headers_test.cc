#include "heads/rest/request_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/answers.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;

net::HttpRequest request(std::vector<net::HttpHeader> headers) {
    net::HttpRequest made;
    made.headers = std::move(headers);
    return made;
}

TEST(RequestHeadersTest, EveryNameIsFoundInAnyCase) {
    for (size_t i = 0; i < static_cast<size_t>(HeaderName::kCount); ++i) {
        const auto name = static_cast<HeaderName>(i);
        std::string upper(header_text(name));
        ASSERT_FALSE(upper.empty());
        for (char& c : upper) c = static_cast<char>(std::toupper(c));
        const auto made = request({{upper, "v"}});
        const RequestHeaders headers(made);
        EXPECT_EQ(headers[name], "v") << upper;
        EXPECT_TRUE(headers.has(name));
    }
}

TEST(RequestHeadersTest, NamesAreDistinctAndSpelledAsInTheProtocol) {
    EXPECT_EQ(header_text(HeaderName::kPartitionKey), "x-ms-documentdb-partitionkey");
    EXPECT_EQ(header_text(HeaderName::kPartitionKeyRangeId), "x-ms-documentdb-partitionkeyrangeid");
    EXPECT_EQ(header_text(HeaderName::kIsQuery), "x-ms-documentdb-isquery");
    EXPECT_EQ(header_text(HeaderName::kIsQueryGo), "x-ms-documentdb-query");
    EXPECT_EQ(header_text(HeaderName::kXDate), "x-ms-date");
    EXPECT_EQ(header_text(HeaderName::kAIm), "a-im");
    EXPECT_EQ(header_text(HeaderName::kContentEncoding), "content-encoding");
    EXPECT_EQ(header_text(HeaderName::kVersion), "x-ms-version");
}

TEST(RequestHeadersTest, AbsentEmptyAndUnknown) {
    const std::string long_name(200, 'x');
    const auto made =
        request({{"x-ms-continuation", ""}, {"x-unknown", "1"}, {long_name, "1"}, {"", ""}});
    const RequestHeaders headers(made);
    EXPECT_TRUE(headers.has(HeaderName::kContinuation));
    EXPECT_EQ(headers[HeaderName::kContinuation], "");
    EXPECT_FALSE(headers.has(HeaderName::kPartitionKey));
    EXPECT_EQ(headers[HeaderName::kPartitionKey].data(), nullptr);
    EXPECT_TRUE(headers.check().ok());
}

TEST(RequestHeadersTest, Booleans) {
    for (const auto text : {"true", "True", "TRUE", "1"}) {
        const auto made = request({{"x-ms-documentdb-is-upsert", text}});
        EXPECT_TRUE(*RequestHeaders(made).boolean(HeaderName::kIsUpsert)) << text;
    }
    for (const auto text : {"false", "False", "0", ""}) {
        const auto made = request({{"x-ms-documentdb-is-upsert", text}});
        EXPECT_FALSE(*RequestHeaders(made).boolean(HeaderName::kIsUpsert)) << text;
    }
    for (const auto text : {"yes", "2", "truee", "null"}) {
        const auto made = request({{"x-ms-documentdb-is-upsert", text}});
        const RequestHeaders headers(made);
        EXPECT_EQ(status_of(headers.boolean(HeaderName::kIsUpsert).error()), 400) << text;
        // A request never goes on with a guess of what such a header means.
        EXPECT_EQ(status_of(headers.check().error()), 400) << text;
    }
}

TEST(RequestHeadersTest, ContradictionsAreRefused) {
    const auto twice = request(
        {{"x-ms-documentdb-partitionkey", "[\"a\"]"}, {"X-MS-DocumentDB-PartitionKey", "[\"b\"]"}});
    EXPECT_EQ(status_of(RequestHeaders(twice).check().error()), 400);
    EXPECT_THAT(RequestHeaders(twice).check().error().message,
                HasSubstr("x-ms-documentdb-partitionkey"));
    const auto same = request({{"x-ms-date", "d"}, {"x-ms-date", "d"}});
    EXPECT_TRUE(RequestHeaders(same).check().ok());
    const auto lists =
        request({{"accept", "a"}, {"accept", "b"}, {"prefer", "x"}, {"prefer", "y"}});
    EXPECT_TRUE(RequestHeaders(lists).check().ok());
}

TEST(RequestHeadersTest, CompressedBodiesAreRefused) {
    const auto gzip = request({{"content-encoding", "gzip"}});
    EXPECT_EQ(status_of(RequestHeaders(gzip).check().error()), 415);
    const auto identity = request({{"content-encoding", "Identity"}});
    EXPECT_TRUE(RequestHeaders(identity).check().ok());
}

TEST(RequestHeadersTest, PreferMinimal) {
    for (const auto text : {"return=minimal", "Return=Minimal", "respond-async, return=minimal",
                            "return=minimal;x=1"}) {
        const auto made = request({{"prefer", text}});
        EXPECT_TRUE(RequestHeaders(made).prefers_minimal()) << text;
    }
    for (const auto text : {"", "return=representation", "return=minimalist", "minimal"}) {
        const auto made = request({{"prefer", text}});
        EXPECT_FALSE(RequestHeaders(made).prefers_minimal()) << text;
    }
}

TEST(RequestHeadersTest, EtagsLoseTheirQuotes) {
    EXPECT_EQ(unquoted("\"abc\""), "abc");
    EXPECT_EQ(unquoted("abc"), "abc");
    EXPECT_EQ(unquoted("*"), "*");
    EXPECT_EQ(unquoted("\""), "\"");
    EXPECT_EQ(unquoted(""), "");
}

}  // namespace
}  // namespace orrery::rest
