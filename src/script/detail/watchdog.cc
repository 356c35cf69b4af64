#include "script/detail/watchdog.h"

#include <js/Interrupt.h>
#include <jsapi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/worker_pool.h"

namespace orrery::script::detail {
namespace {

constexpr std::chrono::milliseconds kInterval(5);
/// Rounds without a script before it goes to sleep.
constexpr int kIdleRounds = 200;

class WatchdogImpl final : public Watchdog {
public:
    ~WatchdogImpl() override {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
    }

    void begin(Watched& watched) override {
        const std::lock_guard lock(mutex_);
        watched_.push_back(&watched);
        if (awake_) return;
        awake_ = true;
        thread_.post([this] { rounds(); });
    }

    void end(Watched& watched) override {
        const std::lock_guard lock(mutex_);
        watched_.erase(std::find(watched_.begin(), watched_.end(), &watched));
    }

    void end_all_by(int64_t deadline_us) override { end_all_by_us_ = deadline_us; }

private:
    void rounds() {
        std::unique_lock lock(mutex_);
        for (int idle = 0; idle < kIdleRounds && !stopping_; ++idle) {
            wake_.wait_for(lock, kInterval);
            for (Watched* watched : watched_) JS_RequestInterruptCallback(watched->cx);
            give_up_stuck_ones(lock);
            if (!watched_.empty()) idle = 0;
        }
        awake_ = false;
    }

    /// A visit that has lasted too long although interrupts were requested.
    bool is_stuck(Watched& watched, int64_t now) const {
        if (!watched.give_up || now < std::min<int64_t>(watched.deadline_us, end_all_by_us_))
            return false;
        const uint64_t visit = watched.custody.visit();
        if (visit == 0 || visit != watched.late_visit) {
            watched.late_visit = visit;
            watched.late_since_us = now;
            return false;
        }
        return now >= watched.late_since_us + watched.grace_us && watched.custody.take(visit);
    }

    void give_up_stuck_ones(std::unique_lock<std::mutex>& lock) {
        const int64_t now = clock_.monotonic_us();
        std::vector<Watched*> stuck;
        for (Watched* watched : watched_)
            if (is_stuck(*watched, now)) stuck.push_back(watched);
        if (stuck.empty()) return;
        // The entries stay valid meanwhile: their threads wait to leave JavaScript.
        lock.unlock();
        for (Watched* watched : stuck) {
            watched->give_up();
            watched->custody.give_up();
        }
        lock.lock();
    }

    const SystemClock clock_{};
    std::atomic<int64_t> end_all_by_us_{INT64_MAX};
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<Watched*> watched_;         // guarded by mutex_
    bool awake_ = false;                    // guarded by mutex_
    bool stopping_ = false;                 // guarded by mutex_
    WorkerPool thread_{"script watch", 1};  // last: its task uses the others
};

}  // namespace

Watchdog& Watchdog::instance() {
    static WatchdogImpl instance;
    return instance;
}

}  // namespace orrery::script::detail
