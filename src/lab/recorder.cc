#include "lab/recorder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <type_traits>

#include "base/worker_pool.h"

namespace orrery::lab {
namespace {

constexpr size_t kRingRecords = 2048;  // a power of two
/// So many are counted at once by the thread that wrote them: few enough to be in its core's cache
/// still, enough that what is shared with other cores is fetched rarely.
constexpr size_t kBatchRecords = 128;
constexpr size_t kRetryRecords = 16;  // after another thread was counting
constexpr int kGatherMs = 100;
constexpr size_t kFeedsMax = 50;

// Samples: a thread aims at so many a second, and never takes more than the second figure.
constexpr uint32_t kSamplesAim = 20;
constexpr uint32_t kSamplesMax = 200;
constexpr size_t kSamplesQueued = 512;
constexpr size_t kLargeSampleBytes = 16 << 10;  ///< left to the recorder's own thread
constexpr int64_t kQuerySeenSeconds = 600;      ///< then a text is sampled again
constexpr int64_t kKeepEveryUs = 60'000'000;

std::atomic<uint64_t> instances{0};

static_assert(std::is_trivially_copyable_v<engine::RequestRecord>);
static_assert(static_cast<size_t>(engine::OperationClass::kCount) <= LatencySeries::kKinds);

}  // namespace

/// One writer (the thread it belongs to) at `head`; whoever holds the state mutex reads at `tail`.
/// The writer begins at the front again when it has emptied the ring itself: what it writes to
/// stays in its cache.
struct Recorder::Ring {
    static constexpr size_t kStride = (sizeof(engine::RequestRecord) + 63) / 64 * 64;

    std::atomic<uint64_t> head{0};
    std::atomic<uint64_t> tail{0};
    /// Room for records, of which RequestRecord::bytes() are written.
    alignas(64) std::array<std::byte, kRingRecords * kStride> room;
    std::byte* at(uint64_t number) { return room.data() + number % kRingRecords * kStride; }

    // Of the writer alone: what it samples.
    int64_t sample_second = 0;
    uint32_t samples = 0;
    uint32_t shapes = 0;  ///< samples for the sake of a query's shape
    uint64_t stride = 1;  ///< a power of two
    uint64_t counter = 0;
    std::array<uint64_t, 512> seen_queries{};
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
    // Trivial, so that requests need no check for initialisation.
    static thread_local constinit uint64_t instance = 0;
    static thread_local constinit Ring* ring = nullptr;
    if (instance != instance_) {
        ring = &make_ring();
        instance = instance_;
    }
    return *ring;
}

Recorder::Ring& Recorder::make_ring() {
    static thread_local std::shared_ptr<Ring> mine;
    // The memory is written before it is read.
    mine = std::make_shared_for_overwrite<Ring>();
    const std::lock_guard lock(rings_mutex_);
    rings_.push_back(mine);
    return *mine;
}

void Recorder::observe(const engine::RequestRecord& record) {
    Ring& ring = ring_of_thread();
    const uint64_t head = ring.head.load(std::memory_order_relaxed);
    std::memcpy(ring.at(head), &record, record.bytes());
    ring.head.store(head + 1, std::memory_order_release);
    const uint64_t waiting = head + 1 - ring.tail.load(std::memory_order_acquire);
    if (waiting >= kBatchRecords && waiting % kRetryRecords == 0) count_own(ring, waiting);
    if (pending_.load(std::memory_order_relaxed)) return;
    pending_.store(true, std::memory_order_relaxed);
    // The lock orders this with the thread's look at `pending_` before it goes to sleep.
    { const std::lock_guard lock(wake_mutex_); }
    wake_.notify_one();
}

void Recorder::count_own(Ring& ring, uint64_t waiting) {
    // Samples are handled first. They may be megabytes large, and this thread has clients to
    // answer.
    if (large_sample_waiting_.load(std::memory_order_relaxed) && waiting < kRingRecords) return;
    std::unique_lock lock(state_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
        if (waiting < kRingRecords) return;
        lock.lock();
    }
    apply_samples();
    take(ring, ring.head.load(std::memory_order_relaxed));
    ring.head.store(0, std::memory_order_relaxed);
    ring.tail.store(0, std::memory_order_relaxed);
}

uint64_t Recorder::query_hash(const std::shared_ptr<const query::CompiledQuery>& query) {
    return shape_hash(query);
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
    bool wanted = (++ring.counter & (ring.stride - 1)) == 0;
    // The same items every time: their versions can be compared.
    if (record.writes > 0 && record.docref_hash != 0)
        wanted = wanted || (record.docref_hash & (ring.stride - 1)) == 0;
    ring.samples += wanted ? 1 : 0;
    return wanted;
}

void Recorder::observe_sample(engine::RequestSample sample) {
    const bool is_large = sample.document != nullptr && sample.document->size() > kLargeSampleBytes;
    const std::lock_guard lock(samples_mutex_);
    // Those of queries are few, and records wait for them.
    if (samples_.size() < kSamplesQueued || sample.query != nullptr)
        samples_.push_back(std::move(sample));
    samples_waiting_.store(true, std::memory_order_relaxed);
    if (!is_large) return;
    large_sample_waiting_.store(true, std::memory_order_relaxed);
    // Its record wakes the thread, unless that is gathering records already.
    wake_.notify_one();
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
        // Records that come meanwhile are taken together, until a large sample comes: threads leave
        // their records where they are for as long as it is there.
        wake_.wait_for(lock, std::chrono::milliseconds(kGatherMs), [this] {
            return stop_ || large_sample_waiting_.load(std::memory_order_relaxed);
        });
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

void Recorder::apply_samples() const {
    if (!samples_waiting_.load(std::memory_order_relaxed)) return;
    std::vector<engine::RequestSample> samples;
    {
        const std::lock_guard lock(samples_mutex_);
        samples.swap(samples_);
        samples_waiting_.store(false, std::memory_order_relaxed);
        large_sample_waiting_.store(false, std::memory_order_relaxed);
    }
    for (const auto& sample : samples)
        insight(sample.record.container, sample.record.wall_seconds).apply_sample(sample);
}

void Recorder::drain() const {
    std::vector<std::pair<std::shared_ptr<Ring>, uint64_t>> rings;
    {
        const std::lock_guard lock(rings_mutex_);
        // A ring that only this list holds belonged to a thread that has ended.
        std::erase_if(rings_, [](const auto& ring) {
            return ring.use_count() == 1 && ring->head.load() == ring->tail.load();
        });
        for (const auto& ring : rings_)
            rings.emplace_back(ring, ring->head.load(std::memory_order_acquire));
    }
    // Of the records seen so far every sample is there.
    apply_samples();
    for (const auto& [ring, head] : rings) take(*ring, head);
    sums_.take_all([this](const UseSum& sum) { apply_sum(sum); });
}

void Recorder::take(Ring& ring, uint64_t head) const {
    for (uint64_t tail = ring.tail.load(std::memory_order_relaxed); tail != head; ++tail)
        apply(*std::launder(reinterpret_cast<const engine::RequestRecord*>(ring.at(tail))));
    ring.tail.store(head, std::memory_order_release);
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
    // An unused container has been observed for as long as the others.
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
    return latencies_.total(static_cast<size_t>(operation));
}

LatencyHistogram Recorder::recent_latency(engine::OperationClass operation, int64_t minutes) const {
    const std::lock_guard lock(state_mutex_);
    drain();
    return latencies_.since(static_cast<size_t>(operation),
                            clock_.wall_seconds() / 60 - minutes + 1);
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
