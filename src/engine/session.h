#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "engine/door.h"
#include "engine/facts.h"
#include "engine/items.h"
#include "engine/operations.h"
#include "engine/principal.h"
#include "engine/requests.h"
#include "engine/statement.h"

namespace orrery::engine {

struct UnansweredRun;

/// A client of the account. It begins as nobody, who may do nothing, and becomes somebody by
/// signing in. Every operation authorizes, finds the partitions, admits, executes, charges and,
/// when its completion has returned, records; there is no other way to the data. A completion is
/// called once, on the thread that has the answer: the statement's loop for single items, any
/// thread otherwise; never again after the server has ended. What an operation costs and what it
/// touched is in the statement's outcome. The session outlives its statements. Its operations are
/// thread-safe, signing in is not.
class Session {
public:
    explicit Session(const Door& door) : door_(door) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Signing in. Keys stay behind the door: heads bring what was signed, and the signature.

    /// False: no key of the account has signed this text. An error: one has, but at another time.
    Result<bool> sign_in(const Signature& signature);
    /// A resource token as it was issued.
    Status sign_in_with_token(std::string_view token);
    /// A key instead of a signature, as passwords are sent. Users are called like the account, or
    /// `localhost`.
    bool sign_in_with_key(std::string_view user, std::string_view key);
    const Principal& principal() const { return principal_; }

    /// Makes a container, by names or rids, the statement's. False: there is none. A resource token
    /// learns nothing of containers but its own: an error, there or not.
    Result<bool> use_container(Statement& statement, std::string_view database,
                               std::string_view container) const;

    /// Runs a part of the head's own work on a worker: for what would hold up a loop.
    void on_worker(std::function<void()> work) const;

    /// The same on a thread that can run JavaScript. `failed` is told of the work's error, or of
    /// why it could not be done or did not come to its end.
    void on_script_thread(std::function<Status()> work,
                          const std::function<void(const Status&)>& failed) const;

    // Metadata. What may be read of the catalog never waits for the disk; changes are for workers.

    /// Counts the statement among the metadata requests, once, and refuses it where there are too
    /// many. What follows does so by itself: this is for heads that refuse some before.
    Status admit_metadata(Statement& statement, MetadataKind kind) const;
    /// Authorizes, counts and prices an operation. A statement costs what the first one does that
    /// has a price.
    Status allow(Statement& statement, Operation operation) const;
    /// The same, and then the catalog: for an operation that reads it, or changes it.
    Result<const catalog::Catalog*> look_up(Statement& statement, Operation operation) const;
    Result<catalog::Catalog*> change(Statement& statement, Operation operation) const;
    /// By name or rid; null: there is none, or nobody asks.
    catalog::DatabasePtr find_database(std::string_view name) const;

    /// A token for what the permission allows.
    Result<std::string> issue_token(const catalog::Permission& permission,
                                    int64_t lifetime_seconds) const;
    /// An error for links that a permission may hold but no token can stand for.
    Status check_token_resource(std::string_view link) const;
    /// The token of a position in a listing (empty: no more), and back: kForeignContinuation when
    /// it was altered or made for another listing.
    std::string seal_listing(const ListingScope& scope, std::string_view position) const;
    Result<std::string> open_listing(const ListingScope& scope, std::string_view token) const;
    /// An error with line and column when the text is no JavaScript, or when it is too long. Script
    /// thread.
    Status check_script(std::string_view text) const;

    /// What is in the statement's container.
    Result<ContainerUsage> usage(const Statement& statement) const;
    /// Worker thread.
    Result<PartitionFacts> partitions(Statement& statement,
                                      const catalog::Container& container) const;
    /// Queues a split or merge, durably.
    Result<RangeJob> change_ranges(Statement& statement, const catalog::RangeChange& change) const;
    Result<std::vector<catalog::RangeForecast>> forecast(Statement& statement,
                                                         const catalog::RangeChange& change) const;
    Result<std::vector<RangeThroughput>> throughput(Statement& statement,
                                                    const catalog::Container& container) const;
    /// After a redistribution: splits what was given more than one partition serves.
    Status split_overloaded(Statement& statement, const catalog::Container& container) const;
    Result<MaterializedViewFacts> materialized_view(Statement& statement,
                                                    const catalog::Container& container) const;

    // Items. The statement's container is theirs.

