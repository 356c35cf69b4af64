#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "storage/detail/database.h"
#include "storage/detail/run.h"
#include "storage/light_view.h"
#include "storage/store.h"

namespace orrery::storage::detail {

class ViewImpl;

/// Every View is one of these.
class ViewBase : public View {
public:
    virtual const ViewImpl& impl() const = 0;
    virtual ReadBudget* budget() const = 0;  ///< null: none
};

/// Immutable.
class ViewImpl final : public ViewBase, public std::enable_shared_from_this<ViewImpl> {
public:
    /// Takes a snapshot of the database as it is now. `runs` oldest first.
    ViewImpl(std::shared_ptr<Database> database, std::vector<RunPtr> runs, uint64_t commit_number);
    ~ViewImpl() override;
    ViewImpl(const ViewImpl&) = delete;
    ViewImpl& operator=(const ViewImpl&) = delete;

    const ViewImpl& impl() const override { return *this; }
    ReadBudget* budget() const override { return nullptr; }
    uint64_t commit_number() const override { return commit_number_; }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        return read(family, key, nullptr);
    }
    Result<std::optional<std::string>> get_in_memory(Family family, std::string_view key,
                                                     bool& missed) const override;
    Result<std::vector<std::optional<std::string>>> multi_get(
        Family family, const std::vector<std::string>& keys) const override {
        return read_many(family, keys, nullptr);
    }
    std::unique_ptr<Cursor> scan(Family family, std::string_view begin, std::string_view end,
                                 Direction direction) const override {
        return cursor({family, begin, end, direction, nullptr});
    }
    Result<Count> count(std::string_view counter_key) const override {
        return sum(counter_key, nullptr);
    }
    Status each_count(
        std::string_view begin, std::string_view end,
        const std::function<Status(std::string_view key, const Count& sum)>& use) const override;

    size_t run_count() const { return runs_.size(); }
    rocksdb::SequenceNumber sequence() const { return snapshot_->GetSequenceNumber(); }

    ViewPtr with_budget(ReadBudget& budget) const;
    // The same with a budget; null: none.
    Result<std::optional<std::string>> read(Family family, std::string_view key,
                                            ReadBudget* budget) const;
    Result<std::vector<std::optional<std::string>>> read_many(Family family,
                                                              const std::vector<std::string>& keys,
                                                              ReadBudget* budget) const;
    /// Not for kIndex. The keys that are there have a status of ok.
    Status pin_many(Family family, const std::vector<std::string>& keys, ReadBudget* budget,
                    std::vector<rocksdb::PinnableSlice>& values,
                    std::vector<rocksdb::Status>& statuses) const;
    Result<Count> sum(std::string_view counter_key, ReadBudget* budget) const;
    Result<std::optional<TermCounts>> counts(std::string_view path, size_t docref_bytes,
                                             std::string_view begin, std::string_view end,
                                             uint64_t cost, ReadBudget* budget) const;
    struct Range {
        Family family;
        std::string_view begin;
        std::string_view end;
        Direction direction;
        ReadBudget* budget;
        /// Of the term prefix that all keys have (term_prefix.h). 0: none, or not looked for.
        size_t term_bytes = 0;
    };
    std::unique_ptr<Cursor> cursor(Range range) const;

    const Database& database() const { return *database_; }
    const std::vector<RunPtr>& runs() const { return runs_; }
    rocksdb::ReadOptions read_options(const ReadBudget* budget) const;
    /// What the snapshot has of `index`.
    const Database::IndexFiles& index_files() const { return index_files_; }

private:
    Result<std::optional<std::string>> get_disk(Family family, std::string_view key,
                                                ReadBudget* budget) const;
    Result<std::optional<std::string>> get_index(std::string_view key, ReadBudget* budget) const;
    Result<std::shared_ptr<const TermColumn>> make_column(std::string_view path,
                                                          size_t docref_bytes, uint64_t cost) const;

    const std::shared_ptr<Database> database_;
    Database::IndexFiles index_files_;
    const rocksdb::Snapshot* const snapshot_;
    const std::vector<RunPtr> runs_;
    const uint64_t commit_number_;
};

/// A range of one family of the view; for kIndex merged with the view's runs. Keeps the view.
std::unique_ptr<Cursor> make_cursor(std::shared_ptr<const ViewImpl> view,
                                    const ViewImpl::Range& range);
/// kIndex without the runs.
std::unique_ptr<Cursor> make_disk_cursor(std::shared_ptr<const ViewImpl> view,
                                         const ViewImpl::Range& range);

/// The error of a read beyond its budget. It never leaves the module.
Error over_budget();

// Steps of a ReadBudget.
inline constexpr uint64_t kSearchSteps = 16;
inline constexpr uint64_t kGetSteps = 16;
inline constexpr size_t kBytesPerStep = 1024;

}  // namespace orrery::storage::detail
