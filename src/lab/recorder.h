#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/observer.h"
#include "lab/heavy_hitters.h"
#include "lab/insight.h"
#include "lab/latency.h"
#include "lab/series.h"
#include "lab/use_sums.h"

namespace orrery::lab {

/// Keeps what requests did, in bounded space. Records go into a ring of the calling thread, which
/// counts them itself, many at once; one thread takes what is left behind when requests cease.
/// Nothing is lost. While no request comes, nothing runs.
class Recorder final : public engine::RequestObserver {
public:
    struct Limits {
        size_t second_blocks = 50'000;  ///< about 50 MB when all are in use
        size_t partitions = 5'000;
        size_t containers = 2'000;  ///< with heavy hitters
        size_t counters = 50'000;   ///< (container, operation, status) apart; the rest as one
        size_t insights = 100;      ///< containers with queries, samples and hours
    };

    explicit Recorder(const Clock& clock) : Recorder(clock, Limits{}) {}
    Recorder(const Clock& clock, const Limits& limits);
    ~Recorder() override;

    void observe(const engine::RequestRecord& record) override;
    uint64_t query_hash(const std::shared_ptr<const query::CompiledQuery>& query) override;
    bool wants_sample(const engine::RequestRecord& record) override;
    void observe_sample(engine::RequestSample sample) override;

    /// Requests of one kind on one container with one outcome. Container 0: several, or none.
    struct CounterKey {
        uint64_t container = 0;
        engine::OperationClass operation = engine::OperationClass::kMetadata;
        uint16_t status = 0;
        friend auto operator<=>(const CounterKey&, const CounterKey&) = default;
    };
    struct Counter {
        uint64_t requests = 0;
        meter::Charge charge;
        uint64_t request_bytes = 0;
        uint64_t response_bytes = 0;
    };

    // What was recorded up to the call. Any thread.
    std::map<CounterKey, Counter> counters() const;
    LatencyHistogram latency(engine::OperationClass operation) const;
    /// The last `minutes`, the present one included.
    LatencyHistogram recent_latency(engine::OperationClass operation, int64_t minutes) const;
    std::vector<SecondUse> seconds(PartitionId partition, int64_t from, int64_t to) const;
    std::vector<MinuteUse> minutes(PartitionId partition, int64_t from, int64_t to) const;
    TotalUse total(PartitionId partition) const;
    /// Logical partitions by charge over the last `hours`, the present one included.
    struct TopKeys {
        std::vector<HeavyHitters::Entry> keys;  ///< weights in charge units
        int64_t total = 0;
        int64_t error_max = 0;
        int64_t writes = 0;  ///< items written, all keys
        int64_t grown_bytes = 0;
    };
    TopKeys top_keys(uint64_t container, int64_t hours, size_t count) const;

    /// What is known of a container beyond counters; the definition must be filled in already.
    void describe(uint64_t container, Observation& out) const;
    /// A sample of its latest requests, oldest first.
    std::vector<TracedRequest> trace(uint64_t container) const;
    /// Requests that followed one to `container` on the same connection within 50 ms.
    struct Pair {
        engine::OperationClass first = engine::OperationClass::kRead;
        uint64_t second_container = 0;
        engine::OperationClass second = engine::OperationClass::kRead;
        uint64_t count = 0;
        int64_t units = 0;  ///< of the second ones
    };
    std::vector<Pair> pairs(uint64_t container) const;
    /// A consumer of the change feed says how many of the changes that it read it could use.
    void note_feed_use(uint64_t container, const std::string& consumer, int64_t read, int64_t used,
                       double ru);
    /// Point reads of a container, and creates and updates.
    std::pair<uint64_t, uint64_t> reads_and_writes(uint64_t container) const;

    // What rules need of the past, for the next start: docs/formats/recording.md.

