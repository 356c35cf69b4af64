#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/store.h"

namespace orrery::storage::detail {

/// Many threads push, the committer takes all. It also carries small tasks for the committer from
/// background threads, its mail. Pushing never blocks.
class CommitQueue {
public:
    using Mail = std::function<void()>;

    ~CommitQueue();

    void push(std::unique_ptr<CommitOperation> operation);
    void post(Mail mail);

    // Committer only.
    /// Appends everything queued, in order.
    void take(std::deque<std::unique_ptr<CommitOperation>>& out);
    std::vector<Mail> take_mail();
    /// Sleeps until there is something to take.
    void wait();
    /// Sleeps until there is mail.
    void wait_for_mail();

private:
    void wake();
    template <typename Ready>
    void sleep_until(Ready ready);

    std::atomic<CommitOperation*> newest_{nullptr};
    std::atomic<bool> has_mail_{false};
    std::mutex mail_mutex_;
    std::vector<Mail> mail_;
    std::atomic<bool> sleeping_{false};
    std::atomic<uint32_t> wakeups_{0};
};

}  // namespace orrery::storage::detail
