#include "storage/detail/view.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "storage/detail/own_keys.h"
#include "storage/detail/term_prefix.h"

namespace orrery::storage::detail {
namespace {

/// A view that reads within a budget. The work is done by the view behind it.
class BudgetView final : public ViewBase {
public:
    BudgetView(std::shared_ptr<const ViewImpl> view, ReadBudget& budget)
        : view_(std::move(view)), budget_(&budget) {}

    const ViewImpl& impl() const override { return *view_; }
    ReadBudget* budget() const override { return budget_; }
    uint64_t commit_number() const override { return view_->commit_number(); }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return view_->read(family, key, budget_);
    }
    Result<std::optional<std::string>> get_in_memory(Family family, std::string_view key,
                                                     bool& missed) const override {
        return view_->get_in_memory(family, key, missed);
    }
    Result<std::vector<std::optional<std::string>>> multi_get(
        Family family, const std::vector<std::string>& keys) const override {
        return view_->read_many(family, keys, budget_);
    }
    std::unique_ptr<Cursor> scan(Family family, std::string_view begin, std::string_view end,
                                 Direction direction) const override {
        return view_->cursor({family, begin, end, direction, budget_});
    }
    Result<Count> count(std::string_view counter_key) const override {
        return view_->sum(counter_key, budget_);
    }
    Status each_count(
        std::string_view begin, std::string_view end,
        const std::function<Status(std::string_view key, const Count& sum)>& use) const override {
        return view_->each_count(begin, end, use);
    }

private:
    const std::shared_ptr<const ViewImpl> view_;
    ReadBudget* const budget_;
};

}  // namespace

Error over_budget() {
    return errors::internal("A read went beyond its budget.");
}

ViewImpl::ViewImpl(std::shared_ptr<Database> database, std::vector<RunPtr> runs,
                   uint64_t commit_number)
    : database_(std::move(database)),
      snapshot_(database_->take_snapshot(index_files_)),
      runs_(std::move(runs)),
      commit_number_(commit_number) {}

ViewImpl::~ViewImpl() {
    database_->db().ReleaseSnapshot(snapshot_);
    database_->view_released();
}

rocksdb::ReadOptions ViewImpl::read_options(const ReadBudget* budget) const {
    stop_counting();
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    if (budget != nullptr) options.read_tier = rocksdb::kBlockCacheTier;
    return options;
}

ViewPtr ViewImpl::with_budget(ReadBudget& budget) const {
    return std::make_shared<BudgetView>(shared_from_this(), budget);
}

Result<std::optional<std::string>> ViewImpl::get_disk(Family family, std::string_view key,
                                                      ReadBudget* budget) const {
    if (budget == nullptr) return database_->get(read_options(nullptr), family, key);
    if (!budget->spend(kGetSteps)) return over_budget();
    bool missed = false;
    TRY(auto value, database_->get(read_options(budget), family, key, &missed));
    if (missed || (value && !budget->spend(value->size() / kBytesPerStep))) {
        budget->exceeded = true;
        return over_budget();
    }
    return value;
}

Result<std::optional<std::string>> ViewImpl::read(Family family, std::string_view key,
                                                  ReadBudget* budget) const {
    return family == Family::kIndex ? get_index(key, budget) : get_disk(family, key, budget);
}

Result<std::optional<std::string>> ViewImpl::get_in_memory(Family family, std::string_view key,
                                                           bool& missed) const {
    CHECK(family != Family::kIndex);
    rocksdb::ReadOptions options = read_options(nullptr);
    options.read_tier = rocksdb::kBlockCacheTier;
    return database_->get(options, family, key, &missed);
}

Result<std::optional<std::string>> ViewImpl::get_index(std::string_view key,
                                                       ReadBudget* budget) const {
    for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
        const size_t i = (*run)->lower_bound(key);
        if (i == (*run)->size() || (*run)->key(i) != key) continue;
        switch ((*run)->change(i)) {
            case Run::Change::kRemove:
                return std::optional<std::string>();
            case Run::Change::kAdd:
                return std::optional<std::string>(std::string());
            case Run::Change::kAddPartial:
                return std::optional<std::string>(std::string(kPartialTerm));
        }
    }
    return get_disk(Family::kIndex, key, budget);
}

Result<std::vector<std::optional<std::string>>> ViewImpl::read_many(
    Family family, const std::vector<std::string>& keys, ReadBudget* budget) const {
    std::vector<std::optional<std::string>> out(keys.size());
    if (family == Family::kIndex) {
        for (size_t i = 0; i < keys.size(); ++i) {
            TRY(out[i], get_index(keys[i], budget));
        }
        return out;
    }
    std::vector<rocksdb::PinnableSlice> values;
    std::vector<rocksdb::Status> statuses;
    TRY_STATUS(pin_many(family, keys, budget, values, statuses));
    for (size_t i = 0; i < keys.size(); ++i)
        if (statuses[i].ok()) out[i].emplace(values[i].data(), values[i].size());
    return out;
}

