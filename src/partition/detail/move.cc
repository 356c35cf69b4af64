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

/// Closes partitions to writers at one place of the commit order.
class CloseCommit final : public storage::CommitOperation {
public:
    explicit CloseCommit(const std::vector<std::shared_ptr<PartitionImpl>>& partitions)
        : partitions_(partitions) {}
    std::future<Status> done() { return done_.get_future(); }
    bool decide(storage::CommitScope&) override {
        for (const auto& partition : partitions_) partition->close_to_writers();
        return false;
    }
    void complete(Status status) override { done_.set_value(std::move(status)); }
    size_t bytes() const override { return 0; }

private:
    const std::vector<std::shared_ptr<PartitionImpl>> partitions_;
    std::promise<Status> done_;
};

}  // namespace

MoveImpl::MoveImpl(Plan plan, const Partition::Deps& deps) : plan_(std::move(plan)), deps_(deps) {
    CHECK(!plan_.sources.empty() && !plan_.targets.empty());
    for (const auto& source : plan_.sources)
        sources_.push_back(std::static_pointer_cast<PartitionImpl>(source));
    settings_ = make_settings_state(plan_.settings);
    CHECK(!settings_->changing());
    rest_ = no_changes();
    for (size_t i = 0; i < plan_.targets.size(); ++i) {
        prefixes_.push_back(storage::keys::partition(plan_.targets[i].id));
        if (i + 1 < plan_.targets.size())
            borders_.push_back(docref_prefix(plan_.settings->key, plan_.targets[i].range.max));
    }
}

Status MoveImpl::close() {
    auto commit = std::make_unique<CloseCommit>(sources_);
    std::future<Status> done = commit->done();
    closed_ = true;
    deps_.store.submit(std::move(commit));
    return done.get();
}

Status MoveImpl::prepare() {
    CHECK(closed_);
    // Nobody writes to the sources: any view from now on shows their last state.
    const storage::ViewPtr view = deps_.store.view();
    TRY(const uint64_t records, collect(*view, rest_, nullptr));
    (void)records;

    last_ = {};
    last_.ttl_complete = true;
    birth_ = {};
    birth_.merged = sources_.size() > 1;
    for (size_t i = 0; i < sources_.size(); ++i) {
        // The committer's state is at rest.
        const CommitState& state = sources_[i]->commit_state();
        last_.lsn = std::max(last_.lsn, state.lsn);
        last_.ts = std::max(last_.ts, state.ts);
        last_.ttl_entries = last_.ttl_entries || state.ttl_entries;
        last_.ttl_complete = last_.ttl_complete && state.ttl_complete;
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

    opened_.clear();
    successors_.clear();
    for (const PartitionIdentity& identity : plan_.targets) {
        TRY(auto partition, Partition::open(identity, plan_.settings, deps_));
        successors_.push_back(std::static_pointer_cast<PartitionImpl>(partition));
        // Nobody knows it yet.
        successors_.back()->begin_from(birth_, last_, log_trimmed_,
                                       rest_.targets[opened_.size()].totals.bytes);
        opened_.push_back(std::move(partition));
    }
    return {};
}

void MoveImpl::write(storage::CommitScope& scope) {
    for (const Family family :
         {Family::kItems, Family::kIds, Family::kLog, Family::kImages, Family::kTtl}) {
        for (const auto& [key, value] : rest_.of(family)) {
            if (value)
                scope.put(family, key, *value);
            else
                scope.remove(family, key);
        }
    }
    for (size_t i = 0; i < plan_.targets.size(); ++i) {
        const storage::PartitionId id = plan_.targets[i].id;
        Changes::Target& target = rest_.targets[i];
        scope.put(Family::kMeta, meta_keys::birth(id), encode_birth(birth_));
        if (last_.versions_from != 0)
            scope.put(Family::kMeta, meta_keys::versions_from(id),
                      encode_lsn_note(last_.versions_from));
        if (log_trimmed_ != 0)
            scope.put(Family::kMeta, meta_keys::log_trimmed(id), encode_lsn_note(log_trimmed_));
        if (last_.ttl_complete) scope.put(Family::kMeta, meta_keys::ttl_complete(id), "1");
        if (!target.touched) continue;
        target.index.may_repeat();
        scope.index(id, last_.lsn, std::move(target.index));
        scope.count(counter_keys::totals(id), target.totals);
        for (const auto& [epk, growth] : target.logical)
            scope.count(counter_keys::logical_partition(id, epk), growth);
    }
}

void MoveImpl::begin_switch() {
    for (const auto& source : sources_) source->begin_switch();
}

void MoveImpl::finish() {
    finished_ = true;
    for (const auto& source : sources_) source->finish_switch(successors_);
    view_.reset();
}

void MoveImpl::abandon() {
    if (finished_) return;
    for (const auto& source : sources_) source->release_log();
    if (!closed_) return;
    closed_ = false;
    for (const auto& source : sources_) source->reopen();
}

}  // namespace orrery::partition::detail
