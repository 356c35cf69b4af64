#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "json/value.h"
#include "lab/recorder.h"

/// Items and requests that stand for an application: recorded, uploaded, or made up for a demo.
namespace orrery::lab {

/// `item` is the index of an item of the workload; for creates, of one that is not there before.
struct WorkloadOperation {
    enum class Kind : uint8_t { kRead, kCreate, kReplace, kUpsert, kDelete, kQuery };
    Kind kind = Kind::kRead;
    size_t item = 0;
    std::string query;
    std::string parameters;  ///< JSON array text, or empty
};
std::string_view operation_kind_name(WorkloadOperation::Kind kind);

struct Workload {
    static constexpr size_t kItemsMax = 20'000;
    static constexpr size_t kItemBytesMax = 48 << 20;
    static constexpr size_t kOperationsMax = 20'000;

    std::string name;
    std::vector<std::string> key_paths;  ///< the present key; empty: none chosen yet
    std::string indexing_policy;         ///< JSON text; empty: the default
    std::vector<std::string> items;      ///< JSON texts
    size_t loaded = 0;                   ///< so many of them are there before the first request
    double bytes_total = 0;              ///< that the items stand for; 0: themselves
    std::vector<WorkloadOperation> operations;
    double operations_per_second = 100;
    std::string note;  ///< what the reader should know about where it comes from

    double item_bytes() const;
    double scale_of_items() const;  ///< how many bytes one byte of the items stands for
};

/// {"keyPaths":["/a"],"indexingPolicy":{…},"items":[{…}],"itemsTotalBytes":n,"operationsPerSecond":n,
///  "operations":[{"op":"read","id":"1","key":["a"]},{"op":"create","item":{…}},
///                {"op":"query","query":"…","parameters":[…],"key":["a"],"times":3}]}
/// A bad request that names what is wrong.
Result<Workload> read_workload(const json::Value& value);
/// A copy of a container's items (bounded) and the sample of its requests. A bad request when there
/// is none. Worker thread.
Result<Workload> recorded_workload(const engine::Engine& engine, const Recorder& recorder,
                                   const catalog::Container& container);
/// "car-telemetry", "multi-tenant"; not found for others.
Result<Workload> demo_workload(std::string_view name);
struct Demo {
    std::string_view name;
    std::string_view title;
    std::string_view text;
    std::vector<std::vector<std::string>> candidates;
    int64_t throughput;
};
const std::vector<Demo>& demos();

/// The query with one more condition: what the request's partition key header said.
Result<std::string> with_key_condition(std::string_view text,
                                       const std::vector<std::string>& key_paths,
                                       const json::Value& key);

}  // namespace orrery::lab
