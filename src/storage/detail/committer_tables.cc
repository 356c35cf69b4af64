// The committer's index tables: merged, frozen when they are full or rest, written by another
// thread.
#include <utility>

#include "storage/detail/committer.h"

namespace orrery::storage::detail {
namespace {

constexpr size_t kFrozenTablesMax = 2;
/// A smaller table is fast to search in memory, and writing it out would leave many small files.
constexpr uint64_t kRestingTableBytes = 256 << 10;

}  // namespace

void Committer::rest() {
    queue_.post([this] {
        const uint64_t bytes = tables_.current_bytes();
        const bool idle = std::exchange(resting_bytes_, bytes) == bytes;
        if (idle && !failed_ && bytes >= kRestingTableBytes) freeze();
    });
}

Status Committer::flush_index() {
    auto done = std::make_shared<std::promise<Status>>();
    std::future<Status> result = done->get_future();
    {
        const std::lock_guard lock(calls_mutex_);
        if (calls_closed_) return stopped();
        queue_.post([this, done] {
            if (!failed_ && !tables_.current_empty()) freeze();
            flush_waiters_.push_back({tables_.number() - 1, done});
            check_flush_waiters();
        });
    }
    return result.get();
}

void Committer::schedule_merge() {
    std::optional<RunMerge> merge = tables_.pick_merge();
    if (!merge) return;
    run_worker_.post([this, merge = std::move(*merge)]() mutable {
        merge.merged = merge_runs(merge.runs);
        queue_.post([this, merge = std::move(merge)] {
            tables_.finish_merge(merge);
            schedule_merge();
        });
    });
}

void Committer::freeze_when_full() {
    while (!failed_ && tables_.current_bytes() >= options_.index_table_bytes) {
        if (tables_.frozen_count() < kFrozenTablesMax) {
            freeze();
        } else {
            queue_.wait_for_mail();
            read_mail();
        }
    }
}

void Committer::freeze() {
    const FrozenTablePtr table = tables_.freeze();
    table_worker_.post([this, table] { write_table(table); });
}

/// Table worker. Tables arrive in the order in which they were frozen. They hold only published
/// changes.
void Committer::write_table(const FrozenTablePtr& table) {
    if (failed_) return;
    RunPtr run =
        table->runs.empty() ? std::make_shared<const Run>(table->number) : merge_runs(table->runs);
    queue_.post([this, number = table->number, run] { tables_.replace_frozen(number, run); });
    const rocksdb::Status status = write_index_table(
        *database_, *run, {.number = table->number, .covered = table->covered, .sync_wal = [this] {
                               return sync_wal();
                           }});
    if (!status.ok()) {
        fail("an index table could not be written: " + database_->explain(status));
        return;
    }
    database_->term_columns().apply(*run);
    database_->posting_lists().apply(*run);
    queue_.post([this, number = table->number] { on_table_written(number); });
}

void Committer::on_table_written(uint64_t number) {
    tables_.drop_frozen(number);
    table_on_disk_ = number;
    notes_changed_ = true;
    statistics_.index_tables.fetch_add(1, std::memory_order_relaxed);
    publish();
    check_flush_waiters();
}

void Committer::check_flush_waiters() {
    std::erase_if(flush_waiters_, [this](const FlushWaiter& waiter) {
        if (failed_) {
            waiter.done->set_value(health());
            return true;
        }
        if (tables_.oldest_frozen() <= waiter.table) return false;
        if (notes_changed_) write_notes();
        waiter.done->set_value(health());
        return true;
    });
}

}  // namespace orrery::storage::detail
