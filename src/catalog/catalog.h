#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "catalog/range_change.h"
#include "catalog/requests.h"
#include "catalog/resources.h"
#include "catalog/throughput.h"
#include "index/computed.h"
#include "partition/item_cache.h"
#include "storage/store.h"

namespace orrery::catalog {

/// Code::kInvalidContinuation unless a listing made this continuation (or it is empty). The list
/// functions take a text that fails this as the start.
Status check_continuation(std::string_view continuation);

/// A materialized view at one moment.
struct MaterializedViewState {
    ContainerPtr view;
    ContainerPtr source;
    MaterializedViewProgress progress;  ///< as kept
};

/// How far a materialized view has read the log of a range of its source, or of those that it came
/// from.
storage::Lsn materialized_view_position(const MaterializedViewProgress& progress,
                                        const PartitionRange& range);

/// All resources of the account but items. Internally locked: look-ups take a shared lock and never
/// touch the disk; changes are durable when they return (call them on a worker, they wait for the
/// committer). Metadata writes are serialised.
class Catalog {
public:
    struct Deps {
        storage::Store& store;
        partition::ItemCache& cache;
        WorkerPool& workers;
        const Clock& clock;
        /// Without one, containers with computed properties are refused.
        index::ComputedCompiler compile_computed = {};
        ThroughputSettings throughput = {};
        RangeLimits range_limits = {};
    };  // borrowed, outlive this

    /// Between Store::open and Store::start: loads everything, opens partitions, replays their
    /// derived state where the store says so.
    static Result<std::unique_ptr<Catalog>> load(const Deps& deps);
    virtual ~Catalog() = default;

    /// By name, else by rid text; null if there is none.
    virtual DatabasePtr find_database(std::string_view name_or_rid) const = 0;
    virtual ContainerPtr find_container(std::string_view database, std::string_view container,
                                        Dialects dialects = json::Dialect::kNosql) const = 0;
    virtual UserPtr find_user(std::string_view database, std::string_view user) const = 0;
    virtual PermissionPtr find_permission(std::string_view database, std::string_view user,
                                          std::string_view permission) const = 0;
    virtual EncryptionKeyPtr find_encryption_key(std::string_view database,
                                                 std::string_view key) const = 0;
    virtual OfferPtr find_offer(std::string_view rid) const = 0;
    virtual OfferPtr offer_of(std::string_view resource_rid) const = 0;  ///< null: none of its own

    /// By name, else by rid text.
    virtual ScriptPtr find_script(const ContainerRid& container, ChildType type,
                                  std::string_view script) const = 0;
    virtual ListingPage<ScriptPtr> list_scripts(const ContainerRid& container, ChildType type,
                                                const ListingRequest& page) const = 0;

    virtual ListingPage<DatabasePtr> list_databases(const ListingRequest& page) const = 0;
    virtual ListingPage<ContainerPtr> list_containers(
        const Database& database, const ListingRequest& page,
        Dialects dialects = json::Dialect::kNosql) const = 0;
    virtual ListingPage<UserPtr> list_users(const Database& database,
                                            const ListingRequest& page) const = 0;
    virtual ListingPage<PermissionPtr> list_permissions(const User& user,
                                                        const ListingRequest& page) const = 0;
    virtual ListingPage<EncryptionKeyPtr> list_encryption_keys(
        const Database& database, const ListingRequest& page) const = 0;
    virtual std::vector<OfferPtr> list_offers() const = 0;
    virtual std::vector<ContainerPtr> all_containers() const = 0;

    // Changes. What a request means is checked here and refused with a message that names the
    // property; its form is the head's. if_match: etag without quotes, "*" or empty.
    virtual Result<DatabasePtr> create_database(NewDatabase wanted) = 0;
    virtual Status delete_database(std::string_view database, std::string_view if_match) = 0;

    /// Code::kConflict for a name that is taken, Code::kSchemaExists if by a container of another
    /// dialect.
    virtual Result<ContainerPtr> create_container(std::string_view database,
                                                  NewContainer wanted) = 0;
    virtual Result<ContainerPtr> replace_container(std::string_view database,
                                                   std::string_view container,
                                                   ContainerDefinition definition,
                                                   std::string_view if_match) = 0;
    /// One more constraint, with a number that none had before. A bad request unless the container
    /// is empty.
    virtual Result<ContainerPtr> add_unique_key(const ContainerRid& container,
                                                std::vector<std::string> paths) = 0;
    virtual Result<ContainerPtr> drop_unique_key(const ContainerRid& container,
                                                 uint32_t number) = 0;
    virtual Status delete_container(std::string_view database, std::string_view container,
                                    std::string_view if_match) = 0;

    // Physical partitions. One split or merge at a time; others wait.

