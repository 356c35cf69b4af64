#include "storage/store.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/ended_test_support.h"
#include "storage/store_test_support.h"

namespace orrery::storage {
namespace {

using testing::commit;
using testing::index_key;
using testing::open_started;
using testing::submit;
using testing::TemporaryFolder;

std::map<std::string, std::string> dump(const View& view, Family family,
                                        Direction direction = Direction::kForward) {
    std::map<std::string, std::string> out;
    auto cursor = view.scan(family, "", "", direction);
    for (; cursor->valid(); cursor->next()) {
        EXPECT_TRUE(out.emplace(cursor->key(), cursor->value()).second);
    }
    EXPECT_TRUE(cursor->status().ok());
    return out;
}

class StoreTest : public ::testing::TestWithParam<bool> {
protected:
    StoreOptions options() {
        StoreOptions out;
        out.folder = GetParam() ? "" : folder_.path() + "/data";
        out.block_cache_bytes = 8 << 20;
        return out;
    }
    TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Modes, StoreTest, ::testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "memory" : "disk"; });

TEST_P(StoreTest, PutGetRemoveAndViews) {
    auto store = open_started(options());
    const ViewPtr before = store->view();
    EXPECT_TRUE(commit(*store, [](CommitScope& scope) {
                    scope.put(Family::kItems, "a", "1");
                    scope.put(Family::kIds, "a", "2");
                    return true;
                }).ok());
    const ViewPtr after = store->view();
    EXPECT_GT(after->commit_number(), before->commit_number());
    EXPECT_TRUE(commit(*store, [](CommitScope& scope) {
                    EXPECT_EQ(**scope.get(Family::kItems, "a"), "1");
                    scope.remove(Family::kItems, "a");
                    EXPECT_FALSE(scope.get(Family::kItems, "a")->has_value());
                    return true;
                }).ok());
    EXPECT_FALSE(before->get(Family::kItems, "a")->has_value());
    EXPECT_EQ(**after->get(Family::kItems, "a"), "1");
    EXPECT_EQ(**after->get(Family::kIds, "a"), "2");
    EXPECT_FALSE(store->view()->get(Family::kItems, "a")->has_value());
    const auto many = after->multi_get(Family::kItems, {"a", "b", "a"});
    EXPECT_EQ(*(*many)[0], "1");
    EXPECT_FALSE((*many)[1].has_value());
    EXPECT_EQ(*(*many)[2], "1");
}

/// Iterators are used again by other views: none may show what came before or after its own.
TEST_P(StoreTest, ScansShowTheirOwnView) {
    auto store = open_started(options());
    std::vector<ViewPtr> views{store->view()};
    const auto expect_own = [&](size_t i, Direction direction) {
        for (const Family family : {Family::kItems, Family::kIds}) {
            std::vector<std::string> found;
            const auto cursor = views[i]->scan(family, "a", "b", direction);
            for (; cursor->valid(); cursor->next()) found.emplace_back(cursor->value());
            EXPECT_TRUE(cursor->status().ok());
            // The item of the round before has been replaced or removed.
            const std::vector<std::string> expected =
                i == 0 ? std::vector<std::string>() : std::vector<std::string>{std::to_string(i)};
            EXPECT_EQ(found, expected) << i;
        }
    };
    for (int i = 1; i < 12; ++i) {
        EXPECT_TRUE(commit(*store, [&](CommitScope& scope) {
                        for (const Family family : {Family::kItems, Family::kIds}) {
                            scope.remove(family, i % 2 == 0 ? "a1" : "a0");
                            scope.put(family, i % 2 == 0 ? "a0" : "a1", std::to_string(i));
                            scope.put(family, "b", "outside");
                        }
                        return true;
                    }).ok());
        views.push_back(store->view());
        if (i % 4 == 0) {
            ASSERT_TRUE(store->flush().ok());
        }
        for (const size_t at : {views.size() - 1, views.size() - 2, size_t{0}, views.size() - 1}) {
            expect_own(at, Direction::kForward);
            expect_own(at, Direction::kBackward);
        }
    }
    // Two cursors of one view at a time.
    const auto one = views.back()->scan(Family::kItems, "a", "b");
    const auto other = views.back()->scan(Family::kItems, "b", "c");
    EXPECT_EQ(one->value(), "11");
    EXPECT_EQ(other->value(), "outside");
}

TEST_P(StoreTest, ReadsFromMemoryOnly) {
    auto store = open_started(options());
    const auto put = [&](std::string_view value) {
        EXPECT_TRUE(commit(*store, [&](CommitScope& scope) {
                        scope.put(Family::kItems, "a", value);
                        return true;
                    }).ok());
    };
    const auto look = [&](const View& view, bool& missed) {
        missed = false;
        return *view.get_in_memory(Family::kItems, "a", missed);
    };
    bool missed = false;
    const ViewPtr before = store->view();
    put("1");
    EXPECT_EQ(look(*store->view(), missed), "1");
    EXPECT_FALSE(missed);
    EXPECT_EQ(look(*before, missed), std::nullopt);
    EXPECT_FALSE(missed);
    // Written out, the block is in no cache until it is read.
    ASSERT_TRUE(store->flush().ok());
    look(*store->view(), missed);
    EXPECT_TRUE(missed);
    EXPECT_EQ(*store->view()->get(Family::kItems, "a"), "1");
    EXPECT_EQ(look(*store->view(), missed), "1");
    EXPECT_FALSE(missed);
    // The newest version wins over a cached older one.
    put("2");
    EXPECT_EQ(look(*store->view(), missed), "2");
    EXPECT_FALSE(missed);
}

TEST_P(StoreTest, RefusedOperationLeavesNothing) {
    auto store = open_started(options());
    const std::string key = index_key(1, 1, "x", 1);
    EXPECT_TRUE(commit(*store, [&](CommitScope& scope) {
                    scope.put(Family::kItems, "a", "1");
                    IndexDelta delta;
                    delta.add(key, false);
                    scope.index(1, 1, std::move(delta));
                    scope.count(keys::index_path(1, 1), {1, 1});
                    return false;
                }).ok());
    EXPECT_FALSE(store->view()->get(Family::kItems, "a")->has_value());
    EXPECT_FALSE(store->view()->get(Family::kIndex, key)->has_value());
    EXPECT_EQ(store->view()->count(keys::index_path(1, 1))->items, 0);
}

TEST_P(StoreTest, SavepointsNest) {
    auto store = open_started(options());
    EXPECT_TRUE(commit(*store, [&](CommitScope& scope) {
                    scope.put(Family::kItems, "a", "1");
                    const size_t first = scope.savepoint();
                    scope.put(Family::kItems, "a", "2");
                    scope.put(Family::kItems, "b", "2");
                    const size_t second = scope.savepoint();
                    scope.remove(Family::kItems, "a");
                    scope.rollback_to(second);
                    EXPECT_EQ(**scope.get(Family::kItems, "a"), "2");
                    scope.put(Family::kItems, "c", "3");
                    scope.rollback_to(first);
                    EXPECT_EQ(**scope.get(Family::kItems, "a"), "1");
                    EXPECT_FALSE(scope.get(Family::kItems, "b")->has_value());
                    scope.put(Family::kItems, "d", "4");
                    scope.rollback_to(first);
                    scope.put(Family::kItems, "e", "5");
                    return true;
                }).ok());
    EXPECT_EQ(dump(*store->view(), Family::kItems),
              (std::map<std::string, std::string>{{"a", "1"}, {"e", "5"}}));
}

TEST_P(StoreTest, IndexAndCountersThroughFlushAndReopen) {
    const std::string counter = keys::index_path(1, 1) + "total";
    const StoreOptions opened = options();
    {
        auto store = open_started(opened);
        for (uint64_t i = 0; i < 100; ++i) {
            EXPECT_TRUE(commit(*store, [&](CommitScope& scope) {
                            IndexDelta delta;
                            delta.add(index_key(1, 1, "x", i), i % 2 == 1);
                            if (i > 0) delta.remove(index_key(1, 1, "x", i - 1));
                            scope.index(1, i + 1, std::move(delta));
                            scope.count(counter, {1, 10});
                            return true;
                        }).ok());
            if (i % 30 == 29) {
                EXPECT_TRUE(store->flush().ok());
            }
        }
        const std::map<std::string, std::string> expected{
            {index_key(1, 1, "x", 99), std::string(kPartialTerm)}};
        EXPECT_EQ(dump(*store->view(), Family::kIndex), expected);
        EXPECT_EQ(dump(*store->view(), Family::kIndex, Direction::kBackward), expected);
        EXPECT_EQ(store->view()->count(counter)->items, 100);
        EXPECT_TRUE(store->close().ok());
    }
    if (opened.folder.empty()) return;
    auto store = Store::open(opened);
    ASSERT_TRUE(store.ok());
    EXPECT_TRUE((*store)->replay_needs().empty());
    EXPECT_EQ((*store)->view()->count(counter)->bytes, 1000);
    EXPECT_EQ(dump(*(*store)->view(), Family::kIndex).size(), 1U);
}

TEST_P(StoreTest, AFlushBesideACloseReturns) {
    const StoreOptions opened = options();
    Lsn lsn = 0;
    for (int round = 0; round < 10; ++round) {
        auto store = open_started(opened);
        std::vector<std::thread> flushing;
        std::atomic<int> refused{0};
        for (int i = 0; i < 3; ++i)
            flushing.emplace_back([&] {
                while (store->flush().ok()) {
                }
                ++refused;
            });
        for (int i = 0; i < 20; ++i) {
            EXPECT_TRUE(commit(*store, [&](CommitScope& scope) {
                            IndexDelta delta;
                            delta.add(index_key(1, 1, "x", ++lsn), false);
                            scope.put(Family::kMeta, "note", "x");
                            scope.index(1, lsn, std::move(delta));
                            return true;
                        }).ok());
        }
        EXPECT_TRUE(store->close().ok());
        for (std::thread& thread : flushing) thread.join();
        EXPECT_EQ(refused, 3);
        EXPECT_FALSE(store->flush().ok());
        EXPECT_EQ(ended(store->flush().error()), Ended::kUnavailable);
    }
}

TEST_P(StoreTest, AnIndexThatRestsGoesToDisk) {
    auto store = open_started(options());
    Lsn lsn = 0;
    const auto add = [&](uint64_t entries) {
        ASSERT_TRUE(commit(*store, [&](CommitScope& scope) {
                        IndexDelta delta;
                        for (uint64_t i = 0; i < entries; ++i)
                            delta.add(index_key(1, 1, "x", lsn * 100'000 + i), false);
                        scope.put(Family::kMeta, "note", "x");
                        scope.index(1, ++lsn, std::move(delta));
                        return true;
                    }).ok());
    };
    // What was posted before has been looked at once a later commit is there.
    const auto rest = [&] {
        store->rest();
        ASSERT_TRUE(commit(*store, [&](CommitScope& scope) {
                        scope.put(Family::kMeta, "note", "y");
                        return true;
                    }).ok());
    };
    const auto tables = [&] { return store->statistics().index_tables_written; };
    add(10);
    for (int i = 0; i < 3; ++i) rest();
    EXPECT_EQ(tables(), 0U) << "too little for a file";
    for (int i = 0; i < 3; ++i) {
        add(20'000);
        rest();
    }
    EXPECT_EQ(tables(), 0U) << "still growing";
    for (int i = 0; i < 1000 && tables() == 0; ++i) {
        rest();  // merging the runs may have changed their size
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(tables(), 1U);
    for (int i = 0; i < 1000 && store->statistics().runs_alive > 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(store->statistics().runs_alive, 0U);
    EXPECT_EQ(dump(*store->view(), Family::kIndex).size(), 60'010U);
    EXPECT_TRUE(store->close().ok());
}

}  // namespace
}  // namespace orrery::storage
