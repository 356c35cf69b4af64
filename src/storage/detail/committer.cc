#include "storage/detail/committer.h"

#include <fmt/format.h>
#include <pthread.h>

#include <chrono>
#include <utility>

#include "base/errors.h"
#include "base/log.h"
#include "storage/detail/own_keys.h"

namespace orrery::storage::detail {
namespace {

/// Below this many index entries, waking another thread costs more than sorting.
constexpr size_t kParallelSortEntries = 256;
constexpr size_t kReplayRunsMax = 16;
constexpr auto kFlushLookEvery = std::chrono::milliseconds(1);

}  // namespace

/// Whoever claims it first sorts it: the run worker, or the committer if it returns from the disk
/// and the worker is still busy.
struct Committer::SortJob {
    uint64_t table = 0;
    std::vector<IndexDelta> deltas;
    CounterSums counts;
    std::atomic<bool> claimed{false};
    std::atomic<bool> done{false};
    RunPtr run;

    void work() {
        if (claimed.exchange(true)) return;
        run = sort_run(table, deltas, std::move(counts));
        done.store(true);
        done.notify_one();
    }
};

Committer::Committer(std::shared_ptr<Database> database, Options options)
    : database_(std::move(database)),
      options_(std::move(options)),
      scope_(*database_),
      tables_(options_.first_table),
      group_number_(database_->first_group_number()),
      table_on_disk_(options_.first_table - 1) {
    for (const PartitionId partition : options_.noted) noted_.emplace(partition, 0);
    publish();
}

Committer::~Committer() {
    const Status stopped = stop();
    if (!stopped.ok()) log::error("storage: " + stopped.error().message);
}

void Committer::replay(PartitionId partition, Lsn up_to, IndexDelta delta, CounterSums counts) {
    CHECK(!running_);
    delta.may_repeat();  // what reached the disk before the crash is not known
    std::vector<IndexDelta> deltas;
    deltas.push_back(std::move(delta));
    tables_.add(sort_run(tables_.number(), deltas, std::move(counts)));
    tables_.cover(partition, up_to);
    noted_[partition] = tables_.number();
    while (tables_.all_runs().size() > kReplayRunsMax) {
        std::optional<RunMerge> merge = tables_.pick_merge();
        if (!merge) break;
        merge->merged = merge_runs(merge->runs);
        tables_.finish_merge(*merge);
    }
}

void Committer::start() {
    CHECK(!running_);
    running_ = true;
    notes_changed_ = !noted_.empty();
    publish();
    thread_ = std::thread([this] { run(); });
}

Status Committer::stop() {
    if (stopped_) return {};
    Status flushed;
    if (running_) {
        stopping_ = true;
        queue_.post([this] {
            commit_queued();
            refusing_ = true;
        });
        flushed = flush_index();
        if (flushed.ok()) {
            const rocksdb::Status written = flush_memtables();
            if (!written.ok())
                fail("memory could not be written to disk: " + database_->explain(written));
            flushed = health();
        }
        queue_.post([this] { stopped_ = true; });
        thread_.join();
    }
    stopped_ = true;
    table_worker_.stop();
    run_worker_.stop();
    refuse_queued();
    {
        const std::lock_guard lock(view_mutex_);
        view_.reset();
    }
    return flushed;
}

void Committer::submit(std::unique_ptr<CommitOperation> operation) {
    if (stopping_) {
        refuse(std::move(operation));
        return;
    }
    queue_.push(std::move(operation));
    if (stopped_) refuse_queued();
}

void Committer::refuse_queued() {
    std::deque<std::unique_ptr<CommitOperation>> rest;
    queue_.take(rest);
    for (auto& operation : rest) refuse(std::move(operation));
}

ViewPtr Committer::view() const {
    const std::lock_guard lock(view_mutex_);
    return view_;
}

void Committer::remove_own_keys(std::vector<std::string> keys) {
    queue_.post([this, keys = std::move(keys)] {
        own_keys_to_remove_.insert(own_keys_to_remove_.end(), keys.begin(), keys.end());
        notes_changed_ = true;
    });
}

Status Committer::health() const {
    if (!failed_) return {};
    const std::lock_guard lock(failure_mutex_);
    return Status(errors::storage_read_only(failure_));
}

void Committer::fail(const std::string& why) {
    {
        const std::lock_guard lock(failure_mutex_);
        if (failed_) return;
        failure_ = why;
        failed_ = true;
    }
    log::error("storage: no more writes: " + why);
    queue_.post([this] { check_flush_waiters(); });
}

void Committer::run() {
    pthread_setname_np(pthread_self(), "orrery-commit");
    freeze_when_full();
    while (true) {
        read_mail();
        commit_queued();
        if (notes_changed_) write_notes();
        if (stopped_) break;
        queue_.wait();
    }
    close_calls();
}

void Committer::close_calls() {
    {
        const std::lock_guard lock(calls_mutex_);
        calls_closed_ = true;
    }
    read_mail();
    for (const FlushWaiter& waiter : flush_waiters_) waiter.done->set_value(stopped());
    flush_waiters_.clear();
}

/// What the store answers when its thread is gone.
Status Committer::stopped() const {
    Status status = health();
    if (status.ok()) status = Status(errors::service_unavailable("The server is stopping."));
    return status;
}

rocksdb::Status Committer::call(const std::function<rocksdb::Status()>& task) {
    std::promise<rocksdb::Status> done;
    {
        const std::lock_guard lock(calls_mutex_);
        if (calls_closed_) return rocksdb::Status::ShutdownInProgress();
        queue_.post([&] {
            done.set_value(failed_ ? rocksdb::Status::Aborted("an earlier write failed") : task());
        });
    }
    return done.get_future().get();
}

/// The committer only switches the memtables; the caller waits for the disk.
rocksdb::Status Committer::flush_memtables() {
    rocksdb::FlushOptions options;
    options.wait = false;
    options.allow_write_stall = true;
    // Family by family from where it was: RocksDB sets none aside while it holds writes back.
    for (size_t i = 0; i < kFamilyCount;) {
        rocksdb::Status begun = call([&] {
            rocksdb::Status status;
            for (; i < kFamilyCount; ++i) {
                status = database_->db().Flush(options, database_->family(static_cast<Family>(i)));
                if (!status.ok()) break;
            }
            return status;
        });
        if (begun.IsTryAgain()) begun = wait_for_disk();
        if (!begun.ok()) return begun;
    }
    for (size_t i = 0; i < kFamilyCount;) {
        uint64_t waiting = 0;
        database_->db().GetIntProperty(database_->family(static_cast<Family>(i)),
                                       rocksdb::DB::Properties::kNumImmutableMemTable, &waiting);
        if (waiting == 0) {
            ++i;
            continue;
        }
        rocksdb::Status status = wait_for_disk();
        if (!status.ok()) return status;
    }
    return rocksdb::Status::OK();
}

/// Waits a moment, or until there is nothing to wait for.
rocksdb::Status Committer::wait_for_disk() const {
    uint64_t errors = 0;
    database_->db().GetIntProperty(rocksdb::DB::Properties::kBackgroundErrors, &errors);
    if (errors > 0 || failed_) return rocksdb::Status::IOError("memory could not be written");
    std::this_thread::sleep_for(kFlushLookEvery);
    return rocksdb::Status::OK();
}

rocksdb::Status Committer::sync_wal() {
    if (options_.durability != Durability::kRelaxed || database_->in_memory())
        return rocksdb::Status::OK();
    return call([this] { return database_->db().SyncWAL(); });
}

rocksdb::Status Committer::publish_ingested() {
    return call([this] {
        publish();
        return rocksdb::Status::OK();
    });
}

void Committer::commit_queued() {
    queue_.take(pending_);
    while (!pending_.empty()) {
        commit(next_group());
        freeze_when_full();
        read_mail();
        queue_.take(pending_);
    }
}

void Committer::read_mail() {
    for (const CommitQueue::Mail& mail : queue_.take_mail()) mail();
}

Committer::Group Committer::next_group() {
    Group group;
    size_t bytes = 0;
    while (!pending_.empty()) {
        bytes += pending_.front()->bytes();
        if (!group.empty() && bytes > options_.group_bytes_max) break;
        group.push_back(std::move(pending_.front()));
        pending_.pop_front();
    }
    return group;
}

void Committer::refuse(std::unique_ptr<CommitOperation> operation) {
    operation->complete(stopped());
}

void Committer::commit(Group group) {
    if (failed_ || refusing_) {
        for (auto& operation : group) refuse(std::move(operation));
        return;
    }
    scope_.begin_group(group_number_);
    std::vector<bool> decided(group.size());
    for (size_t i = 0; i < group.size(); ++i) {
        scope_.begin_operation();
        decided[i] = group[i]->decide(scope_);
        scope_.end_operation(decided[i]);
    }
    const bool index_changed = !scope_.index_changes().empty() || !scope_.counts().empty();
    bool written = false;
    if (index_changed || scope_.batch().Count() != 0) {
        add_notes();
        for (size_t i = 0; i < group.size(); ++i) {
            if (decided[i]) group[i]->before_write();
        }
        const std::shared_ptr<SortJob> sort = begin_sort();
        if (!write_batch()) {
            if (sort) sort->work();
            for (auto& operation : group) operation->complete(health());
            return;
        }
        if (sort) end_sort(*sort);
        ++commit_number_;
        publish();
        written = true;
    }
    statistics_.groups.fetch_add(1, std::memory_order_relaxed);
    statistics_.operations.fetch_add(group.size(), std::memory_order_relaxed);
    if (written) {
        const ViewPtr published = view();
        for (const PartitionId partition : scope_.retired()) {
            database_->filter().retire(partition);
            if (options_.on_retired) {
                options_.on_retired(partition, static_cast<const ViewImpl&>(*published).sequence());
            }
        }
        for (size_t i = 0; i < group.size(); ++i) {
            if (decided[i]) group[i]->published(*published);
        }
    }
    for (auto& operation : group) operation->complete({});
    if (written) schedule_merge();
}

/// Returns false when the outcome is unknown: then nothing may be written any more.
bool Committer::write_batch() {
    if (scope_.batch().Count() == 0) return true;
    rocksdb::WriteOptions options;
    options.sync = options_.durability == Durability::kSync;
    const rocksdb::Status status = database_->db().Write(options, &scope_.batch());
    if (!status.ok()) {
        fail("a write failed: " + database_->explain(status));
        return false;
    }
    ++group_number_;
    return true;
}

/// Writes a dirty note for each partition that gets its first write since its index was complete on
/// disk. Removes the notes of partitions whose index has become complete.
void Committer::add_notes() {
    rocksdb::WriteBatch& batch = scope_.batch();
    for (const GroupScope::IndexChange& change : scope_.index_changes()) {
        const auto [it, fresh] = noted_.try_emplace(change.partition, tables_.number());
        it->second = tables_.number();
        if (fresh) {
            CHECK(batch
                      .Put(database_->family(Family::kMeta), dirty_key(change.partition),
                           rocksdb::Slice())
                      .ok());
        }
    }
    if (!notes_changed_) return;
    notes_changed_ = false;
    std::erase_if(noted_, [&](const auto& note) {
        if (note.second > table_on_disk_) return false;
        CHECK(batch.Delete(database_->family(Family::kMeta), dirty_key(note.first)).ok());
        return true;
    });
    for (const std::string& key : own_keys_to_remove_) {
        CHECK(batch.Delete(database_->family(Family::kMeta), key).ok());
    }
    own_keys_to_remove_.clear();
}

void Committer::write_notes() {
    if (failed_) {
        notes_changed_ = false;
        return;
    }
    scope_.begin_group(group_number_);
    add_notes();
    write_batch();
}

std::shared_ptr<Committer::SortJob> Committer::begin_sort() {
    if (scope_.index_changes().empty() && scope_.counts().empty()) return nullptr;
    auto job = std::make_shared<SortJob>();
    job->table = tables_.number();
    job->deltas = std::move(scope_.deltas());
    job->counts = std::move(scope_.counts());
    size_t entries = 0;
    for (const IndexDelta& delta : job->deltas) entries += delta.entries().size();
    if (entries >= kParallelSortEntries) run_worker_.post_urgent([job] { job->work(); });
    return job;
}

void Committer::end_sort(SortJob& job) {
    job.work();
    job.done.wait(false);
    tables_.add(job.run);
    for (const GroupScope::IndexChange& change : scope_.index_changes()) {
        tables_.cover(change.partition, change.lsn);
    }
}

void Committer::publish() {
    std::vector<RunPtr> runs = tables_.all_runs();
    statistics_.runs.store(runs.size(), std::memory_order_relaxed);
    statistics_.run_bytes.store(tables_.current_bytes(), std::memory_order_relaxed);
    ViewPtr fresh = std::make_shared<ViewImpl>(database_, std::move(runs), commit_number_);
    {
        const std::lock_guard lock(view_mutex_);
        view_.swap(fresh);
    }
    // The old view may be released here, outside the lock.
}

}  // namespace orrery::storage::detail
