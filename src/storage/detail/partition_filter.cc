#include "storage/detail/partition_filter.h"

#include <algorithm>

#include "base/bytes.h"
#include "storage/detail/own_keys.h"

namespace orrery::storage::detail {
namespace {

class KeyFilter final : public rocksdb::CompactionFilter {
public:
    KeyFilter(Family family, PartitionFilter::Limits limits)
        : family_(family), limits_(std::move(limits)) {}

    const char* Name() const override { return "orrery.partition"; }

    bool Filter(int /*level*/, const rocksdb::Slice& key, const rocksdb::Slice& value,
                std::string* /*new_value*/, bool* /*value_changed*/) const override {
        if (key.size() < 4) return false;
        const PartitionId partition = load_u32_be(key.data());
        if (partition == 0) return false;
        // Keys come in partition order: one lookup per partition, not per key.
        if (partition != partition_) enter(partition);
        if (purged_) return true;
        if (family_ == Family::kImages) {
            return key.size() >= 12 && load_u64_be(key.data() + 4) <= image_limit_;
        }
        if (family_ == Family::kIndex && !value.empty() && key.size() >= 12 &&
            load_u64_be(key.data() + 4) < keys::kReservedPathHashes) {
            const auto counter = decode_counter({value.data(), value.size()});
            return counter && counter->table < limits_.zero_counters_before_table &&
                   counter->count.items == 0 && counter->count.bytes == 0;
        }
        return false;
    }

private:
    void enter(PartitionId partition) const {
        partition_ = partition;
        purged_ = limits_.purged.contains(partition);
        const auto it = limits_.images.find(partition);
        image_limit_ = it == limits_.images.end() ? 0 : it->second;
    }

    const Family family_;
    const PartitionFilter::Limits limits_;
    mutable PartitionId partition_ = 0;
    mutable bool purged_ = false;
    mutable Lsn image_limit_ = 0;
};

class Factory final : public rocksdb::CompactionFilterFactory {
public:
    Factory(Family family, std::shared_ptr<const PartitionFilter> filter)
        : family_(family), filter_(std::move(filter)) {}

    const char* Name() const override { return "orrery.partition.factory"; }

    /// Most images are short-lived: dropping them at flush avoids writing them.
    bool ShouldFilterTableFileCreation(rocksdb::TableFileCreationReason reason) const override {
        return reason == rocksdb::TableFileCreationReason::kCompaction ||
               (family_ == Family::kImages && reason == rocksdb::TableFileCreationReason::kFlush);
    }

    std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
        const rocksdb::CompactionFilter::Context& /*context*/) override {
        return std::make_unique<KeyFilter>(family_, filter_->limits());
    }

private:
    const Family family_;
    const std::shared_ptr<const PartitionFilter> filter_;
};

}  // namespace

void PartitionFilter::enable() {
    const std::lock_guard lock(mutex_);
    enabled_ = true;
}

void PartitionFilter::set_image_horizon(PartitionId partition, Lsn lsn) {
    const std::lock_guard lock(mutex_);
    horizons_[partition] = lsn;
}

void PartitionFilter::set_covered(PartitionId partition, Lsn lsn) {
    const std::lock_guard lock(mutex_);
    Lsn& covered = covered_[partition];
    covered = std::max(covered, lsn);
}

Lsn PartitionFilter::covered(PartitionId partition) const {
    const std::lock_guard lock(mutex_);
    const auto found = covered_.find(partition);
    return found == covered_.end() ? 0 : found->second;
}

void PartitionFilter::set_first_table(uint64_t table) {
    const std::lock_guard lock(mutex_);
    first_table_ = table;
}

void PartitionFilter::retire(PartitionId partition) {
    const std::lock_guard lock(mutex_);
    retired_.insert(partition);
}

bool PartitionFilter::is_retired(PartitionId partition) const {
    const std::lock_guard lock(mutex_);
    return retired_.contains(partition);
}

void PartitionFilter::purge(PartitionId partition) {
    const std::lock_guard lock(mutex_);
    purged_.insert(partition);
}

void PartitionFilter::forget(PartitionId partition) {
    const std::lock_guard lock(mutex_);
    purged_.erase(partition);
    horizons_.erase(partition);
    covered_.erase(partition);
}

PartitionFilter::Limits PartitionFilter::limits() const {
    const std::lock_guard lock(mutex_);
    Limits limits;
    if (!enabled_) return limits;
    limits.purged = purged_;
    limits.images = covered_;
    for (auto& [partition, lsn] : limits.images) {
        const auto horizon = horizons_.find(partition);
        if (horizon != horizons_.end()) lsn = std::min(lsn, horizon->second);
    }
    limits.zero_counters_before_table = first_table_;
    return limits;
}

std::shared_ptr<rocksdb::CompactionFilterFactory> filter_factory(
    Family family, std::shared_ptr<const PartitionFilter> filter) {
    return std::make_shared<Factory>(family, std::move(filter));
}

}  // namespace orrery::storage::detail
