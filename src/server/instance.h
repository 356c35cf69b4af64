#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "catalog/range_change.h"
#include "catalog/throughput.h"
#include "engine/account.h"
#include "server/listeners.h"
#include "storage/store.h"

namespace orrery::server {

struct InstanceOptions {
    std::string data_folder;  ///< empty: in memory
    std::string bind_address = "127.0.0.1";
    PortChoice port{.number = 8081, .required = true};  ///< for the NoSQL protocol and the Explorer
    engine::AccountKeyTexts keys;
    engine::AccountSettings account;
    catalog::ThroughputSettings throughput;
    storage::Durability durability = storage::Durability::kSync;
    std::string init_file;                ///< empty: none
    std::vector<std::string> tls_hosts;   ///< further names in the server's certificate
    uint64_t cache_bytes = 256ULL << 20;  ///< item cache and block cache together
    catalog::RangeLimits range_limits;    ///< when physical partitions are split
    bool recording = true;                ///< false: metrics and the Design Lab stay empty
};

/// A whole server in one object: store, catalog, engine, heads, listeners, wired in that order and
/// taken down in the opposite one.
class Instance {
public:
    /// Opens everything, runs the init file, and listens: when it returns, the server is ready.
    static Result<std::unique_ptr<Instance>> start(const InstanceOptions& options);
    virtual ~Instance() = default;

    /// The ports that are open; the first one is the NoSQL protocol's.
    virtual const std::vector<Endpoint>& endpoints() const = 0;
    /// Stops accepting, finishes requests, flushes and closes. Idempotent.
    virtual Status stop() = 0;
    /// After stop(): threads that are stuck in a script and still use the instance. Everything that
    /// matters is on disk; the destructor would wait for them.
    virtual size_t stuck() const = 0;
};

/// Verifies a data folder: checksums, and that items, ids, index and log agree. Findings, empty
/// when all is well.
Result<std::vector<std::string>> check_data_folder(const std::string& folder);

}  // namespace orrery::server
