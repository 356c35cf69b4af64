#include "script/detail/watchdog.h"

#include <js/Interrupt.h>
#include <jsapi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

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

    void begin(JSContext* cx) override {
        const std::lock_guard lock(mutex_);
        watched_.push_back(cx);
        if (awake_) return;
        awake_ = true;
        thread_.post([this] { rounds(); });
    }

    void end(JSContext* cx) override {
        const std::lock_guard lock(mutex_);
        watched_.erase(std::find(watched_.begin(), watched_.end(), cx));
    }

private:
    void rounds() {
        std::unique_lock lock(mutex_);
        for (int idle = 0; idle < kIdleRounds && !stopping_; ++idle) {
            wake_.wait_for(lock, kInterval);
            for (JSContext* cx : watched_) JS_RequestInterruptCallback(cx);
            if (!watched_.empty()) idle = 0;
        }
        awake_ = false;
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<JSContext*> watched_;       // guarded by mutex_
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
