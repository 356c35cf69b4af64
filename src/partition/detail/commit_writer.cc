#include "partition/detail/commit.h"
#include "partition/detail/partition_impl.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

using storage::Family;

std::optional<std::string> ttl_key(storage::PartitionId partition, const ItemVersion* version) {
    if (version == nullptr) return std::nullopt;
    const auto position = ttl_position(version->ts, version->own_ttl);
    if (!position) return std::nullopt;
    return storage::keys::ttl(partition, position->kind, position->when, version->docref);
}

}  // namespace

CommitWriter::CommitWriter(PartitionImpl& partition, const SettingsStatePtr& settings,
                           storage::CommitScope& scope, int64_t now, storage::IndexDelta delta)
    : partition_(partition),
      settings_(settings),
      scope_(scope),
      next_(partition.commit_state()),
      delta_(std::move(delta)) {
    const bool first = next_.lsn == 0;
    ++next_.lsn;
    next_.ts = std::max(next_.ts, now);
    const bool ttl_on = (*settings_)->default_ttl.has_value();
    const std::string marker = meta_keys::ttl_complete(partition_.identity().id);
    if (ttl_on && first) {
        scope_.put(Family::kMeta, marker, "1");
        next_.ttl_complete = true;
    } else if (!ttl_on && next_.ttl_complete) {
        // From now on items are written without an entry in `ttl`.
        scope_.remove(Family::kMeta, marker);
        next_.ttl_complete = false;
    }
    if ((*settings_)->feed_retention_seconds > 0 && next_.versions_from == 0) {
        next_.versions_from = next_.lsn;
        scope_.put(Family::kMeta, meta_keys::versions_from(partition_.identity().id),
                   encode_lsn_note(next_.lsn));
    }
}

void CommitWriter::change(const ItemChange& change) {
    const storage::PartitionId partition = partition_.identity().id;
    const ItemVersion* before = change.before;
    const ItemVersion* after = change.after;
    const bool same = before != nullptr && after != nullptr && before->docref == after->docref;
    if (same) {
        log(change, LogOperation::kReplace, before, after);
    } else {
        if (before != nullptr) {
            log(change, LogOperation::kDelete, before, nullptr);
            scope_.remove(Family::kItems, storage::keys::item(partition, before->docref));
        }
        if (after != nullptr) {
            reserve_item_number(after->docref);
            log(change, LogOperation::kCreate, nullptr, after);
        }
    }
    if (after != nullptr) {
        if (!after->indexed) partition_.note_unindexed();
        DCHECK(after->lsn == next_.lsn && after->unstamped == nullptr);
        scope_.put(Family::kItems, storage::keys::item(partition, after->docref), *after->document);
        scope_.put(Family::kIds, change.id_key, encode_id_entry(after->entry()));
        count(change.epk, 1, static_cast<int64_t>(after->text_bytes));
    } else {
        scope_.remove(Family::kIds, change.id_key);
    }
    if (before != nullptr) count(change.epk, -1, -static_cast<int64_t>(before->text_bytes));
    write_ttl(change);
    append_ts_changes(partition, before, after, delta_);
}

void CommitWriter::log(const ItemChange& change, LogOperation operation, const ItemVersion* before,
                       const ItemVersion* after) {
    LogRecord record;
    record.operation = operation;
    if (after != nullptr) record.directive = after->directive;
    if (before != nullptr) record.previous_directive = before->directive;
    record.expired = operation == LogOperation::kDelete && change.expired;
    record.ts = next_.ts;
    record.etag_nonce = after != nullptr ? after->etag_nonce : 0;
    record.previous_lsn = before != nullptr ? before->lsn : 0;
    record.origin_lsn = next_.lsn;
    record.epk = change.epk;
    record.id = change.id;
    const std::string key = storage::keys::log(partition_.identity().id, next_.lsn,
                                               after != nullptr ? after->docref : before->docref);
    scope_.put(Family::kLog, key, encode_log_record(record));
    if (before == nullptr) return;
    scope_.put(Family::kImages, key, *before->document);
    if (next_.versions_from != 0 && before->lsn >= next_.versions_from)
        scope_.put(Family::kImages,
                   storage::keys::image_next(partition_.identity().id, before->lsn, before->docref),
                   encode_lsn_note(next_.lsn));
}

void CommitWriter::write_ttl(const ItemChange& change) {
    const bool ttl_on = (*settings_)->default_ttl.has_value();
    if (!ttl_on && !next_.ttl_entries) return;
    const storage::PartitionId partition = partition_.identity().id;
    const auto old_key = ttl_key(partition, change.before);
    const auto new_key = ttl_on ? ttl_key(partition, change.after) : std::nullopt;
    if (old_key == new_key) return;
    if (old_key) scope_.remove(Family::kTtl, *old_key);
    if (new_key) {
        scope_.put(Family::kTtl, *new_key, {});
        next_.ttl_entries = true;
    }
}

void CommitWriter::count(std::string_view epk, int64_t items, int64_t bytes) {
    growth_.items += items;
    growth_.bytes += bytes;
    if (logical_.empty() || logical_.back().first != epk)
        logical_.emplace_back(epk, storage::Count());
    logical_.back().second.items += items;
    logical_.back().second.bytes += bytes;
}

void CommitWriter::reserve_item_number(const storage::Docref& docref) {
    constexpr uint64_t kBlock = 4096;
    const uint64_t counter = docref.item_number() & ((uint64_t{1} << kItemCounterBits) - 1);
    if (counter < next_.item_counter_bound) return;
    next_.item_counter_bound = counter + kBlock;
    scope_.put(Family::kMeta, meta_keys::item_counter(partition_.identity().id),
               encode_item_counter(next_.item_counter_bound));
}

void CommitWriter::finish() {
    const storage::PartitionId partition = partition_.identity().id;
    scope_.index(partition, next_.lsn, std::move(delta_));
    if (growth_.items != 0 || growth_.bytes != 0)
        scope_.count(counter_keys::totals(partition), growth_);
    for (const auto& [epk, count] : logical_)
        if (count.items != 0 || count.bytes != 0)
            scope_.count(counter_keys::logical_partition(partition, epk), count);
    partition_.commit_state() = next_;
}

}  // namespace orrery::partition::detail
