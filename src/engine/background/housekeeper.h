#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "catalog/resources.h"

namespace orrery::engine {

class Engine;
class PassShelf;

/// What is to be done once in a while, on a thread of its own: expired items leave, logs are
/// trimmed, prices that were put off are paid, autoscale is watched, and passes of queries that
/// nobody goes on with are given up. Internally locked.
class Housekeeper {
public:
    Housekeeper(const Engine& engine, PassShelf& passes) : engine_(engine), passes_(passes) {}
    ~Housekeeper() { stop(); }

    void start();
    void stop();  ///< Idempotent.

private:
    void loop();
    void watch_throughput();
    /// From what the ranges have left over, and paid from it.
    void remove_expired(const catalog::Container& container);
    void trim_logs();
    /// Background work may run on the range now.
    bool leftovers(const catalog::PartitionRange& range) const;

    const Engine& engine_;
    PassShelf& passes_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;  // guarded by mutex_
    std::thread thread_;
};

}  // namespace orrery::engine
