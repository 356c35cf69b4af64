#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "net/http_protocol.h"
#include "net/server.h"

/// For net's own tests: a blocking client on a real socket, and handlers made of lambdas.
namespace orrery::net::detail {

/// Far beyond what a loaded machine needs: how long a test waits for what must happen.
inline constexpr int kPatienceMs = 60'000;

inline int64_t test_now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Reply {
    int status = 0;  ///< 0: the connection ended without an answer
    std::string head;
    std::string body;
    bool has(std::string_view line) const {
        return head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
    }
    bool has_header(std::string_view name) const {
        return head.find("\r\n" + std::string(name) + ":") != std::string::npos;
    }
};

class TestClient {
public:
    explicit TestClient(uint16_t port, int receive_buffer_bytes = 0) {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (receive_buffer_bytes > 0) {
            ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                         sizeof receive_buffer_bytes);
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            ADD_FAILURE() << "cannot connect";
        }
    }
    ~TestClient() { close(); }
    TestClient(const TestClient&) = delete;
    TestClient& operator=(const TestClient&) = delete;

    void close() {
        SSL_free(std::exchange(ssl_, nullptr));
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    void reset_connection() {
        const linger now{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close();
    }
    void end_sending() { ::shutdown(fd_, SHUT_WR); }
    int fd() const { return fd_; }
    SSL* ssl() { return ssl_; }

    bool start_tls(SSL_CTX* context) {
        ssl_ = SSL_new(context);
        SSL_set_fd(ssl_, fd_);
        SSL_set_tlsext_host_name(ssl_, "localhost");
        return SSL_connect(ssl_) == 1;
    }

    /// False when the server has closed the connection.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ssl_ != nullptr
                                     ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                     : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<size_t>(sent));
        }
        return true;
    }
    /// Some bytes into the buffer; false at the end, on errors and after a minute.
    bool receive() {
        char block[16384];
        if (ssl_ == nullptr || SSL_pending(ssl_) == 0) {
            pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, kPatienceMs) != 1) {
                ADD_FAILURE() << "nothing came, not even the connection's end";
                return false;
            }
        }
        const ssize_t count = ssl_ != nullptr ? SSL_read(ssl_, block, sizeof block)
                                              : ::recv(fd_, block, sizeof block, 0);
        if (count <= 0) return false;
        buffer_.append(block, static_cast<size_t>(count));
        return true;
    }
    /// The next answer; `to_head`: it has no body whatever its length says.
    Reply reply(bool to_head = false) {
        Reply reply;
        size_t end;
        while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
            if (!receive()) return reply;
        }
        reply.head = buffer_.substr(0, end + 2);
        reply.status = std::stoi(reply.head.substr(9, 3));
        buffer_.erase(0, end + 4);
        const size_t length_at = reply.head.find("\r\ncontent-length: ");
        if (length_at == std::string::npos || to_head) return reply;
        const size_t length = std::stoul(reply.head.substr(length_at + 18));
        while (buffer_.size() < length) {
            if (!receive()) return Reply();
        }
        reply.body = buffer_.substr(0, length);
        buffer_.erase(0, length);
        return reply;
    }
    Reply request(std::string_view text) { return send(text) ? reply() : Reply(); }
    /// So many bytes; fewer when the connection ends before.
    std::string take(size_t count) {
        while (buffer_.size() < count && receive()) {
        }
        std::string bytes = buffer_.substr(0, count);
        buffer_.erase(0, bytes.size());
        return bytes;
    }
    /// True when the server ends the connection without another byte.
    bool at_end() { return buffer_.empty() && !receive() && buffer_.empty(); }

private:
    int fd_ = -1;
    SSL* ssl_ = nullptr;
    std::string buffer_;
};

inline std::string get_request(std::string_view path, std::string_view headers = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) +
           "\r\n";
}

inline std::string post_request(std::string_view path, std::string_view body) {
    return "POST " + std::string(path) +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
}

/// Echoes "METHOD target body", or does what the test says.
class TestHandler final : public HttpHandler {
public:
    using Function = std::function<void(std::unique_ptr<HttpExchange>)>;
    explicit TestHandler(Function function = echo) : function_(std::move(function)) {}

    static void echo(std::unique_ptr<HttpExchange> exchange) {
        const HttpRequest& request = exchange->request;
        exchange->response.body = std::string(request.method) + " " + std::string(request.target) +
                                  " " + std::string(request.body);
        HttpExchange::send(std::move(exchange));
    }
    void handle(std::unique_ptr<HttpExchange> exchange) override { function_(std::move(exchange)); }
    void refuse(int status, std::string_view why, HttpResponse& response) override {
        response.add_header("x-refused", int64_t{status});
        response.body = why;
    }

private:
    const Function function_;
};

struct TestServerOptions : ServerOptions, ListenerOptions, HttpOptions {};

/// A server with one port.
class TestServer {
public:
    static Result<std::unique_ptr<TestServer>> start(const TestServerOptions& options,
                                                     ProtocolFactory protocol) {
        auto server = std::make_unique<TestServer>(options);
        TRY(server->port_, server->server_.listen(options, std::move(protocol)));
        TRY_STATUS(server->server_.start());
        return server;
    }
    explicit TestServer(const ServerOptions& options) : server_(options) {}
    uint16_t port() const { return port_; }
    size_t connection_count() const { return server_.connection_count(); }
    void stop(int64_t grace_ms) { server_.stop(grace_ms); }

private:
    Server server_;
    uint16_t port_ = 0;
};

inline std::unique_ptr<TestServer> start_server(ProtocolFactory protocol,
                                                TestServerOptions options = {}) {
    if (options.loop_count == 0) options.loop_count = 2;
    auto server = TestServer::start(options, std::move(protocol));
    EXPECT_TRUE(server.ok()) << (server.ok() ? "" : server.error().message);
    return std::move(server).value();
}

inline std::unique_ptr<TestServer> start_server(HttpHandler& handler,
                                                const TestServerOptions& options = {}) {
    return start_server(http_protocol(handler, options), options);
}

inline bool eventually(const std::function<bool()>& condition) {
    const int64_t until_ms = test_now_ms() + kPatienceMs;
    while (!condition()) {
        if (test_now_ms() > until_ms) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// Exchanges that a handler put aside for the test to answer.
class Parked {
public:
    /// For a handler: "/now" is answered at once, the rest is put here.
    void put_unless_now(std::unique_ptr<HttpExchange> exchange) {
        if (exchange->request.target == "/now") {
            TestHandler::echo(std::move(exchange));
        } else {
            put(std::move(exchange));
        }
    }
    void put(std::unique_ptr<HttpExchange> exchange) {
        const std::lock_guard lock(mutex_);
        exchanges_.push_back(std::move(exchange));
        changed_.notify_all();
    }
    std::unique_ptr<HttpExchange> take() {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs),
                               [&] { return !exchanges_.empty(); })) {
            ADD_FAILURE() << "no request came";
            return nullptr;
        }
        auto exchange = std::move(exchanges_.front());
        exchanges_.erase(exchanges_.begin());
        return exchange;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::unique_ptr<HttpExchange>> exchanges_;
};

}  // namespace orrery::net::detail
