#include "partition/detail/commit.h"

#include "base/errors.h"
#include "partition/detail/partition_impl.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

using storage::Family;

/// A stale plan up to this size is worked out again at once, inside the committer: that costs less
/// than another trip through the workers and the queue. Larger ones get some trips first.
constexpr size_t kInlineBytesMax = 16 * 1024;
constexpr int kAttemptsMax = 4;

}  // namespace

void PartitionCommit::before_write() {
    for (const Touched& item : touched_)
        partition_->deps().cache.lock({partition_->identity().id, item.epk, item.id});
    locked_ = true;
}

void PartitionCommit::published(const storage::View& view) {
    if (lsn_ == 0) return;
    partition_->publish(lsn_, growth_bytes_);
    for (Touched& item : touched_)
        partition_->deps().cache.install({partition_->identity().id, item.epk, item.id},
                                         view.commit_number(), std::move(item.item));
    locked_ = false;
}

bool PartitionCommit::will_write(CommitWriter& writer) {
    writer.finish();
    lsn_ = writer.lsn();
    growth_bytes_ = writer.growth_bytes();
    return true;
}

void PartitionCommit::release_locks() {
    if (!locked_) return;
    locked_ = false;
    for (const Touched& item : touched_)
        partition_->deps().cache.install({partition_->identity().id, item.epk, item.id}, 0, {});
}

TransactionCommit::TransactionCommit(std::shared_ptr<PartitionImpl> partition,
                                     TransactionPlanPtr plan)
    : PartitionCommit(std::move(partition)),
      plan_(std::move(plan)),
      bytes_(plan_->bytes()),
      unique_(partition_->identity().id, plan_->transaction().epk) {}

bool TransactionCommit::decide(storage::CommitScope& scope) {
    if (partition_->closed_to_writers() || (partition_->ahead_of_pace() && !plan_->is_stepwise())) {
        ending_ = Ending::kTooLate;
        return false;
    }
    const int64_t now = partition_->deps().clock.wall_seconds();
    if (!make_current(scope, now)) return false;
    if (Status status = check_unique_keys(scope, now); !status.ok()) {
        plan_->fail_all(status);
        return false;
    }
    if (plan_->failed()) {
        // The value was free when the step ran; another writer took it since.
        if (plan_->is_stepwise()) ending_ = Ending::kStale;
        return false;
    }
    if (!plan_->writes()) {
        ending_ = Ending::kNothingToDo;
        const CommitState& state = partition_->commit_state();
        plan_->stamp(state.lsn, std::max(state.ts, now));
        return false;
    }
    CommitWriter writer(*partition_, plan_->settings(), scope, now, std::move(plan_->delta()));
    write(scope, writer);
    ending_ = Ending::kWritten;
    return will_write(writer);
}

/// False: the transaction ends here, or is prepared again.
bool TransactionCommit::make_current(storage::CommitScope& scope, int64_t now) {
    if (plan_->settings() != partition_->state()) {
        ending_ = plan_->is_stepwise() ? Ending::kStale : Ending::kPrepareAgain;
        return false;
    }
    ScopeReader reader(scope);
    switch (plan_->verify(reader, now)) {
        case TransactionPlan::Standing::kCurrent:
            return true;
        case TransactionPlan::Standing::kUnreadable:
            return false;
        case TransactionPlan::Standing::kStale:
            break;
    }
    if (plan_->is_stepwise()) {
        ending_ = Ending::kStale;
        return false;
    }
    if (bytes_ > kInlineBytesMax && plan_->attempts < kAttemptsMax &&
        !plan_->is_single(OperationKind::kCreate)) {
        ending_ = Ending::kPrepareAgain;
        return false;
    }
    if (Status status = plan_->load(reader, now); !status.ok()) {
        plan_->fail_all(status);
        return false;
    }
    plan_->simulate();
    return true;
}

/// Not ok: data could not be read. A conflict fails the plan.
Status TransactionCommit::check_unique_keys(storage::CommitScope& scope, int64_t now) {
    ScopeReader reader(scope);
    for (const UniqueStep& step : plan_->unique_steps()) {
        TRY(const bool free, unique_.apply(reader, plan_->settings(), plan_->slots(), step, now));
        if (!free) plan_->fail(step.operation, Status(errors::unique_key_conflict()));
        if (plan_->failed() && plan_->failed_at() == step.operation) return {};
    }
    return {};
}

void TransactionCommit::write(storage::CommitScope& scope, CommitWriter& writer) {
    const std::string& epk = plan_->transaction().epk;
    plan_->stamp(writer.lsn(), writer.ts());
    for (const Slot& slot : plan_->slots()) {
        if (!slot.written || (slot.base == nullptr && slot.current == nullptr)) continue;
        CHECK(!slot.entry || slot.base != nullptr);
        writer.change({.epk = epk,
                       .id = slot.id,
                       .id_key = slot.id_key,
                       .before = slot.base.get(),
                       .after = slot.current.get(),
                       .expired = !slot.live});
        touch(epk, slot.id, slot.current != nullptr ? slot.current->stored() : StoredItem());
    }
    for (const UniqueCheck::ExpiredOwner& owner : unique_.expired_owners()) {
        append_index_changes(partition_->identity().id, owner.version.get(), nullptr,
                             writer.delta());
        writer.change({.epk = epk,
                       .id = owner.id,
                       .id_key = owner.id_key,
                       .before = owner.version.get(),
                       .expired = true});
        touch(epk, owner.id, {});
    }
    for (const auto& [name, owner] : unique_.owners()) {
        if (owner)
            scope.put(Family::kIds, unique_.key(name), encode_unique_entry(*owner));
        else
            scope.remove(Family::kIds, unique_.key(name));
    }
}

