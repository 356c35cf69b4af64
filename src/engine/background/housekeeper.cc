#include "engine/background/housekeeper.h"

#include "base/log.h"
#include "base/worker_pool.h"
#include "engine/engine.h"
#include "partition/charge.h"

namespace orrery::engine {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(1000);
/// Expired items that one round removes from a partition, and after how many it looks again whether
/// anything is left over: the last ones may put the partition into debt.
constexpr size_t kExpiryBatch = 500;
constexpr size_t kExpiryStep = 10;
/// Rounds between two passes over the logs, and records that one pass may look at in one partition.
constexpr uint64_t kTrimEvery = 10;
constexpr size_t kTrimRecords = 20'000;
/// Rounds between two looks at whether the index rests.
constexpr uint64_t kRestEvery = 3;

}  // namespace

void Housekeeper::start() {
    thread_ = std::thread([this] {
        set_thread_name("expiry");
        loop();
    });
}

void Housekeeper::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Housekeeper::loop() {
    uint64_t round = 0;
    std::unique_lock lock(mutex_);
    while (!stop_) {
        wake_.wait_for(lock, kInterval);
        if (stop_) return;
        lock.unlock();
        passes_.remove_old();
        watch_throughput();
        for (const auto& container : engine_.catalog().all_containers()) {
            for (const auto& range : container->ranges->ranges)
                range.budget->pay_owed(engine_.clock().monotonic_us());
            if (container->settings->default_ttl) remove_expired(*container);
        }
        ++round;
        if (round % kTrimEvery == 0) trim_logs();
        if (round % kRestEvery == 0) engine_.store().rest();
        lock.lock();
    }
}

void Housekeeper::watch_throughput() {
    const Status watched = engine_.catalog().watch_throughput();
    if (!watched.ok() && engine_.store().health().ok())
        log::warning("a throughput that storage has outgrown could not be raised: " +
                     watched.error().message);
}

bool Housekeeper::leftovers(const catalog::PartitionRange& range) const {
    return !engine_.account().settings().throttled ||
           range.budget->has_leftovers(engine_.clock().monotonic_us());
}

void Housekeeper::remove_expired(const catalog::Container& container) {
    const meter::Pricing by = engine_.pricing(nullptr);
    for (const auto& range : container.ranges->ranges) {
        for (size_t all = 0; all < kExpiryBatch && leftovers(range); all += kExpiryStep) {
            meter::Charge charge;
            const auto removed = range.partition->remove_expired(
                kExpiryStep, [&](const partition::OperationWork& work) {
                    charge += partition::charge_of(work, by);
                });
            engine_.settle(range, {}, charge);
            if (!removed.ok() && engine_.store().health().ok())
                log::warning("expired items of " + container.alt_path +
                             " could not be removed: " + removed.error().message);
            if (!removed.ok() || *removed < kExpiryStep) break;
        }
    }
}

void Housekeeper::trim_logs() {
    for (const auto& container : engine_.catalog().all_containers()) {
        for (const auto& range : container->ranges->ranges) {
            const auto trimmed = range.partition->trim_log(kTrimRecords);
            if (!trimmed.ok() && engine_.store().health().ok())
                log::warning("the log of " + container->alt_path +
                             " could not be trimmed: " + trimmed.error().message);
        }
    }
}

}  // namespace orrery::engine