    using ReadDone = std::function<void(partition::OperationResult&)>;
    /// Answers at once, on the calling thread, what is in memory.
    template <typename Done>
    void read(const StatementPtr& statement, ItemRead request, Done done) const {
        partition::OperationResult result;
        if (!request.number && read_at_once(*statement, request, result)) {
            done(result);
            statement->end_operation();
            return;
        }
        read_elsewhere(statement, std::move(request), std::move(done));
    }

    using WriteDone = std::function<void(WriteAnswer&)>;
    void write(const StatementPtr& statement, ItemWrite request, WriteDone done) const;

    /// All operations or none of them, on one logical partition.
    using BatchDone = std::function<void(TransactionAnswer&)>;
    void batch(const StatementPtr& statement, partition::Transaction transaction,
               BatchDone done) const;

    /// Operations that have nothing to do with each other but the statement. Those on one logical
    /// partition run in their order, those on different ones side by side.
    using BulkDone = std::function<void(BulkAnswer&)>;
    void bulk(const StatementPtr& statement, std::vector<BulkOperation> operations,
              BulkDone done) const;

    /// Its price is paid in the background.
    void delete_partition_key(const StatementPtr& statement, std::string epk,
                              std::function<void(const Status&)> done) const;

    using FeedDone = std::function<void(Result<FeedAnswer>&)>;
    void read_feed(const StatementPtr& statement, FeedRequest request, FeedDone done) const;
    using ChangesDone = std::function<void(Result<ChangeFeedAnswer>&)>;
    void read_changes(const StatementPtr& statement, ChangeFeedRequest request,
                      ChangesDone done) const;

    /// What the request's parameters borrow from is kept by the completion. On a loop the query is
    /// tried at once, from memory and with little work.
    using QueryDone = std::function<void(Result<QueryAnswer>&)>;
    void query(const StatementPtr& statement, QueryRequest request, QueryDone done) const;

    /// Worker thread; costs nothing.
    void plan_query(const StatementPtr& statement, const PlanRequest& request,
                    const std::function<void(Result<PlanAnswer>&)>& done) const;

    /// By name, else by rid; an error: there is none.
    Result<catalog::ScriptPtr> find_script(const Statement& statement, catalog::ChildType type,
                                           std::string_view name) const;
    using ProcedureDone = std::function<void(ProcedureAnswer&)>;
    void run_procedure(const StatementPtr& statement, ProcedureRequest request,
                       ProcedureDone done) const;

private:
    struct BulkRun;

    const Engine& engine() const { return door_.engine_; }
    /// Whether the principal may do this to the statement's container.
    Status authorize(const Statement& statement, Operation operation,
                     std::optional<std::string_view> epk, std::string_view item_id = {},
                     std::string_view script_rid = {}) const;
    Status authorize(const Statement& statement, const partition::ItemOperation& operation,
                     std::string_view epk) const;
    /// An error when the client has seen more of the range than there is.
    static Status check_seen(const Statement& statement, const catalog::PartitionRange& range);
    /// Both, for what reads many items.
    Status check_many(const Statement& statement, Operation operation,
                      const std::optional<std::string>& limited_to,
                      const partition::EpkRange& range) const;

    /// False: the answer is not in memory.
    bool read_at_once(Statement& statement, const ItemRead& request,
                      partition::OperationResult& result) const;
    void read_elsewhere(const StatementPtr& statement, ItemRead request, ReadDone done) const;
    void execute_read(const StatementPtr& statement, ItemRead request, ReadDone done) const;
    void execute_write(const StatementPtr& statement, ItemWrite request, WriteDone done) const;
    Status write_with_triggers(const StatementPtr& statement, ItemWrite& request,
                               const WriteDone& done) const;
    /// The id of the item with that number in its rid. Worker thread.
    Result<std::string> id_of(const Statement& statement, std::string_view epk,
                              uint64_t number) const;
    template <typename Page, typename Done>
    static void deliver(Statement& statement, Result<Page>& page, const Done& done);
    static void deliver_query(Statement& statement, const QueryRequest& request,
                              Result<QueryAnswer>& answer, const QueryDone& done);
    void run_query(const StatementPtr& statement, const std::shared_ptr<QueryRequest>& request,
                   const QueryDone& done) const;
    /// Runs `work` on a thread for scripts; `stuck` answers instead of it. An error: neither will.
    Status post_script(std::function<void()> work, std::function<void(UnansweredRun&)> stuck) const;

    const Door& door_;
    Principal principal_;
};

}  // namespace orrery::engine
