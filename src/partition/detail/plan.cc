#include "partition/detail/plan.h"

#include "base/errors.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/patch.h"
#include "json/typed_text.h"
#include "json/write.h"
#include "partition/detail/partition_impl.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

constexpr size_t kNoSlot = static_cast<size_t>(-1);

/// About what an answer has around an item: status, charge and etag; and what is spliced into it.
constexpr uint64_t kAnswerEntryBytes = 150;
constexpr uint64_t kSystemPropertiesBytes = 250;

bool has_body(OperationKind kind) {
    return kind == OperationKind::kCreate || kind == OperationKind::kReplace ||
           kind == OperationKind::kUpsert;
}

}  // namespace

TransactionPlan::TransactionPlan(std::shared_ptr<PartitionImpl> partition, Transaction transaction,
                                 TransactionDone done)
    : partition_(std::move(partition)),
      transaction_(std::move(transaction)),
      done_(std::move(done)) {}

void TransactionPlan::parse() {
    settings_ = partition_->state();
    const size_t count = transaction_.operations.size();
    bodies_.assign(count, nullptr);
    body_errors_.clear();
    body_errors_.resize(count);
    operation_slots_.assign(count, kNoSlot);
    slots_.clear();
    slots_.reserve(count);
    docref_prefix_ = docref_prefix((*settings_)->key, transaction_.epk);
    for (size_t i = 0; i < count; ++i) {
        parse_operation(i);
        if (body_errors_[i].ok()) find_slot(i);
    }
}

void TransactionPlan::parse_operation(size_t index) {
    ItemOperation& operation = transaction_.operations[index];
    if (!has_body(operation.kind)) return;
    std::string id = operation.id;
    auto version = version_of_body(settings_, operation.body,
                                   {.epk = transaction_.epk,
                                    .check_key = transaction_.check_body_key,
                                    .directive = operation.directive,
                                    .own_ttl = operation.own_ttl,
                                    .client_time = operation.client_time},
                                   id);
    if (!version.ok()) {
        body_errors_[index] = std::move(version).take_status();
        return;
    }
    if (operation.kind == OperationKind::kReplace) {
        if (operation.id != id) {
            body_errors_[index] =
                Status(errors::bad_request("The id in the body differs from the id of the item to "
                                           "be replaced. An id cannot be changed."));
            return;
        }
    } else {
        operation.id = std::move(id);
    }
    bodies_[index] = std::move(version).value();
}

void TransactionPlan::find_slot(size_t index) {
    const ItemOperation& operation = transaction_.operations[index];
    size_t at = 0;
    if (stepwise_)
        at = slots_by_id_.try_emplace(operation.id, slots_.size()).first->second;
    else
        while (at < slots_.size() && slots_[at].id != operation.id) ++at;
    if (at == slots_.size()) {
        Slot slot;
        slot.id = operation.id;
        slot.id_key = storage::keys::id(partition_->identity().id, transaction_.epk,
                                        storage::IdKind::kItem, operation.id);
        slots_.push_back(std::move(slot));
    }
    operation_slots_[index] = at;
    Slot& slot = slots_[at];
    if (operation.kind != OperationKind::kCreate) slot.needs_body = true;
    if (operation.kind != OperationKind::kCreate && operation.kind != OperationKind::kRead)
        slot.needs_terms = true;
    if (operation.kind == OperationKind::kCreate || operation.kind == OperationKind::kUpsert)
        slot.may_create = true;
}

Status TransactionPlan::load(Reader& reader, int64_t now) {
    for (Slot& slot : slots_) {
        slot.base = nullptr;
        slot.looked_up = true;
        TRY(slot.entry, read_id_entry(reader, slot.id_key));
        slot.live = slot.entry && !is_expired((*settings_)->default_ttl, slot.entry->ts,
                                              slot.entry->own_ttl, now);
        if (!slot.entry) continue;
        // An expired item is read only when a create takes its place and removes it.
        const bool wanted = slot.live ? slot.needs_body : slot.may_create;
        if (!wanted) continue;
        TRY(slot.base, read_version(reader, settings_, partition_->identity().id, *slot.entry,
                                    slot.needs_terms || !slot.live));
    }
    return {};
}

