#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include "storage/detail/database.h"
#include "storage/detail/info_log.h"
#include "storage/detail/term_prefix.h"

namespace orrery::storage::detail {
namespace {

constexpr size_t kMiB = 1ULL << 20;
/// A file half of whose keys are deletions, over a stretch of this many, is compacted.
constexpr size_t kDeletionWindow = 4096;

struct Shape {
    size_t write_buffer_bytes;
    size_t block_bytes;
    bool point_reads;
};

Shape shape_of(Family family) {
    switch (family) {
        case Family::kItems:
            return {32 * kMiB, 16384, true};
        case Family::kIds:
            return {16 * kMiB, 4096, true};
        case Family::kIndex:
            return {64 * 1024, 16384, false};
        case Family::kLog:
        case Family::kImages:
            return {16 * kMiB, 16384, false};
        case Family::kTtl:
            return {8 * kMiB, 8192, false};
        case Family::kMeta:
            return {4 * kMiB, 4096, false};
    }
    return {};
}

}  // namespace

std::string_view family_name(Family family) {
    switch (family) {
        case Family::kItems:
            return "items";
        case Family::kIds:
            return "ids";
        case Family::kIndex:
            return "index";
        case Family::kLog:
            return "log";
        case Family::kImages:
            return "images";
        case Family::kTtl:
            return "ttl";
        case Family::kMeta:
            return rocksdb::kDefaultColumnFamilyName;  // RocksDB insists on one
    }
    return "";
}

rocksdb::DBOptions database_options(const StoreOptions& options, rocksdb::Env* env) {
    rocksdb::DBOptions out;
    out.env = env;
    out.create_if_missing = !options.read_only;
    out.create_missing_column_families = !options.read_only;
    // A torn record at the very end of the log was never acknowledged; anything else is damage.
    // RocksDB's default would silently drop everything after the damage.
    out.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
    out.paranoid_checks = true;
    // One writer thread: nothing to coordinate, and no spinning.
    out.allow_concurrent_memtable_write = false;
    out.enable_write_thread_adaptive_yield = false;
    out.max_background_jobs = 2;
    out.max_subcompactions = 1;
    // Bounds how much log a start after a crash reads.
    out.max_total_wal_size = 96 * kMiB;
    out.max_open_files = 1024;
    out.skip_stats_update_on_db_open = true;
    out.avoid_unnecessary_blocking_io = true;
    out.bytes_per_sync = kMiB;
    // An idle server does nothing.
    out.stats_dump_period_sec = 0;
    out.stats_persist_period_sec = 0;
    out.info_log = make_info_log();
    out.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
    out.max_manifest_file_size = 16 * kMiB;
    // After a failed write the outcome is unknown: reopen, never resume.
    out.max_bgerror_resume_count = 0;
    return out;
}

rocksdb::ColumnFamilyOptions family_options(Family family,
                                            const std::shared_ptr<rocksdb::Cache>& cache,
                                            std::shared_ptr<const PartitionFilter> filter) {
    const Shape shape = shape_of(family);
    rocksdb::ColumnFamilyOptions out;
    out.write_buffer_size = shape.write_buffer_bytes;
    out.arena_block_size = std::min<size_t>(256 * 1024, shape.write_buffer_bytes / 8);
    out.max_write_buffer_number = 3;
    out.compression = rocksdb::kLZ4Compression;
    out.bottommost_compression = rocksdb::kZSTD;
    out.bottommost_compression_opts.enabled = true;
    out.bottommost_compression_opts.level = 1;
    out.level_compaction_dynamic_level_bytes = true;
    out.target_file_size_base = 64 * kMiB;
    out.max_bytes_for_level_base = 256 * kMiB;
    out.compaction_filter_factory = filter_factory(family, std::move(filter));

    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.block_size = shape.block_bytes;
    table.format_version = 5;
    table.cache_index_and_filter_blocks = true;
    table.cache_index_and_filter_blocks_with_high_priority = true;
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    // Items are long. Make each one a restart point, and let scans change blocks less often.
    if (family == Family::kItems) {
        table.block_restart_interval = 1;
        // A bisection would touch one item per step; the hash leads straight to the wanted one.
        table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    }
    if (shape.point_reads) {
        // Most requested keys are not in the memtable: a filter says so without a search.
        out.memtable_whole_key_filtering = true;
        out.memtable_prefix_bloom_size_ratio = 0.02;
        table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
        table.whole_key_filtering = true;
        table.optimize_filters_for_memory = true;
    }
    if (family == Family::kIndex) {
        // A search for one term reads only the files that have it.
        out.prefix_extractor = term_prefix();
        table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
        table.whole_key_filtering = false;
        table.optimize_filters_for_memory = true;
    }
    out.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

    // Trimmed records lie in files that nothing else would rewrite.
    if (family == Family::kLog)
        out.table_properties_collector_factories.push_back(
            rocksdb::NewCompactOnDeletionCollectorFactory(kDeletionWindow, kDeletionWindow / 2));

    if (family == Family::kIndex) {
        // Fed by whole sorted tables; a level-0 limit here would stop the writes of all families.
        // The committer holds back instead when tables queue.
        out.compaction_style = rocksdb::kCompactionStyleUniversal;
        out.level0_file_num_compaction_trigger = 8;
        out.level0_slowdown_writes_trigger = 1 << 20;
        out.level0_stop_writes_trigger = 1 << 20;
        out.soft_pending_compaction_bytes_limit = 0;
        out.hard_pending_compaction_bytes_limit = 0;
        out.max_write_buffer_number = 2;
    }
    return out;
}

}  // namespace orrery::storage::detail
