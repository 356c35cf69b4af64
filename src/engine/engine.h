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
#include "engine/admission.h"
#include "engine/continuation.h"
#include "engine/control_plane.h"
#include "engine/partition_keeper.h"
#include "engine/pass_shelf.h"
#include "engine/resource_token.h"
#include "engine/row_texts.h"
#include "engine/view_keeper.h"
#include "meter/charge.h"
#include "query/page.h"
#include "script/script.h"

namespace orrery::storage {
struct ReadBudget;
}

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
    bool refused = false;  ///< not admitted: every result is the same rate limit, nothing was tried
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
    RequestTerms terms;
    meter::Bill* bill = nullptr;  ///< itemises the charge
};
struct FeedAnswer {
    std::vector<partition::StoredItem> items;
    std::string continuation;  ///< empty: no more
    meter::Charge charge;
    std::vector<RangeCharge> range_charges;  ///< add up to the charge
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
    RequestTerms terms;
    meter::Bill* bill = nullptr;  ///< itemises the charge
};
struct ChangeFeedAnswer {
    std::vector<partition::Change> changes;
    std::string position;      ///< where to go on, always; what an etag says
    bool nothing_new = false;  ///< no changes, and none were left to look at
    meter::Charge charge;
    std::vector<RangeCharge> range_charges;  ///< add up to the charge
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
    query::RowSink* rows = nullptr;     ///< takes the rows; null: QueryAnswer::rows does
    std::function<bool()> cancelled;    ///< true once nobody waits for the answer; may be empty
    size_t token_bytes_max = 12 << 10;  ///< of the continuation token
    bool use_index = true;              ///< false: as if nothing were indexed, for comparison
    bool explain = false;               ///< query::PageScope::explain, and QueryAnswer::range_ids
    RequestTerms terms;
    meter::Bill* bill = nullptr;  ///< itemises the charge
};
struct QueryAnswer {
    query::PageAnswer page;
    RowTexts rows;  ///< of requests without a sink
    std::string continuation;
    meter::Charge charge;
    std::vector<RangeCharge> range_charges;  ///< add up to the charge
    std::vector<std::string> range_ids;      ///< of the partitions that the page speaks of
    Touched touched;
    int64_t compile_us = 0;
    int64_t elapsed_us = 0;
    std::shared_ptr<const query::CompiledQuery> compiled;
    bool keyed = false;  ///< limited to a partition key, or a prefix of one, by filter or request
};

/// Which listing of resources a position is in: of whose resources, of which kind, and the query
/// over them, if it is one.
struct ListingScope {
    std::string_view parent_rid;  ///< empty: the account
    std::string_view kind;        ///< "Users", as in the body of the answer
    std::string_view query = {};
};

class Scripts;

/// What scripts may use up.
struct ScriptOptions {
    script::Limits limits;
    /// Threads that may be stuck in a script before no further script is begun.
    size_t stuck_max = 8;
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
        ScriptOptions scripts = {};
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
    std::optional<PointAnswer> read_cached(const catalog::Container& container,
                                           std::string_view epk, std::string_view id,
                                           std::string_view if_none_match,
                                           const RequestTerms& terms = {}) const;

    /// Runs a transaction on the partition of its key. `done` may be called on any thread.
    void execute(const catalog::ContainerPtr& container, partition::Transaction transaction,
                 TransactionAnswered done) const {
        execute(container, std::move(transaction), {}, std::move(done));
    }
    void execute(const catalog::ContainerPtr& container, partition::Transaction transaction,
                 const RequestTerms& terms, TransactionAnswered done) const;

    // Everything that works on a partition asks before and pays afterwards.

    /// A rate limit when the physical partition's throughput is used up; nothing may be changed
    /// then.
    Status admit(const catalog::PartitionRange& range, const RequestTerms& terms) const;
    /// Takes the charge of admitted work from the partition's throughput.
    void settle(const catalog::PartitionRange& range, const RequestTerms& terms,
                meter::Charge charge) const;
    /// What an operation costs, whatever became of it.
    meter::Charge price(const partition::OperationResult& result, const RequestTerms& terms,
                        meter::Bill* bill = nullptr) const;
    meter::Pricing pricing(meter::Bill* bill) const {
        return {deps_.account.settings().charges, bill};
    }

    /// A container's ranges and a view that fit together: when the view was made, no partition had
    /// moved. Ranges may be others than those of the container that the request found: all reads of
    /// more than one item begin here. Worker thread.
    struct Routed {
        catalog::ContainerPtr container;
        storage::ViewPtr view;
        partition::ContainerSettingsPtr settings;  ///< under which the view's index was written
        partition::ViewAndSettings view_and_settings() const { return {view, settings}; }
    };
    Result<Routed> route(const catalog::Container& container) const;
    /// The same without waiting. nullopt: a partition of the container is moving or has moved.
    std::optional<Routed> try_route(const catalog::Container& container) const;

