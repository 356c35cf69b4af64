#include "storage/store.h"

#include <fmt/format.h>

#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/errors.h"
#include "base/log.h"
#include "storage/detail/bulk_load.h"
#include "storage/detail/committer.h"
#include "storage/detail/database.h"
#include "storage/detail/own_keys.h"
#include "storage/detail/reclaimer.h"

namespace orrery::storage {
namespace {

using detail::Committer;
using detail::Database;
using detail::Reclaimer;

/// What the store has noted about itself on disk.
struct OwnState {
    uint64_t last_table = 0;
    std::unordered_map<PartitionId, Lsn> covered;
    std::vector<PartitionId> dirty;
    std::vector<PartitionId> retired;
};

Status each_own_key(const Database& database, Family family, const std::string& prefix,
                    const std::function<bool(PartitionId, std::string_view)>& found) {
    rocksdb::ReadOptions options = detail::walk_options();
    options.total_order_seek = true;
    const std::unique_ptr<rocksdb::Iterator> iterator(
        database.db().NewIterator(options, database.family(family)));
    for (iterator->Seek(prefix); iterator->Valid() && iterator->key().starts_with(prefix);
         iterator->Next()) {
        const auto partition =
            detail::decode_noted_partition(detail::view_of(iterator->key()), prefix);
        if (!partition || !found(*partition, detail::view_of(iterator->value()))) {
            return Status(errors::service_unavailable(
                fmt::format("The data folder {} is damaged: a note of the store is unreadable. "
                            "Restore the folder "
                            "from a backup.",
                            database.folder())));
        }
    }
    if (iterator->status().ok()) return {};
    return Status(errors::service_unavailable(fmt::format("The data folder {} cannot be read: {}",
                                                          database.folder(),
                                                          database.explain(iterator->status()))));
}

Result<OwnState> read_own_state(const Database& database) {
    OwnState state;
    TRY(const auto table, database.get({}, Family::kIndex, detail::table_marker_key()));
    if (table) {
        const auto number = detail::decode_table_marker(*table);
        if (!number)
            return errors::service_unavailable(
                "The index is damaged: its table marker is unreadable.");
        state.last_table = *number;
    }
    TRY_STATUS(each_own_key(database, Family::kIndex, detail::covered_prefix(),
                            [&](PartitionId partition, std::string_view value) {
                                const auto lsn = detail::decode_covered(value);
                                if (lsn) state.covered[partition] = *lsn;
                                return lsn.has_value();
                            }));
    TRY_STATUS(each_own_key(database, Family::kMeta, detail::dirty_prefix(),
                            [&](PartitionId partition, std::string_view) {
                                state.dirty.push_back(partition);
                                return true;
                            }));
    TRY_STATUS(each_own_key(database, Family::kMeta, detail::retired_prefix(),
                            [&](PartitionId partition, std::string_view) {
                                state.retired.push_back(partition);
                                return true;
                            }));
    return state;
}

class StoreImpl final : public Store {
public:
    StoreImpl(const StoreOptions& options, std::shared_ptr<Database> database, OwnState state)
        : database_(std::move(database)),
          state_(std::move(state)),
          read_only_(options.read_only),
          reclaimer_(std::make_unique<Reclaimer>(
              database_, [this] { return committer_->flush_memtables(); },
              [this](PartitionId partition) {
                  database_->filter().forget(partition);
                  committer_->remove_own_keys(
                      {detail::retired_key(partition), detail::dirty_key(partition)});
              })),
          committer_(std::make_unique<Committer>(database_, committer_options(options))) {
        for (const auto& [partition, lsn] : state_.covered)
            database_->filter().set_covered(partition, lsn);
        for (const PartitionId partition : state_.retired) database_->filter().retire(partition);
        database_->filter().set_first_table(state_.last_table + 1);
        database_->on_background_error([this](const rocksdb::Status& status) {
            committer_->fail("a write failed: " + database_->explain(status));
        });
    }

    ~StoreImpl() override {
        const Status closed = close();
        if (!closed.ok()) log::error("storage: " + closed.error().message);
    }

    std::vector<ReplayNeed> replay_needs() const override {
        const std::unordered_set<PartitionId> retired(state_.retired.begin(), state_.retired.end());
        std::vector<ReplayNeed> needs;
        for (const PartitionId partition : state_.dirty) {
            if (retired.contains(partition)) continue;
            const auto covered = state_.covered.find(partition);
            needs.push_back({partition, covered == state_.covered.end() ? 0 : covered->second});
        }
        return needs;
    }

    void replay(PartitionId partition, Lsn up_to, IndexDelta delta,
                const std::vector<std::pair<std::string, Count>>& counts) override {
        committer_->replay(partition, up_to, std::move(delta), counts);
    }

    Status start() override {
        if (read_only_) {
            committer_->show_replayed();
            return {};
        }
        database_->filter().enable();
        committer_->start();
        started_ = true;
        for (const PartitionId partition : state_.retired) retire_partition(partition);
        for (const PartitionId partition : retired_before_start_) retire_partition(partition);
        retired_before_start_.clear();
        return {};
    }

    ViewPtr view() const override { return committer_->view(); }

