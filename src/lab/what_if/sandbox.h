#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "catalog/catalog.h"
#include "engine/account.h"
#include "engine/engine.h"
#include "partition/item_cache.h"
#include "storage/store.h"

namespace orrery::lab {

/// A whole engine in memory under a clock that its owner moves: budgets, charges, partitions and
/// queries are the real ones, only time is not. Owned by one thread.
class Sandbox {
public:
    struct Options {
        std::vector<std::string> key_paths;
        std::string indexing_policy;  ///< JSON text; empty: the default
        int64_t throughput = 400;     ///< RU/s
        int64_t partitions = 1;       ///< physical ones
    };
    static Result<std::unique_ptr<Sandbox>> open(const Options& options);
    ~Sandbox();
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;

    ManualClock& clock() { return clock_; }
    engine::Engine& engine() { return *engine_; }
    const catalog::ContainerPtr& container() const { return container_; }

    /// Runs one operation on one item and waits for its outcome.
    engine::TransactionAnswer execute(std::string epk, partition::ItemOperation operation,
                                      const engine::RequestTerms& terms);

private:
    Sandbox();
    Status start(const Options& options);

    ManualClock clock_;
    partition::ItemCache cache_;
    WorkerPool workers_;
    std::unique_ptr<engine::Account> account_;
    std::unique_ptr<storage::Store> store_;
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<engine::Engine> engine_;
    catalog::ContainerPtr container_;
};

}  // namespace orrery::lab