void TransactionCommit::complete(Status status) {
    release_locks();
    if (!status.ok()) {
        plan_->fail_all(status);
        plan_->answer(false, partition_->lsn());
        return;
    }
    switch (ending_) {
        case Ending::kRefused:
            plan_->answer(false, partition_->lsn());
            return;
        case Ending::kNothingToDo:
            plan_->answer(true, partition_->lsn());
            return;
        case Ending::kWritten:
            plan_->answer(true, lsn());
            return;
        case Ending::kPrepareAgain:
            partition_->prepare_again(std::move(plan_));
            return;
        case Ending::kTooLate:
            partition_->wait_for_switch(std::move(plan_));
            return;
        case Ending::kStale:
            plan_->answer_stale(partition_->lsn());
            return;
    }
}

RemovalCommit::RemovalCommit(std::shared_ptr<PartitionImpl> partition, SettingsStatePtr settings,
                             std::vector<Removal> removals, bool expired_only)
    : PartitionCommit(std::move(partition)),
      prepared_under_(std::move(settings)),
      removals_(std::move(removals)),
      expired_only_(expired_only) {
    for (const Removal& removal : removals_) bytes_ += removal.version->document->size() + 256;
}

bool RemovalCommit::decide(storage::CommitScope& scope) {
    if (partition_->closed_to_writers()) {
        status_ =
            Status(errors::range_switching(std::to_string(partition_->identity().rid_prefix)));
        return false;
    }
    const int64_t now = partition_->deps().clock.wall_seconds();
    settings_ = partition_->state();
    CommitWriter writer(*partition_, settings_, scope, now, {});
    status_ = remove_all(scope, writer, now);
    if (!status_.ok() || removed_.empty()) return false;
    return will_write(writer);
}

Status RemovalCommit::remove_all(storage::CommitScope& scope, CommitWriter& writer, int64_t now) {
    ScopeReader reader(scope);
    const storage::PartitionId partition = partition_->identity().id;
    for (Removal& removal : removals_) {
        TRY(const std::optional<IdEntry> entry, read_id_entry(reader, removal.id_key));
        if (!entry) continue;
        const bool expired = is_expired((*settings_)->default_ttl, entry->ts, entry->own_ttl, now);
        if (expired_only_ && !expired) continue;
        if (*entry != removal.entry || settings_ != prepared_under_) {
            TRY(removal.version, read_version(reader, settings_, partition, *entry, true));
        }
        append_index_changes(partition, removal.version.get(), nullptr, writer.delta());
        writer.change({.epk = removal.epk,
                       .id = removal.id,
                       .id_key = removal.id_key,
                       .before = removal.version.get(),
                       .expired = expired});
        for (const std::string& name : removal.version->unique_names)
            scope.remove(Family::kIds, storage::keys::id(partition, removal.epk,
                                                         storage::IdKind::kUniqueKey, name));
        touch(removal.epk, removal.id, {});
        OperationWork& work = removed_.emplace_back();
        work.kind = OperationKind::kDelete;
        work.existed = true;
        work.old_bytes = removal.version->text_bytes;
        work.terms_removed = removal.version->charged_terms();
    }
    return {};
}

void RemovalCommit::complete(Status status) {
    release_locks();
    if (!status.ok())
        promise_.set_value(std::move(status));
    else if (!status_.ok())
        promise_.set_value(std::move(status_));
    else
        promise_.set_value(std::move(removed_));
}

TtlFillCommit::TtlFillCommit(std::shared_ptr<PartitionImpl> partition, SettingsStatePtr settings,
                             std::vector<storage::Docref> docrefs, bool last)
    : partition_(std::move(partition)),
      settings_(std::move(settings)),
      docrefs_(std::move(docrefs)),
      last_(last) {}

bool TtlFillCommit::decide(storage::CommitScope& scope) {
    // Under other settings, or elsewhere, the pass starts again.
    if (partition_->state() != settings_ || partition_->closed_to_writers()) return false;
    status_ = fill(scope);
    if (!status_.ok()) return false;
    filled_ = true;
    CommitState& state = partition_->commit_state();
    state.ttl_entries = true;
    if (last_) {
        scope.put(Family::kMeta, meta_keys::ttl_complete(partition_->identity().id), "1");
        state.ttl_complete = true;
    }
    return true;
}

Status TtlFillCommit::fill(storage::CommitScope& scope) {
    ScopeReader reader(scope);
    const storage::PartitionId partition = partition_->identity().id;
    for (const storage::Docref& docref : docrefs_) {
        // The newest version decides. The item may have changed or been deleted since it was
        // listed.
        TRY(std::optional<std::string> bytes,
            reader.get(Family::kItems, storage::keys::item(partition, docref)));
        if (!bytes) continue;
        TRY(const ItemVersionPtr version,
            version_of_document(settings_, std::make_shared<std::string>(std::move(*bytes)), docref,
                                IndexingDirective::kDefault, false));
        if (const auto position = ttl_position(version->ts, version->own_ttl))
            scope.put(Family::kTtl,
                      storage::keys::ttl(partition, position->kind, position->when, docref), {});
    }
    return {};
}

void TtlFillCommit::complete(Status status) {
    if (status.ok() && status_.ok())
        promise_.set_value(filled_);
    else
        promise_.set_value(status.ok() ? std::move(status_) : std::move(status));
}

}  // namespace orrery::partition::detail
