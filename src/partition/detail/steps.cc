// Transactions whose operations become known one by one.
#include "base/errors.h"
#include "json/document.h"
#include "json/item.h"
#include "partition/detail/partition_impl.h"
#include "partition/detail/unique_check.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

bool is_write(OperationKind kind) {
    return kind != OperationKind::kRead;
}

class Steps final : public StepTransaction {
public:
    Steps(std::shared_ptr<PartitionImpl> partition, std::string_view epk, storage::ViewPtr view)
        : partition_(std::move(partition)),
          view_(std::move(view)),
          unique_(partition_->identity().id, epk) {
        Transaction transaction;
        transaction.epk = epk;
        transaction.is_batch = true;
        plan_ = std::make_unique<TransactionPlan>(
            partition_, std::move(transaction),
            [this](TransactionResult result) { ended(std::move(result)); });
        plan_->begin_steps();
    }

    OperationResult run(ItemOperation operation) override {
        ViewReader reader(*view_);
        const bool write = is_write(operation.kind);
        OperationResult result = plan_->step(std::move(operation), reader,
                                             partition_->deps().clock.wall_seconds(), unique_);
        if (result.status.ok()) {
            if (write) bytes_written_ += result.work.new_bytes;
            provisional_.push_back(write ? result.etag : std::string());
        }
        return result;
    }

    Result<std::string> id_of(const storage::Docref& docref) override {
        for (const Slot& slot : plan_->slots())
            if (slot.current != nullptr && slot.current->docref == docref) return slot.id;
        TRY(const auto bytes, view_->get(storage::Family::kItems,
                                         storage::keys::item(partition_->identity().id, docref)));
        if (!bytes) return errors::not_found();
        TRY(const auto document, json::decode_document(*bytes));
        if (document.header.epk != plan_->transaction().epk) return errors::not_found();
        json::Arena arena;
        TRY(const std::string_view id, document.id(arena));
        return std::string(id);
    }

    uint64_t bytes_written() const override { return bytes_written_; }

    void commit(std::function<void(Ending)> done) override {
        done_ = std::move(done);
        partition_->commit_steps(std::move(plan_));
    }

private:
    void ended(TransactionResult result) {
        Ending ending;
        ending.committed = result.committed;
        ending.stale = result.stale;
        ending.lsn = result.lsn;
        ending.range_number = result.range_number;
        for (size_t i = 0; i < result.results.size(); ++i) {
            if (!result.results[i].status.ok()) {
                ending.status = std::move(result.results[i].status);
                break;
            }
            if (i < provisional_.size() && !provisional_[i].empty())
                ending.etags.emplace_back(std::move(provisional_[i]), result.results[i].etag);
        }
        if (!ending.committed && !ending.stale && ending.status.ok())
            ending.status = Status(errors::internal("The transaction ended without a reason."));
        // The callback may destroy this object.
        const auto done = std::move(done_);
        done(std::move(ending));
    }

    const std::shared_ptr<PartitionImpl> partition_;
    const storage::ViewPtr view_;
    UniqueCheck unique_;
    TransactionPlanPtr plan_;
    uint64_t bytes_written_ = 0;
    std::vector<std::string> provisional_;  // etags, by operation; empty for reads and deletes
    std::function<void(Ending)> done_;
};

}  // namespace

std::unique_ptr<StepTransaction> PartitionImpl::begin_steps(std::string_view epk,
                                                            storage::ViewPtr view) {
    if (!identity_.range.contains(epk) || !is_current()) return nullptr;
    return std::make_unique<Steps>(self(), epk, std::move(view));
}

void PartitionImpl::commit_steps(TransactionPlanPtr plan) {
    plan->finish_steps();
    if (Status status = check_quota(*plan); !status.ok()) {
        plan->fail_all(status);
        plan->answer(false, lsn());
        return;
    }
    // Reads of one view need no commit.
    if (!plan->writes()) {
        plan->answer(true, lsn());
        return;
    }
    deps_.store.submit(std::make_unique<TransactionCommit>(self(), std::move(plan)));
}