bool TransactionPlan::load_from_cache(int64_t now) {
    if (slots_.empty()) return true;  // the operation has failed already
    DCHECK(slots_.size() == 1);
    Slot& slot = slots_[0];
    auto item =
        partition_->deps().cache.find({partition_->identity().id, transaction_.epk, slot.id});
    if (!item) return false;
    // The directive is a guess; the committer corrects it from `ids`.
    auto version = version_of_document(settings_, item->document, item->docref,
                                       IndexingDirective::kDefault, slot.needs_terms);
    if (!version.ok()) return false;
    slot.base = std::move(version).value();
    slot.entry = slot.base->entry();
    slot.looked_up = true;
    slot.live = !is_expired((*settings_)->default_ttl, slot.entry->ts, slot.entry->own_ttl, now);
    return true;
}

TransactionPlan::Standing TransactionPlan::verify(Reader& reader, int64_t now) {
    for (Slot& slot : slots_) {
        auto entry = read_id_entry(reader, slot.id_key);
        if (!entry.ok()) {
            fail_all(std::move(entry).take_status());
            return Standing::kUnreadable;
        }
        if (!slot.looked_up) {
            if (*entry) return Standing::kStale;
            continue;
        }
        if (*entry != slot.entry) return Standing::kStale;
        if (slot.entry && is_expired((*settings_)->default_ttl, slot.entry->ts, slot.entry->own_ttl,
                                     now) == slot.live)
            return Standing::kStale;
    }
    return Standing::kCurrent;
}

void TransactionPlan::simulate() {
    const size_t count = transaction_.operations.size();
    result_ = {};
    result_.results.resize(count);
    outcomes_.assign(count, nullptr);
    fresh_.clear();
    unique_steps_.clear();
    failed_at_.reset();
    writes_ = false;
    growth_bytes_ = 0;
    answer_bytes_ = 0;
    delta_ = {};
    delta_ready_ = false;
    for (Slot& slot : slots_) {
        slot.present = slot.live;
        slot.current = slot.live ? slot.base : nullptr;
        slot.written = false;
    }
    for (size_t i = 0; i < count; ++i)
        result_.results[i].work.kind = transaction_.operations[i].kind;
    for (size_t i = 0; i < count; ++i) {
        if (Status status = run_operation(i); !status.ok()) {
            fail(i, std::move(status));
            return;
        }
        if (!fits_answer(i)) {
            fail_all(Status(errors::batch_response_too_large()));
            return;
        }
    }
    collect_changes();
}

void TransactionPlan::collect_changes() {
    for (const Slot& slot : slots_) {
        if (!slot.written) continue;
        if (slot.base == nullptr && slot.current == nullptr) continue;  // came and went
        writes_ = true;
        if (delta_ready_) continue;
        append_index_changes(partition_->identity().id, slot.base.get(), slot.current.get(),
                             delta_);
    }
}

/// Counts what operation `index` adds to the answer.
bool TransactionPlan::fits_answer(size_t index) {
    if (transaction_.answer_bytes_max == 0) return true;
    answer_bytes_ += kAnswerEntryBytes;
    if (outcomes_[index] != nullptr && transaction_.operations[index].wants_item &&
        !result_.results[index].not_modified)
        answer_bytes_ += outcomes_[index]->text_bytes + kSystemPropertiesBytes;
    return answer_bytes_ <= transaction_.answer_bytes_max;
}

Status TransactionPlan::run_operation(size_t index) {
    if (!body_errors_[index].ok()) return body_errors_[index].clone();
    Slot& slot = slots_[operation_slots_[index]];
    switch (transaction_.operations[index].kind) {
        case OperationKind::kCreate:
            return run_create(index, slot);
        case OperationKind::kUpsert:
            return slot.present ? run_replace(index, slot) : run_create(index, slot);
        case OperationKind::kReplace:
            return run_replace(index, slot);
        case OperationKind::kPatch:
            return run_patch(index, slot);
        case OperationKind::kDelete:
            return run_delete(index, slot);
        case OperationKind::kRead:
            return run_read(index, slot);
    }
    return Status(errors::internal("An operation of an unknown kind."));
}

