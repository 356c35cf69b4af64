#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace orrery::storage::detail {

/// One thread that runs tasks in order; started by the first task. Internally locked.
class Worker {
public:
    using Task = std::function<void()>;

    /// `name` as the operating system shows it, at most 15 characters.
    explicit Worker(const char* name) : name_(name) {}
    ~Worker() { stop(); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void post(Task task);
    /// Before everything queued.
    void post_urgent(Task task);
    /// Finishes what is queued; later tasks are dropped.
    void stop();

private:
    void enqueue(Task task, bool urgent);
    void run();

    const char* const name_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    std::thread thread_;
    bool stopping_ = false;
};

}  // namespace orrery::storage::detail
