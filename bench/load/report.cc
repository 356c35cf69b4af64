#include "load/report.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace orrery::bench {
namespace {

double client_cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/// User and system time of a process, own and of children that ended; 0 when it is gone. The
/// parent's number goes to `parent`.
double process_ticks(const std::filesystem::path& folder, int& parent) {
    std::ifstream file(folder / "stat");
    std::string line;
    if (!std::getline(file, line)) return 0;
    // Fields after the command name in parentheses: 4 is the parent, 14 to 17 are the times.
    std::istringstream fields(line.substr(line.rfind(')') + 2));
    std::string field;
    double ticks = 0;
    for (int i = 3; i <= 17 && fields >> field; ++i) {
        if (i == 4) parent = std::stoi(field);
        if (i >= 14) ticks += std::stod(field);
    }
    return ticks;
}

}  // namespace

int64_t now_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

Report::Report(std::string system, std::string workload, std::vector<int> server_pids)
    : system_(std::move(system)),
      workload_(std::move(workload)),
      pids_(std::move(server_pids)),
      started_us_(now_us()),
      server_cpu_start_(server_cpu_seconds()),
      client_cpu_start_(client_cpu_seconds()) {
    latencies_.reserve(4'000'000);
}

double Report::server_cpu_seconds() const {
    if (pids_.empty()) return 0;
    double sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        int parent = 0;
        const double ticks = process_ticks(entry.path(), parent);
        const auto given = [&](int pid) {
            return std::find(pids_.begin(), pids_.end(), pid) != pids_.end();
        };
        if (given(std::stoi(name)) || given(parent)) sum += ticks;
    }
    return sum / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void Report::add(int64_t latency_us, bool ok) {
    if (!ok) ++errors_;
    latencies_.push_back(static_cast<uint32_t>(std::min<int64_t>(latency_us, UINT32_MAX)));
}

void Report::print() {
    const double seconds = static_cast<double>(now_us() - started_us_) / 1e6;
    const auto count = static_cast<double>(std::max<size_t>(latencies_.size(), 1));
    std::sort(latencies_.begin(), latencies_.end());
    const auto percentile = [&](double p) {
        return latencies_.empty() ? 0 : latencies_[static_cast<size_t>(p * (count - 1))];
    };
    fmt::print(
        "{{\"system\":\"{}\",\"workload\":\"{}\",\"operations\":{},\"errors\":{},\"seconds\":{:.2f}"
        ","
        "\"per_second\":{:.0f},\"p50_us\":{},\"p99_us\":{},\"server_cpu_us\":{:.1f},\"client_cpu_"
        "us\":{:.1f}{}}}\n",
        system_, workload_, latencies_.size(), errors_, seconds, count / seconds, percentile(0.5),
        percentile(0.99), (server_cpu_seconds() - server_cpu_start_) * 1e6 / count,
        (client_cpu_seconds() - client_cpu_start_) * 1e6 / count, notes_);
}

}  // namespace orrery::bench