/// A version that a batch itself wrote has no etag that a client could know; a script was told it.
bool TransactionPlan::knows_etag(const ItemVersion& version, std::string_view etag) const {
    return (version.lsn != 0 || stepwise_) && etag == version.etag();
}

Status TransactionPlan::check_if_match(const ItemOperation& operation, const Slot& slot) const {
    if (operation.if_match.empty() || operation.if_match == "*") return {};
    if (knows_etag(*slot.current, operation.if_match)) return {};
    return Status(errors::precondition_failed());
}

Status TransactionPlan::run_create(size_t index, Slot& slot) {
    if (slot.present) return Status(errors::conflict());
    ItemVersionPtr version = bodies_[index];
    version->docref = storage::Docref(docref_prefix_, partition_->new_item_number());
    OperationResult& result = result_.results[index];
    result.created = true;
    result.work.new_bytes = version->text_bytes;
    result.work.terms_added = version->charged_terms();
    write(index, slot, std::move(version));
    return {};
}

Status TransactionPlan::run_replace(size_t index, Slot& slot) {
    if (!slot.present) return Status(errors::not_found());
    TRY_STATUS(check_if_match(transaction_.operations[index], slot));
    ItemVersionPtr version = bodies_[index];
    const ItemVersion& old = *slot.current;
    version->docref = old.docref;
    OperationResult& result = result_.results[index];
    // An item that a batch touches again changes by what is left in the end; see simulate().
    const bool only = transaction_.operations.size() == 1 && !stepwise_;
    storage::IndexDelta scratch;
    const ChargedChange change =
        append_replace(partition_->identity().id, old, *version, only ? delta_ : scratch);
    delta_ready_ = only;
    result.work.existed = true;
    result.work.old_bytes = old.text_bytes;
    result.work.new_bytes = version->text_bytes;
    result.work.terms_removed = change.removed;
    result.work.terms_added = change.added;
    write(index, slot, std::move(version));
    return {};
}

Status TransactionPlan::run_patch(size_t index, Slot& slot) {
    if (!slot.present) return Status(errors::not_found());
    const ItemOperation& operation = transaction_.operations[index];
    TRY_STATUS(check_if_match(operation, slot));
    const ItemVersion& old = *slot.current;
    const PatchProgram& program = *operation.patch;
    json::Arena arena;
    if (program.condition) {
        TRY(const json::Value item, client_view(**settings_, old, arena));
        TRY(const bool met, program.condition(item));
        if (!met) return Status(errors::patch_condition_failed());
    }
    TRY(const json::Document document, json::decode_document(*old.document));
    TRY(const json::Value item, document.value(arena));
    const json::DialectRules& rules = json::rules((*settings_)->dialect());
    TRY(const json::Value patched,
        json::apply_patch(item, program.patch, (*settings_)->key.member_paths, arena, rules));
    std::string text;
    json::write_stored(text, patched, rules);
    const IndexingDirective directive =
        operation.directive == IndexingDirective::kDefault ? old.directive : operation.directive;
    std::string id = slot.id;
    TRY(bodies_[index], version_of_body(settings_, text,
                                        {.epk = transaction_.epk,
                                         .check_key = transaction_.check_body_key,
                                         .directive = directive,
                                         .own_ttl = old.own_ttl,
                                         .client_time = operation.client_time},
                                        id));
    if (id != slot.id)
        return Status(errors::bad_request("A patch cannot change the id of an item."));
    result_.results[index].work.patch_operations =
        static_cast<uint32_t>(program.patch.operations.size());
    return run_replace(index, slot);
}

Status TransactionPlan::run_delete(size_t index, Slot& slot) {
    if (!slot.present) return Status(errors::not_found());
    TRY_STATUS(check_if_match(transaction_.operations[index], slot));
    const ItemVersion& old = *slot.current;
    OperationResult& result = result_.results[index];
    result.work.old_bytes = old.text_bytes;
    result.work.terms_removed = old.charged_terms();
    write(index, slot, nullptr);
    return {};
}

