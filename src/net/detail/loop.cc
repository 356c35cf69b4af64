#include "net/detail/loop.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/detail/connection.h"

namespace orrery::net::detail {
namespace {

thread_local const Loop* current_loop = nullptr;

int64_t coarse_ms(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

OwnedSocket::~OwnedSocket() {
    if (fd_ >= 0) ::close(fd_);
}

int64_t coarse_now_ms() {
    return coarse_ms(CLOCK_MONOTONIC_COARSE);
}

Loop::Loop(const HttpServerOptions& options, HttpHandler& handler, std::function<void()> on_closed)
    : options_(options),
      handler_(handler),
      on_closed_(std::move(on_closed)),
      shortest_timeout_ms_(
          std::max<int64_t>(1, std::min({options.header_timeout_ms, options.body_timeout_ms,
                                         options.idle_timeout_ms, options.write_timeout_ms}))),
      // Sockets and timers are touched by the loop's thread only; posting is what others do.
      context_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO),
      work_(context_.get_executor()),
      timer_(context_) {}

Loop::~Loop() {
    DCHECK(!thread_.joinable());
}

void Loop::start() {
    thread_ = std::thread([this] { run(); });
}

void Loop::run() {
    current_loop = this;
    context_.run();
    // All connections are closed. Handlers may still hold exchanges: their answers go nowhere.
    std::vector<Answer> late;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        late.swap(answers_);
    }
    current_loop = nullptr;
}

void Loop::join() {
    if (thread_.joinable()) thread_.join();
}

bool Loop::on_own_thread() const {
    return current_loop == this;
}

void Loop::adopt(OwnedSocket socket, bool peer_is_loopback) {
    connection_count_.fetch_add(1, std::memory_order_relaxed);
    boost::asio::post(context_, [this, socket = std::move(socket), peer_is_loopback]() mutable {
        auto connection = std::make_shared<Connection>(shared_from_this(), peer_is_loopback);
        connection->position_in_loop = connections_.size();
        connections_.push_back(connection);
        connection->start(std::move(socket));
        if (stopping_) connection->stop();
        note_deadline(coarse_now_ms() + shortest_timeout_ms_);
    });
}

void Loop::remove(Connection& connection) {
    const size_t position = connection.position_in_loop;
    DCHECK(position < connections_.size() && connections_[position].get() == &connection);
    std::swap(connections_[position], connections_.back());
    connections_[position]->position_in_loop = position;
    connections_.pop_back();
    connection_count_.fetch_sub(1, std::memory_order_relaxed);
    on_closed_();
}

void Loop::dispatch(Connection& connection, std::unique_ptr<Exchange> exchange) {
    DCHECK(dispatching_ == nullptr);
    dispatching_ = &connection;
    try {
        handler_.handle(std::move(exchange));
    } catch (const std::exception& e) {
        // The exchange died with the handler's stack: the client gets its 500.
        log::error(std::string("an HTTP handler threw: ") + e.what());
    }
    dispatching_ = nullptr;
}

void Loop::answer(std::shared_ptr<Connection> connection, std::unique_ptr<Exchange> exchange) {
    if (on_own_thread()) {
        if (dispatching_ == connection.get()) {
            connection->answer_in_dispatch(std::move(exchange));
            return;
        }
        if (dispatching_ == nullptr) {
            connection->answer_later(std::move(exchange));
            return;
        }
    }
    const std::shared_ptr<Loop> self =
        shared_from_this();  // the answer may be gone before the post
    bool wake = false;
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return;
        wake = answers_.empty();
        answers_.push_back({std::move(connection), std::move(exchange)});
    }
    if (wake) boost::asio::post(context_, [this] { deliver_answers(); });
}

void Loop::deliver_answers() {
    DCHECK(delivering_.empty());
    {
        const std::lock_guard lock(mutex_);
        delivering_.swap(answers_);
    }
    for (Answer& answer : delivering_) {
        answer.connection->answer_later(std::move(answer.exchange));
    }
    delivering_.clear();
}

std::string_view Loop::date_line() {
    const int64_t second = coarse_ms(CLOCK_REALTIME_COARSE) / 1000;
    if (second != date_second_) {
        date_second_ = second;
        date_line_ = "date: " + format_http_date(second) + "\r\n";
    }
    return date_line_;
}

/// One timer serves all connections. A deadline set after a sweep is at least the shortest timeout
/// away, so sweeping at the earliest known deadline, and no later than that distance, misses none.
void Loop::arm_timer(int64_t deadline_ms) {
    timer_due_ms_ = deadline_ms;
    const int64_t delay_ms = std::max<int64_t>(1, deadline_ms - coarse_now_ms());
    timer_.expires_after(std::chrono::milliseconds(delay_ms));
    timer_.async_wait([this](const boost::system::error_code& error) {
        if (!error) on_timer();
    });
}

void Loop::note_deadline(int64_t deadline_ms) {
    if (deadline_ms < timer_due_ms_) arm_timer(deadline_ms);
}

void Loop::on_timer() {
    timer_due_ms_ = kNever;
    const int64_t now_ms = coarse_now_ms();
    // Expired connections may leave the vector; walking down, the one swapped in was seen already.
    for (size_t i = connections_.size(); i-- > 0;) {
        if (i >= connections_.size()) continue;
        const std::shared_ptr<Connection> connection = connections_[i];
        if (connection->deadline_ms() <= now_ms) connection->on_deadline();
    }
    if (connections_.empty()) return;
    int64_t next_ms = now_ms + shortest_timeout_ms_;
    for (const auto& connection : connections_) {
        next_ms = std::min(next_ms, connection->deadline_ms());
    }
    arm_timer(next_ms);
}

void Loop::begin_stop() {
    boost::asio::post(context_, [this] {
        stopping_ = true;
        for (size_t i = connections_.size(); i-- > 0;) {
            if (i >= connections_.size()) continue;
            const std::shared_ptr<Connection> connection = connections_[i];
            connection->stop();
        }
    });
}

void Loop::finish_stop() {
    boost::asio::post(context_, [this] {
        stopping_ = true;
        while (!connections_.empty()) {
            const std::shared_ptr<Connection> connection = connections_.back();
            connection->close();
        }
        timer_.cancel();
        work_.reset();
    });
}

}  // namespace orrery::net::detail
