#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "catalog/catalog.h"
#include "engine/account.h"
#include "engine/admission.h"
#include "engine/background/housekeeper.h"
#include "engine/background/index_keeper.h"
#include "engine/background/materialized_view_keeper.h"
#include "engine/background/partition_keeper.h"
#include "engine/continuation.h"
#include "engine/control_plane.h"
#include "engine/pass_shelf.h"
#include "engine/requests.h"
#include "engine/resource_token.h"
#include "meter/charge.h"
#include "query/page.h"
#include "script/script.h"

namespace orrery::storage {
struct ReadBudget;
}

/// Protocol-neutral operations: route, execute, charge. Knows no HTTP.
namespace orrery::engine {

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

    // All work on a partition is admitted before and paid afterwards.

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

    const MaterializedViewKeeper& materialized_views() const { return materialized_views_; }

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

    /// Starts the keepers of engine/background.
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
    /// nullopt: a range has moved since the container was looked up.
    Result<std::optional<ChangeFeedAnswer>> read_changes_of(const catalog::Container& container,
                                                            const ChangeFeedRequest& request) const;
    Result<std::vector<ChangeFeedPosition>> change_feed_start(const catalog::Container& container,
                                                              const ChangeFeedRequest& request,
                                                              uint64_t scope) const;
    uint64_t scope_hash(const catalog::Container& container, const partition::EpkRange& range,
                        std::string_view query, std::string_view parameters) const;

    const Deps deps_;
    const ResourceTokens tokens_;
    const ContinuationTokens continuations_;
    mutable PassShelf passes_;
    mutable ControlPlane control_plane_;
    std::unique_ptr<meter::PartitionBudget> metadata_budget_;  // null: no limit
    std::unique_ptr<Scripts> scripts_;
    PartitionKeeper partitions_;
    MaterializedViewKeeper materialized_views_;
    Housekeeper housekeeper_;
    IndexKeeper index_keeper_;
};

}  // namespace orrery::engine
