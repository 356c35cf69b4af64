#include "net/detail/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/detail/connection.h"

namespace orrery::net::detail {
namespace {

constexpr int kEventsMax = 128;
/// A client that gets its answer wakes up and wants a processor. Where processors are few, it takes
/// the place of this thread. So answers are sent a few at a time.
constexpr size_t kAnswersHeldMax = 16;
constexpr int64_t kAnswerHeldUsMax = 200;

thread_local const Loop* current_loop = nullptr;

}  // namespace

void OwnedFd::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

int64_t coarse_now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

Loop::Loop(size_t large_bytes_max, std::function<void()> on_closed)
    : large_bytes_max_(large_bytes_max),
      on_closed_(std::move(on_closed)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!usable()) return;
    epoll_event event{};
    // Edge-triggered: each write to it is an event, and nobody has to read it.
    event.events = EPOLLIN | EPOLLET;
    event.data.ptr = nullptr;
    CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, waker_.get(), &event) == 0);
}

Loop::~Loop() {
    DCHECK(!thread_.joinable());
}

void Loop::start() {
    thread_ = std::thread([this] { serve(); });
}

void Loop::serve() {
    current_loop = this;
    while (!finished_) {
        wait_for_events();
        read_mail();
        if (!resumed_.empty()) resume_connections();
        if (next_due_ms() <= coarse_now_ms()) on_timer();
        send_output();
        ended_.clear();
    }
    // All connections are closed. Others may still hold them: what they send goes nowhere.
    std::vector<Mail> late;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        late.swap(mail_);
    }
    current_loop = nullptr;
}

void Loop::wait_for_events() {
    int timeout_ms = -1;
    if (const int64_t due_ms = next_due_ms(); due_ms != kNever) {
        // The coarse clock may lag, so wait a little longer.
        const int64_t delay_ms = std::max<int64_t>(0, due_ms - coarse_now_ms() + 1);
        timeout_ms = static_cast<int>(std::min<int64_t>(delay_ms, std::numeric_limits<int>::max()));
    }
    sleeping_.store(true, std::memory_order_seq_cst);
    if (!resumed_.empty() || !to_send_.empty() || has_mail_.load(std::memory_order_seq_cst))
        timeout_ms = 0;
    epoll_event events[kEventsMax];
    const int count = ::epoll_wait(epoll_.get(), events, kEventsMax, timeout_ms);
    sleeping_.store(false, std::memory_order_seq_cst);
    CHECK(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; ++i) {
        if (auto* watcher = static_cast<Watcher*>(events[i].data.ptr); watcher != nullptr)
            watcher->on_events(events[i].events);
        send_output_when_due();
    }
}

bool Loop::watch(int fd, uint32_t events, Watcher& watcher) {
    epoll_event event{};
    event.events = events | EPOLLET;
    event.data.ptr = &watcher;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Loop::join() {
    if (thread_.joinable()) thread_.join();
}

bool Loop::on_own_thread() const {
    return current_loop == this;
}

void Loop::adopt(OwnedFd socket, std::shared_ptr<const Origin> origin, bool peer_is_loopback) {
    connection_count_.fetch_add(1, std::memory_order_relaxed);
    post_function([this, socket = std::move(socket), origin = std::move(origin),
                   peer_is_loopback]() mutable {
        auto connection =
            std::make_shared<Connection>(shared_from_this(), std::move(origin), peer_is_loopback);
        connection->position_in_loop = connections_.size();
        connections_.push_back(connection);
        connection->start(std::move(socket));
        if (stopping_) connection->stop();
    });
}

bool Loop::take_large_bytes(size_t bytes) {
    // Only this thread adds, so the sum cannot pass the limit between the two steps.
    if (large_bytes_.load(std::memory_order_relaxed) + bytes > large_bytes_max_) return false;
    large_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return true;
}

void Loop::remove(Connection& connection) {
    const size_t position = connection.position_in_loop;
    DCHECK(position < connections_.size() && connections_[position].get() == &connection);
    std::swap(connections_[position], connections_.back());
    connections_[position]->position_in_loop = position;
    ended_.push_back(std::move(connections_.back()));
    connections_.pop_back();
    connection_count_.fetch_sub(1, std::memory_order_relaxed);
    on_closed_();
}

void Loop::wake(std::shared_ptr<Connection> connection) {
    const std::shared_ptr<Loop> self = shared_from_this();  // the mail may be read before we return
    send_mail({std::move(connection), nullptr});
}

void Loop::run(std::unique_ptr<LoopTask> task) {
    if (on_own_thread()) {
        task->run();
    } else {
        post(std::move(task));
    }
}

void Loop::post(std::unique_ptr<LoopTask> task) {
    const std::shared_ptr<Loop> self = shared_from_this();
    send_mail({nullptr, std::move(task)});
}

/// False when the loop has ended; the mail is then destroyed, outside the lock.
bool Loop::send_mail(Mail mail) {
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return false;
        mail_.push_back(std::move(mail));
        has_mail_.store(true, std::memory_order_seq_cst);
    }
    if (sleeping_.load(std::memory_order_seq_cst) &&
        sleeping_.exchange(false, std::memory_order_seq_cst)) {
        const uint64_t one = 1;
        CHECK(::write(waker_.get(), &one, sizeof one) == sizeof one || errno == EAGAIN);
    }
    return true;
}

