// The change feed inside one process: how fast one core reads it from cache, and how far a reader
// is behind under load.
//   feed_bench [items] [bytes per item]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/worker_pool.h"
#include "json/document.h"
#include "json/item.h"
#include "partition/client_item.h"
#include "partition/partition.h"
#include "storage/store.h"

using namespace orrery;
using namespace orrery::partition;

namespace {

constexpr size_t kWriters = 64;  ///< transactions under way at a time

/// Of this thread: what one core would do, whatever else runs beside it.
double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int64_t now_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

ContainerSettings settings() {
    ContainerSettings out;
    out.key.version = 2;
    out.key.paths = {"/pk"};
    out.key.member_paths = {{"pk"}};
    out.indexing = index::parse_indexing_policy({}).value();
    out.path_key = {1, 2};
    out.container_rid = std::string("\x2A\x3B\x4C\x5D\x80\x00\x00\x01", 8);
    return out;
}

struct Bench {
    Bench(ContainerSettings with, storage::StoreOptions options)
        : store(storage::Store::open(options).value()),
          partition(Partition::open({.id = 1, .range = {}, .rid_prefix = 1},
                                    std::make_shared<const ContainerSettings>(std::move(with)),
                                    {*store, cache, workers, clock})
                        .value()) {
        CHECK(store->start().ok());
    }
    ~Bench() {
        partition.reset();
        CHECK(store->close().ok());
    }

    void upsert(size_t number, const std::string& filling, std::function<void()> done) {
        const std::string pk = "k" + std::to_string(number % 997);
        Transaction transaction;
        transaction.epk =
            effective_partition_key(partition->settings()->key, {json::Value::string(pk)}).value();
        ItemOperation operation;
        operation.kind = OperationKind::kUpsert;
        operation.body = fmt::format(R"({{"id":"{}","pk":"{}","at":{},"filling":"{}"}})", number,
                                     pk, now_us(), filling);
        transaction.operations.push_back(std::move(operation));
        partition->execute(std::move(transaction),
                           [done = std::move(done)](TransactionResult result) {
                               CHECK(result.committed);
                               done();
                           });
    }
    void fill(size_t items, const std::string& filling) {
        std::atomic<size_t> under_way = 0;
        for (size_t i = 0; i < items; ++i) {
            while (under_way >= kWriters) std::this_thread::yield();
            ++under_way;
            upsert(i, filling, [&] { --under_way; });
        }
        while (under_way > 0) std::this_thread::yield();
    }
    ChangesPage page(storage::Lsn after, uint32_t items) {
        ChangesRequest request;
        request.after = after;
        request.up_to = partition->lsn();
        request.items_max = items;
        return partition->read_changes(*store->view(), request).value();
    }

    SystemClock clock;
    WorkerPool workers{"bench", 2};
    ItemCache cache{64 << 20};
    std::unique_ptr<storage::Store> store;
    std::shared_ptr<Partition> partition;
};

void read_all(Bench& bench, uint32_t page_items) {
    std::string body;
    ItemWriter writer(*bench.partition->settings());
    for (int round = 0; round < 3; ++round) {
        size_t changes = 0;
        size_t bytes = 0;
        storage::Lsn after = 0;
        const double start = cpu_seconds();
        for (bool more = true; more;) {
            const ChangesPage page = bench.page(after, page_items);
            body.clear();
            for (const Change& change : page.changes) writer.append_with_lsn(body, change.current);
            changes += page.changes.size();
            bytes += body.size();
            after = page.position;
            more = page.more;
        }
        const double seconds = cpu_seconds() - start;
        fmt::print("pages of {:>4}: {:>8.0f} changes/s, {:>6.1f} MB/s, {:.2f} us per change\n",
                   page_items, static_cast<double>(changes) / seconds,
                   static_cast<double>(bytes) / seconds / 1e6,
                   seconds / static_cast<double>(changes) * 1e6);
    }
}

/// Writers as fast as they can; a reader polls and looks how old the changes are that it finds.
void measure_lag(Bench& bench, const std::string& filling) {
    std::atomic<bool> stop = false;
    std::atomic<size_t> written = 0;
    const auto start = std::chrono::steady_clock::now();
    std::thread writer([&] {
        std::atomic<size_t> under_way = 0;
        for (size_t i = 0; !stop; ++i) {
            while (under_way >= kWriters) std::this_thread::yield();
            ++under_way;
            bench.upsert(1'000'000'000 + i, filling, [&] {
                --under_way;
                ++written;
            });
        }
        while (under_way > 0) std::this_thread::yield();
    });
    std::vector<int64_t> lags;
    storage::Lsn after = bench.partition->lsn();
    while (seconds_since(start) < 3) {
        const ChangesPage page = bench.page(after, 1000);
        const int64_t now = now_us();
        for (const Change& change : page.changes) {
            json::Arena arena;
            const auto document = json::decode_document(*change.current.document).value();
            lags.push_back(now - static_cast<int64_t>(
                                     document.values_at({{"at"}}, arena).value()[0].as_double()));
        }
        after = page.position;
        if (page.changes.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    stop = true;
    writer.join();
    std::sort(lags.begin(), lags.end());
    const auto at = [&](double share) {
        return static_cast<double>(
                   lags[static_cast<size_t>(share * static_cast<double>(lags.size() - 1))]) /
               1000;
    };
    fmt::print(
        "under {:.0f} writes/s: from the request to the reader {:.2f} ms median, {:.2f} ms 99 %, "
        "{:.2f} ms most\n",
        static_cast<double>(written) / 3, at(0.5), at(0.99), at(1));
}

}  // namespace

int main(int argc, char** argv) {
    const size_t items = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
    const size_t bytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000;
    storage::StoreOptions options;
    options.block_cache_bytes = 1ULL << 30;
    const std::string filling(bytes, 'x');
    Bench bench(settings(), options);
    bench.fill(items, filling);
    CHECK(bench.store->flush().ok());
    for (const uint32_t page : {100U, 1000U}) read_all(bench, page);
    measure_lag(bench, filling);
}
