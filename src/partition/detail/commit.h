#pragma once

#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "partition/detail/plan.h"
#include "partition/detail/unique_check.h"
#include "partition/detail/version.h"
#include "storage/store.h"

namespace orrery::partition::detail {

class PartitionImpl;

/// State of a partition that only the committer uses. It changes only with an operation that is
/// written.
struct CommitState {
    storage::Lsn lsn = 0;
    int64_t ts = 0;                   ///< of the last commit; `_ts` never runs backwards
    uint64_t item_counter_bound = 0;  ///< item counters below it are reserved durably
    bool ttl_entries = false;         ///< `ttl` may hold entries of this partition
    bool ttl_complete = false;        ///< every item has its entry there, and `meta` says so
    /// Log and images are complete from this LSN on, and `meta` says so; 0: not kept.
    storage::Lsn versions_from = 0;
};

/// A change of one item: from `before` (null: it was not there) to `after` (null: it goes).
struct ItemChange {
    std::string_view epk;
    std::string_view id;
    std::string_view id_key;
    const ItemVersion* before = nullptr;
    const ItemVersion* after = nullptr;
    bool expired = false;  ///< `before` is removed because it has expired
};

/// Writes the items of one commit under one LSN: items, ids, log, images, ttl, index, counters.
/// Lives inside one decide().
class CommitWriter {
public:
    /// `delta` has the terms of the changes that follow, without those of `_ts`.
    CommitWriter(PartitionImpl& partition, const SettingsStatePtr& settings,
                 storage::CommitScope& scope, int64_t now, storage::IndexDelta delta);

    storage::Lsn lsn() const { return next_.lsn; }
    int64_t ts() const { return next_.ts; }
    storage::IndexDelta& delta() { return delta_; }

    /// `after` is stamped with lsn() and ts() already.
    void change(const ItemChange& change);
    /// The operation will be written: hands index and counters over and moves the partition's
    /// state.
    void finish();
    int64_t growth_bytes() const { return growth_.bytes; }

private:
    void log(const ItemChange& change, LogOperation operation, const ItemVersion* before,
             const ItemVersion* after);
    void write_ttl(const ItemChange& change);
    void count(std::string_view epk, int64_t items, int64_t bytes);
    void reserve_item_number(const storage::Docref& docref);

    PartitionImpl& partition_;
    const SettingsStatePtr settings_;
    storage::CommitScope& scope_;
    CommitState next_;
    storage::IndexDelta delta_;
    storage::Count growth_;
    std::vector<std::pair<std::string, storage::Count>> logical_;  // by EPK; few
};

/// What all of a partition's commits share: the rules of the item cache (docs/decisions.md, T1) and
/// publication.
class PartitionCommit : public storage::CommitOperation {
public:
    explicit PartitionCommit(std::shared_ptr<PartitionImpl> partition)
        : partition_(std::move(partition)) {}

    void before_write() final;
    void published(const storage::View& view) final;

protected:
    /// `epk` and `id` must live as long as this operation.
    void touch(std::string_view epk, std::string_view id, StoredItem item) {
        touched_.push_back({epk, id, std::move(item)});
    }
    /// decide() returns what this returns.
    bool will_write(CommitWriter& writer);
    /// Called after a group that could not be written: readers must go to the store.
    void release_locks();
    storage::Lsn lsn() const { return lsn_; }

    const std::shared_ptr<PartitionImpl> partition_;

private:
    struct Touched {
        std::string_view epk;
        std::string_view id;
        StoredItem item;  ///< without document: the item is gone
    };
    std::vector<Touched> touched_;
    bool locked_ = false;
    storage::Lsn lsn_ = 0;
    int64_t growth_bytes_ = 0;
};

/// A client's transaction on its way through the committer.
class TransactionCommit final : public PartitionCommit {
public:
    TransactionCommit(std::shared_ptr<PartitionImpl> partition, TransactionPlanPtr plan);
    bool decide(storage::CommitScope& scope) override;
    void complete(Status status) override;
    size_t bytes() const override { return bytes_; }

private:
    enum class Ending : uint8_t {
        kRefused,
        kNothingToDo,
        kWritten,
        kPrepareAgain,
        kTooLate,
        kStale
    };

    bool make_current(storage::CommitScope& scope, int64_t now);
    Status check_unique_keys(storage::CommitScope& scope, int64_t now);
    void write(storage::CommitScope& scope, CommitWriter& writer);

    TransactionPlanPtr plan_;
    const size_t bytes_;
    Ending ending_ = Ending::kRefused;
    UniqueCheck unique_;
};

/// An item to be removed in the background.
struct Removal {
    std::string epk;
    std::string id;
    std::string id_key;
    IdEntry entry;
    ItemVersionPtr version;
};
/// Removes items of any logical partition in one commit: expired ones, or all that are given. Items
/// that changed since they were read are looked at again.
class RemovalCommit final : public PartitionCommit {
public:
    /// The removals were read under `settings`.
    RemovalCommit(std::shared_ptr<PartitionImpl> partition, SettingsStatePtr settings,
                  std::vector<Removal> removals, bool expired_only);
    /// What was removed.
    std::future<Result<std::vector<OperationWork>>> result() { return promise_.get_future(); }
    bool decide(storage::CommitScope& scope) override;
    void complete(Status status) override;
    size_t bytes() const override { return bytes_; }

private:
    Status remove_all(storage::CommitScope& scope, CommitWriter& writer, int64_t now);

    const SettingsStatePtr prepared_under_;
    SettingsStatePtr settings_;
    std::vector<Removal> removals_;
    const bool expired_only_;
    size_t bytes_ = 0;
    std::vector<OperationWork> removed_;
    Status status_;
    std::promise<Result<std::vector<OperationWork>>> promise_;
};

/// Brings `ttl` up to date for items written while TTL was off.
class TtlFillCommit final : public storage::CommitOperation {
public:
    TtlFillCommit(std::shared_ptr<PartitionImpl> partition, SettingsStatePtr settings,
                  std::vector<storage::Docref> docrefs, bool last);
    /// False: the settings have changed meanwhile, nothing was done.
    std::future<Result<bool>> result() { return promise_.get_future(); }
    bool decide(storage::CommitScope& scope) override;
    void complete(Status status) override;
    size_t bytes() const override { return docrefs_.size() * 64; }

private:
    Status fill(storage::CommitScope& scope);

    const std::shared_ptr<PartitionImpl> partition_;
    const SettingsStatePtr settings_;
    const std::vector<storage::Docref> docrefs_;
    const bool last_;
    bool filled_ = false;
    Status status_;
    std::promise<Result<bool>> promise_;
};

}  // namespace orrery::partition::detail
