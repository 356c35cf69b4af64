#pragma once

#include <rocksdb/sst_file_writer.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/bulk_load.h"
#include "storage/detail/database.h"

namespace orrery::storage::detail {

class BulkLoadImpl final : public BulkLoad {
public:
    struct Hooks {
        /// Makes everything written so far safe in the log.
        std::function<rocksdb::Status()> sync_wal;
        /// Publishes a view that shows the new files.
        std::function<rocksdb::Status()> publish;
    };
    BulkLoadImpl(std::shared_ptr<Database> database, uint64_t number, Hooks hooks);
    ~BulkLoadImpl() override;

    Status put(Family family, std::string_view key, std::string_view value) override;
    Status remove(Family family, std::string_view key) override;
    Status set_count(std::string_view counter_key, const Count& sum) override;
    uint64_t bytes() const override { return bytes_; }
    Status ingest() override;

private:
    /// The files of one family of one partition.
    struct Lane {
        Family family = Family::kItems;
        std::unique_ptr<rocksdb::SstFileWriter> writer;
        uint64_t file_bytes = 0;
        std::vector<std::string> files;
    };
    Lane& lane_of(Family family, std::string_view key);
    rocksdb::Status open_file(Lane& lane);
    Status written(Lane& lane, const rocksdb::Status& status, size_t bytes);
    rocksdb::Status ingest_files();
    void remove_files();
    Status refuse(const rocksdb::Status& status) const;

    const std::shared_ptr<Database> database_;
    const uint64_t number_;
    const Hooks hooks_;
    std::map<std::pair<PartitionId, Family>, Lane> lanes_;
    std::pair<PartitionId, Family> last_{0, Family::kItems};
    Lane* last_lane_ = nullptr;
    uint64_t next_file_ = 0;
    uint64_t bytes_ = 0;
};

}  // namespace orrery::storage::detail