Status ViewImpl::pin_many(Family family, const std::vector<std::string>& keys, ReadBudget* budget,
                          std::vector<rocksdb::PinnableSlice>& values,
                          std::vector<rocksdb::Status>& statuses) const {
    CHECK(family != Family::kIndex);
    if (budget != nullptr && !budget->spend(kGetSteps * keys.size())) return Status(over_budget());
    for (rocksdb::PinnableSlice& value : values) value.Reset();
    if (values.size() < keys.size()) values = std::vector<rocksdb::PinnableSlice>(keys.size());
    statuses.assign(keys.size(), rocksdb::Status());
    if (keys.size() == 1) {
        statuses[0] = database_->db().Get(read_options(budget), database_->family(family),
                                          slice(keys[0]), values.data());
    } else {
        std::vector<rocksdb::Slice> slices;
        slices.reserve(keys.size());
        for (const std::string& key : keys) slices.push_back(slice(key));
        database_->db().MultiGet(read_options(budget), database_->family(family), keys.size(),
                                 slices.data(), values.data(), statuses.data(),
                                 std::is_sorted(keys.begin(), keys.end()));
    }
    for (size_t i = 0; i < keys.size(); ++i) {
        // Values of these families are never empty: an empty one means that a file is not open.
        const bool unread = budget != nullptr &&
                            (statuses[i].IsIncomplete() || (statuses[i].ok() && values[i].empty()));
        if (unread) budget->exceeded = true;
        if (unread || (budget != nullptr && statuses[i].ok() &&
                       !budget->spend(values[i].size() / kBytesPerStep)))
            return Status(over_budget());
        if (!statuses[i].ok() && !statuses[i].IsNotFound())
            return Status(errors::internal(database_->explain(statuses[i])));
    }
    return {};
}

std::unique_ptr<Cursor> ViewImpl::cursor(Range range) const {
    // Files without the term are skipped. A backward walk needs every file.
    if (range.family == Family::kIndex && range.direction == Direction::kForward)
        range.term_bytes = shared_term_bytes(range.begin, range.end);
    return make_cursor(shared_from_this(), range);
}

/// The sum on disk says up to which table it counts. So a snapshot taken while a table is being
/// ingested, which may or may not have it, still counts every change once.
Result<Count> ViewImpl::sum(std::string_view counter_key, ReadBudget* budget) const {
    TRY(const std::optional<std::string> value, get_disk(Family::kIndex, counter_key, budget));
    StoredCounter stored;
    if (value) {
        const std::optional<StoredCounter> decoded = decode_counter(*value);
        if (!decoded)
            return errors::internal("A counter in the index is damaged. Run `orrery check`.");
        stored = *decoded;
    }
    Count sum = stored.count;
    for (const RunPtr& run : runs_) {
        if (run->table() <= stored.table) continue;
        const Count change = run->counter(counter_key);
        sum.items += change.items;
        sum.bytes += change.bytes;
    }
    return sum;
}

Result<std::optional<TermCounts>> ViewImpl::counts(std::string_view path, size_t docref_bytes,
                                                   std::string_view begin, std::string_view end,
                                                   uint64_t cost, ReadBudget* budget) const {
    // While a table is being ingested, it is not known whether the snapshot has its entries.
    if (index_files_.generation == 0) return std::optional<TermCounts>();
    TermColumns& columns = database_->term_columns();
    TermCounts out;
    out.column = columns.find(path, index_files_.table);
    if (out.column == nullptr) {
        if (budget != nullptr) {
            if (!columns.is_worthwhile(path, cost)) return std::optional<TermCounts>();
            budget->exceeded = true;  // who may wait will make it
            return over_budget();
        }
        if (!columns.claim(path, cost)) return std::optional<TermCounts>();
        TRY(out.column, make_column(path, docref_bytes, cost));
        if (out.column == nullptr) return std::optional<TermCounts>();
    }
    std::vector<const Run*> newer;
    for (const RunPtr& run : runs_)
        if (run->table() > index_files_.table) newer.push_back(run.get());
    auto changes = count_changes(newer, path, begin, end, docref_bytes);
    if (!changes) return std::optional<TermCounts>();
    out.changes = std::move(*changes);
    out.first = begin.empty() ? 0 : out.column->lower_bound(begin);
    out.last = end.empty() ? out.column->size() : out.column->lower_bound(end);
    if (budget != nullptr && !budget->spend(out.changes.size() + out.last - out.first))
        return over_budget();
    return std::optional<TermCounts>(std::move(out));
}

