#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "partition/changes_test_support.h"
#include "storage/fault_file_system.h"

/// What is removed from the log, and the space that it gives back.
namespace orrery::partition {
namespace {

using namespace testing;
using storage::Family;

TEST(Changes, TheLogIsTrimmed) {
    Bench bench;
    for (int i = 0; i < 900; ++i) bench.one("a", upsert(item(std::to_string(i % 10), "a", i)));
    for (int i = 0; i < 5; ++i) bench.one("a", remove(std::to_string(i)));
    EXPECT_EQ(keys_in(bench, Family::kLog), 905U);
    // Recovery of the index needs what is not on disk.
    if (bench.store->covered_lsn(Bench::kPartition) == 0) {
        EXPECT_EQ(bench.partition->trim_log(100'000).value(), 0U);
        EXPECT_EQ(keys_in(bench, Family::kLog), 905U);
    }
    ASSERT_TRUE(bench.store->flush().ok());
    const storage::ViewPtr old_view = bench.store->view();
    EXPECT_GE(bench.partition->trim_log(100).value(), 100U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    const auto latest = names(all(bench, {}));
    EXPECT_EQ(latest.size(), 5U);
    while (bench.partition->trim_log(500).value() > 0) {
    }
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    // The newest of each item, and the last commit with what it superseded.
    EXPECT_EQ(keys_in(bench, Family::kLog), 7U);
    EXPECT_EQ(names(all(bench, {})), latest);
    EXPECT_EQ(bench.partition->lsn(), 905U);
    // A view stays as it is.
    EXPECT_EQ(bench.partition->read_changes(*old_view, {.up_to = 905})->changes.size(), 5U);
    bench.one("a", create(item("new", "a", 1)));
    EXPECT_EQ(bench.partition->lsn(), 906U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

/// Waits for the background, at most a minute; the least that was on disk.
uint64_t disk_bytes_below(Bench& bench, uint64_t wanted) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 600 && least >= wanted; ++i) {
        least = std::min(least, bench.store->statistics().disk_bytes);
        if (least >= wanted) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return least;
}

TEST(Changes, SpaceOfTheLogIsGivenBack) {
    storage::FaultFileSystem faults;
    storage::StoreOptions options;
    options.folder = "/data";
    options.file_system = faults.file_system();
    Bench bench(default_settings(), options);
    for (int round = 0; round < 400; ++round) {
        Transaction transaction;
        transaction.epk = epk_of("a");
        transaction.is_batch = true;
        for (int i = 0; i < 100; ++i)
            transaction.operations.push_back(upsert(item(std::to_string(i), "a", round)));
        bench.run(std::move(transaction));
    }
    ASSERT_TRUE(bench.store->flush().ok());
    const uint64_t before = bench.store->statistics().disk_bytes;
    ASSERT_GT(before, 1U << 20);
    while (bench.partition->trim_log(10'000).value() > 0) {
    }
    ASSERT_TRUE(bench.store->flush().ok());
    EXPECT_LE(keys_in(bench, Family::kLog), 200U);
    EXPECT_LT(disk_bytes_below(bench, before / 4), before / 4);
    EXPECT_EQ(all(bench, {}).size(), 100U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Changes, SpaceOfVersionsOutsideTheWindowIsGivenBack) {
    storage::FaultFileSystem faults;
    storage::StoreOptions options;
    options.folder = "/data";
    options.file_system = faults.file_system();
    Bench bench(keeping(60), options);
    std::mt19937_64 random(1);
    const auto version = [&](int v) {
        std::string noise(100'000, 'x');  // nothing that a compressor could make small
        for (char& c : noise)
            c = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[random() % 64];
        return upsert(item("1", "a", v, ",\"noise\":\"" + noise + "\""));
    };
    for (int v = 0; v < 150; ++v) bench.one("a", version(v));
    ASSERT_TRUE(bench.store->flush().ok());
    const uint64_t before = bench.store->statistics().disk_bytes;
    ASSERT_GT(before, 10U << 20);
    // Inside the window nothing goes, however often it is gone through.
    while (bench.partition->trim_log(10'000).value() > 0) {
    }
    EXPECT_EQ(all(bench, {.after = 1, .all_versions = true}).size(), 149U);
    bench.clock.advance_seconds(100);
    bench.one("a", version(150));
    ASSERT_TRUE(bench.store->flush().ok());
    while (bench.partition->trim_log(10'000).value() > 0) {
    }
    EXPECT_LT(disk_bytes_below(bench, before / 4), before / 4);
    const auto left = all(bench, {.after = 150, .all_versions = true});
    ASSERT_EQ(left.size(), 1U);
    EXPECT_GT(text(left[0].previous).size(), 100'000U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Changes, TrimmingLeavesTheWindowAlone) {
    Bench bench(keeping(100));
    for (int i = 0; i < 50; ++i) {
        bench.one("a", upsert(item(std::to_string(i % 3), "a", i)));
        bench.clock.advance_seconds(10);
    }
    ASSERT_TRUE(bench.store->flush().ok());
    while (bench.partition->trim_log(500).value() > 0) {
    }
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    const auto changes = all(bench, {.after = 40, .all_versions = true});
    ASSERT_EQ(changes.size(), 10U);
    EXPECT_EQ(names(changes)[0], "1:40");
    EXPECT_EQ(text(changes[0].previous), item("1", "a", 37));
    EXPECT_FALSE(page(bench, {.after = 39, .all_versions = true}).ok());
    EXPECT_LE(keys_in(bench, Family::kLog), 14U);
    EXPECT_EQ(names(all(bench, {})), (std::vector<std::string>{"2:47", "0:48", "1:49"}));
}

}  // namespace
}  // namespace orrery::partition
