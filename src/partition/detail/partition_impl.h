#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "partition/detail/commit.h"
#include "partition/detail/index_fill.h"
#include "partition/detail/plan.h"
#include "partition/detail/version.h"
#include "partition/partition.h"

namespace orrery::partition::detail {

/// The one kind of partition. Internally thread-safe; commit_state() belongs to the committer.
class PartitionImpl final : public Partition {
public:
    PartitionImpl(PartitionIdentity identity, ContainerSettingsPtr settings, const Deps& deps);
    /// Reads LSN, `_ts`, item counter and totals.
    Status recover();

    const PartitionIdentity& identity() const override { return identity_; }
    ContainerSettingsPtr settings() const override { return state()->settings; }
    void set_settings(ContainerSettingsPtr settings) override;
    storage::Lsn lsn() const override { return published_lsn_.load(std::memory_order_acquire); }
    storage::Lsn decided_lsn() const override { return commit_.lsn; }
    int64_t bytes() const override { return bytes_.load(std::memory_order_relaxed); }
    const Birth& birth() const override { return birth_; }
    bool has_moved() const override { return phase() >= Phase::kSwitching; }
    bool is_current() const override { return settled() != Phase::kMoved; }

    std::optional<OperationResult> read_cached(std::string_view epk, std::string_view id,
                                               std::string_view if_none_match) override;
    OperationResult read(std::string_view epk, std::string_view id,
                         std::string_view if_none_match) override;
    void find_versions(const storage::View& view, std::span<const storage::Docref> docrefs,
                       std::span<std::shared_ptr<const std::string>> out) const override {
        deps_.cache.find_versions(identity_.id, docrefs, view.commit_number(), out);
    }
    void offer_version(const storage::View& view, const storage::Docref& docref,
                       std::string_view document) const override;
    index::KeyRunPtr find_key_run(const storage::View& view, std::string_view epk,
                                  uint64_t path_hash) const override {
        return deps_.cache.key_runs().find({identity_.id, epk}, path_hash, view.commit_number());
    }
    Result<std::vector<index::KeyRunPtr>> build_key_runs(
        const storage::View& view, std::string_view epk,
        const std::vector<std::vector<index::PathStep>>& paths) const override;
    Result<bool> owns_docref_prefix(const storage::View& view, std::string_view epk) const override;
    void execute(Transaction transaction, TransactionDone done) override;
    std::unique_ptr<StepTransaction> begin_steps(std::string_view epk,
                                                 storage::ViewPtr view) override;
    /// Checks and submits what the steps came to; answers at once where there is nothing to write.
    void commit_steps(TransactionPlanPtr plan);
    Result<FeedPage> read_feed(const storage::View& view, const FeedRequest& request) override;
    Result<ChangesPage> read_changes(const storage::View& view,
                                     const ChangesRequest& request) override;
    Result<storage::Lsn> lsn_before(const storage::View& view, int64_t ts,
                                    storage::Lsn up_to) override;
    Result<size_t> trim_log(size_t records_max) override;
    void hold_log_for_reader(std::optional<storage::Lsn> position) override {
        reader_hold_ = position.value_or(kNoHorizon);
    }
    /// The partition is being copied: records and images above `from` stay until release_log().
    void hold_log(storage::Lsn from);
    void release_log() { hold_log(kNoHorizon); }
    /// Committer thread: all versions are kept from `from` on, and that is durable.
    void move_window(storage::Lsn from);
    Status delete_logical_partition(std::string_view epk, const RemovedWork& removed) override;
    Result<storage::Count> totals(const storage::View& view) const override;
    Result<bool> holds_unindexed(const storage::View& view) const override;
    Result<bool> lists_expiry(const storage::View& view) const override;
    /// Committer thread, before the item is published.
    void note_unindexed() { unindexed_ = Unindexed::kSome; }
    Result<storage::Count> logical_totals(const storage::View& view,
                                          std::string_view epk) const override;
    Result<size_t> remove_expired(size_t max, const RemovedWork& removed) override;
    Result<Filled> fill_index(const ContainerSettingsPtr& settings, size_t items_max) override;
    IndexFill index_fill() const override;
    Status save_index_fill(const IndexFill& fill) override;
    Status replay_index(storage::Lsn covered) override;
    Status check(const storage::View& view, std::vector<std::string>& findings) override;

    const Deps& deps() const { return deps_; }
    SettingsStatePtr state() const;
    /// Unique in the container for ever; reserved durably by the commit that uses it.
    uint64_t new_item_number();
    /// Takes a plan that the committer found stale through the workers again.
    void prepare_again(TransactionPlanPtr plan);

    /// Committer thread only.
    CommitState& commit_state() { return commit_; }
    void publish(storage::Lsn lsn, int64_t growth_bytes);

