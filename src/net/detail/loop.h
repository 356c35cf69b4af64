#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "net/http_server.h"

namespace orrery::net::detail {

class Connection;
class Exchange;

/// A socket that nobody owns yet; closed unless released.
class OwnedSocket {
public:
    explicit OwnedSocket(int fd) : fd_(fd) {}
    OwnedSocket(OwnedSocket&& other) noexcept : fd_(other.release()) {}
    OwnedSocket& operator=(OwnedSocket&&) = delete;
    ~OwnedSocket();
    int get() const { return fd_; }
    int release() {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }

private:
    int fd_;
};

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

/// Milliseconds that never run backwards, a few milliseconds coarse.
int64_t coarse_now_ms();

/// One event loop, its thread and its connections. Everything runs on that thread except where a
/// comment says "any thread". Lives as long as the server or any exchange of its connections.
class Loop : public std::enable_shared_from_this<Loop> {
public:
    /// `on_closed` is called on the loop's thread after each connection that ended.
    Loop(const HttpServerOptions& options, HttpHandler& handler, std::function<void()> on_closed);
    ~Loop();

    const HttpServerOptions& options() const { return options_; }
    HttpHandler& handler() const { return handler_; }
    boost::asio::io_context& context() { return context_; }
    bool stopping() const { return stopping_; }

    // Any thread ----------------------------------------------------------------------------
    void start();
    /// Connections here and on their way here.
    size_t connection_count() const { return connection_count_.load(std::memory_order_relaxed); }
    void adopt(OwnedSocket socket, bool peer_is_loopback);
    /// The answer to `connection`'s request; null: its handler gave up without one.
    void answer(std::shared_ptr<Connection> connection, std::unique_ptr<Exchange> exchange);
    /// Closes idle connections; the others close after their answer.
    void begin_stop();
    /// Closes what is left; the loop then ends by itself.
    void finish_stop();
    void join();
    bool on_own_thread() const;

    // The loop's thread ---------------------------------------------------------------------
    /// "date: …\r\n", renewed each second.
    std::string_view date_line();
    void remove(Connection& connection);
    /// For a deadline nearer than the shortest configured timeout.
    void note_deadline(int64_t deadline_ms);
    /// Calls the handler, marking `connection` as the one being dispatched.
    void dispatch(Connection& connection, std::unique_ptr<Exchange> exchange);

private:
    struct Answer {
        std::shared_ptr<Connection> connection;
        std::unique_ptr<Exchange> exchange;
    };

    void run();
    void deliver_answers();
    void arm_timer(int64_t deadline_ms);
    void on_timer();

    const HttpServerOptions options_;
    HttpHandler& handler_;
    const std::function<void()> on_closed_;
    const int64_t shortest_timeout_ms_;

    boost::asio::io_context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    boost::asio::steady_timer timer_;
    int64_t timer_due_ms_ = kNever;  ///< kNever: not armed
    std::thread thread_;

    std::vector<std::shared_ptr<Connection>> connections_;
    std::atomic<size_t> connection_count_{0};
    Connection* dispatching_ = nullptr;
    bool stopping_ = false;
    int64_t date_second_ = -1;
    std::string date_line_;

    std::mutex mutex_;
    std::vector<Answer> answers_;  ///< guarded by mutex_; one wake-up is under way while not empty
    bool closed_ = false;          ///< guarded by mutex_; answers come too late
    std::vector<Answer> delivering_;
};

}  // namespace orrery::net::detail
