#include "engine/background/partition_keeper.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/errors.h"
#include "base/log.h"
#include "base/worker_pool.h"

namespace orrery::engine {
namespace {

using Phase = catalog::RangeProgress::Phase;

constexpr auto kLookEvery = std::chrono::milliseconds(1000);
/// While a job waits for an index.
constexpr auto kLookForIndexEvery = std::chrono::milliseconds(20);
constexpr size_t kJobsKept = 200;
constexpr size_t kJobsWaitingMax = 100;
/// A split that was not possible is not tried again for so long.
constexpr int64_t kRefusedUs = 60'000'000;

bool ended(const PartitionKeeper::Job& job) {
    const Phase phase = job.progress->phase;
    return phase == Phase::kDone || phase == Phase::kFailed;
}

bool waits(const PartitionKeeper::Job& job) {
    const Phase phase = job.progress->phase;
    return phase == Phase::kWaiting || phase == Phase::kWaitingForIndex;
}

PartitionKeeper::Job new_job(uint64_t number, const catalog::RangeChange& change,
                             int64_t asked_at) {
    PartitionKeeper::Job job;
    job.number = number;
    job.change = change;
    job.asked_at = asked_at;
    job.progress = std::make_shared<catalog::RangeProgress>();
    return job;
}

}  // namespace

PartitionKeeper::PartitionKeeper(catalog::Catalog& catalog, const Clock& clock)
    : catalog_(catalog), clock_(clock) {
    for (const catalog::RangeRequest& request : catalog_.kept_range_requests()) {
        next_number_ = std::max(next_number_, request.number + 1);
        add(new_job(request.number, request.change, request.asked_at));
    }
}

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

void PartitionKeeper::add(Job job) {
    jobs_.push_back(std::move(job));
    while (jobs_.size() > kJobsKept && ended(jobs_.front())) jobs_.pop_front();
    asked_ = true;
}

Result<PartitionKeeper::Job> PartitionKeeper::submit(const catalog::RangeChange& change) {
    TRY(const auto forecast, catalog_.forecast(change));
    (void)forecast;
    catalog::RangeRequest request;
    {
        const std::lock_guard lock(mutex_);
        const auto waiting =
            std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return !ended(job); });
        if (stop_ || waiting >= static_cast<ptrdiff_t>(kJobsWaitingMax))
            return errors::service_unavailable("Too many splits and merges are waiting already.");
        request.number = next_number_++;
    }
    request.change = change;
    request.change.request = request.number;
    request.asked_at = clock_.wall_seconds();
    TRY_STATUS(catalog_.keep_range_request(request));
    Job job = new_job(request.number, request.change, request.asked_at);
    {
        const std::lock_guard lock(mutex_);
        add(job);
    }
    wake_.notify_all();
    return job;
}

Status PartitionKeeper::split_overloaded(const catalog::Container& container) {
    const auto offer = catalog_.offer_of(container.rid_text);
    if (offer == nullptr) return {};
    double weights = 0;
    for (const auto& range : container.ranges->ranges) weights += static_cast<double>(range.weight);
    if (weights == 0) return {};
    const auto limit = static_cast<double>(catalog_.range_limits().throughput);
    for (const auto& range : container.ranges->ranges) {
        const double share = static_cast<double>(range.weight) / weights;
        if (share * static_cast<double>(offer->value()) <= limit * 1.001) continue;
        catalog::RangeChange change;
        change.container = container.rid;
        change.range_ids = {range.id};
        TRY_STATUS(submit(change).status().clone());
    }
    return {};
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

uint64_t PartitionKeeper::next_job() {
    std::vector<Job> waiting;
    {
        const std::lock_guard lock(mutex_);
        asked_ = false;
        std::copy_if(jobs_.begin(), jobs_.end(), std::back_inserter(waiting), waits);
    }
    catalog::ContainerRid hurried;
    for (const Job& job : waiting) {
        const catalog::ContainerRid& rid = job.change.container;
        const auto container = catalog_.find_container(rid.database.text(), rid.text());
        // The container is gone: report that to whoever asked.
        if (container == nullptr || container->settings->previous.empty()) return job.number;
        job.progress->phase = Phase::kWaitingForIndex;
        if (hurried.number == 0) hurried = rid;
    }
    catalog_.hurry_index_change(hurried);
    return 0;
}

void PartitionKeeper::loop() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
        lock.unlock();
        const uint64_t next = next_job();
        std::optional<catalog::RangeChange> need;
        if (next != 0)
            run(next);
        else if (catalog_.range_limits().automatic)
            need = find_need();
        lock.lock();
        if (stop_ || next != 0) continue;
        if (need) {
            Job job = new_job(next_number_++, *need, clock_.wall_seconds());
            job.automatic = true;
            add(std::move(job));
            continue;
        }
        const bool for_index = std::any_of(jobs_.begin(), jobs_.end(), waits);
        wake_.wait_for(lock, for_index ? kLookForIndexEvery : kLookEvery,
                       [&] { return stop_ || asked_; });
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
    if (!changed.ok()) {
        if (changed.error().code == Code::kRetryWith && !progress->cancelled) {
            progress->phase = Phase::kWaiting;
            return;
        }
        if (automatic) {
            if (!progress->cancelled)
                log::warning("range '" + change.range_ids[0] +
                             "' could not be split: " + changed.error().message);
            refusals_.push_back(
                {change.container, change.range_ids[0], clock_.monotonic_us() + kRefusedUs});
        } else if (!progress->cancelled) {
            if (const Status forgotten = catalog_.end_range_request(number); !forgotten.ok())
                log::warning("a split or merge that failed will be tried again: " +
                             forgotten.error().message);
        }
    }
    end(number, changed);
}

void PartitionKeeper::end(uint64_t number, const Result<catalog::ContainerPtr>& changed) {
    const std::lock_guard lock(mutex_);
    Job* job = find(number);
    if (changed.ok()) {
        for (const auto& range : (*changed)->ranges->ranges)
            if (std::find(range.parents.begin(), range.parents.end(),
                          job->change.range_ids.back()) != range.parents.end())
                job->new_range_ids.push_back(range.id);
    } else {
        job->error = changed.error().message;
    }
    job->progress->phase = changed.ok() ? Phase::kDone : Phase::kFailed;
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
    if (container.definition->legacy_fixed() || busy(container.rid)) return std::nullopt;
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
    // The one with the largest share; of equal ones the widest.
    const catalog::PartitionRange* largest = nullptr;
    for (const auto& range : ranges) {
        if (was_refused(container, range.id)) continue;
        const auto size = [&](const catalog::PartitionRange& one) {
            return std::pair(one.weight,
                             partition::width_of_range(container.settings->key,
                                                       one.partition->identity().range));
        };
        if (largest == nullptr || size(range) > size(*largest)) largest = &range;
    }
    if (largest == nullptr) return std::nullopt;
    change.range_ids = {largest->id};
    change.at = catalog::RangeChange::At::kMiddle;
    return change;
}

}  // namespace orrery::engine