    /// Splits and merges: what runs, what was asked for.
    PartitionKeeper& partitions() { return partitions_; }
    const PartitionKeeper& partitions() const { return partitions_; }

    const ViewKeeper& views() const { return views_; }

    /// A page of items in docref order. Worker thread.
    Result<FeedAnswer> read_feed(const catalog::Container& container,
                                 const FeedRequest& request) const;

    /// A page of the change feed. Worker thread.
    Result<ChangeFeedAnswer> read_changes(const catalog::Container& container,
                                          const ChangeFeedRequest& request) const;

    /// A page of a query. Worker thread; a script thread where runs_functions() says so.
    Result<QueryAnswer> query(const catalog::Container& container,
                              const QueryRequest& request) const;
    /// The same over ranges and view that the caller has.
    Result<QueryAnswer> query_routed(const Routed& routed, const QueryRequest& request) const;
    /// The same from memory and with little work, for threads that must not wait: never blocks.
    /// Where the budget is exceeded afterwards, the answer means nothing: a worker must do it.
    Result<QueryAnswer> query_within(const catalog::Container& container,
                                     const QueryRequest& request,
                                     storage::ReadBudget& budget) const;
    /// The query calls user-defined functions.
    bool runs_functions(const catalog::Container& container, std::string_view text) const;

    /// Stored procedures, triggers, and threads for whatever runs JavaScript.
    Scripts& scripts() const { return *scripts_; }

    /// The token of a position in a listing (empty: no more), and back: kForeignContinuation when
    /// it was altered or made for another listing.
    std::string seal_listing(const ListingScope& scope, std::string_view position) const;
    Result<std::string> open_listing(const ListingScope& scope, std::string_view token) const;

    /// A rate limit when metadata requests have a budget and it is used up, or the control plane's
    /// limits are on and reached.
    Status admit_metadata(MetadataKind kind) const;
    void settle_metadata(meter::Charge charge) const;

    /// Deletes a logical partition (worker thread). Its price is paid in the background.
    Status delete_partition_key(const catalog::Container& container, std::string_view epk) const;

    /// Items and bytes in the container.
    Result<storage::Count> totals(const catalog::Container& container) const;

    /// Removes expired items, carries out changes of indexing policies and fills materialized views
    /// in the background until the engine is destroyed.
    void start_background();
    /// Ends it and waits. Before the workers are stopped, whose work it may be waiting for, and the
    /// store is closed; the engine itself must outlive the store's last answers. Idempotent.
    void stop_background();

private:
    class QueryPage;
    /// Raises a feed's charge to the least of a page, doubles it where the level asks for it, and
    /// takes each range's part from its budget.
    template <typename FeedLike>
    void settle_feed(FeedLike& answer, const std::vector<const catalog::PartitionRange*>& ranges,
                     const RequestTerms& terms, const meter::Pricing& by) const;
    /// Nothing: a range has moved since the container was looked up.
    Result<std::optional<ChangeFeedAnswer>> read_changes_of(const catalog::Container& container,
                                                            const ChangeFeedRequest& request) const;
    Result<std::vector<ChangeFeedPosition>> change_feed_start(const catalog::Container& container,
                                                              const ChangeFeedRequest& request,
                                                              uint64_t scope) const;
    uint64_t scope_hash(const catalog::Container& container, const partition::EpkRange& range,
                        std::string_view query, std::string_view parameters) const;
    /// Background work may run on the range now.
    bool leftovers(const catalog::PartitionRange& range) const {
        return !deps_.account.settings().throttled ||
               range.budget->has_leftovers(deps_.clock.monotonic_us());
    }
    void remove_expired(const catalog::Container& container);
    void background_loop();
    void trim_logs();
    void indexing_loop();

    const Deps deps_;
    const ResourceTokens tokens_;
    const ContinuationTokens continuations_;
    mutable PassShelf passes_;
    mutable ControlPlane control_plane_;
    std::unique_ptr<meter::PartitionBudget> metadata_budget_;  // null: no limit
    PartitionKeeper partitions_;
    std::unique_ptr<Scripts> scripts_;
    ViewKeeper views_;

    std::mutex background_mutex_;
    std::condition_variable background_wake_;
    bool background_stop_ = false;  // guarded by background_mutex_
    std::thread background_;
    bool index_changes_ = true;  // guarded by background_mutex_; there may be some to carry out
    std::thread indexing_;
};

}  // namespace orrery::engine
