#include "storage/detail/reclaimer.h"

#include <rocksdb/convenience.h>

#include <algorithm>

namespace orrery::storage::detail {
namespace {

/// Universal compaction rewrites the whole family: do it only where the family is small, or mostly
/// dead.
constexpr uint64_t kSmallIndexBytes = 64ULL << 20;
/// Fewer bytes of images than this are left to ordinary compactions.
constexpr uint64_t kImagesBytesMin = 4ULL << 20;

uint64_t bytes_in(const Database& database, Family family, const std::string& begin,
                  const std::string& end) {
    const rocksdb::Range range(begin, end);
    uint64_t bytes = 0;
    rocksdb::SizeApproximationOptions options;
    options.include_memtables = true;
    options.include_files = true;
    database.db()
        .GetApproximateSizes(options, database.family(family), &range, 1, &bytes)
        .PermitUncheckedError();
    return bytes;
}

bool worth_rewriting(const Database& database, const std::string& begin, const std::string& end) {
    uint64_t total = 0;
    database.db().GetIntProperty(database.family(Family::kIndex),
                                 rocksdb::DB::Properties::kTotalSstFilesSize, &total);
    return total <= kSmallIndexBytes || bytes_in(database, Family::kIndex, begin, end) * 4 >= total;
}

}  // namespace

Reclaimer::Reclaimer(std::shared_ptr<Database> database, std::function<rocksdb::Status()> flush,
                     std::function<void(PartitionId)> on_gone)
    : database_(std::move(database)), flush_(std::move(flush)), on_gone_(std::move(on_gone)) {
    database_->on_view_released([this] {
        const std::lock_guard lock(mutex_);
        if (posted_ || canceled_) return;
        posted_ = true;
        worker_.post([this] { look(); });
    });
}

void Reclaimer::retire(PartitionId partition, rocksdb::SequenceNumber sequence) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({partition, sequence});
    }
    database_->wake_on_release = true;
    database_->view_released();
}

void Reclaimer::reclaim_images(PartitionId partition, Lsn lsn) {
    const std::lock_guard lock(mutex_);
    if (canceled_) return;
    worker_.post([this, partition, lsn] {
        const std::string begin = keys::partition(partition);
        const std::string end =
            keys::log_from(partition, std::min(lsn, database_->filter().covered(partition)) + 1);
        if (bytes_in(*database_, Family::kImages, begin, end) < kImagesBytesMin) return;
        const rocksdb::Slice begin_slice(begin);
        const rocksdb::Slice end_slice(end);
        rocksdb::ColumnFamilyHandle* const handle = database_->family(Family::kImages);
        rocksdb::DeleteFilesInRange(&database_->db(), handle, &begin_slice, &end_slice, false)
            .PermitUncheckedError();
        if (canceled_ || bytes_in(*database_, Family::kImages, begin, end) < kImagesBytesMin)
            return;
        rocksdb::CompactRangeOptions options;
        options.exclusive_manual_compaction = false;
        options.canceled = &canceled_;
        database_->db()
            .CompactRange(options, handle, &begin_slice, &end_slice)
            .PermitUncheckedError();
    });
}

void Reclaimer::stop() {
    canceled_ = true;
    database_->wake_on_release = false;
    database_->on_view_released(nullptr);
    worker_.stop();
}

void Reclaimer::look() {
    uint64_t oldest = 0;
    database_->db().GetIntProperty(rocksdb::DB::Properties::kOldestSnapshotSequence, &oldest);
    std::vector<PartitionId> ready;
    {
        const std::lock_guard lock(mutex_);
        posted_ = false;
        std::erase_if(waiting_, [&](const Dead& dead) {
            if (oldest < dead.sequence) return false;
            ready.push_back(dead.partition);
            return true;
        });
        if (waiting_.empty()) database_->wake_on_release = false;
    }
    if (ready.empty() || !flush_().ok()) return;
    for (const PartitionId partition : ready) reclaim(partition);
}

void Reclaimer::reclaim(PartitionId partition) {
    database_->filter().purge(partition);
    const std::string begin = keys::partition(partition);
    const std::string end =
        partition == UINT32_MAX ? std::string(5, '\xFF') : keys::partition(partition + 1);
    const rocksdb::Slice begin_slice(begin);
    const rocksdb::Slice end_slice(end);
    for (size_t i = 0; i < kFamilyCount && !canceled_; ++i) {
        const auto family = static_cast<Family>(i);
        rocksdb::ColumnFamilyHandle* const handle = database_->family(family);
        rocksdb::DeleteFilesInRange(&database_->db(), handle, &begin_slice, &end_slice, false)
            .PermitUncheckedError();
        if (family == Family::kIndex && !worth_rewriting(*database_, begin, end)) continue;
        rocksdb::CompactRangeOptions options;
        options.exclusive_manual_compaction = false;
        options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
        options.canceled = &canceled_;
        database_->db()
            .CompactRange(options, handle, &begin_slice, &end_slice)
            .PermitUncheckedError();
    }
    if (!canceled_ && !anything_left(partition)) on_gone_(partition);
}

bool Reclaimer::anything_left(PartitionId partition) const {
    const std::string begin = keys::partition(partition);
    for (size_t i = 0; i < kFamilyCount; ++i) {
        rocksdb::ReadOptions options = walk_options();
        options.total_order_seek = true;
        const std::unique_ptr<rocksdb::Iterator> iterator(
            database_->db().NewIterator(options, database_->family(static_cast<Family>(i))));
        iterator->Seek(begin);
        if (!iterator->status().ok()) return true;
        if (iterator->Valid() && iterator->key().starts_with(begin)) return true;
    }
    return false;
}

}  // namespace orrery::storage::detail
