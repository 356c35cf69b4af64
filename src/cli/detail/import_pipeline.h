#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "cli/records.h"

namespace orrery::cli::detail {

/// Records on their way: handed out in order, finished in any order. Internally locked.
class ImportPipeline {
public:
    explicit ImportPipeline(size_t connections) : queue_max_(connections * kQueuePerConnection) {}

    struct Task {
        uint64_t number = 0;  ///< from 1, over all runs of the same import
        Record record;
    };
    /// Where everything before is finished.
    struct Mark {
        uint64_t number = 0;
        uint64_t offset = 0;
        uint64_t line = 1;
        uint64_t handed_out = 0;  ///< highest number that a connection may have sent
    };

    void start_from(const Mark& mark) {
        mark_ = mark;
        next_ = mark.number + 1;
    }

    /// Waits for room; false when the import has stopped.
    bool push(Record record) {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] {
            return stopped_ || (queue_.size() < queue_max_ && queue_bytes_ < kQueueBytesMax);
        });
        if (stopped_) return false;
        queue_bytes_ += record.text.size();
        Task task{next_++, std::move(record)};
        open_.push_back({task.number, task.record.end_offset, task.record.end_line, false});
        queue_.push_back(std::move(task));
        work_.notify_one();
        return true;
    }
    /// What was handed in is still worked on; then the import ends, with this error if there is
    /// one.
    void end_of_input(std::string error = {}) {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        if (error_.empty()) error_ = std::move(error);
        work_.notify_all();
    }

    bool pop(Task& out) {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [&] { return stopped_ || ended_ || !queue_.empty(); });
        if (stopped_ || queue_.empty()) return false;
        out = std::move(queue_.front());
        queue_.pop_front();
        queue_bytes_ -= out.record.text.size();
        mark_.handed_out = std::max(mark_.handed_out, out.number);
        room_.notify_one();
        return true;
    }
    void finished(uint64_t number) {
        const std::lock_guard lock(mutex_);
        open_[static_cast<size_t>(number - open_.front().number)].done = true;
        while (!open_.empty() && open_.front().done) {
            mark_.number = open_.front().number;
            mark_.offset = open_.front().end_offset;
            mark_.line = open_.front().end_line;
            open_.pop_front();
        }
    }

    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        room_.notify_all();
        work_.notify_all();
    }
    /// The first error counts.
    void fail(std::string message) {
        {
            const std::lock_guard lock(mutex_);
            if (error_.empty()) error_ = std::move(message);
        }
        stop();
    }
    bool stopped() const {
        const std::lock_guard lock(mutex_);
        return stopped_;
    }
    std::string error() const {
        const std::lock_guard lock(mutex_);
        return error_;
    }
    Mark mark() const {
        const std::lock_guard lock(mutex_);
        return mark_;
    }

private:
    static constexpr size_t kQueueBytesMax = 32 << 20;
    static constexpr size_t kQueuePerConnection = 16;
    struct Open {
        uint64_t number;
        uint64_t end_offset;
        uint64_t end_line;
        bool done;
    };
    const size_t queue_max_;
    mutable std::mutex mutex_;
    std::condition_variable room_;
    std::condition_variable work_;
    std::deque<Task> queue_;
    size_t queue_bytes_ = 0;
    std::deque<Open> open_;  ///< numbers are consecutive
    Mark mark_;
    uint64_t next_ = 1;
    bool ended_ = false;
    bool stopped_ = false;
    std::string error_;
};

}  // namespace orrery::cli::detail
