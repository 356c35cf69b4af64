#include "net/server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>

#include "base/check.h"
#include "base/errors.h"
#include "base/log.h"
#include "base/system.h"
#include "net/detail/loop.h"
#include "net/detail/protocol.h"

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

Error cannot_listen(const ListenerOptions& options, int error) {
    return errors::service_unavailable("Cannot listen on " + options.bind_address + " port " +
                                       std::to_string(options.port) + ": " + errno_text(error) +
                                       ".");
}

uint16_t port_of(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    sockaddr_in either;  // the port is at the same place in both families
    std::memcpy(&either, &address, sizeof either);
    return ntohs(either.sin_port);
}

}  // namespace

/// One port. All acceptors live on the first loop. They pause while the server is full or out of
/// descriptors; new clients then wait in the kernel's queue.
class Server::Listener final : public detail::Watcher {
public:
    Listener(Server& server, detail::OwnedFd socket,
             std::shared_ptr<const detail::Origin> the_origin)
        : acceptor(std::move(socket)), origin(std::move(the_origin)), server_(server) {}
    void on_events(uint32_t /*events*/) override { server_.accept_clients(*this); }

    detail::OwnedFd acceptor;  ///< used on the first loop only
    const std::shared_ptr<const detail::Origin> origin;

private:
    Server& server_;
};

Server::Server(const ServerOptions& options) : options_(options) {
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    const size_t count = options.loop_count > 0 ? options.loop_count : cores;
    for (size_t i = 0; i < count; ++i) {
        loops_.push_back(std::make_shared<detail::Loop>(options.large_request_bytes_max,
                                                        [this] { on_connection_closed(); }));
    }
}

Server::~Server() {
    stop(0);
}

Result<uint16_t> Server::listen(const ListenerOptions& options, ProtocolFactory protocol) {
    CHECK(!started_);
    const std::string text =
        options.bind_address == "localhost" ? "127.0.0.1" : options.bind_address;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(options.port);
    if (text.empty() || ::getaddrinfo(text.c_str(), port.c_str(), &hints, &found) != 0) {
        return errors::bad_request("The bind address '" + options.bind_address +
                                   "' is not an IPv4 or IPv6 address.");
    }
    detail::OwnedFd socket = listen_on(*found);
    const int error = errno;
    ::freeaddrinfo(found);
    if (!socket.valid()) return cannot_listen(options, error);
    const uint16_t taken = port_of(socket.get());
    auto origin = std::make_shared<const detail::Origin>(
        detail::Origin{.tls = options.tls,
                       .write_timeout_ms = options.write_timeout_ms,
                       .make_protocol = std::move(protocol)});
    auto listener = std::make_unique<Listener>(*this, std::move(socket), std::move(origin));
    if (!loops_[0]->usable()) return cannot_listen(options, EMFILE);
    if (!loops_[0]->watch(listener->acceptor.get(), EPOLLIN, *listener))
        return cannot_listen(options, errno);
    listeners_.push_back(std::move(listener));
    return taken;
}

Status Server::start() {
    CHECK(!started_);
    for (const auto& loop : loops_)
        if (!loop->usable())
            return Status(errors::service_unavailable(
                "Cannot start the network: " + errno_text(EMFILE) + "."));
    started_ = true;
    for (const auto& loop : loops_) loop->start();
    return {};
}

/// Events come once per change, so this goes on until the queue is empty or something else will
/// call again.
void Server::accept_clients(Listener& listener) {
    constexpr int kBatch = 64;  // connections that are being served get their turn in between
    for (int i = 0; i < kBatch; ++i) {
        if (!listener.acceptor.valid()) return;
        if (connection_count_.load() >= options_.connections_max) {
            full_.store(true);
            // A connection that ended before the flag was up does not wake us.
            if (connection_count_.load() >= options_.connections_max || !full_.exchange(false))
                return;
        }
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        const int socket = ::accept4(listener.acceptor.get(), reinterpret_cast<sockaddr*>(&address),
                                     &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket >= 0) {
            give_to_loop(listener, socket, is_loopback(address));
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO) continue;
        retry_later();
        return;
    }
    loops_[0]->post_function([this, &listener] { accept_clients(listener); });
}

void Server::accept_everywhere() {
    for (const auto& listener : listeners_) accept_clients(*listener);
}

void Server::give_to_loop(Listener& listener, int socket, bool peer_is_loopback) {
    connection_count_.fetch_add(1);
    const auto fewest = std::min_element(
        loops_.begin(), loops_.end(),
        [](const auto& a, const auto& b) { return a->connection_count() < b->connection_count(); });
    (*fewest)->adopt(detail::OwnedFd(socket), listener.origin, peer_is_loopback);
}

/// Out of descriptors or memory: trying again at once would only waste processor time.
void Server::retry_later() {
    constexpr int64_t kPauseMs = 100;
    log::warning(std::string("cannot accept connections: ") + errno_text(errno));
    loops_[0]->set_alarm(kPauseMs, [this] { accept_everywhere(); });
}

void Server::on_connection_closed() {
    const size_t left = connection_count_.fetch_sub(1) - 1;
    if (full_.load() && full_.exchange(false)) {
        loops_[0]->post_function([this] { accept_everywhere(); });
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
        // An alarm or a task that is still to come finds them closed.
        for (const auto& listener : listeners_) listener->acceptor.reset();
        accepting_ended.set_value();
    });
    accepting_ended.get_future().wait();
    for (const auto& loop : loops_) loop->begin_stop();
    {
        std::unique_lock lock(empty_mutex_);
        empty_.wait_for(lock, std::chrono::milliseconds(std::max<int64_t>(0, grace_ms)),
                        [this] { return connection_count_.load() == 0; });
    }
    for (const auto& loop : loops_) loop->finish_stop();
    for (const auto& loop : loops_) loop->join();
}

}  // namespace orrery::net
