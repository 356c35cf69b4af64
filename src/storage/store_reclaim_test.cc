// Images below the horizon and keys of dead partitions leave the disk, and nothing else does.

#include <gtest/gtest.h>

#include <thread>

#include "storage/fault_file_system.h"
#include "storage/store_test_support.h"

namespace orrery::storage {
namespace {

using testing::commit;
using testing::index_key;
using testing::open_started;

StoreOptions options_on(const FaultFileSystem& faults) {
    StoreOptions options;
    options.folder = "/data/store";
    options.file_system = faults.file_system();
    return options;
}

const std::vector<Family> kPartitionFamilies = {Family::kItems, Family::kIds,    Family::kIndex,
                                                Family::kLog,   Family::kImages, Family::kTtl};

void fill(Store& store, PartitionId partition, Lsn lsn) {
    ASSERT_TRUE(commit(store, [&](CommitScope& scope) {
                    const Docref docref("12345678", lsn);
                    scope.put(Family::kItems, keys::item(partition, docref), "item");
                    scope.put(Family::kIds,
                              keys::id(partition, "epk", IdKind::kItem, std::to_string(lsn)), "id");
                    scope.put(Family::kLog, keys::log(partition, lsn, docref), "log");
                    scope.put(Family::kImages, keys::log(partition, lsn, docref), "image");
                    scope.put(Family::kTtl,
                              keys::ttl(partition, keys::TtlKind::kOwnExpiry, 5, docref), "");
                    IndexDelta delta;
                    delta.add(index_key(partition, 1, "x", lsn), false);
                    scope.index(partition, lsn, std::move(delta));
                    scope.count(keys::index_path(partition, 1), {1, 1});
                    return true;
                }).ok());
}

size_t count_keys(const View& view, Family family, PartitionId partition) {
    size_t count = 0;
    auto cursor = view.scan(family, keys::partition(partition), keys::partition(partition + 1));
    for (; cursor->valid(); cursor->next()) ++count;
    return count;
}

/// Waits for the background, at most a minute.
template <typename Condition>
bool eventually(Condition condition) {
    for (int i = 0; i < 6000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

TEST(StoreReclaim, ImagesGoUpToTheHorizonAndTheCoveredLsn) {
    FaultFileSystem faults;
    auto opened = Store::open(options_on(faults));
    ASSERT_TRUE(opened.ok());
    Store& store = **opened;
    store.set_image_horizon(2, 4);
    ASSERT_TRUE(store.start().ok());
    for (Lsn lsn = 1; lsn <= 10; ++lsn) {
        fill(store, 1, lsn);
        fill(store, 2, lsn);
    }
    ASSERT_TRUE(store.flush().ok());  // index on disk first, then memtables
    EXPECT_EQ(count_keys(*store.view(), Family::kImages, 1), 0U);
    EXPECT_EQ(count_keys(*store.view(), Family::kImages, 2), 6U);
    EXPECT_EQ(count_keys(*store.view(), Family::kLog, 1), 10U);
    EXPECT_EQ(count_keys(*store.view(), Family::kLog, 2), 10U);
}

TEST(StoreReclaim, DeadPartitionGoesAfterItsLastView) {
    FaultFileSystem faults;
    auto store = open_started(options_on(faults));
    for (Lsn lsn = 1; lsn <= 20; ++lsn) {
        fill(*store, 1, lsn);
        fill(*store, 2, lsn);
        if (lsn == 10) {
            ASSERT_TRUE(store->flush().ok());
        }
    }
    store->set_image_horizon(1, 0);
    ViewPtr last = store->view();
    ASSERT_TRUE(commit(*store, [](CommitScope& scope) {
                    scope.retire(1);
                    return true;
                }).ok());
    ASSERT_TRUE(store->flush().ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(count_keys(*last, Family::kItems, 1), 20U);
    EXPECT_EQ(count_keys(*last, Family::kIndex, 1), 20U);
    last.reset();
    EXPECT_TRUE(eventually([&] {
        const ViewPtr view = store->view();
        for (const Family family : kPartitionFamilies) {
            if (count_keys(*view, family, 1) != 0) return false;
        }
        return true;
    }));
    for (const Family family : kPartitionFamilies) {
        EXPECT_EQ(count_keys(*store->view(), family, 2), family == Family::kImages ? 0U : 20U);
    }
    EXPECT_EQ(store->view()->count(keys::index_path(2, 1))->items, 20);
    ASSERT_TRUE(store->close().ok());
    store = open_started(options_on(faults));
    EXPECT_EQ(count_keys(*store->view(), Family::kItems, 2), 20U);
    EXPECT_EQ(count_keys(*store->view(), Family::kIndex, 1), 0U);
}

TEST(StoreReclaim, DeathSurvivesACrashAndNeedsNoReplay) {
    FaultFileSystem faults;
    {
        auto store = open_started(options_on(faults));
        for (Lsn lsn = 1; lsn <= 20; ++lsn) fill(*store, 1, lsn);
        const ViewPtr held = store->view();
        ASSERT_TRUE(commit(*store, [](CommitScope& scope) {
                        scope.retire(1);
                        return true;
                    }).ok());
        faults.cut_power();
    }
    faults.restore_power(FaultFileSystem::Loss::kEverything, 1);
    auto opened = Store::open(options_on(faults));
    ASSERT_TRUE(opened.ok());
    EXPECT_TRUE((*opened)->replay_needs().empty());
    ASSERT_TRUE((*opened)->start().ok());
    EXPECT_TRUE(eventually([&] { return count_keys(*(*opened)->view(), Family::kItems, 1) == 0; }));
}

}  // namespace
}  // namespace orrery::storage