Status TransactionPlan::run_read(size_t index, Slot& slot) {
    if (!slot.present) return Status(errors::not_found());
    OperationResult& result = result_.results[index];
    const std::string& if_none_match = transaction_.operations[index].if_none_match;
    result.not_modified = if_none_match == "*" ||
                          (!if_none_match.empty() && knows_etag(*slot.current, if_none_match));
    result.work.new_bytes = slot.current->text_bytes;
    outcomes_[index] = slot.current;
    return {};
}

void TransactionPlan::note_unique_step(size_t index, const Slot& slot, ItemVersionPtr after) {
    if ((*settings_)->unique_keys.empty()) return;
    ItemVersionPtr before = slot.current;
    // A new item takes the place of an expired one, whose unique values become free.
    if (!slot.written && !slot.live && slot.base != nullptr) before = slot.base;
    const auto at = static_cast<size_t>(&slot - slots_.data());
    unique_steps_.push_back({index, at, std::move(before), std::move(after)});
}

/// `version` null: the item is deleted.
void TransactionPlan::write(size_t index, Slot& slot, ItemVersionPtr version) {
    note_unique_step(index, slot, version);
    if (slot.current != nullptr) growth_bytes_ -= static_cast<int64_t>(slot.current->text_bytes);
    if (version != nullptr) {
        growth_bytes_ += static_cast<int64_t>(version->text_bytes);
        fresh_.push_back(version);
        outcomes_[index] = version;
    }
    slot.present = version != nullptr;
    slot.current = std::move(version);
    slot.written = true;
}

size_t TransactionPlan::first_beyond(int64_t bytes) const {
    int64_t growth = 0;
    for (size_t i = 0; i < result_.results.size(); ++i) {
        const OperationWork& work = result_.results[i].work;
        if (work.kind == OperationKind::kRead) continue;
        const uint64_t after = work.kind == OperationKind::kDelete ? 0 : work.new_bytes;
        growth += static_cast<int64_t>(after) - static_cast<int64_t>(work.old_bytes);
        if (growth > bytes) return i;
    }
    return 0;
}

void TransactionPlan::fail(size_t index, Status status) {
    failed_at_ = index;
    writes_ = false;
    outcomes_.assign(transaction_.operations.size(), nullptr);
    result_.results.clear();
    result_.results.resize(transaction_.operations.size());
    for (size_t i = 0; i < result_.results.size(); ++i) {
        OperationResult& result = result_.results[i];
        result.work.kind = transaction_.operations[i].kind;
        if (i != index) result.status = Status(errors::failed_dependency());
    }
    if (index < result_.results.size()) result_.results[index].status = std::move(status);
}

void TransactionPlan::fail_all(const Status& status) {
    fail(0, status.clone());
    for (OperationResult& result : result_.results) result.status = status.clone();
}

void TransactionPlan::stamp(storage::Lsn lsn, int64_t ts) {
    for (const ItemVersionPtr& version : fresh_) {
        version->lsn = lsn;
        version->ts = ts;
        json::set_document_version(*version->unstamped, lsn, ts);
        if (version->expires_at) {
            version->own_ttl = ttl_until(*version->expires_at, ts);
            json::set_document_ttl(*version->unstamped, version->own_ttl);
        }
        version->unstamped = nullptr;
    }
}

void TransactionPlan::answer(bool committed, storage::Lsn lsn) {
    result_.committed = committed;
    result_.lsn = lsn;
    result_.range_number = partition_->identity().rid_prefix;
    for (size_t i = 0; i < outcomes_.size(); ++i) {
        if (outcomes_[i] == nullptr) continue;
        OperationResult& result = result_.results[i];
        result.etag = outcomes_[i]->etag();
        if (result.not_modified) continue;
        result.has_item = true;
        result.item = outcomes_[i]->stored();
    }
    done_(std::move(result_));
}

size_t TransactionPlan::bytes() const {
    size_t sum = delta_.bytes() + 256 * transaction_.operations.size();
    for (const Slot& slot : slots_) {
        if (!slot.written) continue;
        if (slot.base != nullptr) sum += slot.base->document->size();
        if (slot.current != nullptr) sum += slot.current->document->size();
    }
    return sum;
}

}  // namespace orrery::partition::detail
