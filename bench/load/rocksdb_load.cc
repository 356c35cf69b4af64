// What RocksDB alone costs for the same gets and puts: one thread, no network, no JSON.
//   rocksdb_load FOLDER --items N [--seconds S]
#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "load/report.h"
#include "load/workload.h"

namespace {

using namespace orrery::bench;

void require(const rocksdb::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
}

void measure(rocksdb::DB& db, const WorkloadOptions& options, double seconds, bool sync) {
    Workload workload(options);
    Report report(sync ? "rocksdb-sync" : "rocksdb", options.name, {});
    rocksdb::WriteOptions write;
    write.sync = sync;
    std::string value;
    uint64_t version = 0;
    const int64_t until = now_us() + static_cast<int64_t>(seconds * 1e6);
    for (int64_t began = now_us(); began < until;) {
        const auto step = workload.next();
        if (step.operation == Operation::kRead)
            require(db.Get(rocksdb::ReadOptions(), item_id(step.key), &value));
        else
            require(db.Put(write, item_id(step.key), item_json(step.key, ++version)));
        const int64_t now = now_us();
        report.add(now - began, true);
        began = now;
    }
    report.print();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2) throw std::invalid_argument("usage: rocksdb_load FOLDER [--items N] [--seconds S]");
        WorkloadOptions options;
        double seconds = 3;
        for (int i = 2; i + 1 < argc; i += 2) {
            if (std::string(argv[i]) == "--items") options.item_count = std::stoull(argv[i + 1]);
            if (std::string(argv[i]) == "--seconds") seconds = std::stod(argv[i + 1]);
        }
        rocksdb::Options db_options;
        db_options.create_if_missing = true;
        rocksdb::BlockBasedTableOptions table;
        table.block_cache = rocksdb::NewLRUCache(256ULL << 20);
        table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
        db_options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
        rocksdb::DB* raw = nullptr;
        require(rocksdb::DB::Open(db_options, argv[1], &raw));
        const std::unique_ptr<rocksdb::DB> db(raw);
        for (uint64_t i = 0; i < options.item_count; ++i)
            require(db->Put(rocksdb::WriteOptions(), item_id(i), item_json(i, 0)));
        require(db->Flush(rocksdb::FlushOptions()));
        options.name = "read";
        measure(*db, options, seconds, false);
        options.name = "upsert";
        measure(*db, options, seconds, false);
        measure(*db, options, seconds, true);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "rocksdb_load: {}\n", error.what());
        return 1;
    }
}
