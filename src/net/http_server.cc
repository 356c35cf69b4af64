#include "net/http_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/errors.h"
#include "base/log.h"
#include "net/detail/loop.h"

namespace orrery::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

bool is_loopback(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, &address, sizeof v4);
        return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
    }
    if (address.ss_family != AF_INET6) return false;
    sockaddr_in6 v6;
    std::memcpy(&v6, &address, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return v6.sin6_addr.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
}

/// The acceptor lives on the first loop. It pauses while the server is full or out of descriptors;
/// new clients then wait in the kernel's queue.
class Server final : public HttpServer {
public:
    Server(const HttpServerOptions& options, HttpHandler& handler) : options_(options) {
        const size_t cores = std::max(1u, std::thread::hardware_concurrency());
        const size_t count = options.loop_count > 0 ? options.loop_count : cores;
        for (size_t i = 0; i < count; ++i) {
            loops_.push_back(std::make_shared<detail::Loop>(options, handler,
                                                            [this] { on_connection_closed(); }));
        }
        acceptor_ = std::make_unique<tcp::acceptor>(loops_[0]->context());
        retry_ = std::make_unique<asio::steady_timer>(loops_[0]->context());
    }

    ~Server() override { stop(0); }

    Status listen();
    uint16_t port() const override { return port_; }
    size_t connection_count() const override { return total_.load(); }
    void stop(int64_t grace_ms) override;

private:
    Status cannot_listen(const boost::system::error_code& error) const;
    void await_client();
    void accept_clients();
    bool accept_one();
    void retry_later();
    void on_connection_closed();

    const HttpServerOptions options_;
    std::vector<std::shared_ptr<detail::Loop>> loops_;
    std::unique_ptr<tcp::acceptor> acceptor_;    // used on the first loop only
    std::unique_ptr<asio::steady_timer> retry_;  // used on the first loop only
    uint16_t port_ = 0;
    bool started_ = false;
    std::atomic<size_t> total_{0};
    std::atomic<bool> full_{false};
    std::atomic<bool> stopping_{false};
    std::mutex stop_mutex_;  // held for the whole of stop()
    bool stopped_ = false;   // guarded by stop_mutex_
    std::mutex empty_mutex_;
    std::condition_variable empty_;
};

Status Server::cannot_listen(const boost::system::error_code& error) const {
    return Status(errors::service_unavailable("Cannot listen on " + options_.bind_address +
                                              " port " + std::to_string(options_.port) + ": " +
                                              error.message() + "."));
}

Status Server::listen() {
    boost::system::error_code error;
    const std::string text =
        options_.bind_address == "localhost" ? "127.0.0.1" : options_.bind_address;
    const auto address = asio::ip::make_address(text, error);
    if (error) {
        return Status(errors::bad_request("The bind address '" + options_.bind_address +
                                          "' is not an IPv4 or IPv6 address."));
    }
    const tcp::endpoint endpoint(address, options_.port);
    acceptor_->open(endpoint.protocol(), error);
    if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && address.is_v6() && address.is_unspecified()) {
        acceptor_->set_option(asio::ip::v6_only(false), error);
    }
    if (!error) acceptor_->bind(endpoint, error);
    if (!error) acceptor_->listen(tcp::acceptor::max_listen_connections, error);
    if (!error) acceptor_->native_non_blocking(true, error);
    if (!error) port_ = acceptor_->local_endpoint(error).port();
    if (error) return cannot_listen(error);
    await_client();
    started_ = true;
    for (const auto& loop : loops_) loop->start();
    return {};
}

void Server::await_client() {
    acceptor_->async_wait(tcp::acceptor::wait_read, [this](const boost::system::error_code& error) {
        if (!error) accept_clients();
    });
}

void Server::accept_clients() {
    constexpr int kBatch = 64;  // connections that are being served get their turn in between
    for (int i = 0; i < kBatch; ++i) {
        if (!acceptor_->is_open()) return;
        if (total_.load() >= options_.connections_max) {
            full_.store(true);
            // A connection that ended before the flag was up does not wake us.
            if (total_.load() >= options_.connections_max || !full_.exchange(false)) return;
        }
        if (!accept_one()) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) break;
            if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO) continue;
            retry_later();
            return;
        }
    }
    await_client();
}

/// False with errno set.
bool Server::accept_one() {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = ::accept4(acceptor_->native_handle(), reinterpret_cast<sockaddr*>(&address),
                             &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return false;
    total_.fetch_add(1);
    const auto fewest = std::min_element(
        loops_.begin(), loops_.end(),
        [](const auto& a, const auto& b) { return a->connection_count() < b->connection_count(); });
    (*fewest)->adopt(detail::OwnedSocket(fd), is_loopback(address));
    return true;
}

/// Out of descriptors or memory: trying again at once would only burn the processor.
void Server::retry_later() {
    constexpr auto kPause = std::chrono::milliseconds(100);
    log::warning(std::string("cannot accept connections: ") + std::strerror(errno));
    retry_->expires_after(kPause);
    retry_->async_wait([this](const boost::system::error_code& error) {
        if (!error) accept_clients();
    });
}

void Server::on_connection_closed() {
    const size_t left = total_.fetch_sub(1) - 1;
    if (full_.load() && full_.exchange(false)) {
        asio::post(loops_[0]->context(), [this] { accept_clients(); });
    }
    if (left == 0 && stopping_.load()) {
        const std::lock_guard lock(empty_mutex_);
        empty_.notify_all();
    }
}

void Server::stop(int64_t grace_ms) {
    const std::lock_guard stop_lock(stop_mutex_);
    if (stopped_) return;
    stopped_ = true;
    if (!started_) return;
    for (const auto& loop : loops_) CHECK(!loop->on_own_thread());
    stopping_.store(true);
    std::promise<void> accepting_ended;
    asio::post(loops_[0]->context(), [this, &accepting_ended] {
        boost::system::error_code ignored;
        acceptor_->close(ignored);
        retry_->cancel();
        accepting_ended.set_value();
    });
    accepting_ended.get_future().wait();
    for (const auto& loop : loops_) loop->begin_stop();
    {
        std::unique_lock lock(empty_mutex_);
        empty_.wait_for(lock, std::chrono::milliseconds(std::max<int64_t>(0, grace_ms)),
                        [this] { return total_.load() == 0; });
    }
    for (const auto& loop : loops_) loop->finish_stop();
    for (const auto& loop : loops_) loop->join();
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpServerOptions& options,
                                                      HttpHandler& handler) {
    auto server = std::make_unique<Server>(options, handler);
    TRY_STATUS(server->listen());
    return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace orrery::net
