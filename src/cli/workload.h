#pragma once

#include <cstdint>
#include <string>

/// Keys, items and operation mixes, the same for every system that is measured.
namespace orrery::cli {

enum class Operation { kRead, kCreate, kUpsert, kFeed };

struct WorkloadOptions {
    std::string name = "read";  ///< read, create, upsert, mix95, mix50, feed
    uint64_t item_count = 10'000;
    bool zipfian = false;
    uint64_t seed = 1;
    uint64_t first_created = 0;  ///< key of the first item created
};

/// Draws operations and keys. Owned by one thread.
class Workload {
public:
    explicit Workload(const WorkloadOptions& options);

    struct Step {
        Operation operation;
        uint64_t key;
    };
    Step next();

private:
    uint64_t random();
    uint64_t draw_key();

    const WorkloadOptions options_;
    uint64_t state_;
    uint64_t created_;
    // Zipfian constants of the usual YCSB generator (theta 0.99).
    double zeta_ = 0;
    double eta_ = 0;
    double alpha_ = 0;
};

/// "item0000000042": id and partition key value of a key.
std::string item_id(uint64_t key);
/// 1 KB of JSON with 30 scalar values; `version` varies what an update changes.
std::string item_json(uint64_t key, uint64_t version);

}  // namespace orrery::cli
