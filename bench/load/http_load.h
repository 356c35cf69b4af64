#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/workload.h"

namespace orrery::bench {

struct HttpLoadOptions {
    std::string system = "orrery";  ///< a name for the report
    std::string host = "127.0.0.1";
    uint16_t port = 8081;
    std::string key;         ///< base64; empty: requests are not signed
    std::string fixed_path;  ///< not empty: GET this path (nginx)
    std::string container = "dbs/bench/colls/items";
    size_t connections = 64;
    double seconds = 5;
    uint64_t operations_max = 0;  ///< > 0: stop after so many (loading)
    std::vector<int> server_pids;
    bool quiet = false;
};

/// Drives a server with keep-alive connections from one thread; prints a report line.
/// Returns the number of operations that failed.
uint64_t run_http_load(const HttpLoadOptions& options, const WorkloadOptions& workload);

/// One request with a body, for set-up; returns the HTTP status.
int send_once(const HttpLoadOptions& options, const std::string& method, const std::string& type,
              const std::string& link, const std::string& path, const std::string& extra_headers,
              const std::string& body);

}  // namespace orrery::bench
