#include "partition/key_run_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery::partition {
namespace {

constexpr uint64_t kPath = 77;
const KeyRunCache::Key kKey{1, "epk"};

index::KeyRunPtr run_of(size_t items, uint64_t path = kPath) {
    index::KeyRunBuilder builder(path);
    for (size_t i = 0; i < items; ++i)
        builder.add(json::Value::number(static_cast<double>(i)), storage::Docref("12345678", i));
    return builder.finish();
}
/// Offered twice, which is what it takes where memory is short.
index::KeyRunPtr keep(KeyRunCache& cache, const KeyRunCache::Key& key, uint64_t commit,
                      size_t items = 3) {
    const index::KeyRunPtr run = run_of(items);
    cache.offer(key, commit, run);
    cache.offer(key, commit, run);
    return run;
}

TEST(KeyRunCache, FindsByPartitionKeyAndPath) {
    KeyRunCache cache(1 << 20);
    const index::KeyRunPtr run = run_of(3);
    EXPECT_EQ(cache.bytes(), 0U);
    cache.offer(kKey, 10, run);
    EXPECT_EQ(cache.find(kKey, kPath, 10), run);
    EXPECT_EQ(cache.find({2, "epk"}, kPath, 10), nullptr);
    EXPECT_EQ(cache.find({1, "epj"}, kPath, 10), nullptr);
    EXPECT_EQ(cache.find(kKey, kPath + 1, 10), nullptr);
    EXPECT_GE(cache.bytes(), run->memory());
}

TEST(KeyRunCache, KeepsWhatIsOfferedAgainWhereMemoryIsShort) {
    constexpr uint64_t kMax = 1 << 20;
    KeyRunCache cache(kMax);
    // Keys count as one that begin with the same eight bytes.
    constexpr int kFirst = 10'000'000;
    for (int i = 0; i < 2000; ++i) cache.offer({1, std::to_string(kFirst + i)}, 1, run_of(50));
    // Each shard is half full, and what comes once displaces nothing.
    EXPECT_LE(cache.bytes(), kMax / 2);
    EXPECT_GT(cache.bytes(), kMax / 4);
    const index::KeyRunPtr run = run_of(50);
    cache.offer(kKey, 1, run);
    EXPECT_EQ(cache.find(kKey, kPath, 1), nullptr);
    cache.offer(kKey, 1, run);
    EXPECT_EQ(cache.find(kKey, kPath, 1), run);
}

TEST(KeyRunCache, ServesViewsBetweenTwoChanges) {
    KeyRunCache cache(1 << 20);
    cache.lock(kKey);
    cache.unlock(kKey, 8);
    const index::KeyRunPtr run = keep(cache, kKey, 10);
    EXPECT_EQ(cache.find(kKey, kPath, 10), run);
    EXPECT_EQ(cache.find(kKey, kPath, 99), run);
    EXPECT_EQ(cache.find(kKey, kPath, 8), run);  // older than the run, the same items
    EXPECT_EQ(cache.find(kKey, kPath, 7), nullptr);
    cache.lock(kKey);
    cache.unlock(kKey, 100);
    EXPECT_EQ(cache.find(kKey, kPath, 100), nullptr);
    EXPECT_EQ(cache.bytes(), 0U);  // nobody can use it any more
}

TEST(KeyRunCache, GivesAndTakesNothingWhileLocked) {
    KeyRunCache cache(1 << 20);
    const index::KeyRunPtr run = keep(cache, kKey, 10);
    cache.lock(kKey);
    cache.lock(kKey);
    EXPECT_EQ(cache.find(kKey, kPath, 10), nullptr);
    keep(cache, kKey, 11);
    cache.unlock(kKey, 0);
    EXPECT_EQ(cache.find(kKey, kPath, 10), nullptr);
    cache.unlock(kKey, 0);  // nothing was published
    EXPECT_EQ(cache.find(kKey, kPath, 10), run);
}

TEST(KeyRunCache, SlowBuildLoses) {
    KeyRunCache cache(1 << 20);
    cache.lock(kKey);
    cache.unlock(kKey, 11);
    keep(cache, kKey, 10);
    EXPECT_EQ(cache.find(kKey, kPath, 10), nullptr);
    EXPECT_EQ(cache.find(kKey, kPath, 11), nullptr);
    const index::KeyRunPtr run = keep(cache, kKey, 11);
    EXPECT_EQ(cache.find(kKey, kPath, 11), run);
}

TEST(KeyRunCache, StaysWithinItsMemoryAndKeepsWhatIsUsed) {
    constexpr uint64_t kMax = 1 << 20;
    KeyRunCache cache(kMax);
    keep(cache, kKey, 1, 20);
    for (int i = 0; i < 2000; ++i) {
        const std::string epk = "other" + std::to_string(i);
        keep(cache, {1, epk}, 1, 50);
        ASSERT_LE(cache.bytes(), kMax);
        ASSERT_NE(cache.find(kKey, kPath, 1), nullptr) << i;
    }
    EXPECT_GT(cache.bytes(), kMax / 2);
    // A run that would push out most others is not kept.
    keep(cache, {1, "large"}, 1, 5'000);
    EXPECT_EQ(cache.find({1, "large"}, kPath, 1), nullptr);
}

TEST(KeyRunCache, ForgetsPartitions) {
    KeyRunCache cache(1 << 20);
    keep(cache, kKey, 1);
    const index::KeyRunPtr other = keep(cache, {2, "epk"}, 1);
    cache.erase_partition(1);
    EXPECT_EQ(cache.find(kKey, kPath, 1), nullptr);
    EXPECT_EQ(cache.find({2, "epk"}, kPath, 1), other);
    keep(cache, kKey, 1);
    EXPECT_EQ(cache.find(kKey, kPath, 1), nullptr);
}

TEST(KeyRunCache, RemembersWhichKeysAreAloneUntilOneThatBeginsAlikeIsWritten) {
    KeyRunCache cache(1 << 20);
    const KeyRunCache::Key one{1, "12345678one"};
    const KeyRunCache::Key alike{1, "12345678two"};
    EXPECT_FALSE(cache.is_alone(one, 5));
    cache.note_alone(one, 5);
    EXPECT_TRUE(cache.is_alone(one, 5));
    EXPECT_TRUE(cache.is_alone(one, 4));  // nothing has changed between the two
    EXPECT_TRUE(cache.is_alone(one, 9));
    EXPECT_FALSE(cache.is_alone(alike, 5));
    EXPECT_FALSE(cache.is_alone({2, "12345678one"}, 5));
    cache.lock(alike);
    EXPECT_FALSE(cache.is_alone(one, 9));
    cache.note_alone(one, 5);  // too late
    cache.unlock(alike, 10);
    EXPECT_FALSE(cache.is_alone(one, 9));
    EXPECT_FALSE(cache.is_alone(one, 10));
    cache.note_alone(one, 9);  // of a view before the write
    EXPECT_FALSE(cache.is_alone(one, 10));
    cache.note_alone(alike, 10);
    EXPECT_TRUE(cache.is_alone(alike, 11));
    EXPECT_FALSE(cache.is_alone(alike, 9));
    cache.erase_partition(1);
    EXPECT_FALSE(cache.is_alone(alike, 11));
}

}  // namespace
}  // namespace orrery::partition
