#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace orrery {

/// A fixed set of threads for work that must not run on a network loop. Internally locked.
/// Tasks run in submission order, each on any thread. The destructor finishes what is queued.
class WorkerPool {
public:
    WorkerPool(std::string name, size_t thread_count);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    void post(std::function<void()> task);
    /// The calling thread is one of the pool's.
    bool is_here() const;
    /// Runs what is queued, then ends the threads. A task posted afterwards (a commit that ends
    /// late may want to go on) is destroyed without running: a caller that waits learns that from
    /// the task's captures.
    void stop();

private:
    void run();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> queue_;  // guarded by mutex_
    bool stopping_ = false;                    // guarded by mutex_
    std::vector<std::thread> threads_;
};

/// Names the calling thread for debuggers and `top -H` (15 characters are kept).
void set_thread_name(const std::string& name);

}  // namespace orrery
