// How a partition stops serving: writers wait, the switch is written, the keys are elsewhere.
#include <algorithm>

#include "base/errors.h"
#include "partition/detail/partition_impl.h"

namespace orrery::partition::detail {
namespace {

/// Writes that wait for one switch, which takes some milliseconds. Further ones are sent away.
constexpr size_t kWaitingMax = 20'000;

}  // namespace

PartitionImpl::Phase PartitionImpl::settled() const {
    if (phase() != Phase::kSwitching) return phase();
    std::unique_lock lock(move_mutex_);
    move_settled_.wait(lock, [this] { return phase() != Phase::kSwitching; });
    return phase();
}

bool PartitionImpl::wait_until_gone_or_open() const {
    std::unique_lock lock(move_mutex_);
    move_settled_.wait(lock,
                       [this] { return phase() == Phase::kOpen || phase() == Phase::kMoved; });
    return phase() == Phase::kMoved;
}

PartitionImpl& PartitionImpl::successor(std::string_view epk) const {
    const auto found = std::find_if(successors_.begin(), successors_.end(), [&](const auto& next) {
        return next->identity().range.contains(epk);
    });
    CHECK(found != successors_.end());
    return **found;
}

void PartitionImpl::wait_for_switch(TransactionPlanPtr plan) {
    if (plan->is_stepwise()) {
        // Only the thread that began the steps can repeat them.
        auto shared = std::make_shared<TransactionPlanPtr>(std::move(plan));
        deps_.workers.post([keep = self(), shared] {
            (void)keep->wait_until_gone_or_open();
            (*shared)->answer_stale(keep->lsn());
        });
        return;
    }
    Phase now = Phase::kOpen;
    {
        const std::lock_guard lock(move_mutex_);
        now = phase();
        const bool wait = now == Phase::kClosed || now == Phase::kSwitching ||
                          (now == Phase::kOpen && ahead_of_pace());
        if (wait && waiting_.size() < kWaitingMax) {
            waiting_.push_back(std::move(plan));
            return;
        }
    }
    if (now == Phase::kMoved) {
        forward(std::move(plan));
    } else if (now == Phase::kOpen) {
        prepare_again(std::move(plan));
    } else {
        plan->fail_all(Status(errors::range_switching(std::to_string(identity_.rid_prefix))));
        plan->answer(false, lsn());
    }
}

void PartitionImpl::forward(TransactionPlanPtr plan) {
    auto shared = std::make_shared<std::pair<Transaction, TransactionDone>>(plan->release());
    deps_.workers.post([keep = self(), shared] {
        const std::string epk = shared->first.epk;
        keep->successor(epk).execute(std::move(shared->first), std::move(shared->second));
    });
}

void PartitionImpl::finish_switch(std::vector<std::shared_ptr<PartitionImpl>> successors) {
    std::vector<TransactionPlanPtr> waiting;
    {
        const std::lock_guard lock(move_mutex_);
        successors_ = std::move(successors);
        phase_.store(Phase::kMoved, std::memory_order_release);
        waiting.swap(waiting_);
    }
    move_settled_.notify_all();
    for (TransactionPlanPtr& plan : waiting) forward(std::move(plan));
    // Nobody looks these items up any more; a fill that began earlier loses.
    deps_.workers.post([keep = self()] { keep->deps_.cache.erase_partition(keep->identity_.id); });
}

void PartitionImpl::set_pace(std::optional<storage::Lsn> up_to) {
    std::vector<TransactionPlanPtr> waiting;
    {
        const std::lock_guard lock(move_mutex_);
        pace_.store(up_to.value_or(kNoHorizon), std::memory_order_relaxed);
        if (phase() == Phase::kOpen) waiting.swap(waiting_);
    }
    for (TransactionPlanPtr& plan : waiting) prepare_again(std::move(plan));
}

void PartitionImpl::reopen() {
    std::vector<TransactionPlanPtr> waiting;
    {
        const std::lock_guard lock(move_mutex_);
        if (phase() == Phase::kMoved) return;
        phase_.store(Phase::kOpen, std::memory_order_release);
        pace_.store(kNoHorizon, std::memory_order_relaxed);
        waiting.swap(waiting_);
    }
    move_settled_.notify_all();
    for (TransactionPlanPtr& plan : waiting) prepare_again(std::move(plan));
}

void PartitionImpl::begin_from(Birth birth, const CommitState& state, storage::Lsn log_trimmed,
                               int64_t growth_bytes) {
    birth_ = std::move(birth);
    const uint64_t bound = commit_.item_counter_bound;
    commit_ = state;
    commit_.item_counter_bound = bound;  // its item numbers are its own
    log_trimmed_ = log_trimmed;
    if ((*settings_)->feed_retention_seconds != 0) move_window(commit_.versions_from);
    raise_published(commit_.lsn);
    bytes_.fetch_add(growth_bytes, std::memory_order_relaxed);
}

}  // namespace orrery::partition::detail
