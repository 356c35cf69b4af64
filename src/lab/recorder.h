#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/observer.h"
#include "lab/heavy_hitters.h"
#include "lab/latency.h"
#include "lab/series.h"

namespace orrery::lab {

/// Keeps what requests did, in bounded space. Records go into a ring of the calling thread; one
/// thread takes them from there. Nothing is lost: a thread whose ring is full empties it itself.
/// While no request comes, nothing runs.
class Recorder final : public engine::RequestObserver {
public:
    struct Limits {
        size_t second_blocks = 50'000;  ///< about 50 MB when all are in use
        size_t partitions = 5'000;
        size_t containers = 2'000;  ///< with heavy hitters
        size_t counters = 50'000;   ///< (container, operation, status) apart; the rest as one
    };

    explicit Recorder(const Clock& clock) : Recorder(clock, Limits{}) {}
    Recorder(const Clock& clock, const Limits& limits);
    ~Recorder() override;

    void observe(const engine::RequestRecord& record) override;

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
    };
    TopKeys top_keys(uint64_t container, int64_t hours, size_t count) const;

private:
    struct Ring;
    struct ThreadRing;
    struct ContainerKeys {
        std::map<int64_t, HeavyHitters> hours;
        int64_t last_second = 0;
    };

    Ring& ring_of_thread();
    void run();
    void drain() const;
    void take(Ring& ring) const;
    void apply(const engine::RequestRecord& record) const;
    void apply_key(const engine::RequestRecord& record) const;

    const Clock& clock_;
    const Limits limits_;
    const uint64_t instance_;  // tells this recorder's rings from those of an earlier one

    mutable std::mutex rings_mutex_;
    mutable std::vector<std::shared_ptr<Ring>> rings_;

    // What readers ask for is brought up to date by the question, so the state is logically const.
    mutable std::mutex state_mutex_;
    mutable UseSeries series_;
    mutable std::map<CounterKey, Counter> counters_;
    static constexpr auto kOperations = static_cast<size_t>(engine::OperationClass::kCount);
    mutable std::array<LatencyHistogram, kOperations> latencies_;
    mutable std::array<std::map<int64_t, LatencyHistogram>, kOperations> minute_latencies_;
    mutable std::map<uint64_t, ContainerKeys> keys_;

    std::atomic<bool> pending_{false};
    std::mutex wake_mutex_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace orrery::lab
