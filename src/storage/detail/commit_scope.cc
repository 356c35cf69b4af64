#include "storage/detail/commit_scope.h"

#include "base/errors.h"
#include "base/keyed_hash.h"
#include "storage/detail/own_keys.h"
#include "storage/detail/wal_recovery.h"

namespace orrery::storage::detail {
namespace {

constexpr size_t kBucketsMin = 1024;

size_t varint_size(size_t value) {
    size_t bytes = 1;
    for (; value >= 0x80; value >>= 7) ++bytes;
    return bytes;
}

}  // namespace

GroupScope::GroupScope(Database& database) : database_(database), buckets_(kBucketsMin, kNone) {}

void GroupScope::begin_group(uint64_t number) {
    batch_.Clear();
    CHECK(batch_.PutLogData(encode_group_number(number)).ok());
    for (const Pending& pending : pending_) buckets_[pending.bucket] = kNone;
    pending_.clear();
    marks_.clear();
    index_changes_.clear();
    deltas_.clear();
    counts_.clear();
    retired_.clear();
}

void GroupScope::begin_operation() {
    DCHECK(marks_.empty());
    savepoint();
}

void GroupScope::end_operation(bool keep) {
    if (!keep) rollback_to(0);
    while (!marks_.empty()) {
        marks_.pop_back();
        CHECK(batch_.PopSavePoint().ok());
    }
}

uint32_t GroupScope::bucket_of(Family family, std::string_view key) const {
    const size_t hash = keyed_hash(key, static_cast<uint64_t>(family));
    return static_cast<uint32_t>(hash & (buckets_.size() - 1));
}

Result<std::optional<std::string>> GroupScope::get(Family family, std::string_view key) {
    CHECK(family != Family::kIndex);
    for (uint32_t i = buckets_[bucket_of(family, key)]; i != kNone; i = pending_[i].next) {
        const Pending& pending = pending_[i];
        if (pending.family != family || bytes(pending.key_offset, pending.key_size) != key)
            continue;
        if (pending.removed) return std::optional<std::string>();
        return std::optional<std::string>(bytes(pending.value_offset, pending.value_size));
    }
    return database_.get({}, family, key);
}

void GroupScope::put(Family family, std::string_view key, std::string_view value) {
    CHECK(family != Family::kIndex);
    CHECK(batch_.Put(database_.family(family), slice(key), slice(value)).ok());
    note(family, key, value.size(), false);
}

void GroupScope::remove(Family family, std::string_view key) {
    CHECK(family != Family::kIndex);
    CHECK(batch_.Delete(database_.family(family), slice(key)).ok());
    note(family, key, 0, true);
}

/// The batch ends with the entry: key, then for a put the value and its length.
void GroupScope::note(Family family, std::string_view key, size_t value_size, bool removed) {
    const size_t end = batch_.Data().size();
    CHECK(end < UINT32_MAX);
    const size_t value_offset = end - value_size;
    const size_t key_offset = value_offset - (removed ? 0 : varint_size(value_size)) - key.size();
    DCHECK(batch_.Data().compare(key_offset, key.size(), key) == 0);
    if (pending_.size() >= buckets_.size()) grow_buckets();
    const uint32_t bucket = bucket_of(family, key);
    pending_.push_back({static_cast<uint32_t>(key_offset), static_cast<uint32_t>(key.size()),
                        static_cast<uint32_t>(value_offset), static_cast<uint32_t>(value_size),
                        bucket, buckets_[bucket], family, removed});
    buckets_[bucket] = static_cast<uint32_t>(pending_.size() - 1);
}

void GroupScope::grow_buckets() {
    buckets_.assign(buckets_.size() * 2, kNone);
    for (size_t i = 0; i < pending_.size(); ++i) {
        Pending& pending = pending_[i];
        pending.bucket = bucket_of(pending.family, bytes(pending.key_offset, pending.key_size));
        pending.next = buckets_[pending.bucket];
        buckets_[pending.bucket] = static_cast<uint32_t>(i);
    }
}

void GroupScope::index(PartitionId partition, Lsn lsn, IndexDelta delta) {
    index_changes_.push_back({partition, lsn});
    deltas_.push_back(std::move(delta));
}

void GroupScope::count(std::string_view counter_key, Count delta) {
    CHECK(is_reserved_index_key(counter_key) && counter_key.size() >= 12 &&
          load_u64_be(counter_key.data() + 4) != 0);
    counts_.emplace_back(counter_key, delta);
}

void GroupScope::retire(PartitionId partition) {
    CHECK(partition != 0);
    put(Family::kMeta, retired_key(partition), {});
    retired_.push_back(partition);
}

size_t GroupScope::savepoint() {
    batch_.SetSavePoint();
    marks_.push_back({pending_.size(), index_changes_.size(), counts_.size(), retired_.size()});
    return marks_.size() - 1;
}

void GroupScope::rollback_to(size_t savepoint) {
    CHECK(savepoint < marks_.size());
    const Mark mark = marks_[savepoint];
    while (marks_.size() > savepoint) {
        CHECK(batch_.RollbackToSavePoint().ok());
        marks_.pop_back();
    }
    undo_to_mark(mark);
    batch_.SetSavePoint();
    marks_.push_back(mark);
}

void GroupScope::undo_to_mark(const Mark& mark) {
    // Entries are removed newest first, so the entry to remove is always the newest of its bucket.
    while (pending_.size() > mark.pending) {
        const Pending& pending = pending_.back();
        DCHECK(buckets_[pending.bucket] == pending_.size() - 1);
        buckets_[pending.bucket] = pending.next;
        pending_.pop_back();
    }
    index_changes_.resize(mark.index_changes, {0, 0});
    deltas_.resize(mark.index_changes);
    counts_.resize(mark.counts);
    retired_.resize(mark.retired);
}

}  // namespace orrery::storage::detail