    void submit(std::unique_ptr<CommitOperation> operation) override {
        if (read_only_) {
            operation->complete(
                Status(errors::storage_read_only("the store was opened for reading only.")));
            return;
        }
        committer_->submit(std::move(operation));
    }

    std::unique_ptr<BulkLoad> bulk_load() override {
        return std::make_unique<detail::BulkLoadImpl>(
            database_, next_load_++,
            detail::BulkLoadImpl::Hooks{[this] { return committer_->sync_wal(); },
                                        [this] { return committer_->publish_ingested(); }});
    }

    void set_image_horizon(PartitionId partition, Lsn lsn) override {
        database_->filter().set_image_horizon(partition, lsn);
    }

    void reclaim_images(PartitionId partition, Lsn lsn) override {
        if (reclaimer_ != nullptr) reclaimer_->reclaim_images(partition, lsn);
    }

    Lsn covered_lsn(PartitionId partition) const override {
        return database_->filter().covered(partition);
    }

    void retire_partition(PartitionId partition) override {
        database_->filter().retire(partition);
        if (!started_) {
            retired_before_start_.push_back(partition);
            return;
        }
        if (const ViewPtr newest = view()) {
            reclaimer_->retire(partition, static_cast<const detail::ViewImpl&>(*newest).sequence());
        }
    }

    void rest() override {
        if (started_) committer_->rest();
    }

    Status flush() override {
        const std::shared_lock in_use(database_use_);
        if (closed_) return closed();
        if (!started_) return {};  // nothing has been written
        TRY_STATUS(committer_->flush_index());
        const rocksdb::Status status = committer_->flush_memtables();
        if (status.ok()) return {};
        if (status.IsShutdownInProgress()) return closed();
        committer_->fail("memory could not be written to disk: " + database_->explain(status));
        return committer_->health();
    }

    Status close() override {
        if (closed_.exchange(true)) return {};
        reclaimer_->stop();
        Status status = committer_->stop();
        // The committer has answered everything. Threads that still use the database are about to
        // leave it.
        const std::unique_lock unused(database_use_);
        database_->on_background_error(nullptr);
        reclaimer_.reset();
        // The committer stays, to answer late submits. The database has two owners: the committer
        // and this.
        if (database_.use_count() > 2) {
            log::warning("storage: views of " + database_->folder() + " are still in use at close");
            return status;
        }
        const rocksdb::Status released = database_->close();
        if (status.ok() && committer_->health().ok() && !released.ok()) {
            status = Status(errors::internal(database_->explain(released)));
        }
        return status;
    }

    Status health() const override {
        if (closed_) return closed();
        return committer_->health();
    }

    Status verify_checksums() override {
        const rocksdb::Status status =
            read_only_ ? database_->verify_files() : database_->db().VerifyChecksum();
        if (status.ok()) return {};
        return Status(errors::internal(database_->explain(status)));
    }

    Statistics statistics() const override {
        const std::shared_lock in_use(database_use_);
        if (closed_) return {};
        const Committer::Statistics& counted = committer_->statistics();
        Statistics out;
        out.groups = counted.groups;
        out.operations = counted.operations;
        out.runs_alive = counted.runs;
        out.index_tables_written = counted.index_tables;
        out.memory_bytes = counted.run_bytes;
        for (size_t i = 0; i < kFamilyCount; ++i) {
            out.disk_bytes +=
                property(static_cast<Family>(i), rocksdb::DB::Properties::kTotalSstFilesSize);
            out.memory_bytes +=
                property(static_cast<Family>(i), rocksdb::DB::Properties::kSizeAllMemTables);
        }
        // One cache for all families.
        out.memory_bytes += property(Family::kItems, rocksdb::DB::Properties::kBlockCacheUsage);
        return out;
    }

private:
    Committer::Options committer_options(const StoreOptions& options) {
        Committer::Options out;
        out.durability = options.durability;
        out.index_table_bytes = options.index_table_bytes;
        out.group_bytes_max = options.group_bytes_max;
        out.first_table = state_.last_table + 1;
        out.noted = state_.dirty;
        out.on_retired = [this](PartitionId partition, rocksdb::SequenceNumber sequence) {
            reclaimer_->retire(partition, sequence);
        };
        return out;
    }

    static Status closed() { return Status(errors::service_unavailable("The store is closed.")); }

    uint64_t property(Family family, const std::string& name) const {
        uint64_t value = 0;
        database_->db().GetIntProperty(database_->family(family), name, &value);
        return value;
    }

    std::shared_ptr<Database> database_;
    const OwnState state_;
    const bool read_only_;
    std::atomic<bool> started_{false};
    std::atomic<bool> closed_{false};
    /// Shared by calls that use RocksDB itself and hold no view; close() waits for them.
    mutable std::shared_mutex database_use_;
    std::atomic<uint64_t> next_load_{1};
    std::vector<PartitionId> retired_before_start_;
    std::unique_ptr<Reclaimer> reclaimer_;
    std::unique_ptr<Committer> committer_;
};

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const StoreOptions& options) {
    TRY(std::shared_ptr<Database> database, Database::open(options));
    TRY(OwnState state, read_own_state(*database));
    database->set_last_table(state.last_table);
    return std::unique_ptr<Store>(
        std::make_unique<StoreImpl>(options, std::move(database), std::move(state)));
}

}  // namespace orrery::storage
