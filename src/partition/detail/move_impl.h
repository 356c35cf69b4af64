#pragma once

#include <array>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "partition/detail/partition_impl.h"
#include "partition/move.h"
#include "storage/bulk_load.h"

namespace orrery::partition::detail {

/// An item that changed between two views, from the first log record that says so.
struct ChangedItem {
    size_t source = 0;
    size_t target = 0;
    storage::Docref docref;
    std::string_view epk;
    std::string_view id;
    std::string_view record_key;                                ///< in the source's log
    IndexingDirective directive = IndexingDirective::kDefault;  ///< of the version before
};

/// Keys of the targets, sorted, and what becomes of them.
struct Changes {
    using Keys = std::map<std::string, std::optional<std::string>>;  ///< none: removed
    std::array<Keys, storage::kFamilyCount> families;
    struct Target {
        storage::IndexDelta index;
        storage::Count totals;
        std::map<std::string, storage::Count> logical;  ///< growth, by EPK
        bool touched = false;
    };
    std::vector<Target> targets;
    size_t bytes = 0;

    Keys& of(storage::Family family) { return families[static_cast<size_t>(family)]; }
    void set(storage::Family family, std::string key, std::optional<std::string> value);
};

class MoveImpl final : public PartitionMove {
public:
    MoveImpl(Plan plan, const Partition::Deps& deps);
    ~MoveImpl() override { abandon(); }

    Status copy() override;
    Result<uint64_t> catch_up() override;
    Status open() override;
    Result<uint64_t> follow() override;
    void pace(uint64_t records) override { pace_ = records; }
    Result<bool> close(uint64_t records_max) override;
    Status prepare() override;
    void write(storage::CommitScope& scope) override;
    void begin_switch() override;
    void finish() override;
    size_t bytes_to_write() const override { return rest_.bytes; }
    void abandon() override;
    int64_t pause_us() const override { return resumed_us_ - closed_us_; }
    uint64_t pause_records() const override { return pause_records_; }
    const std::vector<std::shared_ptr<Partition>>& targets() const override { return opened_; }

private:
    // move_copy.cc
    size_t target_of(std::string_view epk) const;
    size_t target_of_docref(std::string_view docref) const;
    std::string_view key_in(size_t target, std::string_view suffix);
    Status note(size_t bytes);
    class Lane;
    Status find_strays();
    size_t docref_bytes() const;
    Status copy_index(Lane& lane);
    Status copy_data(Lane& lane);
    Status copy_counts(Lane& lane);
    Status hold_logs();

    // move_tail.cc
    /// What `view` shows and the files do not. `flush`: called when there is much of it. Returns
    /// the number of log records.
    Result<uint64_t> collect(const storage::View& view, Changes& changes,
                             const std::function<Status()>& flush);
    Status add_record(const storage::View& view, size_t source, std::string_view key,
                      std::string_view value, Changes& changes);
    Status add_item(const storage::View& view, const ChangedItem& item, Changes& changes);
    Status take(const storage::View& view, storage::Family family, size_t target,
                const std::string& source_key, Changes& changes) const;
    Status load(const storage::View& view, Changes& changes);
    Status see(const storage::ViewPtr& view);
    Changes no_changes() const;
    /// Keys and index entries of a round; its counts are added to `growth_`.
    void write_round(storage::CommitScope& scope, Changes& changes, storage::Lsn covered);
    /// Waits for the round that is being written.
    Status round_written();

    const Plan plan_;
    const Partition::Deps deps_;
    std::vector<std::shared_ptr<PartitionImpl>> sources_;
    SettingsStatePtr settings_;
    std::vector<std::string> prefixes_;  ///< of the targets' keys
    std::vector<std::string> borders_;   ///< docref prefix at the end of each target but the last
    /// Items whose docref does not tell the target: hash prefixes may be shared.
    std::set<std::string, std::less<>> strays_;
    std::string key_;

    storage::ViewPtr view_;               ///< what the targets hold, or will with the last round
    std::vector<storage::Lsn> lsns_;      ///< of each source in that view
    std::vector<storage::Lsn> in_files_;  ///< of each source, what the files hold
    std::vector<storage::Count> totals_;  ///< of each target in the files
    bool closed_ = false;
    bool finished_ = false;
    bool ttl_complete_ = true;  ///< of all sources, when the copy was made
    uint64_t pace_ = 0;         ///< 0: writers are as fast as they like
    double records_per_lsn_ = 1;
    int64_t closed_us_ = 0;
    int64_t resumed_us_ = 0;
    uint64_t pause_records_ = 0;
    class RoundCommit;
    std::future<Status> round_;     ///< being written
    CommitState last_;              ///< of the sources, once closed
    storage::Lsn log_trimmed_ = 0;  ///< of all sources, when the copy was made
    Birth birth_;
    std::vector<Changes::Target> growth_;  ///< counts of the rounds; the switch writes them
    Changes rest_;                         ///< the last round, for the switch
    std::vector<std::shared_ptr<Partition>> opened_;
    std::vector<std::shared_ptr<PartitionImpl>> successors_;
};

}  // namespace orrery::partition::detail
