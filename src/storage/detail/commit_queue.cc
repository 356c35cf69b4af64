#include "storage/detail/commit_queue.h"

#include <utility>

namespace orrery::storage::detail {

CommitQueue::~CommitQueue() {
    std::deque<std::unique_ptr<CommitOperation>> rest;
    take(rest);
}

void CommitQueue::push(std::unique_ptr<CommitOperation> operation) {
    CommitOperation* const pushed = operation.release();
    CommitOperation* expected = newest_.load(std::memory_order_relaxed);
    do {
        pushed->queue_next_ = expected;
    } while (!newest_.compare_exchange_weak(expected, pushed, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
    wake();
}

void CommitQueue::post(Mail mail) {
    {
        const std::lock_guard lock(mail_mutex_);
        mail_.push_back(std::move(mail));
    }
    has_mail_.store(true, std::memory_order_seq_cst);
    wake();
}

void CommitQueue::take(std::deque<std::unique_ptr<CommitOperation>>& out) {
    CommitOperation* operation = newest_.exchange(nullptr, std::memory_order_seq_cst);
    CommitOperation* oldest = nullptr;
    while (operation != nullptr) {
        CommitOperation* const next = operation->queue_next_;
        operation->queue_next_ = oldest;
        oldest = operation;
        operation = next;
    }
    while (oldest != nullptr) {
        CommitOperation* const next = oldest->queue_next_;
        out.emplace_back(oldest);
        oldest = next;
    }
}

std::vector<CommitQueue::Mail> CommitQueue::take_mail() {
    if (!has_mail_.exchange(false, std::memory_order_seq_cst)) return {};
    const std::lock_guard lock(mail_mutex_);
    return std::exchange(mail_, {});
}

/// Pairs with wake(): either the sleeper sees the new entry, or the waker sees the sleeper.
template <typename Ready>
void CommitQueue::sleep_until(Ready ready) {
    while (!ready()) {
        const uint32_t seen = wakeups_.load(std::memory_order_seq_cst);
        sleeping_.store(true, std::memory_order_seq_cst);
        if (!ready()) wakeups_.wait(seen, std::memory_order_seq_cst);
        sleeping_.store(false, std::memory_order_seq_cst);
    }
}

void CommitQueue::wait() {
    sleep_until([this] {
        return newest_.load(std::memory_order_seq_cst) != nullptr ||
               has_mail_.load(std::memory_order_seq_cst);
    });
}

void CommitQueue::wait_for_mail() {
    sleep_until([this] { return has_mail_.load(std::memory_order_seq_cst); });
}

void CommitQueue::wake() {
    if (!sleeping_.load(std::memory_order_seq_cst)) return;
    if (!sleeping_.exchange(false, std::memory_order_seq_cst)) return;
    wakeups_.fetch_add(1, std::memory_order_seq_cst);
    wakeups_.notify_one();
}

}  // namespace orrery::storage::detail
