#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "net/loop_task.h"

namespace orrery::net::detail {

class Connection;
struct Origin;

/// A file descriptor that is closed with its owner.
class OwnedFd {
public:
    explicit OwnedFd(int fd = -1) : fd_(fd) {}
    OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    OwnedFd& operator=(OwnedFd&& other) noexcept {
        reset();
        fd_ = std::exchange(other.fd_, -1);
        return *this;
    }
    ~OwnedFd() { reset(); }
    int get() const { return fd_; }
    bool valid() const { return fd_ >= 0; }
    void reset();

private:
    int fd_;
};

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

/// Milliseconds that never run backwards, a few milliseconds coarse.
int64_t coarse_now_ms();

/// What a loop tells about a descriptor: EPOLL… bits, each reported once when it becomes true
/// (edge-triggered).
class Watcher {
public:
    virtual void on_events(uint32_t events) = 0;

protected:
    ~Watcher() = default;
};

/// One event loop, its thread and its connections. Everything runs on that thread except where a
/// comment says "any thread". Lives as long as the server or anybody who holds a connection.
///
/// Invariant: a connection that has ended stays in memory until the round of events ends in which
/// it did, so neither its own code nor an event already fetched meets a dead object.
class Loop : public std::enable_shared_from_this<Loop> {
public:
    /// `on_closed` is called on the loop's thread after each connection that ended.
    Loop(size_t large_bytes_max, std::function<void()> on_closed);
    ~Loop();

    bool stopping() const { return stopping_; }

    // Any thread ----------------------------------------------------------------------------
    /// False when the system has no descriptors left for it.
    bool usable() const { return epoll_.valid() && waker_.valid(); }
    void start();
    /// Connections here and on their way here.
    size_t connection_count() const { return connection_count_.load(std::memory_order_relaxed); }
    void adopt(OwnedFd socket, std::shared_ptr<const Origin> origin, bool peer_is_loopback);
    /// Calls Protocol::on_wake() on the loop's thread, never at once.
    void wake(std::shared_ptr<Connection> connection);
    /// Runs the task on the loop's thread, at once when called there.
    void run(std::unique_ptr<LoopTask> task);
    /// Runs the task on the loop's thread, never at once. Destroyed unrun when the loop has ended.
    void post(std::unique_ptr<LoopTask> task);
    template <typename Function>
    void post_function(Function function);
    /// Closes idle connections; the others close after their answer.
    void begin_stop();
    /// Closes what is left; the loop then ends.
    void finish_stop();
    void join();
    bool on_own_thread() const;
    /// Room for a buffer above the usual size; false when the loop's requests hold too much
    /// already.
    bool take_large_bytes(size_t bytes);
    void give_large_bytes(size_t bytes) {
        large_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    }

    // The loop's thread ---------------------------------------------------------------------
    /// `events` of `fd` go to `watcher` until the descriptor is closed.
    bool watch(int fd, uint32_t events, Watcher& watcher);
    /// Calls `function` once in `delay_ms`; there is one such alarm.
    void set_alarm(int64_t delay_ms, std::function<void()> function);
    /// Goes on with the connection in the next round: others get their turn first.
    void resume_later(std::shared_ptr<Connection> connection);
    /// Sends the connection's output with that of others, within this round of events.
    void send_soon(std::shared_ptr<Connection> connection);
    void remove(Connection& connection);
    /// Each deadline that a connection sets is noted here.
    void note_deadline(int64_t deadline_ms) {
        timer_due_ms_ = std::min(timer_due_ms_, deadline_ms);
    }

private:
    /// A connection to wake, or a task.
    struct Mail {
        std::shared_ptr<Connection> connection;
        std::unique_ptr<LoopTask> task;
    };

    void serve();
    void wait_for_events();
    int64_t next_due_ms() const;
    bool send_mail(Mail mail);
    void read_mail();
    void resume_connections();
    void send_output();
    void send_output_when_due();
    void on_timer();

    const size_t large_bytes_max_;
    const std::function<void()> on_closed_;

    const OwnedFd epoll_;
    const OwnedFd waker_;
    int64_t timer_due_ms_ = kNever;  ///< next sweep over the deadlines
    int64_t alarm_due_ms_ = kNever;
    std::function<void()> alarm_;
    std::thread thread_;

    std::vector<std::shared_ptr<Connection>> connections_;
    std::vector<std::shared_ptr<Connection>> ended_;    ///< in this round of events
    std::vector<std::shared_ptr<Connection>> resumed_;  ///< in the next one
    std::vector<std::shared_ptr<Connection>> to_send_;  ///< have output to be sent
    std::vector<std::shared_ptr<Connection>> sending_;
    int64_t to_send_since_us_ = 0;  ///< while to_send_ is not empty
    std::atomic<size_t> connection_count_{0};
    std::atomic<size_t> large_bytes_{0};
    bool stopping_ = false;
    bool finished_ = false;

    /// Pairs in send_mail() and wait_for_events(): either the loop sees the mail before it sleeps,
    /// or the sender sees it sleeping and wakes it.
    std::atomic<bool> sleeping_{false};
    std::atomic<bool> has_mail_{false};
    std::mutex mutex_;
    std::vector<Mail> mail_;  ///< guarded by mutex_
    bool closed_ = false;     ///< guarded by mutex_; mail comes too late
    std::vector<Mail> reading_;
};

template <typename Function>
void Loop::post_function(Function function) {
    struct Task final : LoopTask {
        explicit Task(Function the_function) : function(std::move(the_function)) {}
        void run() override { function(); }
        Function function;
    };
    post(std::make_unique<Task>(std::move(function)));
}

}  // namespace orrery::net::detail
