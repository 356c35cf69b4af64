// What RocksDB alone costs for the same gets and puts: an entry by id, the item itself, a log
// record. One thread, no network, no JSON.
//   rocksdb_load FOLDER [--items N] [--seconds S] [--cache-mb M]
#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "load/report.h"
#include "load/workload.h"

namespace {

using namespace orrery::bench;

enum Family : size_t { kIds, kItems, kLog };
constexpr std::array<const char*, 3> kNames = {"default", "items", "log"};

void require(const rocksdb::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
}

/// A database with the families of a point operation.
class Database {
public:
    Database(const std::string& folder, size_t cache_bytes) {
        rocksdb::BlockBasedTableOptions table;
        table.block_cache = rocksdb::NewLRUCache(cache_bytes);
        table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
        rocksdb::ColumnFamilyOptions family;
        family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
        rocksdb::DBOptions options;
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        std::vector<rocksdb::ColumnFamilyDescriptor> families;
        for (const char* name : kNames) families.emplace_back(name, family);
        rocksdb::DB* raw = nullptr;
        require(rocksdb::DB::Open(options, folder, families, &handles_, &raw));
        db_.reset(raw);
    }
    ~Database() {
        for (auto* handle : handles_) db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }

    /// The id's entry tells the item's key.
    void get(uint64_t key) {
        require(db_->Get({}, handles_[kIds], item_id(key), &place_));
        require(db_->Get({}, handles_[kItems], place_, &value_));
    }

    void put(uint64_t key, uint64_t version, bool sync) {
        rocksdb::WriteBatch batch;
        const std::string place = fmt::format("{:016x}", key);
        require(batch.Put(handles_[kItems], place, item_json(key, version)));
        require(batch.Put(handles_[kIds], item_id(key), place));
        require(batch.Put(handles_[kLog], fmt::format("{:016x}", ++written_), item_id(key)));
        rocksdb::WriteOptions options;
        options.sync = sync;
        require(db_->Write(options, &batch));
    }

    void flush() { require(db_->Flush(rocksdb::FlushOptions(), handles_)); }

private:
    std::unique_ptr<rocksdb::DB> db_;
    std::vector<rocksdb::ColumnFamilyHandle*> handles_;
    uint64_t written_ = 0;
    std::string place_;
    std::string value_;
};

void measure(Database& database, const WorkloadOptions& options, double seconds, bool sync) {
    Workload workload(options);
    Report report(sync ? "rocksdb-sync" : "rocksdb", options.name, {});
    uint64_t version = 0;
    const int64_t until = now_us() + static_cast<int64_t>(seconds * 1e6);
    for (int64_t began = now_us(); began < until;) {
        const auto step = workload.next();
        if (step.operation == Operation::kRead)
            database.get(step.key);
        else
            database.put(step.key, ++version, sync);
        const int64_t now = now_us();
        report.add(now - began, true);
        began = now;
    }
    report.print();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2)
            throw std::invalid_argument(
                "usage: rocksdb_load FOLDER [--items N] [--seconds S] [--cache-mb M]");
        WorkloadOptions options;
        double seconds = 3;
        size_t cache_mb = 256;
        for (int i = 2; i + 1 < argc; i += 2) {
            const std::string name = argv[i];
            if (name == "--items")
                options.item_count = std::stoull(argv[i + 1]);
            else if (name == "--seconds")
                seconds = std::stod(argv[i + 1]);
            else if (name == "--cache-mb")
                cache_mb = std::stoul(argv[i + 1]);
            else
                throw std::invalid_argument("unknown option " + name);
        }
        Database database(argv[1], cache_mb << 20);
        for (uint64_t i = 0; i < options.item_count; ++i) database.put(i, 0, false);
        database.flush();
        options.name = "read";
        measure(database, options, seconds, false);
        options.name = "upsert";
        measure(database, options, seconds, false);
        measure(database, options, seconds, true);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "rocksdb_load: {}\n", error.what());
        return 1;
    }
}
