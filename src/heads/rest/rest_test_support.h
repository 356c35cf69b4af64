#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/encoding.h"
#include "engine/engine_test_support.h"
#include "heads/rest/rest_head.h"
#include "heads/rest/route.h"

/// A whole server without sockets: requests go straight into the head.
namespace orrery::rest::testing_support {

struct Reply {
    int status = 0;
    std::string head;
    std::string body;

    /// Value of a response header; empty when absent.
    std::string header(std::string_view name) const {
        size_t at = 0;
        while (at < head.size()) {
            const size_t end = head.find("\r\n", at);
            const std::string_view line = std::string_view(head).substr(at, end - at);
            const size_t colon = line.find(':');
            if (equals_ignore_case(line.substr(0, colon), name))
                return std::string(line.substr(colon + 2));
            at = end + 2;
        }
        return {};
    }
    /// The string member `name` of a flat JSON body, still escaped; empty when absent.
    std::string member(std::string_view name) const {
        const std::string start = "\"" + std::string(name) + "\":\"";
        const size_t at = body.find(start);
        if (at == std::string::npos) return {};
        size_t end = at + start.size();
        while (end < body.size() && body[end] != '"') end += body[end] == '\\' ? 2 : 1;
        return body.substr(at + start.size(), end - at - start.size());
    }
};

/// Owns what the request's views point to; hands the answer to a future.
class FakeExchange final : public net::HttpExchange {
public:
    using Headers = std::vector<std::pair<std::string, std::string>>;

    FakeExchange(std::string method, std::string target, Headers headers, std::string body)
        : method_(std::move(method)),
          target_(std::move(target)),
          headers_(std::move(headers)),
          body_(std::move(body)) {
        request.method = method_;
        request.target = target_;
        request.body = body_;
        for (const auto& [name, value] : headers_) request.headers.push_back({name, value});
    }
    ~FakeExchange() override {
        if (!answered_) reply_.set_value({});  // dropped without an answer: status 0
    }
    bool cancelled() const override { return false; }
    std::future<Reply> reply() { return reply_.get_future(); }

protected:
    void do_send(std::unique_ptr<HttpExchange> self) override {
        answered_ = true;
        reply_.set_value({response.status, std::move(response.head), std::move(response.body)});
        self.reset();
    }

private:
    std::string method_;
    std::string target_;
    Headers headers_;
    std::string body_;
    bool answered_ = false;
    std::promise<Reply> reply_;
};

using Headers = FakeExchange::Headers;

class TestServer {
public:
    explicit TestServer(int64_t start_seconds = 1'700'000'000,
                        const engine::AccountSettings& settings =
                            engine::testing_support::TestEngine::unthrottled(),
                        const catalog::ThroughputSettings& throughput = {},
                        const engine::ScriptOptions& scripts = {})
        : inner_(start_seconds, settings, throughput, {}, {}, scripts),
          recorder_(inner_.clock()),
          pages_(inner_.engine(), recorder_),
          lab_(inner_.engine(), recorder_),
          door_(inner_.engine(), &recorder_),
          head_(door_, {.authority_pem = "PEM", .pages = &pages_, .lab = &lab_}),
          guarded_head_(door_, {.authority_pem = "PEM", .pages = &pages_, .open_metrics = false}) {}

    ManualClock& clock() { return inner_.clock(); }
    engine::Engine& engine() { return inner_.engine(); }
    const engine::Account& account() const { return inner_.account(); }

    /// What follows comes from this connection; 0, as at first: from none that is known.
    void use_connection(uint64_t connection) { connection_ = connection; }

    /// The request as given; nothing is added.
    Reply raw(std::string method, std::string target, Headers headers, std::string body = {}) {
        auto exchange = std::make_unique<FakeExchange>(std::move(method), std::move(target),
                                                       std::move(headers), std::move(body));
        exchange->request.connection = connection_;
        auto reply = exchange->reply();
        head_.handle(std::move(exchange));
        return reply.get();
    }

