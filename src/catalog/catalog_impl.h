#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/definition_record.h"
#include "catalog/meta_commit.h"
#include "catalog/records.h"
#include "catalog/state.h"

namespace orrery::partition {
class PartitionMove;
}

namespace orrery::catalog {

/// The catalog over one store. Invariants:
///  - write_mutex_ is held for a whole change, so that a writer may read state_ without mutex_;
///  - state_ changes only after the change is durable, under mutex_;
///  - numbers (databases, containers, partitions, …) are handed out once, ever.
class CatalogImpl final : public Catalog {
public:
    explicit CatalogImpl(const Deps& deps);

    Status load_all();

    DatabasePtr find_database(std::string_view name_or_rid) const override;
    ContainerPtr find_container(std::string_view database, std::string_view container,
                                Dialects dialects) const override;
    UserPtr find_user(std::string_view database, std::string_view user) const override;
    PermissionPtr find_permission(std::string_view database, std::string_view user,
                                  std::string_view permission) const override;
    EncryptionKeyPtr find_encryption_key(std::string_view database,
                                         std::string_view key) const override;
    OfferPtr find_offer(std::string_view rid) const override;
    OfferPtr offer_of(std::string_view resource_rid) const override;

    ScriptPtr find_script(const ContainerRid& container, ChildType type,
                          std::string_view script) const override;
    ListingPage<ScriptPtr> list_scripts(const ContainerRid& container, ChildType type,
                                        const ListingRequest& page) const override;

    ListingPage<DatabasePtr> list_databases(const ListingRequest& page) const override;
    ListingPage<ContainerPtr> list_containers(const Database& database, const ListingRequest& page,
                                              Dialects dialects) const override;
    ListingPage<UserPtr> list_users(const Database& database,
                                    const ListingRequest& page) const override;
    ListingPage<PermissionPtr> list_permissions(const User& user,
                                                const ListingRequest& page) const override;
    ListingPage<EncryptionKeyPtr> list_encryption_keys(const Database& database,
                                                       const ListingRequest& page) const override;
    std::vector<OfferPtr> list_offers() const override;
    std::vector<ContainerPtr> all_containers() const override;

    Result<DatabasePtr> create_database(NewDatabase wanted) override;
    Status delete_database(std::string_view database, std::string_view if_match) override;

    Result<ContainerPtr> create_container(std::string_view database, NewContainer wanted) override;
    Result<ContainerPtr> replace_container(std::string_view database, std::string_view container,
                                           ContainerDefinition definition,
                                           std::string_view if_match) override;
    Result<ContainerPtr> add_unique_key(const ContainerRid& container,
                                        std::vector<std::string> paths) override;
    Result<ContainerPtr> drop_unique_key(const ContainerRid& container, uint32_t number) override;
    Status delete_container(std::string_view database, std::string_view container,
                            std::string_view if_match) override;
    Result<ContainerPtr> change_ranges(const RangeChange& change, RangeProgress& progress) override;
    Result<std::vector<RangeForecast>> forecast(const RangeChange& change) const override;
    const RangeLimits& range_limits() const override { return deps_.range_limits; }
    Status keep_range_request(const RangeRequest& request) override;
    Status end_range_request(uint64_t number) override;
    std::vector<RangeRequest> kept_range_requests() const override { return kept_requests_; }
    Status clean_up() override;
    std::vector<MaterializedViewState> materialized_views() const override;
    Status save_materialized_view_progress(const ContainerRid& view,
                                           const MaterializedViewProgress& progress) override;
    Result<bool> carry_out_index_changes() override;
    bool index_changes_must_wait() const override;
    void hurry_index_change(const ContainerRid& container) override {
        hurried_.store(container.whole(), std::memory_order_relaxed);
    }
    void on_index_change(std::function<void()> wake) override {
        WriteLock write(write_mutex_);
        wake_ = std::move(wake);
    }
    int index_progress(const Container& container) const override;
    Status request_sorted_path(const Container& container,
                               const std::vector<index::PathStep>& path) override;

    Result<UserChange> create_user(std::string_view database, std::string id,
                                   Upsert upsert) override;
    Result<UserPtr> replace_user(std::string_view database, std::string_view user, std::string id,
                                 std::string_view if_match) override;
    Status delete_user(std::string_view database, std::string_view user,
                       std::string_view if_match) override;
    Result<PermissionChange> create_permission(std::string_view database, std::string_view user,
                                               NewPermission wanted, Upsert upsert) override;
    Result<PermissionPtr> replace_permission(std::string_view database, std::string_view user,
                                             std::string_view permission, NewPermission wanted,
                                             std::string_view if_match) override;
    Status delete_permission(std::string_view database, std::string_view user,
                             std::string_view permission, std::string_view if_match) override;

