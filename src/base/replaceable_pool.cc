#include "base/replaceable_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/check.h"
#include "base/log.h"
#include "base/worker_pool.h"

namespace orrery {
namespace {

constexpr int kLowestPriority = 19;

thread_local ReplaceablePool::Seat* own_seat = nullptr;

}  // namespace

/// Guarded by the pool's mutex.
class ReplaceablePool::Seat {
public:
    std::thread thread;
    pid_t id = 0;
    bool given_up = false;
    bool ended = false;
};

ReplaceablePool::ReplaceablePool(std::string name, size_t thread_count) : name_(std::move(name)) {
    CHECK(thread_count > 0);
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < thread_count; ++i) start_thread();
}

ReplaceablePool::~ReplaceablePool() {
    stop();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
        return std::all_of(seats_.begin(), seats_.end(),
                           [](const Seat& seat) { return seat.ended; });
    });
    reap(lock);
}

void ReplaceablePool::start_thread() {
    Seat& seat = seats_.emplace_back();
    seat.thread = std::thread([this, &seat, name = name_ + std::to_string(started_++)] {
        set_thread_name(name);
        own_seat = &seat;
        run(seat);
    });
}

void ReplaceablePool::post(std::function<void()> task) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        queue_.push_back(std::move(task));
    }
    wake_.notify_one();
}

ReplaceablePool::Seat& ReplaceablePool::this_seat() {
    CHECK(own_seat != nullptr);
    return *own_seat;
}

void ReplaceablePool::give_up(Seat& seat) {
    {
        const std::lock_guard lock(mutex_);
        CHECK(!seat.given_up && !seat.ended);
        seat.given_up = true;
        ++given_up_;
        // The stuck thread gives its share of the processor to others.
        (void)setpriority(PRIO_PROCESS, static_cast<id_t>(seat.id), kLowestPriority);
        if (!stopping_) {
            try {
                start_thread();
            } catch (const std::system_error&) {
                seats_.pop_back();
                log::error(name_ + ": no thread can be started in place of one that is stuck");
            }
        }
    }
    changed_.notify_all();
}

size_t ReplaceablePool::given_up() const {
    const std::lock_guard lock(mutex_);
    return given_up_;
}

void ReplaceablePool::stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
    changed_.wait(lock, [this] {
        return std::all_of(seats_.begin(), seats_.end(),
                           [](const Seat& seat) { return seat.ended || seat.given_up; });
    });
    reap(lock);
    // Runs what the given-up threads would have run.
    std::deque<std::function<void()>> left;
    left.swap(queue_);
    lock.unlock();
}

void ReplaceablePool::reap(std::unique_lock<std::mutex>& lock) {
    std::list<Seat> ended;
    for (auto seat = seats_.begin(); seat != seats_.end();) {
        const auto next = std::next(seat);
        if (seat->ended) ended.splice(ended.end(), seats_, seat);
        seat = next;
    }
    if (ended.empty()) return;
    // A thread that has ended still destroys its own objects.
    lock.unlock();
    for (Seat& seat : ended) seat.thread.join();
    lock.lock();
}

void ReplaceablePool::run(Seat& seat) {
    std::unique_lock lock(mutex_);
    seat.id = gettid();
    for (;;) {
        reap(lock);
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) break;
        std::function<void()> task = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
        if (!seat.given_up) continue;
        --given_up_;
        break;
    }
    seat.ended = true;
    // Notify with the mutex held: the waiter may destroy the pool at once.
    changed_.notify_all();
}

}  // namespace orrery