void TransactionPlan::begin_steps() {
    stepwise_ = true;
    parse();
    simulate();
}

OperationResult TransactionPlan::step(ItemOperation operation, Reader& reader, int64_t now,
                                      UniqueCheck& unique) {
    const size_t index = transaction_.operations.size();
    const OperationKind kind = operation.kind;
    transaction_.operations.push_back(std::move(operation));
    bodies_.emplace_back();
    body_errors_.emplace_back();
    operation_slots_.push_back(static_cast<size_t>(-1));
    outcomes_.emplace_back();
    result_.results.emplace_back();
    result_.results[index].work.kind = kind;
    Status status = run_step(index, reader, now, unique);
    OperationResult result = std::move(result_.results[index]);
    result_.results[index] = OperationResult();
    transaction_.operations[index].body.clear();
    if (!status.ok()) {
        transaction_.operations.pop_back();
        bodies_.pop_back();
        body_errors_.pop_back();
        operation_slots_.pop_back();
        outcomes_.pop_back();
        result_.results.pop_back();
        OperationResult failed;
        failed.work.kind = kind;
        failed.status = std::move(status);
        return failed;
    }
    if (const ItemVersionPtr& outcome = outcomes_[index]) {
        if (outcome->unstamped != nullptr) json::set_document_version(*outcome->unstamped, 0, now);
        result.etag = outcome->etag();
        result.has_item = !result.not_modified;
        if (result.has_item) result.item = outcome->stored();
    }
    return result;
}

Status TransactionPlan::run_step(size_t index, Reader& reader, int64_t now, UniqueCheck& unique) {
    parse_operation(index);
    if (!body_errors_[index].ok()) return std::move(body_errors_[index]);
    find_slot(index);
    const size_t at = operation_slots_[index];
    TRY_STATUS(
        load_step_slot(slots_[at], is_write(transaction_.operations[index].kind), reader, now));
    const Slot before = slots_[at];
    const size_t fresh = fresh_.size();
    const size_t unique_steps = unique_steps_.size();
    const int64_t growth = growth_bytes_;
    TRY_STATUS(run_operation(index));
    if (unique_steps_.size() == unique_steps) return {};
    const auto free = unique.apply(reader, settings_, slots_, unique_steps_.back(), now);
    if (free.ok() && *free) return {};
    slots_[at] = before;
    fresh_.resize(fresh);
    unique_steps_.resize(unique_steps);
    growth_bytes_ = growth;
    return free.ok() ? Status(errors::unique_key_conflict()) : free.status().clone();
}

Status TransactionPlan::load_step_slot(Slot& slot, bool with_terms, Reader& reader, int64_t now) {
    if (slot.looked_up) {
        if (!with_terms || slot.has_terms || slot.base == nullptr) return {};
        slot.has_terms = true;
        return add_terms(settings_, *slot.base);
    }
    TRY(slot.entry, read_id_entry(reader, slot.id_key));
    slot.live = slot.entry &&
                !is_expired((*settings_)->default_ttl, slot.entry->ts, slot.entry->own_ttl, now);
    slot.has_terms = with_terms || !slot.live;
    if (slot.entry) {
        TRY(slot.base, read_version(reader, settings_, partition_->identity().id, *slot.entry,
                                    slot.has_terms));
    }
    slot.looked_up = true;
    slot.present = slot.live;
    slot.current = slot.live ? slot.base : nullptr;
    return {};
}

void TransactionPlan::finish_steps() {
    collect_changes();
}

void TransactionPlan::answer_stale(storage::Lsn lsn) {
    result_ = {};
    result_.stale = true;
    outcomes_.clear();
    answer(false, lsn);
}

}  // namespace orrery::partition::detail
