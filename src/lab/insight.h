#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "engine/observer.h"
#include "lab/heavy_hitters.h"
#include "lab/item_samples.h"
#include "lab/query_shape.h"
#include "lab/rules/observation.h"
#include "lab/use_sums.h"

namespace orrery::lab {

/// One request as it can be made again.
struct TracedRequest {
    int64_t wall_ms = 0;
    engine::OperationClass operation = engine::OperationClass::kRead;
    std::string key;  ///< JSON array text; empty: the request named none
    std::string id;
    std::string body;        ///< item that was created or put in the place of another
    std::string query;       ///< text
    std::string parameters;  ///< JSON array text, or empty
};

/// Times in which the server did not run, seconds: [first, second).
using DownTimes = std::vector<std::pair<int64_t, int64_t>>;

/// What requests to one container did, beyond counters: queries by shape, samples of items, hours,
/// items that are written often, a sample of the requests themselves. In bounded space; not
/// thread-safe.
class Insight {
public:
    static constexpr size_t kShapesMax = 200;
    static constexpr size_t kTextsMax = 4096;
    static constexpr size_t kHoursMax = 31 * 24;
    static constexpr size_t kTraceMax = 2000;
    static constexpr size_t kHotItems = 64;

    explicit Insight(int64_t since_seconds) : since_seconds_(since_seconds) {}

    void apply(const UseSum& sum);
    /// What sums do not say of a request that was not refused with 429.
    void apply(const engine::RequestRecord& record);
    /// The part of requests that one physical partition did.
    void apply_use(const UseSum& sum);
    void apply_sample(const engine::RequestSample& sample);
    void burst(std::string_view key, bool first);
    void correlated_group() { ++correlated_.groups; }
    void correlated_keys(std::string_view first, std::string_view second);

    int64_t since_seconds() const { return since_seconds_; }
    int64_t last_seconds() const { return last_seconds_; }

    /// Fills in everything that it knows; shares of throughput and policies are the caller's. Whole
    /// hours of `down` are left out.
    void observe(Observation& out, int64_t now_seconds, const DownTimes& down) const;
    /// Answered requests by kind.
    uint64_t requests(engine::OperationClass operation) const {
        return operations_[static_cast<size_t>(operation)].requests;
    }
    const std::deque<TracedRequest>& trace() const { return trace_; }

private:
    friend struct Packed;
    struct Shape {
        QueryShape shape;
        std::string example;
        query::IndexUse index_use;
        uint64_t runs = 0;
        uint64_t pages = 0;
        int64_t units = 0;
        uint64_t retrieved = 0;
        uint64_t output = 0;
        uint64_t output_bytes = 0;
        uint64_t ranges = 0;
        uint64_t ranges_max = 0;
        uint64_t keyed_runs = 0;
        uint64_t small_page_runs = 0;
        uint64_t small_pages = 0;
        SizeHistogram result_bytes;
    };
    struct Hour {
        int64_t units = 0;
        int64_t peak_units = 0;        ///< of a second, all ranges
        int64_t peak_range_units = 0;  ///< of a second, one range
        uint64_t requests = 0;
        uint64_t throttled = 0;
    };
    struct Second {
        int64_t units = 0;
        std::map<uint32_t, int64_t> by_range;
    };
    struct Operation {
        uint64_t requests = 0;
        uint64_t failed = 0;
        uint64_t throttled = 0;
        int64_t units = 0;
    };

    void apply_query(const engine::RequestRecord& record);
    void apply_item(const engine::RequestRecord& record);
    void close_second(int64_t second, const Second& use);
    Hour& hour_of(int64_t second);
    void observe_queries(Observation& out) const;
    void observe_items(Observation& out, int64_t now_seconds) const;

    int64_t since_seconds_;  // time in which the server did not run moves it on
    int64_t last_seconds_ = 0;
    std::array<Operation, static_cast<size_t>(engine::OperationClass::kCount)> operations_{};
    std::map<int64_t, Hour> hours_;
    int64_t last_hour_ = -1;
    Hour* last_hour_use_ = nullptr;      // of that hour, in hours_
    std::map<int64_t, Second> seconds_;  // those that may still change
    absl::flat_hash_map<uint64_t, size_t> shape_of_text_;
    std::map<std::string, size_t> shape_of_normalized_;
    std::vector<Shape> shapes_;
    ItemSamples items_;
    HeavyHitters item_writes_{kHotItems};   // extra: conflicts as `writes`
    std::array<uint64_t, 40> read_ages_{};  // by powers of two of seconds
    Bursts bursts_;
    Correlated correlated_;
    std::deque<TracedRequest> trace_;
};

}  // namespace orrery::lab
