#include "storage/detail/worker.h"

#include <pthread.h>

namespace orrery::storage::detail {

void Worker::post(Task task) {
    enqueue(std::move(task), false);
}

void Worker::post_urgent(Task task) {
    enqueue(std::move(task), true);
}

void Worker::enqueue(Task task, bool urgent) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        if (urgent) {
            tasks_.push_front(std::move(task));
        } else {
            tasks_.push_back(std::move(task));
        }
        if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    }
    changed_.notify_one();
}

void Worker::stop() {
    std::thread thread;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        thread.swap(thread_);
    }
    changed_.notify_one();
    if (thread.joinable()) thread.join();
}

void Worker::run() {
    pthread_setname_np(pthread_self(), name_);
    while (true) {
        Task task;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
        task();
    }
}

}  // namespace orrery::storage::detail
