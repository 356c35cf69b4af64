#include <fmt/format.h>
#include <rocksdb/sst_file_writer.h>

#include <algorithm>

#include "storage/detail/index_tables.h"
#include "storage/detail/own_keys.h"

namespace orrery::storage::detail {
namespace {

class TableFile {
public:
    TableFile(Database& database, const TableWriteOptions& options)
        : database_(database),
          options_(options),
          writer_(rocksdb::EnvOptions(), database.index_table_options()) {}

    rocksdb::Status write(const std::string& path, const Run& run) {
        status_ = writer_.Open(path);
        write_markers();
        write_entries(run);
        if (status_.ok()) status_ = writer_.Finish();
        return status_;
    }

private:
    void put(std::string_view key, std::string_view value) {
        if (status_.ok()) status_ = writer_.Put(slice(key), slice(value));
    }

    void write_markers() {
        put(table_marker_key(), encode_table_marker(options_.number));
        std::vector<std::pair<PartitionId, Lsn>> covered(options_.covered.begin(),
                                                         options_.covered.end());
        std::sort(covered.begin(), covered.end());
        for (const auto& [partition, lsn] : covered) {
            if (!is_retired(partition)) put(covered_key(partition), encode_covered(lsn));
        }
    }

    /// Entries and counters in one key order. Counters become absolute: the sum on disk plus this
    /// table's change; tables are written one after the other, so the sum on disk is the latest.
    void write_entries(const Run& run) {
        auto counter = run.counters().begin();
        const auto counters_end = run.counters().end();
        for (size_t i = 0; i < run.size() && status_.ok(); ++i) {
            const std::string_view key = run.key(i);
            for (; counter != counters_end && counter->first < key; ++counter)
                write_counter(*counter);
            if (is_retired(load_u32_be(key.data()))) continue;
            if (run.change(i) != Run::Change::kRemove) {
                put(key,
                    run.change(i) == Run::Change::kAddPartial ? kPartialTerm : std::string_view());
            } else if (!run.born(i) && status_.ok()) {
                status_ = writer_.Delete(slice(key));
            }
        }
        for (; counter != counters_end; ++counter) write_counter(*counter);
    }

    void write_counter(const std::pair<std::string, Count>& counter) {
        if (!status_.ok() || is_retired(load_u32_be(counter.first.data()))) return;
        const Result<std::optional<std::string>> value =
            database_.get({}, Family::kIndex, counter.first);
        std::optional<StoredCounter> stored = StoredCounter{};
        if (!value.ok()) {
            status_ = rocksdb::Status::Corruption(value.error().message);
            return;
        }
        if (value->has_value()) stored = decode_counter(**value);
        if (!stored) {
            status_ = rocksdb::Status::Corruption("a counter in the index is unreadable");
            return;
        }
        stored->table = options_.number;
        stored->count.items += counter.second.items;
        stored->count.bytes += counter.second.bytes;
        put(counter.first, encode_counter(*stored));
    }

    bool is_retired(PartitionId partition) {
        if (partition != last_partition_) {
            last_partition_ = partition;
            last_retired_ = database_.filter().is_retired(partition);
        }
        return last_retired_;
    }

    Database& database_;
    const TableWriteOptions& options_;
    rocksdb::SstFileWriter writer_;
    rocksdb::Status status_;
    PartitionId last_partition_ = 0;
    bool last_retired_ = false;
};

}  // namespace

rocksdb::Status write_index_table(Database& database, const Run& run,
                                  const TableWriteOptions& options) {
    const std::string path =
        fmt::format("{}/{:012}.sst", database.staging_folder(), options.number);
    TableFile file(database, options);
    rocksdb::Status status = file.write(path, run);
    // The index must not contain changes that a power cut could remove from the log.
    if (status.ok()) status = options.sync_wal();
    if (status.ok()) {
        rocksdb::IngestExternalFileOptions ingest;
        ingest.move_files = true;
        ingest.allow_blocking_flush = false;
        ingest.write_global_seqno = false;
        Database::IndexIngest ingesting(database);
        status = database.db().IngestExternalFile(database.family(Family::kIndex), {path}, ingest);
        if (status.ok()) ingesting.set_table(options.number);
    }
    // After a move this is a second name of the same file.
    database.file_system().DeleteFile(path, {}, nullptr).PermitUncheckedError();
    if (status.ok()) {
        for (const auto& [partition, lsn] : options.covered)
            database.filter().set_covered(partition, lsn);
    }
    return status;
}

}  // namespace orrery::storage::detail