    /// Splits or merges while reads and writes go on; returns the container with its new map.
    /// kRangeGone when a range is not there (any more), kBadRequest when it cannot be done,
    /// kRetryWith while a change of the indexing policy is carried out, or when settings change
    /// again and again. Own thread.
    virtual Result<ContainerPtr> change_ranges(const RangeChange& change,
                                               RangeProgress& progress) = 0;
    /// The ranges that the change would make; refuses like the change itself.
    virtual Result<std::vector<RangeForecast>> forecast(const RangeChange& change) const = 0;
    virtual const RangeLimits& range_limits() const = 0;
    /// Keeps a request over restarts. It ends with the switch of the change that names it, or here.
    virtual Status keep_range_request(const RangeRequest& request) = 0;
    virtual Status end_range_request(uint64_t number) = 0;
    /// Those that were found at start.
    virtual std::vector<RangeRequest> kept_range_requests() const = 0;
    /// Forgets what a crash left of splits and merges. After Store::start(); own thread.
    virtual Status clean_up() = 0;

    // Materialized views. The thread that fills them reads the sources' logs and keeps its
    // positions here.
    virtual std::vector<MaterializedViewState> materialized_views() const = 0;
    /// From here on the log's records up to these positions may go. Own thread.
    virtual Status save_materialized_view_progress(const ContainerRid& view,
                                                   const MaterializedViewProgress& progress) = 0;

    // A changed indexing policy is in force at once and carried out in the background.

    /// Does a bounded part of what is to be done; false: nothing is left. One background thread.
    virtual Result<bool> carry_out_index_changes() = 0;
    /// True while the container that is next uses its throughput itself: changes take leftovers.
    virtual bool index_changes_must_wait() const = 0;
    /// A split waits for this container's index change: do it first, without waiting for leftovers.
    /// One container at a time; an empty rid: none.
    virtual void hurry_index_change(const ContainerRid& container) = 0;
    /// Called when there is something to do; must be brief and not call the catalog. Null: nobody.
    virtual void on_index_change(std::function<void()> wake) = 0;
    /// 0 to 100; 100 when no change is being carried out.
    virtual int index_progress(const Container& container) const = 0;
    /// A query sorts by this path: from now on, items that lack it get an entry too. Ready when
    /// ContainerSettings::undefined_usable() says so. A bad request for paths that are not indexed,
    /// or when the container has too many. Worker thread.
    virtual Status request_sorted_path(const Container& container,
                                       const std::vector<index::PathStep>& path) = 0;

    enum class Upsert : bool { kNo, kYes };
    struct UserChange {
        UserPtr user;
        bool created = false;
    };
    struct PermissionChange {
        PermissionPtr permission;
        bool created = false;
    };
    virtual Result<UserChange> create_user(std::string_view database, std::string id,
                                           Upsert upsert) = 0;
    virtual Result<UserPtr> replace_user(std::string_view database, std::string_view user,
                                         std::string id, std::string_view if_match) = 0;
    virtual Status delete_user(std::string_view database, std::string_view user,
                               std::string_view if_match) = 0;
    virtual Result<PermissionChange> create_permission(std::string_view database,
                                                       std::string_view user, NewPermission wanted,
                                                       Upsert upsert) = 0;
    virtual Result<PermissionPtr> replace_permission(std::string_view database,
                                                     std::string_view user,
                                                     std::string_view permission,
                                                     NewPermission wanted,
                                                     std::string_view if_match) = 0;
    virtual Status delete_permission(std::string_view database, std::string_view user,
                                     std::string_view permission, std::string_view if_match) = 0;

    struct ScriptChange {
        ScriptPtr script;
        bool created = false;
    };
    virtual Result<ScriptChange> create_script(const ContainerRid& container, ChildType type,
                                               NewScript wanted, Upsert upsert) = 0;
    virtual Result<ScriptPtr> replace_script(const ContainerRid& container, ChildType type,
                                             std::string_view script, NewScript wanted,
                                             std::string_view if_match) = 0;
    virtual Status delete_script(const ContainerRid& container, ChildType type,
                                 std::string_view script, std::string_view if_match) = 0;

    virtual Result<EncryptionKeyPtr> create_encryption_key(std::string_view database,
                                                           NewEncryptionKey wanted) = 0;
    /// Another wrapping of the same key; its id stays.
    virtual Result<EncryptionKeyPtr> replace_encryption_key(std::string_view database,
                                                            std::string_view key,
                                                            NewEncryptionKey wanted,
                                                            std::string_view if_match) = 0;

    virtual Result<OfferPtr> replace_offer(std::string_view rid, const OfferChange& change,
                                           Migrate migrate, std::string_view if_match) = 0;

    /// kServerlessOffer for a serverless account, else ok: the account has offers.
    virtual Status check_offers() const = 0;
    virtual OfferState offer_state(const Offer& offer) const = 0;
    /// Gives the container's physical partitions other throughputs, or equal ones; the offer
    /// becomes their sum.
    virtual Result<OfferPtr> redistribute(const Container& container,
                                          const Redistribution& wanted) = 0;
    virtual Result<OfferPtr> set_throughput_buckets(const Container& container,
                                                    const ThroughputBuckets& buckets) = 0;
    /// Autoscale: raises what storage has outgrown, and notes the highest throughput of the hour.
    /// Background, once a second.
    virtual Status watch_throughput() = 0;

    /// A secret of this account that signs resource tokens and continuation tokens; made once.
    virtual const std::string& signing_secret() const = 0;
};

}  // namespace orrery::catalog
