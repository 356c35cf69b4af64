#include "storage/detail/index_tables.h"

#include <algorithm>

namespace orrery::storage::detail {
namespace {

constexpr size_t kMergeWidth = 4;
/// When merges fall behind, merge more runs at once.
constexpr size_t kMergeWidthMax = 12;

}  // namespace

void IndexTables::add(RunPtr run) {
    DCHECK(run->table() == number_);
    if (run->empty()) return;
    bytes_ += run->bytes();
    runs_.push_back({std::move(run), 0});
}

void IndexTables::cover(PartitionId partition, Lsn lsn) {
    Lsn& covered = covered_[partition];
    covered = std::max(covered, lsn);
}

std::optional<RunMerge> IndexTables::pick_merge() {
    if (merging_) return std::nullopt;
    // Look at the newest runs first: small runs are then merged soon, and readers have few runs.
    for (size_t end = runs_.size(); end > 0;) {
        size_t begin = end - 1;
        while (begin > 0 && runs_[begin - 1].level == runs_[end - 1].level) --begin;
        if (end - begin >= kMergeWidth) {
            RunMerge merge;
            merge.level = runs_[begin].level + 1;
            const size_t count = std::min(end - begin, kMergeWidthMax);
            for (size_t i = begin; i < begin + count; ++i) merge.runs.push_back(runs_[i].run);
            merging_ = true;
            return merge;
        }
        end = begin;
    }
    return std::nullopt;
}

void IndexTables::finish_merge(const RunMerge& merge) {
    merging_ = false;
    const auto first = std::find_if(runs_.begin(), runs_.end(), [&](const LevelRun& entry) {
        return entry.run == merge.runs.front();
    });
    if (first == runs_.end()) return;  // frozen meanwhile
    DCHECK(static_cast<size_t>(runs_.end() - first) >= merge.runs.size());
    for (const RunPtr& run : merge.runs) bytes_ -= run->bytes();
    bytes_ += merge.merged->bytes();
    *first = {merge.merged, merge.level};
    runs_.erase(first + 1, first + static_cast<ptrdiff_t>(merge.runs.size()));
}

FrozenTablePtr IndexTables::freeze() {
    auto table = std::make_shared<FrozenTable>();
    table->number = number_++;
    for (LevelRun& entry : runs_) table->runs.push_back(std::move(entry.run));
    table->covered = std::move(covered_);
    runs_.clear();
    covered_.clear();
    bytes_ = 0;
    frozen_.push_back({table->number, table->runs});
    return table;
}

void IndexTables::replace_frozen(uint64_t number, RunPtr merged) {
    for (Frozen& frozen : frozen_) {
        if (frozen.number == number) frozen.runs = {std::move(merged)};
    }
}

void IndexTables::drop_frozen(uint64_t number) {
    CHECK(!frozen_.empty() && frozen_.front().number == number);
    frozen_.pop_front();
}

std::vector<RunPtr> IndexTables::all_runs() const {
    std::vector<RunPtr> all;
    size_t count = runs_.size();
    for (const Frozen& frozen : frozen_) count += frozen.runs.size();
    all.reserve(count);
    for (const Frozen& frozen : frozen_)
        all.insert(all.end(), frozen.runs.begin(), frozen.runs.end());
    for (const LevelRun& entry : runs_) all.push_back(entry.run);
    return all;
}

}  // namespace orrery::storage::detail
