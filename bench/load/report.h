#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::bench {

/// Collects latencies and prints one JSON line.
class Report {
public:
    /// CPU time of this process and of a server (each process given, and its children) is taken
    /// from here on.
    Report(std::string system, std::string workload, std::vector<int> server_pids);
    void add(int64_t latency_us, bool ok);
    /// More members for the line, e.g. `"items":1000`.
    void note(std::string members) { notes_ += "," + std::move(members); }
    void print();

private:
    double server_cpu_seconds() const;

    const std::string system_;
    const std::string workload_;
    const std::vector<int> pids_;
    std::vector<uint32_t> latencies_;
    uint64_t errors_ = 0;
    std::string notes_;
    int64_t started_us_;
    double server_cpu_start_;
    double client_cpu_start_;
};

int64_t now_us();

}  // namespace orrery::bench
