#pragma once

#include <array>
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
    Result<uint64_t> follow() override;
    Status close() override;
    Status prepare() override;
    void write(storage::CommitScope& scope) override;
    void begin_switch() override;
    void finish() override;
    size_t bytes_to_write() const override { return rest_.bytes; }
    void abandon() override;
    const std::vector<std::shared_ptr<Partition>>& targets() const override { return opened_; }

private:
    // move_copy.cc
    size_t target_of(std::string_view epk) const;
    size_t target_of_docref(std::string_view docref) const;
    std::string_view key_in(size_t target, std::string_view suffix);
    Status note(size_t bytes);
    template <typename Target>
    Status copy_family(storage::BulkLoad& load, storage::Family family, Target target);
    Status copy_counts(storage::BulkLoad& load);
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

    const Plan plan_;
    const Partition::Deps deps_;
    std::vector<std::shared_ptr<PartitionImpl>> sources_;
    SettingsStatePtr settings_;
    std::vector<std::string> prefixes_;  ///< of the targets' keys
    std::vector<std::string> borders_;   ///< docref prefix at the end of each target but the last
    /// Items whose docref does not tell the target: hash prefixes may be shared.
    std::set<std::string, std::less<>> strays_;
    std::string key_;
    uint64_t noted_ = 0;

    storage::ViewPtr view_;               ///< what the targets' files and `rest_` hold
    std::vector<storage::Lsn> lsns_;      ///< of each source in that view
    std::vector<storage::Lsn> in_files_;  ///< of each source, what the files hold
    std::vector<storage::Count> totals_;  ///< of each target in the files
    bool closed_ = false;
    bool finished_ = false;
    CommitState last_;              ///< of the sources, once closed
    storage::Lsn log_trimmed_ = 0;  ///< of all sources, when the copy was made
    Birth birth_;
    Changes rest_;  ///< beyond the files; later changes of a key replace earlier ones
    std::vector<std::shared_ptr<Partition>> opened_;
    std::vector<std::shared_ptr<PartitionImpl>> successors_;
};

}  // namespace orrery::partition::detail
