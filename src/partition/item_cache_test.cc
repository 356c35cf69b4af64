#include "partition/item_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery::partition {
namespace {

StoredItem item(std::string bytes) {
    return {std::make_shared<const std::string>(std::move(bytes)), storage::Docref("12345678", 1)};
}
void fill(ItemCache& cache, const ItemCache::Key& key, std::string bytes) {
    cache.insert_if(key, cache.version(key), item(std::move(bytes)));
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
    const uint64_t before = cache.version(key);
    cache.lock(key);
    cache.install(key, item("new"));
    cache.insert_if(key, before, item("old"));
    EXPECT_EQ(*cache.find(key)->document, "new");
}

TEST(ItemCache, LockedEntryAnswersNothingAndTakesNoFill) {
    ItemCache cache(1 << 20);
    const ItemCache::Key key{1, "e", "i"};
    fill(cache, key, "old");
    cache.lock(key);
    EXPECT_FALSE(cache.find(key));
    const uint64_t inside = cache.version(key);
    cache.insert_if(key, inside, item("old"));
    EXPECT_FALSE(cache.find(key));
    cache.install(key, item("new"));
    EXPECT_EQ(*cache.find(key)->document, "new");
    cache.insert_if(key, inside, item("old"));
    EXPECT_EQ(*cache.find(key)->document, "new");
}

TEST(ItemCache, TwoCommitsOfOneGroup) {
    ItemCache cache(1 << 20);
    const ItemCache::Key key{1, "e", "i"};
    cache.lock(key);
    cache.lock(key);
    cache.install(key, item("first"));
    EXPECT_FALSE(cache.find(key));
    cache.install(key, item("second"));
    EXPECT_EQ(*cache.find(key)->document, "second");
    cache.lock(key);
    cache.install(key, {});
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
    cache.install({1, "e", long_id}, item("x"));
    EXPECT_FALSE(cache.find({1, "e", long_id}));
}

TEST(ItemCache, ErasePartition) {
    ItemCache cache(1 << 20);
    fill(cache, {1, "e", "i"}, "x");
    fill(cache, {2, "e", "i"}, "y");
    const uint64_t version = cache.version({1, "e", "i"});
    cache.erase_partition(1);
    cache.insert_if({1, "e", "i"}, version, item("x"));
    EXPECT_FALSE(cache.find({1, "e", "i"}));
    EXPECT_TRUE(cache.find({2, "e", "i"}));
}

}  // namespace
}  // namespace orrery::partition
