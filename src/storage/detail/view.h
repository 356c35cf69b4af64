#pragma once

#include <memory>
#include <vector>

#include "storage/detail/database.h"
#include "storage/detail/run.h"
#include "storage/store.h"

namespace orrery::storage::detail {

/// Immutable.
class ViewImpl final : public View, public std::enable_shared_from_this<ViewImpl> {
public:
    /// Takes a snapshot of the database as it is now. `runs` oldest first.
    ViewImpl(std::shared_ptr<Database> database, std::vector<RunPtr> runs, uint64_t commit_number);
    ~ViewImpl() override;
    ViewImpl(const ViewImpl&) = delete;
    ViewImpl& operator=(const ViewImpl&) = delete;

    uint64_t commit_number() const override { return commit_number_; }
    Result<std::optional<std::string>> get(Family family, std::string_view key) const override;
    Result<std::optional<std::string>> get_in_memory(Family family, std::string_view key,
                                                     bool& missed) const override;
    Result<std::vector<std::optional<std::string>>> multi_get(
        Family family, const std::vector<std::string>& keys) const override;
    std::unique_ptr<Cursor> scan(Family family, std::string_view begin, std::string_view end,
                                 Direction direction) const override;
    Result<Count> count(std::string_view counter_key) const override;

    size_t run_count() const { return runs_.size(); }
    rocksdb::SequenceNumber sequence() const { return snapshot_->GetSequenceNumber(); }

private:
    rocksdb::ReadOptions read_options() const;
    Result<std::optional<std::string>> get_index(std::string_view key) const;

    const std::shared_ptr<Database> database_;
    const rocksdb::Snapshot* const snapshot_;
    const std::vector<RunPtr> runs_;
    const uint64_t commit_number_;
};

/// [begin, end) of one family of the view; for kIndex merged with `runs` (oldest first), which
/// `view` keeps alive.
std::unique_ptr<Cursor> make_cursor(std::shared_ptr<const View> view, const Database& database,
                                    const rocksdb::ReadOptions& options, Family family,
                                    const std::vector<RunPtr>& runs, std::string_view begin,
                                    std::string_view end, Direction direction);

}  // namespace orrery::storage::detail
