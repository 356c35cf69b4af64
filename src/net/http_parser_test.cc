#include "net/http_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace orrery::net {
namespace {

using Outcome = HttpParser::Outcome;

constexpr HttpLimits kLimits{
    .header_bytes_max = 512, .header_count_max = 8, .body_bytes_max = 1000};

struct Parsed {
    Outcome outcome = Outcome::kNeedMore;
    int status = 0;
    std::string why;
    std::string method, target, body;
    std::vector<std::pair<std::string, std::string>> headers;
    bool keep_alive = false;
    bool wants_continue = false;  ///< at any time before completion
    std::string rest;             ///< bytes behind the message

    bool operator==(const Parsed& o) const {
        return outcome == o.outcome && status == o.status && why == o.why && method == o.method &&
               target == o.target && body == o.body && headers == o.headers &&
               keep_alive == o.keep_alive && rest == o.rest;
    }
};

/// Feeds `input` in pieces that end at `cuts`. Each piece arrives in a fresh, exactly sized
/// allocation, so that the sanitizers see every byte read too far. `compacting` removes chunk
/// framing between pieces, as a connection does when it runs out of room.
Parsed parse(std::string_view input, const std::vector<size_t>& cuts, bool compacting,
             const HttpLimits& limits = kLimits) {
    HttpParser parser(limits);
    Parsed result;
    std::vector<char> buffer;
    size_t given = 0;
    std::vector<size_t> ends = cuts;
    ends.push_back(input.size());
    for (const size_t end : ends) {
        std::vector<char> grown(buffer);
        grown.insert(grown.end(), input.begin() + static_cast<ptrdiff_t>(given),
                     input.begin() + static_cast<ptrdiff_t>(end));
        grown.shrink_to_fit();
        buffer.swap(grown);
        given = end;
        result.outcome = parser.parse(buffer.data(), buffer.size());
        if (result.outcome != Outcome::kNeedMore) break;
        result.wants_continue |= parser.wants_continue();
        if (compacting) buffer.resize(parser.compact(buffer.data(), buffer.size()));
    }
    if (result.outcome == Outcome::kRefused) {
        result.status = parser.status();
        result.why = parser.why();
    } else if (result.outcome == Outcome::kComplete) {
        HttpRequest request;
        parser.fill(buffer.data(), request);
        result.method = request.method;
        result.target = request.target;
        result.body = request.body;
        for (const HttpHeader& h : request.headers) result.headers.emplace_back(h.name, h.value);
        result.keep_alive = parser.keep_alive();
        result.rest.assign(buffer.begin() + static_cast<ptrdiff_t>(parser.consumed()),
                           buffer.end());
        result.rest.append(input.substr(given));
    }
    return result;
}

/// Whole, in every pair of pieces, and byte by byte: all must agree.
Parsed parse(std::string_view input, const HttpLimits& limits = kLimits) {
    const Parsed whole = parse(input, {}, false, limits);
    std::vector<size_t> all;
    for (size_t i = 0; i <= input.size(); ++i) {
        EXPECT_TRUE(parse(input, {i}, false, limits) == whole) << "cut at " << i << " of " << input;
        EXPECT_TRUE(parse(input, {i}, true, limits) == whole) << "cut at " << i << " of " << input;
        all.push_back(i);
    }
    EXPECT_TRUE(parse(input, all, false, limits) == whole) << input;
    EXPECT_TRUE(parse(input, all, true, limits) == whole) << input;
    return whole;
}

void expect_refused(std::string_view input, int status, const HttpLimits& limits = kLimits) {
    const Parsed p = parse(input, limits);
    EXPECT_EQ(p.outcome, Outcome::kRefused) << input;
    EXPECT_EQ(p.status, status) << input << "\n" << p.why;
    EXPECT_FALSE(p.why.empty());
}

std::string get(std::string_view headers) {
    return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(headers) + "\r\n";
}

std::string chunked(std::string_view body) {
    return "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
}

TEST(HttpParser, SimpleRequest) {
    const Parsed p = parse(
        "GET /dbs/a?b=c%20d HTTP/1.1\r\nHost: localhost:8081\r\nX-Empty:\r\nx-b: \t 1 2 "
        "\t\r\n\r\n");
    ASSERT_EQ(p.outcome, Outcome::kComplete) << p.why;
    EXPECT_EQ(p.method, "GET");
    EXPECT_EQ(p.target, "/dbs/a?b=c%20d");
    EXPECT_TRUE(p.keep_alive);
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"Host", "localhost:8081"}, {"X-Empty", ""}, {"x-b", "1 2"}};
    EXPECT_EQ(p.headers, expected);
    EXPECT_EQ(p.body, "");
}

