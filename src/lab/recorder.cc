#include "lab/recorder.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/worker_pool.h"

namespace orrery::lab {
namespace {

constexpr size_t kRingRecords = 2048;  // a power of two
constexpr size_t kUrgentRecords = kRingRecords / 2;
constexpr int kGatherMs = 100;
constexpr int64_t kHours = 24;
constexpr int64_t kLatencyMinutes = 24 * 60;
constexpr int64_t kTogetherMs = 50;
constexpr size_t kPairsMax = 1000;
constexpr size_t kFeedsMax = 50;

// Samples: a thread aims at so many a second, and never takes more than the second figure.
constexpr uint32_t kSamplesAim = 50;
constexpr uint32_t kSamplesMax = 200;
constexpr size_t kSamplesQueued = 512;
constexpr int64_t kQuerySeenSeconds = 600;  ///< then a text is sampled again
constexpr int64_t kKeepEveryUs = 60'000'000;

std::atomic<uint64_t> instances{0};

}  // namespace

/// One writer (the thread it belongs to) at `head`; whoever holds the state mutex reads at `tail`.
struct Recorder::Ring {
    std::atomic<uint64_t> head{0};
    std::atomic<uint64_t> tail{0};
    std::array<engine::RequestRecord, kRingRecords> records;

    // Of the writer alone: what it samples.
    int64_t sample_second = 0;
    uint32_t samples = 0;
    uint32_t shapes = 0;  ///< samples for the sake of a query's shape
    uint64_t stride = 1;
    uint64_t counter = 0;
    std::array<uint64_t, 512> seen_queries{};
};

struct Recorder::ThreadRing {
    uint64_t instance = 0;
    std::shared_ptr<Ring> ring;
};

Recorder::Recorder(const Clock& clock, const Limits& limits)
    : clock_(clock),
      limits_(limits),
      started_seconds_(clock.wall_seconds()),
      instance_(++instances),
      series_(limits.second_blocks, limits.partitions),
      last_requests_(kLastRequests),
      related_(kLastRequests) {
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

bool Recorder::wants_sample(const engine::RequestRecord& record) {
    if (record.container == 0) return false;
    Ring& ring = ring_of_thread();
    if (ring.sample_second != record.wall_seconds) {
        if (ring.samples > kSamplesAim)
            ring.stride *= 2;
        else if (ring.samples < kSamplesAim / 4 && ring.stride > 1)
            ring.stride /= 2;
        ring.sample_second = record.wall_seconds;
        ring.samples = 0;
        ring.shapes = 0;
    }
    // A shape that this thread has not seen lately: without a sample its queries could not be
    // counted.
    if (record.query_hash != 0 && ring.shapes < kSamplesMax) {
        const uint64_t mark =
            record.query_hash ^ record.container ^
            static_cast<uint64_t>(record.wall_seconds / kQuerySeenSeconds) * 0x9E3779B97F4A7C15ULL;
        uint64_t& seen = ring.seen_queries[mark % ring.seen_queries.size()];
        if (seen != mark) {
            seen = mark;
            ++ring.shapes;
            return true;
        }
    }
    if (ring.samples >= kSamplesMax) return false;
    bool wanted = ++ring.counter % ring.stride == 0;
    // The same items every time: their versions can be compared.
    if (record.writes > 0 && record.docref_hash != 0)
        wanted = wanted || record.docref_hash % ring.stride == 0;
    ring.samples += wanted ? 1 : 0;
    return wanted;
}

void Recorder::observe_sample(engine::RequestSample sample) {
    const std::lock_guard lock(samples_mutex_);
    // Those of queries are few, and records wait for them.
    if (samples_.size() < kSamplesQueued || sample.query != nullptr)
        samples_.push_back(std::move(sample));
}

void Recorder::run() {
    std::unique_lock lock(wake_mutex_);
    const auto wanted = [this] { return stop_ || pending_.load(std::memory_order_relaxed); };
    while (true) {
        if (keep_ != nullptr && changed_) {
            const int64_t wait_us = keep_at_us_ - clock_.monotonic_us();
            wake_.wait_for(lock, std::chrono::microseconds(std::max<int64_t>(0, wait_us)), wanted);
        } else {
            wake_.wait(lock, wanted);
        }
        if (stop_) return;
        if (keep_ != nullptr && changed_ && clock_.monotonic_us() >= keep_at_us_) keep(lock);
        if (!pending_.load(std::memory_order_relaxed)) continue;
        // Records that come meanwhile are taken together; a ring that fills up ends the wait early.
        wake_.wait_for(lock, std::chrono::milliseconds(kGatherMs));
        pending_.store(false, std::memory_order_relaxed);
        if (!changed_) keep_at_us_ = std::max(keep_at_us_, clock_.monotonic_us() + kKeepEveryUs);
        changed_ = true;
        lock.unlock();
        {
            const std::lock_guard state(state_mutex_);
            drain();
        }
        lock.lock();
    }
}

void Recorder::keep(std::unique_lock<std::mutex>& wake_lock) {
    changed_ = false;
    wake_lock.unlock();
    int64_t took_us = 0;
    {
        const std::lock_guard one_at_a_time(keep_mutex_);
        const int64_t begun_us = clock_.monotonic_us();
        keep_(pack());
        took_us = clock_.monotonic_us() - begun_us;
    }
    wake_lock.lock();
    // A thousandth of the time at most.
    keep_at_us_ = clock_.monotonic_us() + std::max(kKeepEveryUs, took_us * 1000);
}

void Recorder::keep_with(std::function<void(std::string)> keep) {
    const std::lock_guard lock(wake_mutex_);
    keep_ = std::move(keep);
}

void Recorder::keep_now() {
    std::unique_lock lock(wake_mutex_);
    if (keep_ == nullptr || !(changed_ || pending_.load(std::memory_order_relaxed))) return;
    keep(lock);
}

void Recorder::drain() const {
    // A sample says which shape its query has; the record that counts it comes after it.
    std::vector<engine::RequestSample> samples;
    {
        const std::lock_guard lock(samples_mutex_);
        samples.swap(samples_);
    }
    for (const auto& sample : samples) insight(sample.record).apply_sample(sample);
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
    if (record.inner) return apply_inner(record);
    if (record.container != 0 && record.range != engine::RequestRecord::kNoRange) {
        series_.add({record.container, record.range}, record.wall_seconds, record.charge,
                    !record.part, throttled, record.range_bytes);
        insight(record).apply_use(record);
    }
    if (record.part) return;
    if (record.container != 0 && record.operation != engine::OperationClass::kMetadata) {
        insight(record).apply(record);
        apply_sequence(record);
    }
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

/// Operations of bulk requests have keys and charges of their own, and may be refused on their own.
void Recorder::apply_inner(const engine::RequestRecord& record) const {
    insight(record).apply(record);
    if (record.key_hash != 0 && record.container != 0) apply_key(record);
    if (record.status == 429 && record.range != engine::RequestRecord::kNoRange)
        series_.add({record.container, record.range}, record.wall_seconds, {}, false, true,
                    record.range_bytes);
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
    place->second.add(record.key_hash, record.key_text(), record.charge.units,
                      {record.writes, record.grown_bytes});
    if (fresh) keys.hours.erase(keys.hours.begin(), keys.hours.lower_bound(hour - kHours + 1));
}

Insight& Recorder::insight(const engine::RequestRecord& record) const {
    if (last_insight_ != nullptr && last_container_ == record.container) return *last_insight_;
    const auto [place, fresh] = insights_.try_emplace(record.container, record.wall_seconds);
    if (fresh && insights_.size() > limits_.insights) {
        auto oldest = insights_.end();
        for (auto it = insights_.begin(); it != insights_.end(); ++it)
            if (it != place && (oldest == insights_.end() ||
                                it->second.last_seconds() < oldest->second.last_seconds()))
                oldest = it;
        insights_.erase(oldest);
    }
    last_container_ = record.container;
    last_insight_ = &place->second;
    return place->second;
}

void Recorder::apply_sequence(const engine::RequestRecord& record) const {
    using engine::OperationClass;
    const int64_t now_ms = record.wall_seconds * 1000 + record.wall_ms;
    if (record.connection != 0) {
        LastRequest& last = last_requests_[record.connection % kLastRequests];
        const bool same = last.connection == record.connection;
        const bool soon = same && now_ms - last.at_ms <= kTogetherMs && now_ms >= last.at_ms;
        const bool reads =
            record.operation == OperationClass::kRead || record.operation == OperationClass::kQuery;
        if (soon && reads &&
            (last.container != record.container || record.operation == OperationClass::kRead)) {
            const PairKey key{last.container, last.operation, record.container, record.operation};
            if (pairs_.size() < kPairsMax || pairs_.contains(key)) {
                auto& pair = pairs_[key];
                ++pair.first;
                pair.second += record.charge.units;
            }
        }
        const bool goes_on = same && record.operation == OperationClass::kQuery &&
                             !record.continued && last.operation == OperationClass::kQuery &&
                             last.container == record.container &&
                             last.key_hash == record.key_hash && record.key_hash != 0 &&
                             now_ms - last.burst_ms <= kTogetherMs && now_ms >= last.burst_ms;
        const uint32_t burst = goes_on ? last.burst + 1 : 1;
        const int64_t burst_ms = goes_on ? last.burst_ms : now_ms;
        if (burst >= 3) insight(record).burst(record.key_text(), burst == 3);
        last = {record.connection, record.container, now_ms, record.operation,
                record.key_hash,   burst_ms,         burst};
    }
    if (record.correlation != 0 && record.writes > 0 && record.key_hash != 0) {
        Related& related = related_[record.correlation % kLastRequests];
        const bool same =
            related.correlation == record.correlation && now_ms - related.at_ms <= kTogetherMs;
        if (!same) {
            related = {record.correlation, now_ms, record.key_hash, false,
                       std::string(record.key_text())};
            insight(record).correlated_group();
        } else if (related.key_hash != record.key_hash && !related.several) {
            related.several = true;
            insight(record).correlated_keys(related.key, record.key_text());
        }
    }
}

void Recorder::describe(uint64_t container, Observation& out) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    const int64_t now = clock_.wall_seconds();
    const auto found = insights_.find(container);
    if (found != insights_.end()) {
        found->second.observe(out, now, down_);
    } else {
        out.now_seconds = now;
        out.read_ages.reset();
    }
    // A container that nobody has used since the start has been watched for as long as the others.
    out.observed_seconds = static_cast<double>(std::max<int64_t>(1, now - started_seconds_));
    if (const auto feeds = feeds_.find(container); feeds != feeds_.end())
        for (const auto& [consumer, use] : feeds->second) out.feeds.push_back(use);
}

std::vector<TracedRequest> Recorder::trace(uint64_t container) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    const auto found = insights_.find(container);
    if (found == insights_.end()) return {};
    std::vector<TracedRequest> out(found->second.trace().begin(), found->second.trace().end());
    std::stable_sort(out.begin(), out.end(), [](const TracedRequest& a, const TracedRequest& b) {
        return a.wall_ms < b.wall_ms;
    });
    return out;
}

std::vector<Recorder::Pair> Recorder::pairs(uint64_t container) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    std::vector<Pair> out;
    for (const auto& [key, use] : pairs_)
        if (key.first_container == container)
            out.push_back({key.first, key.second_container, key.second, use.first, use.second});
    return out;
}

void Recorder::note_feed_use(uint64_t container, const std::string& consumer, int64_t read,
                             int64_t used, double ru) {
    const std::lock_guard lock(state_mutex_);
    if (feeds_.size() >= limits_.containers && !feeds_.contains(container)) return;
    auto& feeds = feeds_[container];
    if (feeds.size() >= kFeedsMax && !feeds.contains(consumer)) return;
    FeedUse& use = feeds[consumer];
    use.consumer = consumer;
    use.read += read;
    use.used += used;
    use.ru += ru;
}

std::pair<uint64_t, uint64_t> Recorder::reads_and_writes(uint64_t container) const {
    using engine::OperationClass;
    const std::lock_guard lock(state_mutex_);
    drain();
    const auto found = insights_.find(container);
    if (found == insights_.end()) return {};
    const Insight& insight = found->second;
    return {insight.requests(OperationClass::kRead),
            insight.requests(OperationClass::kCreate) + insight.requests(OperationClass::kReplace) +
                insight.requests(OperationClass::kUpsert) +
                insight.requests(OperationClass::kPatch)};
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
    out.writes = sum.extra_total().writes;
    out.grown_bytes = sum.extra_total().bytes;
    return out;
}

}  // namespace orrery::lab
