#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "catalog/catalog.h"
#include "engine/account.h"
#include "engine/continuation.h"
#include "engine/pass_shelf.h"
#include "engine/resource_token.h"
#include "meter/charge.h"
#include "query/page.h"

/// Protocol-neutral operations: route, execute, charge. Knows no HTTP.
namespace orrery::engine {

/// What one answer touched: for session tokens and LSN headers.
struct Touched {
    std::string range_id;
    storage::Lsn lsn = 0;
};

/// A transaction's result with its price.
struct TransactionAnswer {
    partition::TransactionResult result;
    std::vector<meter::Charge> charges;  ///< one per operation
    meter::Charge total;
    Touched touched;
};
using TransactionAnswered = std::function<void(TransactionAnswer)>;

/// The same for one read.
struct PointAnswer {
    partition::OperationResult result;
    meter::Charge charge;
    Touched touched;
};

struct FeedRequest {
    partition::EpkRange range;
    std::string continuation;
    uint32_t items_max = 100;
};
struct FeedAnswer {
    std::vector<partition::StoredItem> items;
    std::string continuation;  ///< empty: no more
    meter::Charge charge;
    Touched touched;
};

struct ChangeFeedRequest {
    partition::EpkRange range;
    std::optional<std::string> full_epk;  ///< `range` is that of this full key
    bool all_versions = false;
    bool from_now = false;
    std::string continuation;           ///< an answer's position; empty: from the start
    std::optional<int64_t> newer_than;  ///< only changes whose `_ts` is greater
    uint32_t items_max = 100;
};
struct ChangeFeedAnswer {
    std::vector<partition::Change> changes;
    std::string position;       ///< where to go on, always; what an etag says
    bool nothing_new = false;   ///< no changes, and none were left to look at
    meter::Charge charge;
    Touched touched;
};

struct QueryRequest {
    std::string text;
    json::Value parameters;  ///< array of {name, value}, or undefined
    partition::EpkRange range;
    std::optional<std::string> full_epk;  ///< the key given by header, if it is a full one
    bool over_container = false;          ///< the request names neither a key nor a range
    std::string continuation;
    uint32_t items_max = 100;
    std::function<bool()> cancelled;  ///< true once nobody waits for the answer; may be empty
    size_t token_bytes_max = 12 << 10; ///< of the continuation token
    bool use_index = true;            ///< false: as if nothing were indexed, for comparison
};
struct QueryAnswer {
    query::PageAnswer page;
    std::string continuation;
    meter::Charge charge;
    Touched touched;
    int64_t compile_us = 0;
    int64_t elapsed_us = 0;
};

/// The account at work. Internally thread-safe.
class Engine {
public:
    struct Deps {
        storage::Store& store;
        catalog::Catalog& catalog;
        WorkerPool& workers;
        const Clock& clock;
        const Account& account;
    };  // borrowed, outlive this

    explicit Engine(const Deps& deps);
    ~Engine();

    catalog::Catalog& catalog() const { return deps_.catalog; }
    const Account& account() const { return deps_.account; }
    const Clock& clock() const { return deps_.clock; }
    WorkerPool& workers() const { return deps_.workers; }
    storage::Store& store() const { return deps_.store; }
    const ResourceTokens& tokens() const { return tokens_; }

    /// A point read from memory only; nullopt: the disk is needed, use execute(). Never blocks.
    std::optional<PointAnswer> read_cached(const catalog::Container& container, std::string_view epk,
                                           std::string_view id, std::string_view if_none_match) const;

    /// Runs a transaction on the partition of its key. `done` may be called on any thread.
    void execute(const catalog::ContainerPtr& container, partition::Transaction transaction,
                 TransactionAnswered done) const;

    /// A page of items in docref order. Worker thread.
    Result<FeedAnswer> read_feed(const catalog::Container& container, const FeedRequest& request) const;

    /// A page of the change feed. Worker thread.
    Result<ChangeFeedAnswer> read_changes(const catalog::Container& container,
                                          const ChangeFeedRequest& request) const;

    /// A page of a query. Worker thread.
    Result<QueryAnswer> query(const catalog::Container& container, const QueryRequest& request) const;

    /// Deletes a logical partition (worker thread).
    Status delete_partition_key(const catalog::Container& container, std::string_view epk) const;

    /// Items and bytes in the container.
    Result<storage::Count> totals(const catalog::Container& container) const;

    /// Removes expired items and carries out changes of indexing policies in the background until
    /// the engine is destroyed.
    void start_background();
    /// Ends it and waits. Before the store is closed; the engine itself must outlive the store's
    /// last answers. Idempotent.
    void stop_background();

private:
    Result<std::vector<ChangeFeedPosition>> change_feed_start(const catalog::Container& container,
                                                              const ChangeFeedRequest& request,
                                                              uint64_t scope) const;
    uint64_t scope_hash(const catalog::Container& container, const partition::EpkRange& range,
                        std::string_view query, std::string_view parameters) const;
    void background_loop();
    void trim_logs();
    void indexing_loop();

    const Deps deps_;
    const ResourceTokens tokens_;
    const ContinuationTokens continuations_;
    mutable PassShelf passes_;

    std::mutex background_mutex_;
    std::condition_variable background_wake_;
    bool background_stop_ = false;  // guarded by background_mutex_
    std::thread background_;
    bool index_changes_ = true;  // guarded by background_mutex_; there may be some to carry out
    std::thread indexing_;
};

}  // namespace orrery::engine
