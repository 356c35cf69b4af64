#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace orrery {

/// Threads for tasks that may get stuck where nothing can end them. The thread of a stuck task is
/// given up: another thread takes its place, it gets the lowest priority, and it ends if its task
/// returns after all. Internally locked. Tasks run in submission order, each on any thread.
class ReplaceablePool {
public:
    ReplaceablePool(std::string name, size_t thread_count);
    /// Finishes what is queued and waits for every thread, those that were given up too: what
    /// tasks use must live until then.
    ~ReplaceablePool();
    ReplaceablePool(const ReplaceablePool&) = delete;
    ReplaceablePool& operator=(const ReplaceablePool&) = delete;

    void post(std::function<void()> task);

    /// One thread's place in the pool.
    class Seat;
    /// The calling thread's, which must be one of a pool. Lives until its task has returned.
    static Seat& this_seat();
    /// Gives the thread up while it is inside its task. Called by another thread.
    void give_up(Seat& seat);
    /// Threads that were given up and have not come back.
    size_t given_up() const;

    /// Runs what is queued, then ends the threads; waits for all but those that are given up, also
    /// meanwhile. A task posted afterwards is destroyed without running.
    void stop();

private:
    void start_thread();  // with mutex_
    void run(Seat& seat);
    /// Joins threads that have ended.
    void reap(std::unique_lock<std::mutex>& lock);

    const std::string name_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable changed_;          // a seat has ended or was given up
    std::deque<std::function<void()>> queue_;  // guarded by mutex_
    std::list<Seat> seats_;                    // guarded by mutex_
    size_t given_up_ = 0;                      // guarded by mutex_
    size_t started_ = 0;                       // guarded by mutex_
    bool stopping_ = false;                    // guarded by mutex_
};

}  // namespace orrery