void Loop::read_mail() {
    if (!has_mail_.load(std::memory_order_seq_cst)) return;
    DCHECK(reading_.empty());
    {
        const std::lock_guard lock(mutex_);
        reading_.swap(mail_);
        has_mail_.store(false, std::memory_order_seq_cst);
    }
    for (Mail& mail : reading_) {
        send_output_when_due();
        if (mail.task == nullptr) {
            mail.connection->on_wake();
            continue;
        }
        try {
            mail.task->run();
        } catch (const std::exception& e) {
            log::error(std::string("a task on a network loop threw: ") + e.what());
        }
    }
    reading_.clear();
}

void Loop::resume_later(std::shared_ptr<Connection> connection) {
    resumed_.push_back(std::move(connection));
}

void Loop::send_soon(std::shared_ptr<Connection> connection) {
    if (to_send_.empty()) to_send_since_us_ = SystemClock().monotonic_us();
    to_send_.push_back(std::move(connection));
}

/// Further answers of the same connections wait for the next round, so that others get their turn.
void Loop::send_output() {
    if (to_send_.empty()) return;
    sending_.swap(to_send_);
    for (const auto& connection : sending_) connection->send_now();
    sending_.clear();
}

void Loop::send_output_when_due() {
    if (to_send_.empty()) return;
    if (to_send_.size() >= kAnswersHeldMax ||
        SystemClock().monotonic_us() - to_send_since_us_ >= kAnswerHeldUsMax)
        send_output();
}

void Loop::resume_connections() {
    std::vector<std::shared_ptr<Connection>> due;
    due.swap(resumed_);
    for (const auto& connection : due) connection->resume();
}

int64_t Loop::next_due_ms() const {
    return std::min(timer_due_ms_, alarm_due_ms_);
}

void Loop::set_alarm(int64_t delay_ms, std::function<void()> function) {
    alarm_due_ms_ = coarse_now_ms() + delay_ms;
    alarm_ = std::move(function);
}

/// One timer serves all connections. It is due no later than the nearest deadline; deadlines that
/// were moved on make it come too early, and a sweep then finds the next.
void Loop::on_timer() {
    const int64_t now_ms = coarse_now_ms();
    if (alarm_due_ms_ <= now_ms) {
        alarm_due_ms_ = kNever;
        std::exchange(alarm_, nullptr)();
    }
    if (timer_due_ms_ > now_ms) return;
    timer_due_ms_ = kNever;
    // Expired connections may leave the vector; walking down, the one swapped in was seen already.
    for (size_t i = connections_.size(); i-- > 0;) {
        if (i >= connections_.size()) continue;
        const std::shared_ptr<Connection> connection = connections_[i];
        if (connection->deadline_ms() <= now_ms) connection->on_deadline();
    }
    for (const auto& connection : connections_) note_deadline(connection->deadline_ms());
}

void Loop::begin_stop() {
    post_function([this] {
        stopping_ = true;
        for (size_t i = connections_.size(); i-- > 0;) {
            if (i >= connections_.size()) continue;
            const std::shared_ptr<Connection> connection = connections_[i];
            connection->stop();
        }
    });
}

void Loop::finish_stop() {
    post_function([this] {
        stopping_ = true;
        send_output();
        while (!connections_.empty()) {
            const std::shared_ptr<Connection> connection = connections_.back();
            connection->close();
        }
        finished_ = true;
    });
}

}  // namespace orrery::net::detail