TEST(HttpParser, FixedBodyAndPipelinedRest) {
    const Parsed p = parse("POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 5\r\n\r\nhelloGET / H");
    ASSERT_EQ(p.outcome, Outcome::kComplete) << p.why;
    EXPECT_EQ(p.body, "hello");
    EXPECT_EQ(p.rest, "GET / H");
}

TEST(HttpParser, ChunkedBody) {
    const Parsed p =
        parse(chunked("5;ext=\"a;b\"\r\nhello\r\n00A  ; x\r\n0123456789\r\n0\r\nT: v\r\n\r\nnext"));
    ASSERT_EQ(p.outcome, Outcome::kComplete) << p.why;
    EXPECT_EQ(p.body, "hello0123456789");
    EXPECT_EQ(p.rest, "next");
    EXPECT_EQ(p.headers.size(), 2u);  // trailers are dropped
    EXPECT_EQ(parse(chunked("0\r\n\r\n")).body, "");
}

TEST(HttpParser, BadChunks) {
    for (const char* body :
         {"\r\n", "g\r\n", "-1\r\n", "0x5\r\n", "5 \r\nhello\r\n", "5\nhello", "5 5\r\n",
          "5\r\nhelloX", "5\r\nhello\rX", "5\r\nhello\n", "+5\r\n", ";a\r\n",
          "1000000000000000\r\n", "0000000000000005\r\nhello\r\n", "5;\x01\r\nhello\r\n",
          "0\r\n folded\r\n\r\n", "0\r\nno colon\r\n\r\n", "0\r\n\n"}) {
        expect_refused(chunked(body), 400);
    }
    expect_refused(chunked("5;" + std::string(1024, 'x') + "\r\nhello\r\n"), 400);
    EXPECT_EQ(
        parse(chunked("5;" + std::string(1020, 'x') + "\r\nhello\r\n0\r\n\r\n"), {}, false).outcome,
        Outcome::kComplete);
    expect_refused(chunked("0\r\nT: " + std::string(512, 'x') + "\r\n\r\n"), 431);
    std::string trailers;
    for (int i = 0; i < 9; ++i) trailers += "t: v\r\n";
    expect_refused(chunked("0\r\n" + trailers + "\r\n"), 431);
}