    Result<ScriptChange> create_script(const ContainerRid& container, ChildType type,
                                       NewScript wanted, Upsert upsert) override;
    Result<ScriptPtr> replace_script(const ContainerRid& container, ChildType type,
                                     std::string_view script, NewScript wanted,
                                     std::string_view if_match) override;
    Status delete_script(const ContainerRid& container, ChildType type, std::string_view script,
                         std::string_view if_match) override;

    Result<EncryptionKeyPtr> create_encryption_key(std::string_view database,
                                                   NewEncryptionKey wanted) override;
    Result<EncryptionKeyPtr> replace_encryption_key(std::string_view database, std::string_view key,
                                                    NewEncryptionKey wanted,
                                                    std::string_view if_match) override;

    Result<OfferPtr> replace_offer(std::string_view rid, const OfferChange& change, Migrate migrate,
                                   std::string_view if_match) override;

    Status check_offers() const override;
    OfferState offer_state(const Offer& offer) const override;
    Result<OfferPtr> redistribute(const Container& container,
                                  const Redistribution& wanted) override;
    Result<OfferPtr> set_throughput_buckets(const Container& container,
                                            const ThroughputBuckets& buckets) override;
    Status watch_throughput() override;

    const std::string& signing_secret() const override { return secret_; }

private:
    using WriteLock = std::scoped_lock<std::mutex>;

    /// Throughput of a container to be created, and what follows from it.
    struct ContainerPlan {
        std::optional<ThroughputRequest> own;  ///< none: shares its database's
        uint32_t partitions = 1;
    };
    // All below: the caller holds write_mutex_, or nothing else runs yet (load).
    Version new_version() const;
    /// Makes `change` durable, with the account record when it is new or changed.
    Status commit(MetaChange change, const records::Account& account);
    Status commit(MetaChange change) { return commit(std::move(change), state_.account); }
    Result<DatabaseNode*> owner(std::string_view database);
    Result<UserNode*> user_owner(std::string_view database, std::string_view user);

    Result<ContainerPlan> plan_container(const DatabaseNode& database, bool legacy_fixed,
                                         const ThroughputRequest& throughput) const;
    /// Opens the partitions of a record's map; `partitions` are their records, in map order.
    Result<ContainerPtr> build_container(const records::Container& record, DatabasePtr database,
                                         ContainerDefinitionPtr definition,
                                         partition::ContainerSettings settings,
                                         const std::vector<records::Partition>& partitions);
    /// Checks a requested definition: a bad request unless it is valid.
    Result<partition::ContainerSettings> new_settings(const ContainerDefinition& definition) const;
    /// Gives the container new settings (and `record`, without their part of it): durable, in force
    /// in the partitions at one place of the commit order, and known to the catalog.
    struct NewSettings {
        records::Container record;
        ContainerDefinitionPtr definition;
        partition::ContainerSettings settings;
        Version version;
        enum class Index : uint8_t { kSame, kChanged, kCarriedOut } index = Index::kSame;
        std::function<Status()> guard{};  ///< MetaChange::guard()
    };
    /// Changes the unique keys of a container and nothing else.
    Result<ContainerPtr> change_unique_keys(const ContainerRid& container, UniqueKeyPolicy keys,
                                            std::function<Status()> guard);
    Result<ContainerPtr> change_settings(DatabaseNode& database, const ContainerPtr& before,
                                         NewSettings to);
    Result<ContainerPtr> without_unique_key(const ContainerRid& container, uint32_t number);
    Status begin_index_change(const Container& before,
                              partition::ContainerSettings& settings) const;
    /// The container whose index change is next: one that is in a hurry, else the first with
    /// throughput left over, else (`must_wait`) the first. Null: there is none.
    ContainerPtr next_index_change(bool& must_wait) const;
    bool has_leftovers(const Container& container) const;
    /// Pays for terms that changed, and settles how many items the next step takes.
    void pay_index_fill(const Container& container, const PartitionRange& range, uint64_t terms);
    bool in_hurry(const Container& container) const {
        return hurried_.load(std::memory_order_relaxed) == container.rid.whole();
    }
    Status save_index_fills(const Container& container);
    Status finish_index_change(const ContainerPtr& container);
    /// A bad request when the policy names a key that the database does not have.
    static Status check_encryption_keys(const DatabaseNode& database,
                                        const ClientEncryptionPolicy& policy);
    Result<ContainerNode*> materialized_view_source(DatabaseNode& database,
                                                    ContainerDefinition& definition);
    void refresh_materialized_views(DatabaseNode& database, ContainerNode& source);
    static void hold_logs(const DatabaseNode& database, const Container& source);
    Status link_materialized_views(const std::vector<records::MaterializedView>& stored);
    void remove_container(const ContainerNode& node, MetaChange& change) const;

