#include "storage/detail/bulk_load.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "storage/detail/own_keys.h"

namespace orrery::storage::detail {
namespace {

constexpr uint64_t kFileBytesMax = 64ULL << 20;

}  // namespace

BulkLoadImpl::BulkLoadImpl(std::shared_ptr<Database> database, uint64_t number, Hooks hooks)
    : database_(std::move(database)), number_(number), hooks_(std::move(hooks)) {}

BulkLoadImpl::~BulkLoadImpl() {
    for (auto& [key, lane] : lanes_) lane.writer.reset();
    remove_files();
}

BulkLoadImpl::Lane& BulkLoadImpl::lane_of(Family family, std::string_view key) {
    CHECK(key.size() > 4 && family != Family::kMeta);
    const std::pair<PartitionId, Family> wanted{load_u32_be(key.data()), family};
    CHECK(wanted.first != 0);
    if (last_lane_ != nullptr && wanted == last_) return *last_lane_;
    last_ = wanted;
    last_lane_ = &lanes_[wanted];
    last_lane_->family = family;
    return *last_lane_;
}

rocksdb::Status BulkLoadImpl::open_file(Lane& lane) {
    if (lane.writer != nullptr) return rocksdb::Status::OK();
    lane.writer = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(),
                                                           database_->table_options(lane.family));
    lane.files.push_back(
        fmt::format("{}/load-{}-{}.sst", database_->staging_folder(), number_, next_file_++));
    lane.file_bytes = 0;
    return lane.writer->Open(lane.files.back());
}

Status BulkLoadImpl::written(Lane& lane, const rocksdb::Status& status, size_t bytes) {
    if (!status.ok()) return refuse(status);
    bytes_ += bytes;
    lane.file_bytes += bytes;
    if (lane.file_bytes < kFileBytesMax) return {};
    const rocksdb::Status finished = lane.writer->Finish();
    lane.writer.reset();
    return finished.ok() ? Status() : refuse(finished);
}

Status BulkLoadImpl::put(Family family, std::string_view key, std::string_view value) {
    Lane& lane = lane_of(family, key);
    rocksdb::Status status = open_file(lane);
    if (status.ok()) status = lane.writer->Put(slice(key), slice(value));
    return written(lane, status, key.size() + value.size());
}

Status BulkLoadImpl::remove(Family family, std::string_view key) {
    Lane& lane = lane_of(family, key);
    rocksdb::Status status = open_file(lane);
    if (status.ok()) status = lane.writer->Delete(slice(key));
    return written(lane, status, key.size());
}

/// No index table has counted for the partition yet; every later one does.
Status BulkLoadImpl::set_count(std::string_view counter_key, const Count& sum) {
    CHECK(is_reserved_index_key(counter_key));
    return put(Family::kIndex, counter_key, encode_counter({.table = 0, .count = sum}));
}

Status BulkLoadImpl::ingest() {
    rocksdb::Status status;
    for (auto& [key, lane] : lanes_) {
        if (status.ok() && lane.writer != nullptr) status = lane.writer->Finish();
        lane.writer.reset();
    }
    if (status.ok()) status = hooks_.sync_wal();
    if (status.ok()) status = ingest_files();
    remove_files();
    lanes_.clear();
    last_lane_ = nullptr;
    if (status.ok()) status = hooks_.publish();
    return status.ok() ? Status() : refuse(status);
}

rocksdb::Status BulkLoadImpl::ingest_files() {
    std::map<Family, rocksdb::IngestExternalFileArg> by_family;
    for (const auto& [key, lane] : lanes_) {
        rocksdb::IngestExternalFileArg& arg = by_family[lane.family];
        arg.column_family = database_->family(lane.family);
        arg.options.move_files = true;
        arg.options.allow_blocking_flush = false;
        arg.options.write_global_seqno = false;
        arg.external_files.insert(arg.external_files.end(), lane.files.begin(), lane.files.end());
    }
    std::vector<rocksdb::IngestExternalFileArg> args;
    for (auto& [family, arg] : by_family) args.push_back(std::move(arg));
    if (args.empty()) return rocksdb::Status::OK();
    const Database::IndexIngest ingesting(*database_);
    return database_->db().IngestExternalFiles(args);
}

/// After a move the staging names are second names of the same files.
void BulkLoadImpl::remove_files() {
    for (auto& [key, lane] : lanes_)
        for (const std::string& file : lane.files)
            database_->file_system().DeleteFile(file, {}, nullptr).PermitUncheckedError();
}

Status BulkLoadImpl::refuse(const rocksdb::Status& status) const {
    return Status(errors::service_unavailable(
        fmt::format("Files of a partition could not be written: {}", database_->explain(status))));
}

}  // namespace orrery::storage::detail