    /// At most about `bytes_max`: containers used last come first. Takes the lock for one container
    /// at a time.
    std::string pack(size_t bytes_max = kPackedBytesMax) const;
    /// Goes on from what another recorder has packed; `known` says which containers there still
    /// are. Before the first record. An error means that nothing was taken.
    Status unpack(std::string_view bytes, const std::function<bool(uint64_t)>& known);
    /// From now on `keep` is called on the recorder's thread with pack() of a state that changed, a
    /// minute after a change at the earliest; the longer it takes, the more rarely.
    void keep_with(std::function<void(std::string)> keep);
    /// The same at once, if anything has changed. Any thread, while no request is made any more.
    void keep_now();
    static constexpr size_t kPackedBytesMax = 64 << 20;
    static constexpr size_t kKeysPerHour = 200;

private:
    friend struct Packed;
    struct Ring;
    /// The last request of a connection, and the queries on one key that it may belong to.
    struct LastRequest {
        uint64_t connection = 0;
        uint64_t container = 0;
        int64_t at_ms = 0;
        engine::OperationClass operation = engine::OperationClass::kMetadata;
        uint64_t key_hash = 0;
        int64_t burst_ms = 0;
        uint32_t burst = 0;
    };
    struct Related {
        uint64_t correlation = 0;
        int64_t at_ms = 0;
        uint64_t key_hash = 0;
        bool several = false;
        std::string key;
    };
    struct PairKey {
        uint64_t first_container = 0;
        engine::OperationClass first = engine::OperationClass::kRead;
        uint64_t second_container = 0;
        engine::OperationClass second = engine::OperationClass::kRead;
        friend auto operator<=>(const PairKey&, const PairKey&) = default;
    };
    struct ContainerKeys {
        std::map<int64_t, HeavyHitters> hours;
        int64_t last_second = 0;
    };

    Ring& ring_of_thread();
    Ring& make_ring();
    void run();
    /// What the calling thread's ring holds, `waiting` records; not while another thread is
    /// counting or has to look at large samples first, if there is room for more.
    void count_own(Ring& ring, uint64_t waiting);
    /// A sample says which shape its query has: before the record that counts it.
    void apply_samples() const;
    void drain() const;
    /// The records before the one numbered `head`.
    void take(Ring& ring, uint64_t head) const;
    void apply(const engine::RequestRecord& record) const;
    void apply_sum(const UseSum& sum) const;
    void apply_key(const engine::RequestRecord& record) const;
    void apply_sequence(const engine::RequestRecord& record) const;
    void apply_pair(const LastRequest& last, const engine::RequestRecord& record) const;
    /// Makes last_sketch_ the one of the container and hour.
    void find_sketch(uint64_t container, int64_t wall_seconds) const;
    Insight& insight(uint64_t container, int64_t wall_seconds) const {
        if (last_insight_ != nullptr && last_container_ == container) return *last_insight_;
        return find_insight(container, wall_seconds);
    }
    Insight& find_insight(uint64_t container, int64_t wall_seconds) const;
    /// Containers about which anything is known, the one used last first.
    std::vector<uint64_t> containers_by_use() const;
    void keep(std::unique_lock<std::mutex>& wake_lock);

    const Clock& clock_;
    const Limits limits_;
    int64_t
        started_seconds_;  // of the first recorder, moved on by the time in which none was there
    DownTimes down_;
    const uint64_t instance_;  // tells this recorder's rings from those of an earlier one

    mutable std::mutex rings_mutex_;
    mutable std::vector<std::shared_ptr<Ring>> rings_;

    // What readers ask for is brought up to date by the question, so the state is logically const.
    mutable std::mutex state_mutex_;
    mutable UseSums sums_;  // of records that were taken; empty after drain()
    mutable UseSeries series_;
    mutable std::map<CounterKey, Counter> counters_;
    mutable LatencySeries latencies_;  // by OperationClass
    mutable std::map<uint64_t, ContainerKeys> keys_;
    mutable std::map<uint64_t, Insight> insights_;
    static constexpr size_t kLastRequests = 1024;
    mutable std::vector<LastRequest> last_requests_;
    mutable std::vector<Related> related_;
    mutable std::map<PairKey, std::pair<uint64_t, int64_t>> pairs_;
    // Where the last record was counted, for the next one; most come in runs. Null, or in the maps.
    mutable uint64_t last_container_ = 0;
    mutable Insight* last_insight_ = nullptr;
    mutable uint64_t last_keys_container_ = 0;
    mutable int64_t last_keys_from_ = 0;  // seconds; an hour from here
    mutable ContainerKeys* last_keys_ = nullptr;
    mutable HeavyHitters* last_sketch_ = nullptr;
    mutable PairKey last_pair_key_;
    mutable std::pair<uint64_t, int64_t>* last_pair_ = nullptr;
    std::map<uint64_t, std::map<std::string, FeedUse>> feeds_;

    mutable std::mutex samples_mutex_;
    mutable std::vector<engine::RequestSample> samples_;
    mutable std::atomic<bool> samples_waiting_{false};
    mutable std::atomic<bool> large_sample_waiting_{false};

    std::atomic<bool> pending_{false};
    std::mutex wake_mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::function<void(std::string)> keep_;
    std::mutex keep_mutex_;
    bool changed_ = false;    // since the last call of keep_
    int64_t keep_at_us_ = 0;  // monotonic
    std::thread thread_;
};

}  // namespace orrery::lab
