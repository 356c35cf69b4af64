#include "partition/item_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery::partition {
namespace {

std::shared_ptr<const std::string> find_version(ItemCache& cache, storage::PartitionId partition,
                                                const storage::Docref& docref, uint64_t commit) {
    std::shared_ptr<const std::string> out;
    cache.find_versions(partition, {&docref, 1}, commit, {&out, 1});
    return out;
}

StoredItem item(std::string bytes) {
    return {std::make_shared<const std::string>(std::move(bytes)), storage::Docref("12345678", 1)};
}
void fill(ItemCache& cache, const ItemCache::Key& key, std::string bytes) {
    cache.insert_if(key, 100, item(std::move(bytes)));
}

TEST(ItemCache, FindsWhatWasFilled) {
    ItemCache cache(1 << 20);
    const ItemCache::Key key{1, "epk", "id"};
    EXPECT_FALSE(cache.find(key));
    fill(cache, key, "body");
    ASSERT_TRUE(cache.find(key));
    EXPECT_EQ(*cache.find(key)->document, "body");
    EXPECT_FALSE(cache.find({2, "epk", "id"}));
    EXPECT_FALSE(cache.find({1, "epki", "d"}));
    EXPECT_FALSE(cache.find({1, "epk", "ID"}));
    EXPECT_EQ(cache.statistics().hits, 2U);
    EXPECT_EQ(cache.statistics().misses, 4U);
    EXPECT_EQ(cache.statistics().entries, 1U);
}

TEST(ItemCache, SlowFillLoses) {
    ItemCache cache(1 << 20);
    const ItemCache::Key key{1, "e", "i"};
    cache.lock(key);
    cache.install(key, 11, item("new"));
    cache.insert_if(key, 10, item("old"));
    EXPECT_EQ(*cache.find(key)->document, "new");
    cache.insert_if(key, 11, item("new, too"));
    EXPECT_EQ(*cache.find(key)->document, "new, too");
}

TEST(ItemCache, LockedEntryAnswersNothingAndTakesNoFill) {
    ItemCache cache(1 << 20);
    const ItemCache::Key key{1, "e", "i"};
    fill(cache, key, "old");
    cache.lock(key);
    EXPECT_FALSE(cache.find(key));
    cache.insert_if(key, 100, item("old"));
    EXPECT_FALSE(cache.find(key));
    cache.install(key, 101, item("new"));
    EXPECT_EQ(*cache.find(key)->document, "new");
    cache.insert_if(key, 100, item("old"));
    EXPECT_EQ(*cache.find(key)->document, "new");
}

TEST(ItemCache, TwoCommitsOfOneGroup) {
    ItemCache cache(1 << 20);
    const ItemCache::Key key{1, "e", "i"};
    cache.lock(key);
    cache.lock(key);
    cache.install(key, 5, item("first"));
    EXPECT_FALSE(cache.find(key));
    EXPECT_EQ(find_version(cache, 1, item("").docref, 5), nullptr) << "the view shows the second";
    cache.install(key, 5, item("second"));
    EXPECT_EQ(*cache.find(key)->document, "second");
    EXPECT_EQ(*find_version(cache, 1, item("").docref, 5), "second");
    cache.lock(key);
    cache.install(key, 6, {});
    EXPECT_FALSE(cache.find(key));
}

TEST(ItemCache, BoundedAndHotItemsSurviveAScan) {
    ItemCache cache(4 << 20);
    const std::string body(1000, 'x');
    for (int i = 0; i < 200; ++i) fill(cache, {1, "hot", std::to_string(i)}, body);
    for (int i = 0; i < 20'000; ++i) {
        fill(cache, {1, "cold", std::to_string(i)}, body);
        if (i % 100 == 0)
            for (int hot = 0; hot < 200; ++hot) cache.find({1, "hot", std::to_string(hot)});
    }
    EXPECT_LE(cache.statistics().bytes, uint64_t{4} << 20);
    int alive = 0;
    for (int i = 0; i < 200; ++i) alive += cache.find({1, "hot", std::to_string(i)}) ? 1 : 0;
    EXPECT_GE(alive, 190);
}

TEST(ItemCache, LargeItemsAndLongKeysAreLeftOut) {
    ItemCache cache(64 << 20);
    fill(cache, {1, "e", "edge"}, std::string(ItemCache::kItemBytesMax, 'x'));
    fill(cache, {1, "e", "large"}, std::string(ItemCache::kItemBytesMax + 1, 'x'));
    EXPECT_TRUE(cache.find({1, "e", "edge"}));
    EXPECT_FALSE(cache.find({1, "e", "large"}));
    const std::string long_id(5000, 'i');
    fill(cache, {1, "e", long_id}, "x");
    EXPECT_FALSE(cache.find({1, "e", long_id}));
    cache.lock({1, "e", long_id});
    cache.install({1, "e", long_id}, 7, item("x"));
    EXPECT_FALSE(cache.find({1, "e", long_id}));
}

TEST(ItemCache, VersionsForViews) {
    ItemCache cache(1 << 20);
    const storage::Docref docref("12345678", 1);
    const ItemCache::Key key{1, "e", "i"};
    EXPECT_EQ(find_version(cache, 1, docref, 10), nullptr);
    cache.insert_if(key, 10, item("v10"));
    ASSERT_NE(find_version(cache, 1, docref, 10), nullptr);
    EXPECT_EQ(*find_version(cache, 1, docref, 12), "v10");
    EXPECT_EQ(find_version(cache, 1, docref, 9), nullptr) << "an older view may show another one";
    EXPECT_EQ(find_version(cache, 2, docref, 10), nullptr);
    EXPECT_EQ(find_version(cache, 1, storage::Docref("12345678", 2), 10), nullptr);

    cache.lock(key);
    EXPECT_EQ(find_version(cache, 1, docref, 12), nullptr) << "nobody knows yet";
    cache.install(key, 20, item("v20"));
    EXPECT_EQ(find_version(cache, 1, docref, 19), nullptr);
    EXPECT_EQ(*find_version(cache, 1, docref, 20), "v20");

    // Deleted, and made again under the same id: another item.
    cache.lock(key);
    cache.install(key, 21, {});
    EXPECT_EQ(find_version(cache, 1, docref, 21), nullptr);
    StoredItem again = item("again");
    again.docref = storage::Docref("12345678", 2);
    cache.lock(key);
    cache.install(key, 22, again);
    EXPECT_EQ(find_version(cache, 1, docref, 22), nullptr);
    EXPECT_EQ(*find_version(cache, 1, again.docref, 22), "again");
    again.docref = storage::Docref("12345678", 3);
    cache.lock(key);
    cache.install(key, 23, again);
    EXPECT_EQ(find_version(cache, 1, storage::Docref("12345678", 2), 23), nullptr);
    EXPECT_NE(find_version(cache, 1, again.docref, 23), nullptr);
    cache.erase_partition(1);
    EXPECT_EQ(find_version(cache, 1, again.docref, 23), nullptr);
}

TEST(ItemCache, VersionsAreWantedWhenMissedAgain) {
    ItemCache cache(1 << 20);
    const storage::Docref docref("12345678", 1);
    EXPECT_FALSE(cache.wants(1, docref));
    EXPECT_TRUE(cache.wants(1, docref));
    // What was missed long ago is forgotten.
    for (uint64_t i = 100; i < 1'500'000; ++i) cache.wants(1, storage::Docref("12345678", i));
    uint64_t wanted = 0;
    for (uint64_t i = 0; i < 1000; ++i)
        wanted += cache.wants(2, storage::Docref("12345678", i)) ? 1 : 0;
    EXPECT_LT(wanted, 600U);
}

TEST(ItemCache, ErasePartition) {
    ItemCache cache(1 << 20);
    fill(cache, {1, "e", "i"}, "x");
    fill(cache, {2, "e", "i"}, "y");
    cache.erase_partition(1);
    cache.insert_if({1, "e", "i"}, 100, item("x"));
    EXPECT_FALSE(cache.find({1, "e", "i"}));
    EXPECT_TRUE(cache.find({2, "e", "i"}));
}

/// More than are looked for at once, some of which are not there.
TEST(ItemCache, ManyVersionsAreFoundLikeOne) {
    ItemCache cache(64 << 20);
    std::vector<storage::Docref> docrefs;
    for (uint64_t i = 0; i < 1000; ++i) {
        docrefs.emplace_back("12345678", i);
        if (i % 3 == 0) continue;
        StoredItem item;
        item.document = std::make_shared<const std::string>("v" + std::to_string(i));
        item.docref = docrefs.back();
        cache.insert_if({1, "e", "id" + std::to_string(i)}, 10 + i % 2, std::move(item));
    }
    for (const size_t count : {0U, 1U, 15U, 16U, 17U, 100U, 1000U}) {
        std::vector<std::shared_ptr<const std::string>> out(count);
        cache.find_versions(1, std::span(docrefs).first(count), 10, out);
        for (size_t i = 0; i < count; ++i) {
            ASSERT_EQ(out[i] != nullptr, i % 3 != 0 && i % 2 == 0) << i;
            if (out[i] != nullptr) {
                EXPECT_EQ(*out[i], "v" + std::to_string(i));
            }
        }
    }
}

}  // namespace
}  // namespace orrery::partition
