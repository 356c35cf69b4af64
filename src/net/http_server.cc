#include "net/http_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
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
#include "base/system.h"
#include "net/detail/loop.h"

namespace orrery::net {
namespace {

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

/// A listening socket, or an invalid one with errno set.
detail::OwnedFd listen_on(const addrinfo& address) {
    detail::OwnedFd socket(
        ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return socket;
    const int on = 1;
    const int off = 0;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.ai_family == AF_INET6) {
        sockaddr_in6 v6;
        std::memcpy(&v6, address.ai_addr, sizeof v6);
        // The unspecified address takes IPv4 clients, too.
        if (IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr))
            ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0)
        return socket;
    const int error = errno;
    socket.reset();
    errno = error;
    return socket;
}

uint16_t port_of(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    sockaddr_in either;  // the port is at the same place in both families
    std::memcpy(&either, &address, sizeof either);
    return ntohs(either.sin_port);
}

/// The acceptor lives on the first loop. It pauses while the server is full or out of descriptors;
/// new clients then wait in the kernel's queue.
class Server final : public HttpServer, private detail::Watcher {
public:
    Server(const HttpServerOptions& options, HttpHandler& handler) : options_(options) {
        const size_t cores = std::max(1u, std::thread::hardware_concurrency());
        const size_t count = options.loop_count > 0 ? options.loop_count : cores;
        for (size_t i = 0; i < count; ++i) {
            loops_.push_back(std::make_shared<detail::Loop>(options, handler,
                                                            [this] { on_connection_closed(); }));
        }
    }

    ~Server() override { stop(0); }

    Status listen();
    uint16_t port() const override { return port_; }
    size_t connection_count() const override { return total_.load(); }
    void stop(int64_t grace_ms) override;

private:
    Status cannot_listen(int error) const;
    void on_events(uint32_t /*events*/) override { accept_clients(); }
    void accept_clients();
    bool accept_one();
    void retry_later();
    void on_connection_closed();

    const HttpServerOptions options_;
    std::vector<std::shared_ptr<detail::Loop>> loops_;
    detail::OwnedFd acceptor_;  // used on the first loop only
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

Status Server::cannot_listen(int error) const {
    return Status(errors::service_unavailable("Cannot listen on " + options_.bind_address +
                                              " port " + std::to_string(options_.port) + ": " +
                                              errno_text(error) + "."));
}

Status Server::listen() {
    const std::string text =
        options_.bind_address == "localhost" ? "127.0.0.1" : options_.bind_address;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(options_.port);
    if (text.empty() || ::getaddrinfo(text.c_str(), port.c_str(), &hints, &found) != 0) {
        return Status(errors::bad_request("The bind address '" + options_.bind_address +
                                          "' is not an IPv4 or IPv6 address."));
    }
    acceptor_ = listen_on(*found);
    const int error = errno;
    ::freeaddrinfo(found);
    if (!acceptor_.valid()) return cannot_listen(error);
    port_ = port_of(acceptor_.get());
    for (const auto& loop : loops_)
        if (!loop->usable()) return cannot_listen(EMFILE);
    if (!loops_[0]->watch(acceptor_.get(), EPOLLIN, *this)) return cannot_listen(errno);
    started_ = true;
    for (const auto& loop : loops_) loop->start();
    return {};
}

/// Events come once per change, so this goes on until the queue is empty or something else will
/// call again.
void Server::accept_clients() {
    constexpr int kBatch = 64;  // connections that are being served get their turn in between
    for (int i = 0; i < kBatch; ++i) {
        if (!acceptor_.valid()) return;
        if (total_.load() >= options_.connections_max) {
            full_.store(true);
            // A connection that ended before the flag was up does not wake us.
            if (total_.load() >= options_.connections_max || !full_.exchange(false)) return;
        }
        if (!accept_one()) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) return;
            if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO) continue;
            retry_later();
            return;
        }
    }
    loops_[0]->post_function([this] { accept_clients(); });
}

/// False with errno set.
bool Server::accept_one() {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = ::accept4(acceptor_.get(), reinterpret_cast<sockaddr*>(&address), &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return false;
    total_.fetch_add(1);
    const auto fewest = std::min_element(
        loops_.begin(), loops_.end(),
        [](const auto& a, const auto& b) { return a->connection_count() < b->connection_count(); });
    (*fewest)->adopt(detail::OwnedFd(fd), is_loopback(address));
    return true;
}

/// Out of descriptors or memory: trying again at once would only burn the processor.
void Server::retry_later() {
    constexpr int64_t kPauseMs = 100;
    log::warning(std::string("cannot accept connections: ") + errno_text(errno));
    loops_[0]->set_alarm(kPauseMs, [this] { accept_clients(); });
}

void Server::on_connection_closed() {
    const size_t left = total_.fetch_sub(1) - 1;
    if (full_.load() && full_.exchange(false)) {
        loops_[0]->post_function([this] { accept_clients(); });
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
    loops_[0]->post_function([this, &accepting_ended] {
        acceptor_.reset();  // an alarm or a task that is still to come finds it closed
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
