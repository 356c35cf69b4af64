#include "engine/partition_keeper.h"

#include <algorithm>

#include "base/errors.h"
#include "base/log.h"
#include "base/worker_pool.h"

namespace orrery::engine {
namespace {

using Phase = catalog::RangeProgress::Phase;

constexpr auto kLookEvery = std::chrono::milliseconds(1000);
constexpr size_t kJobsKept = 200;
constexpr size_t kJobsWaitingMax = 100;
/// A split that was not possible is not tried again for so long.
constexpr int64_t kRefusedUs = 60'000'000;

bool ended(const PartitionKeeper::Job& job) {
    const Phase phase = job.progress->phase;
    return phase == Phase::kDone || phase == Phase::kFailed;
}

}  // namespace

void PartitionKeeper::start() {
    thread_ = std::thread([this] {
        set_thread_name("partitions");
        if (const Status cleaned = catalog_.clean_up(); !cleaned.ok())
            log::warning("leftovers of a split: " + cleaned.error().message);
        loop();
    });
}

void PartitionKeeper::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        for (Job& job : jobs_) job.progress->cancelled = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

PartitionKeeper::Job* PartitionKeeper::find(uint64_t number) {
    const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                    [&](const Job& job) { return job.number == number; });
    return found == jobs_.end() ? nullptr : &*found;
}

uint64_t PartitionKeeper::add(const catalog::RangeChange& change, bool automatic) {
    Job job;
    job.number = next_number_++;
    job.change = change;
    job.automatic = automatic;
    job.asked_at = clock_.wall_seconds();
    job.progress = std::make_shared<catalog::RangeProgress>();
    jobs_.push_back(std::move(job));
    while (jobs_.size() > kJobsKept && ended(jobs_.front())) jobs_.pop_front();
    return jobs_.back().number;
}

Result<PartitionKeeper::Job> PartitionKeeper::submit(const catalog::RangeChange& change) {
    TRY(const auto forecast, catalog_.forecast(change));
    (void)forecast;
    Job copy;
    {
        const std::lock_guard lock(mutex_);
        const auto waiting =
            std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return !ended(job); });
        if (stop_ || waiting >= static_cast<ptrdiff_t>(kJobsWaitingMax))
            return errors::service_unavailable("Too many splits and merges are waiting already.");
        copy = *find(add(change, false));
    }
    wake_.notify_all();
    return copy;
}

std::vector<PartitionKeeper::Job> PartitionKeeper::jobs(
    const catalog::ContainerRid& container) const {
    const std::lock_guard lock(mutex_);
    std::vector<Job> out;
    for (const Job& job : jobs_)
        if (job.change.container == container) out.push_back(job);
    return out;
}

bool PartitionKeeper::busy(const catalog::ContainerRid& container) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) {
        return job.change.container == container && !ended(job);
    });
}

void PartitionKeeper::loop() {
    std::unique_lock lock(mutex_);
    const auto waiting = [this] {
        return std::find_if(jobs_.begin(), jobs_.end(),
                            [](const Job& job) { return job.progress->phase == Phase::kWaiting; });
    };
    while (!stop_) {
        if (const auto next = waiting(); next != jobs_.end()) {
            const uint64_t number = next->number;
            lock.unlock();
            run(number);
            lock.lock();
            continue;
        }
        if (catalog_.range_limits().automatic) {
            lock.unlock();
            const auto need = find_need();
            lock.lock();
            if (need && !stop_) {
                add(*need, true);
                continue;
            }
        }
        wake_.wait_for(lock, kLookEvery, [&] { return stop_ || waiting() != jobs_.end(); });
    }
}

void PartitionKeeper::run(uint64_t number) {
    catalog::RangeChange change;
    std::shared_ptr<catalog::RangeProgress> progress;
    bool automatic = false;
    {
        const std::lock_guard lock(mutex_);
        const Job* job = find(number);
        change = job->change;
        progress = job->progress;
        automatic = job->automatic;
    }
    const auto changed = catalog_.change_ranges(change, *progress);
    progress->phase = changed.ok() ? Phase::kDone : Phase::kFailed;
    if (!changed.ok() && automatic) {
        if (!progress->cancelled)
            log::warning("range '" + change.range_ids[0] +
                         "' could not be split: " + changed.error().message);
        refusals_.push_back(
            {change.container, change.range_ids[0], clock_.monotonic_us() + kRefusedUs});
    }
    const std::lock_guard lock(mutex_);
    Job* job = find(number);
    if (!changed.ok()) {
        job->error = changed.error().message;
        return;
    }
    for (const auto& range : (*changed)->ranges->ranges)
        if (std::find(range.parents.begin(), range.parents.end(), change.range_ids.back()) !=
            range.parents.end())
            job->new_range_ids.push_back(range.id);
}

bool PartitionKeeper::was_refused(const catalog::Container& container,
                                  const std::string& range_id) const {
    return std::any_of(refusals_.begin(), refusals_.end(), [&](const Refusal& refusal) {
        return refusal.container == container.rid && refusal.range_id == range_id;
    });
}

std::optional<catalog::RangeChange> PartitionKeeper::find_need() {
    const int64_t now = clock_.monotonic_us();
    std::erase_if(refusals_, [&](const Refusal& refusal) { return refusal.until_us < now; });
    for (const auto& container : catalog_.all_containers())
        if (auto need = need_of(*container)) return need;
    return std::nullopt;
}

std::optional<catalog::RangeChange> PartitionKeeper::need_of(const catalog::Container& container) {
    if (container.legacy_fixed || !container.settings->previous.empty()) return std::nullopt;
    const catalog::RangeLimits& limits = catalog_.range_limits();
    catalog::RangeChange change;
    change.container = container.rid;
    const auto& ranges = container.ranges->ranges;
    for (const auto& range : ranges) {
        if (range.partition->bytes() <= static_cast<int64_t>(limits.storage_bytes) ||
            was_refused(container, range.id))
            continue;
        change.range_ids = {range.id};
        change.at = catalog::RangeChange::At::kBytes;
        return change;
    }
    auto offer = catalog_.offer_of(container.rid_text);
    if (offer == nullptr) offer = catalog_.offer_of(container.database->rid.text());
    if (offer == nullptr) return std::nullopt;
    const int64_t wanted = (offer->value() + limits.throughput - 1) / limits.throughput;
    if (static_cast<int64_t>(ranges.size()) >= wanted) return std::nullopt;
    const catalog::PartitionRange* widest = nullptr;
    for (const auto& range : ranges) {
        if (was_refused(container, range.id)) continue;
        const auto width = [&](const catalog::PartitionRange& one) {
            return partition::width_of_range(container.settings->key,
                                             one.partition->identity().range);
        };
        if (widest == nullptr || width(range) > width(*widest)) widest = &range;
    }
    if (widest == nullptr) return std::nullopt;
    change.range_ids = {widest->id};
    change.at = catalog::RangeChange::At::kMiddle;
    return change;
}

}  // namespace orrery::engine