TEST(HttpParser, BodyLengthMustBeUnambiguous) {
    expect_refused(get("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400);
    expect_refused(get("Content-Length: 5\r\nContent-Length: 6\r\n"), 400);
    expect_refused(get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
    for (const char* value : {"", "-1", "+1", "5, 5", "0x5", "5 5", "1e3", "9999999999999999999"}) {
        expect_refused(get("Content-Length: " + std::string(value) + "\r\n"), 400);
    }
    for (const char* value : {"gzip, chunked", "identity", "chunked, gzip", "xchunked", ""}) {
        expect_refused(get("Transfer-Encoding: " + std::string(value) + "\r\n"), 501);
    }
    expect_refused("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    EXPECT_EQ(parse(get("Content-Length: 2\r\nContent-Length: 2\r\n") + "ab").body, "ab");
    EXPECT_EQ(parse(get("Transfer-Encoding: Chunked\r\n") + "1\r\nx\r\n0\r\n\r\n").body, "x");
}

TEST(HttpParser, BodyLimit) {
    const std::string at(1000, 'x');
    EXPECT_EQ(parse(get("Content-Length: 1000\r\n") + at, {}, false).body, at);
    expect_refused(get("Content-Length: 1001\r\n"), 413);
    EXPECT_EQ(parse(chunked("3e8\r\n" + at + "\r\n0\r\n\r\n"), {}, false).body, at);
    expect_refused(chunked("3e9\r\n"), 413);
    expect_refused(chunked("2\r\nab\r\n3e7\r\n"), 413);
    expect_refused(chunked("fffffffffffffff\r\n"), 413);
}

TEST(HttpParser, HeaderLimits) {
    const std::string before = "GET / HTTP/1.1\r\nHost: a\r\nx: ";
    const std::string at = before + std::string(512 - before.size() - 4, 'v') + "\r\n\r\n";
    ASSERT_EQ(at.size(), 512u);
    EXPECT_EQ(parse(at).outcome, Outcome::kComplete);
    expect_refused(before + std::string(512 - before.size() - 3, 'v') + "\r\n\r\n", 431);
    expect_refused(before + std::string(600, 'v'), 431);

    std::string headers;
    for (int i = 0; i < 7; ++i) headers += "x: y\r\n";
    EXPECT_EQ(parse(get(headers)).headers.size(), 8u);
    expect_refused(get(headers + "x: y\r\n"), 431);

    expect_refused("GET /" + std::string(512, 'a') + " HTTP/1.1\r\n", 414);
    expect_refused("GET /" + std::string(600, 'a'), 414);
    EXPECT_EQ(parse("GET /" + std::string(480, 'a'), {}, false).outcome, Outcome::kNeedMore);
}

TEST(HttpParser, BadRequestLines) {
    for (const char* line : {"GET /",
                             "GET  / HTTP/1.1",
                             "GET / HTTP/1.1 ",
                             " GET / HTTP/1.1",
                             "GET / http/1.1",
                             "GET / HTTP/11",
                             "GET / HTTP/1.1x",
                             "G@T / HTTP/1.1",
                             "GET / HTTP/1.1\rX",
                             "GET /\x01 HTTP/1.1",
                             "GET /a b HTTP/1.1",
                             "GET /\x7f HTTP/1.1",
                             "GET a HTTP/1.1",
                             "GET * HTTP/1.1",
                             "CONNECT a:443 HTTP/1.1",
                             "GET http:///a HTTP/1.1",
                             "GET http://a?b HTTP/1.1",
                             "GET ftp://a/ HTTP/1.1",
                             "GET http://a\"b/ HTTP/1.1",
                             "GET /\tx HTTP/1.1",
                             "",
                             "\r"}) {
        expect_refused(std::string(line) + "\r\nHost: a\r\n\r\n", 400);
    }
    expect_refused("GET / HTTP/1.1\nHost: a\n\n", 400);
    expect_refused("\nGET / HTTP/1.1\r\n", 400);
    expect_refused(std::string("\x16\x03\x01", 3), 400);
    for (const char* line :
         {"GET / HTTP/2.0", "GET / HTTP/0.9", "GET / HTTP/1.2", "GET / HTTP/3.0"}) {
        expect_refused(std::string(line) + "\r\nHost: a\r\n\r\n", 505);
    }
    expect_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
}

TEST(HttpParser, BadHeaders) {
    for (const char* line : {" folded: x", "\tfolded: x", "name : x", "name\t: x", ": x",
                             "no colon", "na me: x", "n\x01: x", "n: a\rb", "n: \x01", "n: \x7f",
                             "n: 1234567\x0b", "n: 12345678\x1f", "n\x80: x", "n(: x"}) {
        expect_refused(get(std::string(line) + "\r\n"), 400);
        expect_refused(get("a: b\r\n" + std::string(line) + "\r\n"), 400);
    }
    expect_refused("GET / HTTP/1.1\r\nHost: a\r\nn: " + std::string(1, '\0') + "\r\n\r\n", 400);
    expect_refused("GET / HTTP/1.1\r\nHost: a\r\nx: y\n\r\n", 400);
    expect_refused("GET / HTTP/1.1\r\nHost: a\r\n\n", 400);
    expect_refused("GET / HTTP/1.1\r\n\r\n", 400);
    expect_refused(get("host: b\r\n"), 400);
    expect_refused("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400);
    expect_refused("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400);
    const Parsed p = parse(get("n: caf\xc3\xa9 \ttab inside\r\n"));
    ASSERT_EQ(p.outcome, Outcome::kComplete) << p.why;
    EXPECT_EQ(p.headers[1].second, "caf\xc3\xa9 \ttab inside");
}

TEST(HttpParser, TargetForms) {
    EXPECT_EQ(parse("GET http://a:80/x?y HTTP/1.1\r\nHost: a\r\n\r\n").target, "/x?y");
    EXPECT_EQ(parse("GET HTTPS://a/ HTTP/1.1\r\nHost: a\r\n\r\n").target, "/");
    EXPECT_EQ(parse("GET http://[::1]:8081 HTTP/1.1\r\nHost: a\r\n\r\n").target, "/");
    EXPECT_EQ(parse("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").target, "*");
    EXPECT_EQ(parse("M-SEARCH /a/../b#c HTTP/1.1\r\nHost: a\r\n\r\n").target, "/a/../b#c");
    EXPECT_EQ(parse("M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n").method, "M-SEARCH");
}

TEST(HttpParser, KeepAliveRules) {
    EXPECT_TRUE(parse(get("")).keep_alive);
    EXPECT_FALSE(parse(get("Connection: close\r\n")).keep_alive);
    EXPECT_FALSE(parse(get("Connection: foo , Close\r\n")).keep_alive);
    EXPECT_FALSE(parse(get("Connection: keep-alive\r\nconnection: close\r\n")).keep_alive);
    EXPECT_TRUE(parse(get("Connection: closed, ,\r\n")).keep_alive);
    EXPECT_FALSE(parse("GET / HTTP/1.0\r\n\r\n").keep_alive);
    EXPECT_TRUE(parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
}

TEST(HttpParser, ExpectContinue) {
    const std::string head =
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n";
    EXPECT_TRUE(parse(head, {}, false).wants_continue);
    EXPECT_FALSE(parse(head.substr(0, head.size() - 1), {}, false).wants_continue);
    EXPECT_FALSE(parse(head + "abc", {}, false).wants_continue);
    EXPECT_FALSE(
        parse("POST / HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n", {}, false)
            .wants_continue);
}

TEST(HttpParser, BlankLineBeforeRequest) {
    EXPECT_EQ(parse("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").outcome, Outcome::kComplete);
    expect_refused("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    expect_refused("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
}

TEST(HttpParser, ResetStartsAfresh) {
    HttpParser parser(kLimits);
    std::string first = "HEAD / HTTP/1.0\r\n\r\n";
    ASSERT_EQ(parser.parse(first.data(), first.size()), Outcome::kComplete);
    EXPECT_TRUE(parser.is_head_method());
    parser.reset();
    std::string second = chunked("1\r\nx\r\n0\r\n\r\n");
    ASSERT_EQ(parser.parse(second.data(), second.size()), Outcome::kComplete);
    EXPECT_FALSE(parser.is_head_method());
    EXPECT_TRUE(parser.keep_alive());
    parser.reset();
    std::string third = get("");
    ASSERT_EQ(parser.parse(third.data(), third.size()), Outcome::kComplete);
    HttpRequest request;
    parser.fill(third.data(), request);
    EXPECT_EQ(request.body, "");
    EXPECT_EQ(request.headers.size(), 1u);
}

TEST(Http, RequestHeaderLookupIgnoresCase) {
    HttpRequest request;
    request.headers = {{"X-MS-Date", "1"}, {"x-ms-date", "2"}, {"empty", ""}, {"x[a", "3"}};
    EXPECT_EQ(request.header("x-ms-date"), "1");
    EXPECT_EQ(request.header("X-Ms-DATE"), "1");
    EXPECT_EQ(request.header("x-ms-dat").data(), nullptr);
    EXPECT_EQ(request.header("x{a").data(), nullptr);  // differs by 0x20 but is no letter
    EXPECT_NE(request.header("EMPTY").data(), nullptr);
    EXPECT_EQ(request.header("EMPTY"), "");
}

TEST(Http, ResponseHeadersCannotBeSplit) {
    HttpResponse response;
    response.add_header("a", "x\r\nb: y");
    response.add_header("n", int64_t{-42});
    response.add_header("l", int64_t{1} << 62);
    EXPECT_EQ(response.head, "a: x  b: y\r\nn: -42\r\nl: 4611686018427387904\r\n");
}

}  // namespace
}  // namespace orrery::net