    /// On the way to other partitions: open (and back, if nothing comes of it), closed to writers,
    /// being switched, gone. Writers wait while closed; readers wait while being switched.
    enum class Phase : uint8_t { kOpen, kClosed, kSwitching, kMoved };
    Phase phase() const { return phase_.load(std::memory_order_acquire); }
    // Committer thread.
    bool closed_to_writers() const { return phase() != Phase::kOpen; }
    void close_to_writers() { phase_.store(Phase::kClosed, std::memory_order_release); }
    void begin_switch() { phase_.store(Phase::kSwitching, std::memory_order_release); }
    void finish_switch(std::vector<std::shared_ptr<PartitionImpl>> successors);
    /// What a partition that came from others begins with. Before anybody else knows it.
    void begin_from(Birth birth, const CommitState& state, storage::Lsn log_trimmed,
                    int64_t growth_bytes);
    // Any thread.
    void reopen();
    /// Waits while being switched. Not on loop threads, never on the committer's.
    Phase settled() const;
    /// Waits while closed, too; true: gone.
    bool wait_until_gone_or_open() const;
    /// A write that came too late: carried out when it is known where.
    void wait_for_switch(TransactionPlanPtr plan);
    /// A copy follows the log: writers beyond this LSN wait until it has caught up. nullopt: they
    /// do not wait.
    void set_pace(std::optional<storage::Lsn> up_to);
    /// Committer thread.
    bool ahead_of_pace() const { return commit_.lsn >= pace_.load(std::memory_order_relaxed); }
    /// Once gone.
    PartitionImpl& successor(std::string_view epk) const;

private:
    static constexpr int64_t kTtlOff = INT64_MIN;
    static constexpr storage::Lsn kNoHorizon = UINT64_MAX;

    std::shared_ptr<PartitionImpl> self() {
        return std::static_pointer_cast<PartitionImpl>(shared_from_this());
    }
    std::optional<OperationResult> find_in_cache(const ItemCache::Key& key,
                                                 std::string_view if_none_match) const;
    /// Fills the cache. `commit`: the number of the reader's view.
    OperationResult read_through(Reader& reader, const ItemCache::Key& key, uint64_t commit,
                                 std::string_view if_none_match);
    OperationResult found(const StoredItem& item, std::string_view if_none_match) const;
    std::optional<int64_t> default_ttl() const;
    bool load_from_memory(TransactionPlan& plan, int64_t now) const;
    void execute_read(Transaction transaction, TransactionDone done);
    /// Nullopt: gone.
    std::optional<OperationResult> read_here(std::string_view epk, std::string_view id,
                                             std::string_view if_none_match);
    /// Once gone: on a worker.
    void forward(TransactionPlanPtr plan);
    /// Worker: reads what the plan needs and sends it on.
    void prepare_from_view(TransactionPlanPtr plan);
    /// Answers what has failed or needs no commit; submits the rest.
    void send(TransactionPlanPtr plan);
    /// `culprit`: the operation that is too much; may be null.
    Status check_quota(const TransactionPlan& plan, size_t* culprit = nullptr) const;
    void raise_published(storage::Lsn lsn);

    Status recover_feed(const storage::View& view);
    void set_image_horizon();
    Result<storage::Lsn> trim_limit(const storage::View& view, const SettingsStatePtr& settings,
                                    storage::Lsn& versions_from);
    Status fill_ttl();
    Result<ItemToFill> item_to_fill(Reader& reader, const SettingsStatePtr& settings,
                                    std::string_view key, std::string_view value);
    void set_index_fill(IndexFill fill);
    Result<std::vector<Removal>> expired_items(const SettingsStatePtr& settings, size_t max);
    Result<size_t> remove(const SettingsStatePtr& settings, std::vector<Removal> removals,
                          bool expired_only, const RemovedWork& removed_work);

    const PartitionIdentity identity_;
    const Deps deps_;
    mutable std::mutex settings_mutex_;
    SettingsStatePtr settings_;         // guarded by settings_mutex_
    std::atomic<int64_t> default_ttl_;  // kTtlOff: off; a copy for reads, which take no lock
    std::atomic<storage::Lsn> published_lsn_{0};
    std::atomic<uint64_t> next_item_counter_{1};
    enum class Unindexed : uint8_t { kUnknown, kNone, kSome };
    mutable std::atomic<Unindexed> unindexed_{Unindexed::kUnknown};
    std::atomic<int64_t> bytes_{0};  // text bytes of all items, as published
    /// Images at or above it are kept for readers of all versions; kNoHorizon: for nobody.
    std::atomic<storage::Lsn> window_from_{kNoHorizon};
    std::atomic<storage::Lsn> log_hold_{kNoHorizon};
    std::atomic<storage::Lsn> reader_hold_{kNoHorizon};
    std::atomic<storage::Lsn> log_trimmed_{0};  // written by the thread that trims
    storage::Lsn reclaimed_to_ = 0;             // likewise
    mutable std::mutex fill_mutex_;
    IndexFill fill_;  // guarded by fill_mutex_
    CommitState commit_;
    Birth birth_;  // constant from before it serves

    std::atomic<Phase> phase_{Phase::kOpen};
    std::atomic<storage::Lsn> pace_{kNoHorizon};  // written under move_mutex_
    mutable std::mutex move_mutex_;
    mutable std::condition_variable move_settled_;
    std::vector<TransactionPlanPtr> waiting_;                 // guarded by move_mutex_
    std::vector<std::shared_ptr<PartitionImpl>> successors_;  // constant once gone
};

}  // namespace orrery::partition::detail
