// What the store says and does when the disk, the folder or another process gets in its way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "base/ended_test_support.h"
#include "storage/bulk_load.h"
#include "storage/detail/own_keys.h"
#include "storage/fault_file_system.h"
#include "storage/store_test_support.h"

namespace orrery::storage {
namespace {

using testing::commit;
using ::testing::HasSubstr;
using testing::index_key;
using testing::open_started;
using testing::TemporaryFolder;

StoreOptions options_on(const FaultFileSystem& faults, Durability durability = Durability::kSync) {
    StoreOptions options;
    options.folder = "/data/store";
    options.file_system = faults.file_system();
    options.durability = durability;
    options.block_cache_bytes = 1 << 20;
    return options;
}

Status put(Store& store, const std::string& key, const std::string& value) {
    return commit(store, [&](CommitScope& scope) {
        scope.put(Family::kItems, key, value);
        return true;
    });
}

std::string open_error(const StoreOptions& options) {
    const auto store = Store::open(options);
    return store.ok() ? "opened" : store.error().message;
}

/// A store with `count` writes, then gone without a clean stop.
void write_and_crash(FaultFileSystem& faults, int count, size_t value_bytes = 500) {
    {
        auto store = open_started(options_on(faults));
        for (int i = 0; i < count; ++i) {
            ASSERT_TRUE(put(*store, "key" + std::to_string(i),
                            std::string(value_bytes, static_cast<char>('a' + i % 26)))
                            .ok());
        }
        faults.cut_power();
    }
    faults.restore_power(FaultFileSystem::Loss::kEverything, 1);
}

/// The log that holds the writes: the largest.
std::string written_log(const FaultFileSystem& faults) {
    std::string best;
    for (const std::string& path : faults.files("/data/store", ".log")) {
        if (best.empty() || faults.read(path).size() > faults.read(best).size()) best = path;
    }
    return best;
}

TEST(StoreFaults, FullDiskMeansReadOnlyUntilReopenedWithSpace) {
    FaultFileSystem faults;
    {
        auto store = open_started(options_on(faults));
        ASSERT_TRUE(put(*store, "before", "1").ok());
        faults.set_free_bytes(300);
        const Status failed = put(*store, "big", std::string(5000, 'x'));
        ASSERT_FALSE(failed.ok());
        EXPECT_EQ(ended(failed.error()), Ended::kReadOnly);
        EXPECT_THAT(failed.error().message, HasSubstr("full"));
        EXPECT_THAT(failed.error().message, HasSubstr("/data/store"));
        faults.unlimited_space();  // too late: the outcome of the failed write is unknown
        EXPECT_FALSE(put(*store, "after", "1").ok());
        EXPECT_FALSE(store->health().ok());
        EXPECT_EQ(**store->view()->get(Family::kItems, "before"), "1");
    }
    auto store = open_started(options_on(faults));
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(**store->view()->get(Family::kItems, "before"), "1");
    EXPECT_TRUE(put(*store, "after", "2").ok());
}

TEST(StoreFaults, FailingDiskDuringAnIndexTable) {
    FaultFileSystem faults;
    auto store = open_started(options_on(faults));
    ASSERT_TRUE(commit(*store, [](CommitScope& scope) {
                    IndexDelta delta;
                    delta.add(index_key(1, 1, "x", 1), false);
                    scope.index(1, 1, std::move(delta));
                    return true;
                }).ok());
    faults.fail_writes(true);
    EXPECT_FALSE(store->flush().ok());
    EXPECT_FALSE(store->health().ok());
    EXPECT_TRUE(store->view()->scan(Family::kIndex, "", "")->valid());  // still in memory
    EXPECT_FALSE(put(*store, "a", "b").ok());
    faults.fail_writes(false);
}

TEST(StoreFaults, FlushWaitsWhereADiskTooSlowHoldsWritesBack) {
    FaultFileSystem faults;
    auto store = open_started(options_on(faults));
    faults.hold_tables(true);
    // RocksDB stops writes when three memtables of a family wait for the disk.
    std::vector<std::future<Status>> flushes;
    for (int i = 0; i < 4; ++i) {
        if (i < 3) {
            ASSERT_TRUE(put(*store, "key" + std::to_string(i), "value").ok());
        }
        flushes.push_back(std::async(std::launch::async, [&] { return store->flush(); }));
        EXPECT_EQ(flushes.back().wait_for(std::chrono::milliseconds(50)),
                  std::future_status::timeout);
    }
    faults.hold_tables(false);
    for (std::future<Status>& flush : flushes) EXPECT_TRUE(flush.get().ok());
    EXPECT_TRUE(store->health().ok());
    EXPECT_TRUE(put(*store, "after", "value").ok());
}

TEST(StoreFaults, DamageInTheMiddleOfTheLogIsRefused) {
    FaultFileSystem faults;
    write_and_crash(faults, 50);
    const std::string log = written_log(faults);
    std::string content = faults.read(log);
    ASSERT_GT(content.size(), 20'000U);
    content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
    faults.write(log, content);
    const std::string message = open_error(options_on(faults));
    EXPECT_THAT(message, HasSubstr(log));
    EXPECT_THAT(message, HasSubstr("damaged"));
    EXPECT_THAT(message, HasSubstr("backup"));
    EXPECT_EQ(faults.read(log), content);  // nothing was touched
    // Zeros, which RocksDB itself would step over.
    for (size_t i = 8000; i < 9000; ++i) content[i] = '\0';
    faults.write(log, content);
    EXPECT_THAT(open_error(options_on(faults)), HasSubstr("damaged"));
}

TEST(StoreFaults, DamagedTailIsCut) {
    for (const size_t from_end : {1, 100, 400}) {
        FaultFileSystem faults;
        write_and_crash(faults, 50);
        const std::string log = written_log(faults);
        std::string content = faults.read(log);
        content[content.size() - from_end] =
            static_cast<char>(content[content.size() - from_end] ^ 1);
        faults.write(log, content);
        StoreOptions reading = options_on(faults);
        reading.read_only = true;
        EXPECT_THAT(open_error(reading), HasSubstr("damaged"));  // `orrery check` changes nothing
        EXPECT_EQ(faults.read(log), content);
        auto store = open_started(options_on(faults));
        ASSERT_NE(store, nullptr);
        EXPECT_TRUE((*store->view()->get(Family::kItems, "key48")).has_value());
        EXPECT_FALSE((*store->view()->get(Family::kItems, "key49")).has_value());
    }
}

/// Records that lie across the borders of what is read at a time (1 MiB).
TEST(StoreFaults, LongLogsAreCheckedToTheirEnd) {
    constexpr size_t kRecord = 90'000;
    constexpr int kRecords = 40;
    FaultFileSystem faults;
    write_and_crash(faults, kRecords, kRecord);
    const std::string log = written_log(faults);
    const std::string whole = faults.read(log);
    ASSERT_GT(whole.size(), kRecord * kRecords);
    constexpr size_t kMiB = 1 << 20;
    for (const size_t place : {kMiB - 1, kMiB + 100, 2 * kMiB + 40'000, 3 * kMiB - 100}) {
        std::string content = whole;
        content[place] = static_cast<char>(content[place] ^ 1);
        faults.write(log, content);
        const std::string message = open_error(options_on(faults));
        const size_t named = message.find("at byte ");
        ASSERT_NE(named, std::string::npos) << message;
        const size_t offset = std::stoull(message.substr(named + 8));
        EXPECT_LE(offset, place);
        EXPECT_GT(offset + kRecord + 1000, place);
    }
    std::string torn = whole;
    torn.resize(torn.size() - 10);
    faults.write(log, torn);
    auto store = open_started(options_on(faults));
    ASSERT_NE(store, nullptr);
    for (int i = 0; i < kRecords; ++i)
        EXPECT_EQ((*store->view()->get(Family::kItems, "key" + std::to_string(i))).has_value(),
                  i < kRecords - 1)
            << i;
}

TEST(StoreFaults, LostEndOfAnOlderLogIsRefused) {
    FaultFileSystem faults;
    {
        auto store = open_started(options_on(faults));
        ASSERT_TRUE(put(*store, "a", "1").ok());
        // A table on its own switches no log; flushing one family does, and the others keep the
        // old.
        ASSERT_TRUE(commit(*store, [](CommitScope& scope) {
                        scope.put(Family::kIds, "b", std::string(3000, 'x'));
                        return true;
                    }).ok());
        for (int i = 0; i < 40; ++i)
            ASSERT_TRUE(put(*store, "key", std::string(1 << 20, static_cast<char>(i))).ok());
        faults.cut_power();
    }
    faults.restore_power(FaultFileSystem::Loss::kEverything, 1);
    const std::vector<std::string> logs = faults.files("/data/store", ".log");
    ASSERT_GE(logs.size(), 2U);
    std::string older = faults.read(logs[logs.size() - 2]);
    older.resize(older.size() - 1000);
    faults.write(logs[logs.size() - 2], older);
    EXPECT_THAT(open_error(options_on(faults)), HasSubstr("damaged"));
}

TEST(StoreFaults, DamagedTableIsReportedByChecksums) {
    FaultFileSystem faults;
    {
        auto store = open_started(options_on(faults));
        for (int i = 0; i < 200; ++i)
            ASSERT_TRUE(put(*store, "key" + std::to_string(i), std::string(500, 'x')).ok());
        ASSERT_TRUE(store->close().ok());
    }
    for (const std::string& path : faults.files("/data/store", ".sst")) {
        std::string content = faults.read(path);
        content[20] = static_cast<char>(content[20] ^ 1);
        faults.write(path, content);
    }
    StoreOptions reading = options_on(faults);
    reading.read_only = true;
    const auto store = Store::open(reading);
    if (!store.ok()) {
        EXPECT_THAT(store.error().message, HasSubstr("damaged"));
        return;
    }
    const Status checked = (*store)->verify_checksums();
    ASSERT_FALSE(checked.ok());
    EXPECT_THAT(checked.error().message, HasSubstr("damaged"));
    EXPECT_THAT(checked.error().message, HasSubstr(".sst"));
}

/// A walk that comes to a file which cannot be opened says so; it does not go on behind it.
TEST(StoreFaults, WalksDoNotPassOverALostFile) {
    constexpr PartitionId kFiles = 60;
    FaultFileSystem faults;
    {
        auto store = open_started(options_on(faults));
        for (PartitionId partition = 1; partition <= kFiles; ++partition) {
            const auto load = store->bulk_load();
            for (int i = 0; i < 3; ++i)
                ASSERT_TRUE(load->put(Family::kItems,
                                      keys::partition(partition) + "key" + std::to_string(i),
                                      std::to_string(partition))
                                .ok());
            ASSERT_TRUE(load->ingest().ok());
        }
        ASSERT_TRUE(store->close().ok());
    }
    auto store = open_started(options_on(faults));
    const ViewPtr view = store->view();
    for (const std::string& path : faults.files("/data/store", ".sst")) faults.write(path, "lost");
    size_t errors = 0;
    for (PartitionId partition = 1; partition < kFiles; ++partition) {
        const auto cursor =
            view->scan(Family::kItems, keys::partition(partition), keys::partition(partition + 2));
        size_t rows = 0;
        for (; cursor->valid(); cursor->next()) ++rows;
        if (cursor->status().ok())
            EXPECT_EQ(rows, 6U) << partition;
        else
            ++errors;
    }
    EXPECT_GT(errors, 0U) << "nothing was tested: all files were open";
}

TEST(StoreFaults, SecondProcessIsToldWhichFolder) {
    const TemporaryFolder folder;
    StoreOptions options;
    options.folder = folder.path() + "/deep/er";
    const auto store = open_started(options);
    ASSERT_NE(store, nullptr);
    const std::string message = open_error(options);
    EXPECT_THAT(message, HasSubstr("in use"));
    EXPECT_THAT(message, HasSubstr(options.folder));
}

TEST(StoreFaults, FolderThatCannotBeUsed) {
    const TemporaryFolder folder;
    StoreOptions options;
    options.folder = folder.path() + "/file";
    std::ofstream(options.folder) << "not a folder";
    EXPECT_THAT(open_error(options), HasSubstr(options.folder));
    options.read_only = true;
    EXPECT_THAT(open_error(options), HasSubstr("no store"));
    if (::geteuid() == 0) return;  // root may write anywhere
    ::chmod(folder.path().c_str(), 0500);
    options = {};
    options.folder = folder.path() + "/new";
    EXPECT_THAT(open_error(options), HasSubstr("right"));
    ::chmod(folder.path().c_str(), 0700);
}

TEST(StoreFaults, NewerFormatIsRefused) {
    FaultFileSystem faults;
    {
        auto store = open_started(options_on(faults));
        ASSERT_TRUE(commit(*store, [](CommitScope& scope) {
                        scope.put(Family::kMeta, detail::format_key(), detail::encode_format(2));
                        return true;
                    }).ok());
        ASSERT_TRUE(store->close().ok());
    }
    EXPECT_THAT(open_error(options_on(faults)), HasSubstr("newer version"));
}

TEST(StoreFaults, ReadOnlyStoreShowsEverythingAndTakesNothing) {
    FaultFileSystem faults;
    write_and_crash(faults, 10);
    StoreOptions reading = options_on(faults);
    reading.read_only = true;
    auto store = open_started(reading);
    ASSERT_NE(store, nullptr);
    EXPECT_TRUE((*store->view()->get(Family::kItems, "key9")).has_value());
    EXPECT_TRUE(store->verify_checksums().ok());
    EXPECT_FALSE(put(*store, "a", "b").ok());
    EXPECT_TRUE(store->flush().ok());
    EXPECT_TRUE(store->close().ok());
}

TEST(StoreFaults, SubmitAfterCloseIsAnswered) {
    FaultFileSystem faults;
    auto store = open_started(options_on(faults));
    std::atomic<bool> stop{false};
    std::atomic<int> answered{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            while (!stop) {
                if (!put(*store, "a", "b").ok()) ++answered;
                if (answered > 100) return;
            }
        });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(store->close().ok());
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(put(*store, "a", "b").ok());
}

}  // namespace
}  // namespace orrery::storage
