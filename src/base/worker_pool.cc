#include "base/worker_pool.h"

#include <pthread.h>

#include "base/check.h"

namespace orrery {

namespace {

constexpr size_t kThreadNameBytesMax = 15;  // of the kernel
constexpr size_t kThreadNumberBytes = 3;

thread_local const WorkerPool* pool_of_this_thread = nullptr;

}  // namespace

void set_thread_name(const std::string& name) {
    pthread_setname_np(pthread_self(), name.substr(0, kThreadNameBytesMax).c_str());
}

WorkerPool::WorkerPool(std::string name, size_t thread_count) {
    CHECK(thread_count > 0);
    // Keep the number when the name is cut.
    name = name.substr(0, kThreadNameBytesMax - kThreadNumberBytes);
    threads_.reserve(thread_count);
    for (size_t i = 0; i < thread_count; ++i) {
        threads_.emplace_back([this, thread_name = name + std::to_string(i)] {
            set_thread_name(thread_name);
            run();
        });
    }
}

WorkerPool::~WorkerPool() {
    stop();
}

void WorkerPool::post(std::function<void()> task) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        queue_.push_back(std::move(task));
    }
    wake_.notify_one();
}

void WorkerPool::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_)
        if (thread.joinable()) thread.join();
}

bool WorkerPool::is_here() const {
    return pool_of_this_thread == this;
}

void WorkerPool::run() {
    pool_of_this_thread = this;
    for (;;) {
        std::function<void()> task;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
            if (queue_.empty()) return;
            task = std::move(queue_.front());
            queue_.pop_front();
        }
        task();
    }
}

}  // namespace orrery
