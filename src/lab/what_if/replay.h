#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/rules/cost.h"
#include "lab/what_if/workload.h"

namespace orrery::lab {

/// How much larger than the workload the world is in which it is replayed.
struct Scale {
    double data = 1;
    double traffic = 1;
    int64_t throughput = 400;  ///< RU/s
    static constexpr double kDataMax = 1'000'000;
    static constexpr double kTrafficMax = 10'000;
};

/// What became of a workload under one partition key.
struct ReplayOutcome {
    std::vector<std::string> key_paths;
    bool ran = false;
    std::string why_not;  ///< !ran
    int64_t partitions = 0;
    int64_t logical_partitions = 0;
    double largest_key_share = 0;  ///< of the bytes
    double largest_key_bytes = 0;  ///< at the chosen scale
    std::string largest_key;
    std::vector<double> partition_bytes;  ///< at the chosen scale
    std::vector<double> partition_ru;     ///< in the simulated time, at the chosen traffic
    double simulated_seconds = 0;
    double operations = 0;  ///< at the chosen traffic
    double refused = 0;     ///< refused by a rate limit, retries included
    double given_up = 0;    ///< operations that no retry helped
    double failed = 0;      ///< for other reasons; `failure` is one
    std::string failure;
    double ru = 0;
    double ru_per_operation = 0;
    double queries = 0;
    double ranges_per_query = 0;
    double fan_out_queries = 0;  ///< that had to ask more than one physical partition
    double wait_p50_ms = 0;      ///< what throttling adds, in simulated time
    double wait_p99_ms = 0;
    double execute_p50_us = 0;  ///< on this machine
    double execute_p99_us = 0;
    double id_conflicts = 0;  ///< items of the copy that share key and id with another
    std::vector<double> ru_by_second;
    CostComparison cost;
};

struct ReplayControl {
    const std::atomic<bool>* cancelled = nullptr;
    std::atomic<uint64_t>* done = nullptr;  ///< steps of `steps_of_replay`
};
/// Steps that a replay takes: items to load and operations to run.
uint64_t steps_of_replay(const Workload& workload);

/// Copies the workload's items into an engine of its own with this partition key and makes its
/// requests there in simulated time. A bad request when cancelled.
Result<ReplayOutcome> replay(const Workload& workload, const std::vector<std::string>& key_paths,
                             const Scale& scale, const ReplayControl& control);
std::string outcome_json(const ReplayOutcome& outcome);

/// A partition key worth trying, with what can be told without running it.
struct Candidate {
    std::vector<std::string> key_paths;
    double score = 0;          ///< from 0 to 1
    double served = 0;         ///< share of the operations that need one key only
    int64_t distinct = 0;      ///< values among the items
    double largest_share = 0;  ///< of the bytes, under one value
    bool time_based = false;
    std::string why;
};
/// Best first.
std::vector<Candidate> propose_candidates(const Workload& workload, size_t count);
std::string candidates_json(const std::vector<Candidate>& candidates);

}  // namespace orrery::lab