/// Null: larger than the cache may hold.
Result<std::shared_ptr<const TermColumn>> ViewImpl::make_column(std::string_view path,
                                                                size_t docref_bytes,
                                                                uint64_t cost) const {
    TermColumns& columns = database_->term_columns();
    const size_t bytes_max = columns.column_bytes_max();
    auto column = std::make_shared<TermColumn>();
    const std::string end = prefix_successor(path);
    const auto disk = make_disk_cursor(shared_from_this(),
                                       {Family::kIndex, path, end, Direction::kForward, nullptr});
    std::string term;
    uint64_t count = 0;
    bool partial = false;
    for (; disk->valid(); disk->next()) {
        const std::string_view rest = disk->key().substr(path.size());
        if (rest.size() <= docref_bytes) return errors::internal("An index key is damaged.");
        const std::string_view found = rest.substr(0, rest.size() - docref_bytes);
        if (found != term || count == 0) {
            if (count > 0) column->append(term, count, partial);
            if (column->bytes().size() + 8 * column->size() > bytes_max) {
                columns.refuse(path, cost);
                return std::shared_ptr<const TermColumn>();
            }
            term.assign(found);
            count = 0;
            partial = false;
        }
        ++count;
        partial |= !disk->value().empty();
    }
    TRY_STATUS(disk->status());
    if (count > 0) column->append(term, count, partial);
    column->shrink();
    columns.insert(path, {index_files_.table, docref_bytes, column});
    return std::shared_ptr<const TermColumn>(std::move(column));
}

Status ViewImpl::each_count(
    std::string_view begin, std::string_view end,
    const std::function<Status(std::string_view key, const Count& sum)>& use) const {
    // What the runs add is bounded by the size of the tables in memory.
    std::map<std::string, std::vector<std::pair<uint64_t, Count>>, std::less<>> changes;
    for (const RunPtr& run : runs_) {
        const CounterSums& counters = run->counters();
        auto it =
            std::lower_bound(counters.begin(), counters.end(), begin,
                             [](const auto& entry, std::string_view k) { return entry.first < k; });
        for (; it != counters.end() && it->first < end; ++it)
            changes[it->first].emplace_back(run->table(), it->second);
    }
    const auto total = [](Count sum, uint64_t table, const auto& added) {
        for (const auto& [run_table, change] : added) {
            if (run_table <= table) continue;
            sum.items += change.items;
            sum.bytes += change.bytes;
        }
        return sum;
    };
    rocksdb::ReadOptions options = walk_options(read_options(nullptr));
    options.total_order_seek = true;
    const rocksdb::Slice lower = slice(begin);
    const rocksdb::Slice upper = slice(end);
    options.iterate_lower_bound = &lower;
    options.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> disk(
        database_->db().NewIterator(options, database_->family(Family::kIndex)));
    auto next = changes.begin();
    for (disk->SeekToFirst(); disk->Valid(); disk->Next()) {
        const std::string_view key = view_of(disk->key());
        for (; next != changes.end() && next->first < key; ++next)
            TRY_STATUS(use(next->first, total({}, 0, next->second)));
        const std::optional<StoredCounter> stored = decode_counter(view_of(disk->value()));
        if (!stored)
            return Status(
                errors::internal("A counter in the index is damaged. Run `orrery check`."));
        if (next != changes.end() && next->first == key) {
            TRY_STATUS(use(key, total(stored->count, stored->table, next->second)));
            ++next;
        } else {
            TRY_STATUS(use(key, stored->count));
        }
    }
    if (!disk->status().ok()) return Status(errors::internal(database_->explain(disk->status())));
    for (; next != changes.end(); ++next) TRY_STATUS(use(next->first, total({}, 0, next->second)));
    return {};
}

}  // namespace orrery::storage::detail

namespace orrery::storage {
namespace {

const detail::ViewBase& base(const View& view) {
    return static_cast<const detail::ViewBase&>(view);
}

class PinnedValuesImpl final : public PinnedValues {
public:
    Status read(const View& view, Family family, const std::vector<std::string>& keys) override {
        return base(view).impl().pin_many(family, keys, base(view).budget(), values_, statuses_);
    }
    std::optional<std::string_view> at(size_t i) const override {
        if (!statuses_[i].ok()) return std::nullopt;
        return detail::view_of(values_[i]);
    }

private:
    std::vector<rocksdb::PinnableSlice> values_;
    std::vector<rocksdb::Status> statuses_;
};

}  // namespace

ViewPtr in_memory(const View& view, ReadBudget& budget) {
    return base(view).impl().with_budget(budget);
}

ReadBudget* budget_of(const View& view) {
    return base(view).budget();
}

std::unique_ptr<PinnedValues> PinnedValues::make() {
    return std::make_unique<PinnedValuesImpl>();
}

Result<std::optional<TermCounts>> term_counts(const View& view, std::string_view path,
                                              size_t docref_bytes, std::string_view begin,
                                              std::string_view end, uint64_t cost) {
    return base(view).impl().counts(path, docref_bytes, begin, end, cost, base(view).budget());
}

void note_walk(const View& view, std::string_view path, uint64_t entries) {
    base(view).impl().database().term_columns().note_walk(path, entries);
}

}  // namespace orrery::storage