    /// The same to a server that others can reach.
    Reply raw_guarded(std::string method, std::string target, Headers headers) {
        auto exchange = std::make_unique<FakeExchange>(std::move(method), std::move(target),
                                                       std::move(headers), std::string());
        auto reply = exchange->reply();
        guarded_head_.handle(std::move(exchange));
        return reply.get();
    }

    /// Signed with one of the account's keys (0 primary, 1 secondary, 2 and 3 read-only).
    Reply send(std::string method, std::string target, Headers headers = {}, std::string body = {},
               size_t key = 0) {
        const auto route = parse_route(target);
        CHECK(route.ok());
        return raw(
            method, target,
            signed_headers(method, route->type_segment, route->link, key, std::move(headers)),
            std::move(body));
    }

    /// With a resource token instead of a key.
    Reply send_token(const std::string& token, std::string method, std::string target,
                     Headers headers = {}, std::string body = {}) {
        headers.emplace_back("authorization", percent_encode(token));
        headers.emplace_back("x-ms-date", format_http_date(inner_.clock().wall_seconds()));
        headers.emplace_back("host", "localhost:8081");
        return raw(std::move(method), std::move(target), std::move(headers), std::move(body));
    }

    std::string signature(std::string_view method, std::string_view type, std::string_view link,
                          std::string_view date, size_t key = 0) const {
        return inner_.account().keys()[key].hmac.sign_text(
            to_lower_ascii(method) + "\n" + std::string(type) + "\n" + std::string(link) + "\n" +
            to_lower_ascii(date) + "\n\n");
    }
    Headers signed_headers(std::string_view method, std::string_view type, std::string_view link,
                           size_t key, Headers headers) const {
        const std::string date = format_http_date(inner_.clock().wall_seconds());
        headers.emplace_back("x-ms-date", date);
        headers.emplace_back("host", "localhost:8081");
        headers.emplace_back(
            "authorization",
            percent_encode("type=master&ver=1.0&sig=" + signature(method, type, link, date, key)));
        return headers;
    }

private:
    engine::testing_support::TestEngine inner_;
    lab::Recorder recorder_;
    lab::Pages pages_;
    lab::Lab lab_;
    const engine::Door door_;
    RestHead head_;
    RestHead guarded_head_;
    uint64_t connection_ = 0;
};

inline const std::string kDocs = "/dbs/d/colls/c/docs";
inline const std::pair<std::string, std::string> kKeyA{"x-ms-documentdb-partitionkey", R"(["a"])"};
inline const std::pair<std::string, std::string> kKeyB{"x-ms-documentdb-partitionkey", R"(["b"])"};

/// A server with database d, container c (key /pk) and user u.
class OneContainerTest : public ::testing::Test {
protected:
    explicit OneContainerTest(const engine::ScriptOptions& scripts = {})
        : server_(1'700'000'000, engine::testing_support::TestEngine::unthrottled(), {}, scripts) {
        EXPECT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
        EXPECT_EQ(create_container("c", R"({"paths":["/pk"],"kind":"Hash","version":2})").status,
                  201);
        EXPECT_EQ(server_.send("POST", "/dbs/d/users", {}, R"({"id":"u"})").status, 201);
    }
    Reply create_container(const std::string& id, const std::string& key, Headers headers = {}) {
        return server_.send("POST", "/dbs/d/colls", std::move(headers),
                            R"({"id":")" + id + R"(","partitionKey":)" + key + "}");
    }
    Reply create_item(const std::string& id, const std::string& pk) {
        return server_.send("POST", kDocs, {{"x-ms-documentdb-partitionkey", "[\"" + pk + "\"]"}},
                            R"({"id":")" + id + R"(","pk":")" + pk + "\"}");
    }

    TestServer server_;
};

}  // namespace orrery::rest::testing_support
