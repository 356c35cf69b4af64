#include "storage/detail/view.h"

#include "base/errors.h"
#include "storage/detail/own_keys.h"

namespace orrery::storage::detail {

ViewImpl::ViewImpl(std::shared_ptr<Database> database, std::vector<RunPtr> runs,
                   uint64_t commit_number)
    : database_(std::move(database)),
      snapshot_(database_->db().GetSnapshot()),
      runs_(std::move(runs)),
      commit_number_(commit_number) {}

ViewImpl::~ViewImpl() {
    database_->db().ReleaseSnapshot(snapshot_);
    database_->view_released();
}

rocksdb::ReadOptions ViewImpl::read_options() const {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    return options;
}

Result<std::optional<std::string>> ViewImpl::get(Family family, std::string_view key) const {
    if (family == Family::kIndex) return get_index(key);
    return database_->get(read_options(), family, key);
}

Result<std::optional<std::string>> ViewImpl::get_in_memory(Family family, std::string_view key,
                                                           bool& missed) const {
    CHECK(family != Family::kIndex);
    rocksdb::ReadOptions options = read_options();
    options.read_tier = rocksdb::kBlockCacheTier;
    return database_->get(options, family, key, &missed);
}

Result<std::optional<std::string>> ViewImpl::get_index(std::string_view key) const {
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
    return database_->get(read_options(), Family::kIndex, key);
}

Result<std::vector<std::optional<std::string>>> ViewImpl::multi_get(
    Family family, const std::vector<std::string>& keys) const {
    std::vector<std::optional<std::string>> out(keys.size());
    if (family == Family::kIndex) {
        for (size_t i = 0; i < keys.size(); ++i) {
            TRY(out[i], get_index(keys[i]));
        }
        return out;
    }
    std::vector<rocksdb::Slice> slices;
    slices.reserve(keys.size());
    for (const std::string& key : keys) slices.push_back(slice(key));
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    database_->db().MultiGet(read_options(), database_->family(family), keys.size(), slices.data(),
                             values.data(), statuses.data());
    for (size_t i = 0; i < keys.size(); ++i) {
        if (statuses[i].ok()) {
            out[i].emplace(values[i].data(), values[i].size());
        } else if (!statuses[i].IsNotFound()) {
            return errors::internal(database_->explain(statuses[i]));
        }
    }
    return out;
}

std::unique_ptr<Cursor> ViewImpl::scan(Family family, std::string_view begin, std::string_view end,
                                       Direction direction) const {
    return make_cursor(shared_from_this(), *database_, read_options(), family, runs_, begin, end,
                       direction);
}

/// The sum on disk says up to which table it counts. So a snapshot taken while a table is being
/// ingested, which may or may not have it, still counts every change once.
Result<Count> ViewImpl::count(std::string_view counter_key) const {
    TRY(const std::optional<std::string> value,
        database_->get(read_options(), Family::kIndex, counter_key));
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

}  // namespace orrery::storage::detail
