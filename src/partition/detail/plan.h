#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "partition/detail/version.h"

namespace orrery::partition::detail {

class PartitionImpl;
class UniqueCheck;

/// One item that a transaction touches: what it was, and what it will be.
struct Slot {
    std::string id;
    std::string id_key;            ///< in `ids`
    bool needs_body = false;       ///< some operation is not a create
    bool needs_terms = false;      ///< some operation writes
    bool may_create = false;       ///< a create or an upsert
    bool looked_up = false;        ///< false: assumed absent
    bool has_terms = false;        ///< steps: `base` has its terms
    std::optional<IdEntry> entry;  ///< what `ids` had, expired or not
    bool live = false;             ///< entry and not expired
    ItemVersionPtr base;           ///< the body of `entry`, where it is needed
    bool present = false;          ///< after the operations so far
    ItemVersionPtr current;        ///< the same as a version; null when absent or not read
    bool written = false;
};

/// A change of unique key values by one operation; the committer checks them in order.
struct UniqueStep {
    size_t operation = 0;
    size_t slot = 0;  ///< index in TransactionPlan::slots()
    ItemVersionPtr before;
    ItemVersionPtr after;
};

/// A transaction worked out in full against versions read before: results, new versions, index
/// changes. The committer verifies that the versions are still the newest; then the plan stands.
/// Owned by one thread at a time.
class TransactionPlan {
public:
    TransactionPlan(std::shared_ptr<PartitionImpl> partition, Transaction transaction,
                    TransactionDone done);

    /// Reads the bodies under the partition's present settings and finds the slots. Again after the
    /// settings have changed.
    void parse();
    /// Reads the old versions that the operations need. Not for a single create, which assumes that
    /// there is none.
    Status load(Reader& reader, int64_t now);
    /// The same from the item cache, for single operations; false: not cached.
    bool load_from_cache(int64_t now);
    /// Works the operations out in order. Stops at the first failure.
    void simulate();

    enum class Standing : uint8_t { kCurrent, kStale, kUnreadable };
    /// Committer: are the versions that the plan rests on still the newest? On kUnreadable the
    /// transaction has failed.
    Standing verify(Reader& reader, int64_t now);

    /// Operation `index` failed: it keeps its error, all others of a batch failed with it.
    void fail(size_t index, Status status);
    /// The whole transaction failed for one reason.
    void fail_all(const Status& status);
    bool failed() const { return failed_at_.has_value(); }
    size_t failed_at() const { return failed_at_.value_or(transaction_.operations.size()); }
    bool writes() const { return writes_; }
    /// No operation writes: what one view shows is the answer.
    bool slots_only_read() const { return fresh_.empty(); }

    // Stepwise: operations come one by one, and what was told of them stands. Where the committer
    // finds that it rests on something old, the transaction is stale.

    /// Begins such a plan; it has no operations yet.
    void begin_steps();
    bool is_stepwise() const { return stepwise_; }
    /// Adds an operation and works it out; one that fails is not added.
    OperationResult step(ItemOperation operation, Reader& reader, int64_t now, UniqueCheck& unique);
    /// After the last step: what the commit changes.
    void finish_steps();
    void answer_stale(storage::Lsn lsn);

    /// Committer: everything is decided; new versions get their LSN and `_ts`.
    void stamp(storage::Lsn lsn, int64_t ts);
    /// Fills in the results' items and etags and answers. Last call.
    void answer(bool committed, storage::Lsn lsn);
    /// The request as it came, to be carried out by another partition. Last call.
    std::pair<Transaction, TransactionDone> release() {
        return {std::move(transaction_), std::move(done_)};
    }

    const Transaction& transaction() const { return transaction_; }
    const SettingsStatePtr& settings() const { return settings_; }
    std::vector<Slot>& slots() { return slots_; }
    const std::vector<UniqueStep>& unique_steps() const { return unique_steps_; }
    storage::IndexDelta& delta() { return delta_; }
    int64_t growth_bytes() const { return growth_bytes_; }
    /// The operation by which the items have first grown by more than so many bytes.
    size_t first_beyond(int64_t bytes) const;
    bool is_single(OperationKind kind) const {
        return transaction_.operations.size() == 1 && transaction_.operations[0].kind == kind;
    }
    size_t bytes() const;
    int attempts = 0;

private:
    Status run_step(size_t index, Reader& reader, int64_t now, UniqueCheck& unique);
    Status load_step_slot(Slot& slot, bool with_terms, Reader& reader, int64_t now);
    void collect_changes();
    void parse_operation(size_t index);
    void find_slot(size_t index);
    Status run_operation(size_t index);
    Status run_create(size_t index, Slot& slot);
    Status run_replace(size_t index, Slot& slot);
    Status run_patch(size_t index, Slot& slot);
    Status run_delete(size_t index, Slot& slot);
    Status run_read(size_t index, Slot& slot);
    Status check_if_match(const ItemOperation& operation, const Slot& slot) const;
    void write(size_t index, Slot& slot, ItemVersionPtr version);
    bool fits_answer(size_t index);
    void note_unique_step(size_t index, const Slot& slot, ItemVersionPtr after);
    bool knows_etag(const ItemVersion& version, std::string_view etag) const;

    const std::shared_ptr<PartitionImpl> partition_;
    Transaction transaction_;
    TransactionDone done_;
    SettingsStatePtr settings_;
    std::string docref_prefix_;
    std::vector<ItemVersionPtr> bodies_;   // per operation; null for those without body
    std::vector<Status> body_errors_;      // per operation
    std::vector<size_t> operation_slots_;  // per operation
    std::vector<Slot> slots_;
    std::vector<UniqueStep> unique_steps_;
    std::vector<ItemVersionPtr> outcomes_;  // per operation: the version to return
    std::vector<ItemVersionPtr> fresh_;  // every new version, also those overwritten in the batch
    TransactionResult result_;
    std::optional<size_t> failed_at_;
    bool writes_ = false;
    int64_t growth_bytes_ = 0;
    uint64_t answer_bytes_ = 0;
    storage::IndexDelta delta_;
    bool delta_ready_ = false;  // a single replace has filled delta_
    bool stepwise_ = false;
    std::unordered_map<std::string, size_t, KeyedHash>
        slots_by_id_;  // stepwise only: there may be many
};
using TransactionPlanPtr = std::unique_ptr<TransactionPlan>;

}  // namespace orrery::partition::detail
