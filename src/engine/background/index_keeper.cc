#include "engine/background/index_keeper.h"

#include "base/log.h"
#include "base/worker_pool.h"

namespace orrery::engine {
namespace {

constexpr auto kRetry = std::chrono::milliseconds(5000);
constexpr auto kLeftoversRetry = std::chrono::milliseconds(200);

}  // namespace

void IndexKeeper::start() {
    catalog_.on_index_change([this] {
        {
            const std::lock_guard lock(mutex_);
            asked_ = true;
        }
        wake_.notify_all();
    });
    thread_ = std::thread([this] {
        set_thread_name("indexing");
        loop();
    });
}

void IndexKeeper::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    if (!thread_.joinable()) return;
    catalog_.on_index_change(nullptr);
    thread_.join();
}

void IndexKeeper::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return stop_ || asked_; });
        if (stop_) return;
        if (catalog_.index_changes_must_wait()) {
            wake_.wait_for(lock, kLeftoversRetry, [this] { return stop_; });
            continue;
        }
        asked_ = false;
        lock.unlock();
        const auto more = catalog_.carry_out_index_changes();
        if (!more.ok() && store_.health().ok())
            log::warning("a change of an indexing policy could not be carried out: " +
                         more.error().message);
        lock.lock();
        if (more.ok()) {
            asked_ = asked_ || *more;
        } else {
            // Do not retry at once. Do not retry at all once the store takes no more writes.
            wake_.wait_for(lock, kRetry, [this] { return stop_; });
            asked_ = store_.health().ok();
        }
    }
}

}  // namespace orrery::engine
