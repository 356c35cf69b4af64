#include "partition/move.h"

#include <algorithm>
#include <future>

#include "base/errors.h"
#include "partition/detail/move_impl.h"

namespace orrery::partition {

std::unique_ptr<PartitionMove> PartitionMove::create(Plan plan, const Partition::Deps& deps) {
    return std::make_unique<detail::MoveImpl>(std::move(plan), deps);
}

}  // namespace orrery::partition

namespace orrery::partition::detail {
namespace {

using storage::Family;

/// Closes partitions to writers at one place of the commit order, unless one has gone further than
/// its limit.
class CloseCommit final : public storage::CommitOperation {
public:
    CloseCommit(const std::vector<std::shared_ptr<PartitionImpl>>& partitions,
                std::vector<storage::Lsn> limits)
        : partitions_(partitions), limits_(std::move(limits)) {}
    /// When they were closed; 0: they were not.
    std::future<Result<int64_t>> done() { return done_.get_future(); }
    bool decide(storage::CommitScope&) override {
        for (size_t i = 0; i < partitions_.size(); ++i)
            if (partitions_[i]->commit_state().lsn > limits_[i]) return false;
        for (const auto& partition : partitions_) partition->close_to_writers();
        closed_us_ = partitions_.front()->deps().clock.monotonic_us();
        return false;
    }
    void complete(Status status) override {
        if (status.ok())
            done_.set_value(closed_us_);
        else
            done_.set_value(std::move(status));
    }
    size_t bytes() const override { return 0; }

private:
    const std::vector<std::shared_ptr<PartitionImpl>> partitions_;
    const std::vector<storage::Lsn> limits_;
    int64_t closed_us_ = 0;
    std::promise<Result<int64_t>> done_;
};

}  // namespace

MoveImpl::MoveImpl(Plan plan, const Partition::Deps& deps) : plan_(std::move(plan)), deps_(deps) {
    CHECK(!plan_.sources.empty() && !plan_.targets.empty());
    for (const auto& source : plan_.sources)
        sources_.push_back(std::static_pointer_cast<PartitionImpl>(source));
    settings_ = make_settings_state(plan_.settings);
    CHECK(!settings_->changing());
    rest_ = no_changes();
    growth_.resize(plan_.targets.size());
    for (size_t i = 0; i < plan_.targets.size(); ++i) {
        prefixes_.push_back(storage::keys::partition(plan_.targets[i].id));
        if (i + 1 < plan_.targets.size())
            borders_.push_back(docref_prefix(plan_.settings->key, plan_.targets[i].range.max));
    }
}

/// This counts LSNs; one LSN may have several records.
Result<bool> MoveImpl::close(uint64_t records_max) {
    constexpr double kAheadMax = 1e18;  // there are not so many LSNs
    const auto ahead = static_cast<storage::Lsn>(
        std::clamp(static_cast<double>(records_max) / records_per_lsn_, 1.0, kAheadMax));
    std::vector<storage::Lsn> limits;
    for (const storage::Lsn lsn : lsns_) limits.push_back(lsn + ahead);
    auto commit = std::make_unique<CloseCommit>(sources_, std::move(limits));
    std::future<Result<int64_t>> done = commit->done();
    // If the move fails, abandon() opens them again.
    closed_ = true;
    deps_.store.submit(std::move(commit));
    TRY(closed_us_, done.get());
    closed_ = closed_us_ != 0;
    return closed_;
}

Status MoveImpl::open() {
    opened_.clear();
    successors_.clear();
    for (const PartitionIdentity& identity : plan_.targets) {
        TRY(auto partition, Partition::open(identity, plan_.settings, deps_));
        successors_.push_back(std::static_pointer_cast<PartitionImpl>(partition));
        opened_.push_back(std::move(partition));
    }
    return {};
}

Status MoveImpl::prepare() {
    CHECK(closed_);
    // Nobody writes to the sources: any view from now on shows their last state.
    const storage::ViewPtr view = deps_.store.view();
    TRY(pause_records_, collect(*view, rest_, nullptr));
    TRY_STATUS(round_written());

    last_ = {};
    // Entries filled in since have no log record, so the targets start again.
    last_.ttl_complete = ttl_complete_;
    birth_ = {};
    birth_.merged = sources_.size() > 1;
    for (size_t i = 0; i < sources_.size(); ++i) {
        // The committer does not change the sources any more.
        const CommitState& state = sources_[i]->commit_state();
        last_.lsn = std::max(last_.lsn, state.lsn);
        last_.ts = std::max(last_.ts, state.ts);
        last_.ttl_entries = last_.ttl_entries || state.ttl_entries;
        // All versions are there from where every source has them.
        if ((*settings_)->feed_retention_seconds != 0)
            last_.versions_from =
                std::max(last_.versions_from,
                         state.versions_from != 0 ? state.versions_from : state.lsn + 1);
        birth_.merged = birth_.merged || sources_[i]->birth().merged;
        birth_.parts.push_back({sources_[i]->identity().range.max, in_files_[i]});
    }
    birth_.lsn = last_.lsn;
    birth_.ts = last_.ts;

    for (size_t i = 0; i < successors_.size(); ++i)
        // Nobody knows it yet.
        successors_[i]->begin_from(birth_, last_, log_trimmed_,
                                   growth_[i].totals.bytes + rest_.targets[i].totals.bytes);
    return {};
}

void MoveImpl::write(storage::CommitScope& scope) {
    write_round(scope, rest_, last_.lsn);
    for (size_t i = 0; i < plan_.targets.size(); ++i) {
        const storage::PartitionId id = plan_.targets[i].id;
        scope.put(Family::kMeta, meta_keys::birth(id), encode_birth(birth_));
        if (last_.versions_from != 0)
            scope.put(Family::kMeta, meta_keys::versions_from(id),
                      encode_lsn_note(last_.versions_from));
        if (log_trimmed_ != 0)
            scope.put(Family::kMeta, meta_keys::log_trimmed(id), encode_lsn_note(log_trimmed_));
        if (last_.ttl_complete) scope.put(Family::kMeta, meta_keys::ttl_complete(id), "1");
        const Changes::Target& growth = growth_[i];
        if (!growth.touched) continue;
        scope.count(counter_keys::totals(id), growth.totals);
        for (const auto& [epk, count] : growth.logical)
            scope.count(counter_keys::logical_partition(id, epk), count);
    }
}

void MoveImpl::begin_switch() {
    for (const auto& source : sources_) source->begin_switch();
}

void MoveImpl::finish() {
    finished_ = true;
    for (const auto& source : sources_) source->finish_switch(successors_);
    resumed_us_ = deps_.clock.monotonic_us();
    view_.reset();
}

void MoveImpl::abandon() {
    if (finished_) return;
    // A round refers to this.
    (void)round_written();
    for (const auto& source : sources_) {
        source->release_log();
        source->set_pace(std::nullopt);
    }
    if (!closed_) return;
    closed_ = false;
    for (const auto& source : sources_) source->reopen();
}

}  // namespace orrery::partition::detail
