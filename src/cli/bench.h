#pragma once

#include <string>

#include "cli/account_client.h"

namespace orrery::cli {

struct BenchOptions {
    std::string workload = "read";  ///< read, create, upsert, mix95, mix50, query, query-cross
    ContainerName container{"orrery-bench", "items"};
    uint64_t items = 10'000;
    bool uniform = false;  ///< keys drawn evenly; otherwise by Zipf's law
    int64_t seconds = 10;
    uint64_t operations = 0;  ///< stop after so many; 0: by time alone
    size_t parallel = 16;
    int64_t throughput = 0;  ///< of the container, when it is made here; 0: the server's default
    bool json = false;
    bool keep = false;  ///< the container stays when it was made here
};

/// Loads the items that are missing, runs the workload, and prints what it saw. Exit code.
int run_bench(const BenchOptions& options, const AccountClient::Shared& account);

}  // namespace orrery::cli
