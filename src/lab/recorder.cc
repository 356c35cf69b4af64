#include "lab/recorder.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/worker_pool.h"

namespace orrery::lab {
namespace {

constexpr size_t kRingRecords = 4096;  // a power of two
constexpr size_t kUrgentRecords = kRingRecords / 2;
constexpr int kGatherMs = 100;
constexpr size_t kKeysPerHour = 200;
constexpr int64_t kHours = 24;
constexpr int64_t kLatencyMinutes = 24 * 60;

std::atomic<uint64_t> instances{0};

}  // namespace

/// One writer (the thread it belongs to) at `head`; whoever holds the state mutex reads at `tail`.
struct Recorder::Ring {
    std::atomic<uint64_t> head{0};
    std::atomic<uint64_t> tail{0};
    std::array<engine::RequestRecord, kRingRecords> records;
};

struct Recorder::ThreadRing {
    uint64_t instance = 0;
    std::shared_ptr<Ring> ring;
};

Recorder::Recorder(const Clock& clock, const Limits& limits)
    : clock_(clock),
      limits_(limits),
      instance_(++instances),
      series_(limits.second_blocks, limits.partitions) {
    thread_ = std::thread([this] {
        set_thread_name("recorder");
        run();
    });
}

Recorder::~Recorder() {
    {
        const std::lock_guard lock(wake_mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

Recorder::Ring& Recorder::ring_of_thread() {
    thread_local ThreadRing mine;
    if (mine.instance != instance_) {
        mine = {instance_, std::make_shared<Ring>()};
        const std::lock_guard lock(rings_mutex_);
        rings_.push_back(mine.ring);
    }
    return *mine.ring;
}

void Recorder::observe(const engine::RequestRecord& record) {
    Ring& ring = ring_of_thread();
    const uint64_t head = ring.head.load(std::memory_order_relaxed);
    if (head - ring.tail.load(std::memory_order_acquire) == kRingRecords) {
        const std::lock_guard lock(state_mutex_);
        take(ring);
    }
    ring.records[head % kRingRecords] = record;
    ring.head.store(head + 1, std::memory_order_release);
    const bool urgent = head - ring.tail.load(std::memory_order_relaxed) == kUrgentRecords;
    if (pending_.load(std::memory_order_relaxed) && !urgent) return;
    pending_.store(true, std::memory_order_relaxed);
    // The lock orders this with the thread's look at `pending_` before it goes to sleep.
    { const std::lock_guard lock(wake_mutex_); }
    wake_.notify_one();
}

void Recorder::run() {
    std::unique_lock lock(wake_mutex_);
    while (true) {
        wake_.wait(lock, [this] { return stop_ || pending_.load(std::memory_order_relaxed); });
        if (stop_) return;
        // Records that come meanwhile are taken together; a ring that fills up ends the wait early.
        wake_.wait_for(lock, std::chrono::milliseconds(kGatherMs));
        pending_.store(false, std::memory_order_relaxed);
        lock.unlock();
        {
            const std::lock_guard state(state_mutex_);
            drain();
        }
        lock.lock();
    }
}

void Recorder::drain() const {
    std::vector<std::shared_ptr<Ring>> rings;
    {
        const std::lock_guard lock(rings_mutex_);
        // A ring that only this list holds belonged to a thread that has ended.
        rings = rings_;
        std::erase_if(rings_, [](const auto& ring) {
            return ring.use_count() == 2 && ring->head.load() == ring->tail.load();
        });
    }
    for (const auto& ring : rings) take(*ring);
}

void Recorder::take(Ring& ring) const {
    uint64_t tail = ring.tail.load(std::memory_order_relaxed);
    const uint64_t head = ring.head.load(std::memory_order_acquire);
    for (; tail != head; ++tail) apply(ring.records[tail % kRingRecords]);
    ring.tail.store(tail, std::memory_order_release);
}

void Recorder::apply(const engine::RequestRecord& record) const {
    const bool throttled = record.status == 429;
    if (record.container != 0 && record.range != engine::RequestRecord::kNoRange)
        series_.add({record.container, record.range}, record.wall_seconds, record.charge,
                    !record.part, throttled);
    if (record.part) return;
    CounterKey key{record.container, record.operation, record.status};
    if (counters_.size() >= limits_.counters && !counters_.contains(key)) key.container = 0;
    Counter& counter = counters_[key];
    ++counter.requests;
    counter.charge += record.charge;
    counter.request_bytes += record.request_bytes;
    counter.response_bytes += record.response_bytes;
    const auto operation = static_cast<size_t>(record.operation);
    latencies_[operation].add(record.duration_us);
    auto& minutes = minute_latencies_[operation];
    const int64_t minute = record.wall_seconds / 60;
    minutes[minute].add(record.duration_us);
    minutes.erase(minutes.begin(), minutes.lower_bound(minute - kLatencyMinutes + 1));
    if (record.key_hash != 0 && record.container != 0) apply_key(record);
}

void Recorder::apply_key(const engine::RequestRecord& record) const {
    if (record.charge.units <= 0) return;
    auto& keys = keys_[record.container];
    if (keys.hours.empty() && keys_.size() > limits_.containers) {
        auto oldest = keys_.end();
        for (auto it = keys_.begin(); it != keys_.end(); ++it)
            if (it->first != record.container &&
                (oldest == keys_.end() || it->second.last_second < oldest->second.last_second))
                oldest = it;
        keys_.erase(oldest);
    }
    keys.last_second = record.wall_seconds;
    const int64_t hour = record.wall_seconds / 3600;
    const auto [place, fresh] = keys.hours.try_emplace(hour, kKeysPerHour);
    place->second.add(record.key_hash, record.key_text(), record.charge.units);
    if (fresh) keys.hours.erase(keys.hours.begin(), keys.hours.lower_bound(hour - kHours + 1));
}

std::map<Recorder::CounterKey, Recorder::Counter> Recorder::counters() const {
    const std::lock_guard lock(state_mutex_);
    drain();
    return counters_;
}

LatencyHistogram Recorder::latency(engine::OperationClass operation) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    return latencies_[static_cast<size_t>(operation)];
}

LatencyHistogram Recorder::recent_latency(engine::OperationClass operation, int64_t minutes) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    const auto& by_minute = minute_latencies_[static_cast<size_t>(operation)];
    const int64_t from = clock_.wall_seconds() / 60 - minutes + 1;
    LatencyHistogram sum;
    for (auto it = by_minute.lower_bound(from); it != by_minute.end(); ++it) sum.merge(it->second);
    return sum;
}

std::vector<SecondUse> Recorder::seconds(PartitionId partition, int64_t from, int64_t to) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    return series_.seconds(partition, from, to);
}

std::vector<MinuteUse> Recorder::minutes(PartitionId partition, int64_t from, int64_t to) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    return series_.minutes(partition, from, to);
}

TotalUse Recorder::total(PartitionId partition) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    return series_.total(partition);
}

Recorder::TopKeys Recorder::top_keys(uint64_t container, int64_t hours, size_t count) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    TopKeys out;
    const auto found = keys_.find(container);
    if (found == keys_.end()) return out;
    HeavyHitters sum(kKeysPerHour);
    const int64_t from = clock_.wall_seconds() / 3600 - hours + 1;
    for (auto it = found->second.hours.lower_bound(from); it != found->second.hours.end(); ++it)
        sum.merge(it->second);
    out.keys = sum.top(count);
    out.total = sum.total();
    out.error_max = sum.error_max();
    return out;
}

}  // namespace orrery::lab
