#include "cli/http_connection.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "cli/account_client.h"

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Answers each request on one port with the next of its texts; an empty text closes the
/// connection. Keeps connections open in between.
class ScriptedServer {
public:
    explicit ScriptedServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listener_, 8), 0);
        socklen_t size = sizeof address;
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~ScriptedServer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    Endpoint endpoint() const { return {false, "127.0.0.1", port_}; }
    const std::vector<std::string>& requests() const { return requests_; }

private:
    void serve() {
        size_t next = 0;
        while (next < answers_.size()) {
            const int fd = ::accept(listener_, nullptr, nullptr);
            if (fd < 0) return;
            while (next < answers_.size()) {
                std::string request;
                char buffer[4096];
                while (request.find("\r\n\r\n") == std::string::npos) {
                    const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
                    if (n <= 0) break;
                    request.append(buffer, static_cast<size_t>(n));
                }
                if (request.empty()) break;
                requests_.push_back(request);
                const std::string& answer = answers_[next++];
                if (answer.empty()) break;
                // In pieces, so that nothing depends on how bytes arrive.
                for (size_t at = 0; at < answer.size(); at += 7) {
                    const std::string piece = answer.substr(at, 7);
                    ::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL);
                }
                if (answer.find("connection: close") != std::string::npos) break;
            }
            ::close(fd);
        }
    }

    const std::vector<std::string> answers_;
    int listener_ = -1;
    uint16_t port_ = 0;
    std::vector<std::string> requests_;
    std::thread thread_;
};

TEST(HttpConnectionTest, ReadsEveryKindOfBody) {
    ScriptedServer server(
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-MS-Request-Charge: 2.5\r\n\r\nhello",
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ntransfer-encoding: "
         "chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: 1\r\n\r\n",
         "HTTP/1.1 304 Not Modified\r\n\r\n",
         "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nup to the end"});
    HttpConnection connection(server.endpoint(), nullptr, false);
    const auto fixed = connection.exchange("GET", "/a", {{"x", "y"}}, "");
    ASSERT_TRUE(fixed.ok()) << fixed.error().message;
    EXPECT_EQ(fixed->body, "hello");
    EXPECT_EQ(fixed->charge(), 2.5);
    const auto chunked = connection.exchange("POST", "/b", {}, "body");
    ASSERT_TRUE(chunked.ok()) << chunked.error().message;
    EXPECT_EQ(chunked->status, 201);
    EXPECT_EQ(chunked->body, "abcdefg");
    EXPECT_EQ(connection.exchange("GET", "/c", {}, "")->status, 304);
    const auto closed = connection.exchange("GET", "/d", {}, "");
    ASSERT_TRUE(closed.ok()) << closed.error().message;
    EXPECT_EQ(closed->body, "up to the end");
    EXPECT_THAT(server.requests()[0], HasSubstr("GET /a HTTP/1.1\r\nhost: 127.0.0.1:"));
    EXPECT_THAT(server.requests()[0], Not(HasSubstr("content-length")));
    EXPECT_THAT(server.requests()[1], HasSubstr("content-length: 4\r\n"));
}

TEST(HttpConnectionTest, TellsHowThereWasNoAnswer) {
    {
        ScriptedServer server({"", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"});
        HttpConnection connection(server.endpoint(), nullptr, false);
        const auto lost = connection.exchange("GET", "/", {}, "");
        ASSERT_FALSE(lost.ok());
        EXPECT_TRUE(is_no_answer(lost.error(), NoAnswer::kLost));
        EXPECT_TRUE(connection.exchange("GET", "/", {}, "").ok()) << "it connects again";
    }
    for (const char* bad : {"SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
                            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
                            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"}) {
        ScriptedServer server({bad});
        HttpConnection connection(server.endpoint(), nullptr, false);
        const auto answer = connection.exchange("GET", "/", {}, "");
        ASSERT_FALSE(answer.ok()) << bad;
        EXPECT_TRUE(is_no_answer(answer.error(), NoAnswer::kMalformed))
            << bad << answer.error().message;
    }
    Endpoint nobody;
    {
        const ScriptedServer server({});
        nobody = server.endpoint();
    }
    HttpConnection connection(nobody, nullptr, false);
    const auto answer = connection.exchange("GET", "/", {}, "");
    ASSERT_FALSE(answer.ok());
    EXPECT_TRUE(is_no_answer(answer.error(), NoAnswer::kUnreachable));
    EXPECT_THAT(answer.error().message, HasSubstr("orrery serve"));
}

class RetryTest : public ::testing::Test {
protected:
    Result<HttpAnswer> send(const ScriptedServer& server, int64_t patience_ms,
                            bool* lost = nullptr) {
        ConnectionSettings settings;
        settings.endpoint = server.endpoint();
        settings.key = "key";
        AccountClient client(
            *AccountClient::share(settings, {.patience_ms = patience_ms}, &traffic_));
        return client.send({.resource = database_feed()}, lost);
    }
    Traffic traffic_;
};

TEST_F(RetryTest, WaitsForThrottledAndLostRequests) {
    const std::string ok =
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-ms-request-charge: 1.25\r\n\r\n";
    const std::string throttled =
        "HTTP/1.1 429 Too Many\r\nx-ms-retry-after-ms: 5\r\ncontent-length: 0\r\n\r\n";
    const std::string retry_with = "HTTP/1.1 449 Retry\r\ncontent-length: 0\r\n\r\n";
    {
        ScriptedServer server({throttled, throttled, retry_with, ok});
        const auto answer = send(server, 60'000);
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer->status, 200);
        EXPECT_EQ(traffic_.throttled, 2u);
        EXPECT_EQ(traffic_.retried, 3u);
        EXPECT_EQ(traffic_.charge(), 1.25);
    }
    {
        ScriptedServer server({throttled, "", ok});
        bool lost = false;
        EXPECT_EQ(send(server, 60'000, &lost)->status, 200);
        EXPECT_TRUE(lost);
    }
    {
        ScriptedServer server({""});
        EXPECT_FALSE(send(server, 60'000).ok()) << "a server that never answered is not waited for";
    }
    {
        ScriptedServer server({throttled});
        const auto answer = send(server, 0);
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer->status, 429) << "patience is over";
    }
    {
        ScriptedServer server({"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"});
        EXPECT_EQ(send(server, 60'000)->status, 404) << "what is final is not tried again";
    }
}

}  // namespace
}  // namespace orrery::cli