    /// What a permission opens, whichever way its link was written.
    Result<std::string> permission_scope(std::string_view resource,
                                         std::string_view partition_key) const;
    /// Code::kConflict when the user has another permission (not number `except`) on the same
    /// scope.
    Status check_scope_free(const UserNode& user, std::string_view scope, uint64_t except) const;
    Result<PermissionPtr> store_permission(UserNode& user, uint64_t number, NewPermission wanted);
    Result<UserPtr> store_user(DatabaseNode& database, UserNode& user, std::string id);

    // catalog_scripts.cc.
    struct ScriptPlace {
        DatabaseNode* database = nullptr;
        ScriptNodes* nodes = nullptr;  ///< null: the container has no scripts yet
    };
    void remove_scripts(const ContainerRid& container, MetaChange& change) const;
    Result<ScriptPlace> script_place(const ContainerRid& container);
    const ScriptNode* script_node(const ContainerRid& container, ChildType type,
                                  std::string_view name_or_rid) const;
    Result<ScriptPtr> store_script(const ScriptPlace& place, records::Script record,
                                   const Script* before);

    // catalog_budgets.cc. Under mutex_ where others may look.
    Result<int64_t> storage_kb(const Offer& offer) const;
    std::vector<ContainerPtr> served_by(const Offer& offer) const;
    uint32_t ranges_of(const Offer& offer) const;
    int64_t current_ru(const Offer& offer) const;
    /// Rates of all ranges of the database's containers, or of one container, from offers and
    /// weights. After every change of offers, weights or range maps.
    void refresh_budgets(DatabaseNode& database);
    void refresh_budgets(DatabaseNode& database, const Container& container);
    void refresh_shared(DatabaseNode& database, const Offer& offer);
    records::Offer record_of(uint32_t number, const Offer& offer) const;
    Result<OfferPtr> store_offer(const records::Offer& record, MetaChange change);

    Status load_record(std::string_view key, std::string_view value, struct Loaded& loaded);
    Status load_containers(struct Loaded& loaded);
    Status load_offers(struct Loaded& loaded);
    void roll_back_moves(const struct Loaded& loaded);
    Status replay();

    /// A split or merge with its partitions' numbers, which are taken for good.
    struct RangeMove;
    Result<std::vector<RangeForecast>> plan_ranges(const Container& container,
                                                   const RangeChange& change) const;
    Result<RangeMove> reserve_ranges(const RangeChange& change);
    Status carry_out(RangeMove& move, RangeProgress& progress);
    static Status close_sources(partition::PartitionMove& moving, const RangeProgress& progress);
    Status switch_ranges(RangeMove& move, partition::PartitionMove& moving);
    void give_up(const RangeMove& move);
    /// Not ok: the container is gone (not found), or has other settings, or another map, than the
    /// move was made for (kRetryWith).
    Status still_fits(const RangeMove& move) const;
    ContainerNode* container_node(const ContainerRid& rid);
    Result<ContainerPtr> find_by_rid(const ContainerRid& rid) const;  ///< takes mutex_

    const Deps deps_;
    // Items; owned by the thread that carries index changes out.
    size_t unsaved_fill_ = 0;
    size_t fill_items_ = 1;
    std::atomic<uint64_t> hurried_{0};         // ContainerRid::whole()
    std::vector<RangeRequest> kept_requests_;  // constant after load
    std::mutex write_mutex_;
    std::function<void()> wake_;              // guarded by write_mutex_
    std::vector<storage::PartitionId> dead_;  // guarded by write_mutex_
    std::vector<std::string> abandoned_;      // guarded by write_mutex_; keys of moves
    std::mutex move_mutex_;  // held for a whole split or merge; before write_mutex_
    mutable std::shared_mutex mutex_;
    State state_;  // guarded by mutex_
    struct Peak {
        int64_t hour = 0;
        int64_t ru = 0;
    };
    std::map<uint32_t, Peak> peaks_;  // by offer number; guarded by mutex_
    int64_t storage_watched_ = 0;     // owned by the thread that watches
    std::map<uint32_t, std::vector<int64_t>> redistributed_us_;  // guarded by write_mutex_
    std::string secret_;                                         // constant after load
};

OfferPtr make_offer(const records::Offer& record);
records::Offer offer_record(uint32_t number, const DatabaseRid& database, uint32_t container,
                            const ThroughputRequest& throughput, Version version);
UserPtr make_user(const records::User& record, DatabasePtr database);
PermissionPtr make_permission(const records::Permission& record, UserPtr user);
ScriptPtr make_script(records::Script record);
EncryptionKeyPtr make_encryption_key(const records::EncryptionKey& record, DatabasePtr database);
DatabasePtr make_database(const records::Database& record);
records::Partition partition_record(const records::Container& container,
                                    const records::Range& range, const partition::EpkRange& epks);

}  // namespace orrery::catalog
