#include "storage/detail/posting_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/bytes.h"
#include "storage/detail/view.h"
#include "storage/store_test_support.h"

namespace orrery::storage {
namespace {

using detail::PostingList;
using detail::PostingLists;

TEST(PostingList, FindsEntriesFromAnywhere) {
    PostingList list("term");
    for (const char* rest : {"b1", "b2", "c1", "d1", "d2", "d3"})
        ASSERT_TRUE(list.append(std::string("term") + rest, ""));
    ASSERT_EQ(list.size(), 6U);
    for (size_t from = 0; from < 6; ++from) {
        EXPECT_EQ(list.lower_bound("termz", from), 6U);
        EXPECT_EQ(list.lower_bound("u", from), 6U);
        EXPECT_EQ(list.lower_bound("termd3", from), 5U);
        EXPECT_EQ(list.lower_bound("termd21", from), 5U);
        EXPECT_EQ(list.lower_bound("terma", from), from);
        EXPECT_EQ(list.lower_bound("te", from), from);
        EXPECT_EQ(list.lower_bound("", from), from);
    }
    EXPECT_EQ(list.lower_bound("termc", 0), 2U);
    EXPECT_EQ(list.rest(2), "c1");
}

/// Whatever the docrefs look like: hashes, few keys with many items each, hashes that crowd.
TEST(PostingList, FindsWhatAPlainSearchFinds) {
    std::mt19937_64 random(20'261'117);
    const auto bytes = [](uint64_t head, uint64_t tail) {
        std::string out;
        append_u64_be(out, head);
        append_u64_be(out, tail);
        return out;
    };
    for (const int shape : {0, 1, 2, 3}) {
        const auto draw = [&] {
            uint64_t head = random();
            if (shape == 1) head = (head % 5) << 60;
            if (shape == 2) head >>= head % 64;
            if (shape == 3) head = 7;
            return bytes(head, random() % 100'000);
        };
        std::set<std::string> sorted;
        while (sorted.size() < 3000) sorted.insert(draw());
        const std::vector<std::string> rests(sorted.begin(), sorted.end());
        PostingList list("term");
        for (const std::string& rest : rests) ASSERT_TRUE(list.append("term" + rest, ""));
        for (int i = 0; i < 3000; ++i) {
            std::string wanted = i % 2 == 0 ? rests[random() % rests.size()] : draw();
            if (i % 3 == 0) wanted.resize(8);
            const auto at = static_cast<size_t>(
                std::lower_bound(rests.begin(), rests.end(), wanted) - rests.begin());
            EXPECT_EQ(list.lower_bound("term" + wanted, 0), at);
            EXPECT_EQ(list.lower_bound("term" + wanted, random() % (at + 1)), at);
        }
    }
}

TEST(PostingList, HoldsEntriesOfOneKindOnly) {
    PostingList list("term");
    EXPECT_FALSE(list.append("term", "")) << "nothing behind the prefix";
    EXPECT_TRUE(list.append("terma1", ""));
    EXPECT_FALSE(list.append("termb22", "")) << "longer";
    EXPECT_FALSE(list.append("termb2", kPartialTerm)) << "another value";
    EXPECT_EQ(list.size(), 1U);
}

TEST(PostingLists, AreTriedAfterTwiceAsManySteps) {
    PostingLists lists(rocksdb::NewLRUCache(1 << 20));
    EXPECT_EQ(lists.worthwhile("t"), 0U);
    lists.note_walk("t", 500);
    EXPECT_EQ(lists.worthwhile("t"), 0U);
    lists.note_walk("t", 100);
    EXPECT_EQ(lists.worthwhile("t"), 600U);
    lists.tried("t", false);
    EXPECT_EQ(lists.worthwhile("t"), 0U);
    lists.note_walk("t", 400);
    EXPECT_EQ(lists.worthwhile("t"), 0U);
    lists.note_walk("t", 200);
    EXPECT_EQ(lists.worthwhile("t"), 1200U);
    lists.tried("t", true);
    lists.note_walk("t", 500);
    EXPECT_EQ(lists.worthwhile("t"), 0U) << "begins anew";
}

/// A term that is walked again and again is read from memory, also by those who must not wait; what
/// is written later is seen, and a table that changes the term ends its list.
TEST(PostingLists, ServeATermUntilATableChangesIt) {
    auto store = testing::open_started({});
    Lsn lsn = 0;
    const auto add = [&](std::string_view term, uint64_t first, uint64_t last) {
        ASSERT_TRUE(testing::commit(*store, [&](CommitScope& scope) {
                        IndexDelta delta;
                        for (uint64_t i = first; i < last; ++i)
                            delta.add(testing::index_key(1, 7, term, i), false);
                        scope.put(Family::kMeta, "note", "x");
                        scope.index(1, ++lsn, std::move(delta));
                        return true;
                    }).ok());
    };
    std::string begin = testing::index_key(1, 7, "\x50one", 0);
    begin.resize(begin.size() - 16);
    const std::string end = begin + std::string(17, '\xFF');
    const auto entries = [&](const View& view) {
        uint64_t count = 0;
        const auto cursor = view.scan(Family::kIndex, begin, end);
        for (; cursor->valid(); cursor->next()) ++count;
        return cursor->status().ok() ? count : UINT64_MAX;
    };
    const auto listed = [&] {
        const ViewPtr view = store->view();
        const detail::ViewImpl& impl = static_cast<const detail::ViewBase&>(*view).impl();
        return impl.database().posting_lists().find(begin, impl.index_files().table);
    };
    const auto is_listed = [&] { return listed() != nullptr; };
    add("\x50one", 0, 300);
    add("\x50two", 0, 300);
    ASSERT_TRUE(store->flush().ok());
    for (int i = 0; i < 4; ++i) EXPECT_EQ(entries(*store->view()), 300U);
    EXPECT_TRUE(is_listed());
    ReadBudget budget{.steps_left = 100};  // fewer than there are entries
    EXPECT_EQ(entries(*in_memory(*store->view(), budget)), 300U);
    EXPECT_FALSE(budget.exceeded);
    // How many there are is known without a walk.
    const auto cursor = store->view()->scan(Family::kIndex, begin, end);
    EXPECT_EQ(cursor->left(), 300U);
    cursor->next();
    EXPECT_EQ(cursor->left(), 299U);
    cursor->seek(testing::index_key(1, 7, "\x50one", 290));
    EXPECT_EQ(cursor->left(), 10U);

    add("\x50two", 300, 400);
    ASSERT_TRUE(store->flush().ok());
    EXPECT_TRUE(is_listed()) << "the table has nothing of the term";
    add("\x50one", 300, 310);
    EXPECT_EQ(entries(*store->view()), 310U) << "not on disk yet";
    EXPECT_EQ(store->view()->scan(Family::kIndex, begin, end)->left(), std::nullopt);
    const auto old = listed();
    ASSERT_NE(old, nullptr);
    ASSERT_TRUE(store->flush().ok());
    EXPECT_FALSE(is_listed()) << "though somebody still has the old one";
    for (int i = 0; i < 4; ++i) EXPECT_EQ(entries(*store->view()), 310U);
    ASSERT_TRUE(is_listed()) << "the new one, in the old one's place";
    EXPECT_EQ(listed()->size(), 310U);
    EXPECT_EQ(old->size(), 300U);
    ASSERT_TRUE(store->close().ok());
}

/// What is used is asked for in the cache often enough to stay there, and what the cache gives up
/// is gone, however often it was found.
TEST(PostingLists, OfWhatIsFoundAgainAndAgainStay) {
    constexpr size_t kListBytes = 64 << 10;
    PostingLists lists(rocksdb::NewLRUCache(8 * kListBytes, /*num_shard_bits=*/0));
    const auto insert = [&](const std::string& prefix) {
        auto list = std::make_shared<PostingList>(prefix);
        for (uint64_t i = 0; i < kListBytes / 16; ++i) {
            std::string key = prefix;
            append_u64_be(key, i);
            append_u64_be(key, i);
            ASSERT_TRUE(list->append(key, ""));
        }
        list->shrink();
        lists.insert(std::move(list));
    };
    insert("used");
    insert("unused");
    ASSERT_NE(lists.find("unused", 0), nullptr);
    for (int i = 0; i < 100; ++i) {
        insert("passing" + std::to_string(i));
        for (int use = 0; use < 40; ++use) ASSERT_NE(lists.find("used", 0), nullptr) << i;
    }
    EXPECT_EQ(lists.find("unused", 0), nullptr);
    EXPECT_EQ(lists.find("used", 1), nullptr) << "another table";
    EXPECT_NE(lists.find("used", 0), nullptr);
}

/// Entries of a composite index that begin with one value are a term, too: any range inside is
/// served from their list.
TEST(PostingLists, ServeRangesOfACompositeIndex) {
    auto store = testing::open_started({});
    const auto number = [](uint64_t n) {
        std::string out(1, '\x40');
        append_u64_be(out, n);
        return out;
    };
    const auto entry = [&](const std::string& first, uint64_t second) {
        std::string key = keys::index_path(1, 7 + keys::kReservedPathHashes) + first;
        key += number(second);
        key += Docref("12345678", second).bytes();
        return key;
    };
    std::string own(1, '\x50');
    append_delimited(own, "own");
    std::string other(1, '\x50');
    append_delimited(other, "other");
    constexpr uint64_t kEntries = 400;
    ASSERT_TRUE(testing::commit(*store, [&](CommitScope& scope) {
                    IndexDelta delta;
                    for (uint64_t i = 0; i < kEntries; ++i)
                        for (const std::string& first : {other, own})
                            delta.add(entry(first, 3 * i), false);
                    scope.put(Family::kMeta, "note", "x");
                    scope.index(1, 1, std::move(delta));
                    return true;
                }).ok());
    ASSERT_TRUE(store->flush().ok());
    const std::string prefix = keys::index_path(1, 7 + keys::kReservedPathHashes) + own;
    const auto count = [&](uint64_t from, const std::string& end) {
        const auto cursor = store->view()->scan(Family::kIndex, prefix + number(from), end);
        uint64_t entries = 0;
        for (; cursor->valid(); cursor->next(), ++entries)
            EXPECT_EQ(cursor->key(), entry(own, (from + 2) / 3 * 3 + 3 * entries));
        EXPECT_TRUE(cursor->status().ok());
        return entries;
    };
    const std::string all = prefix_successor(prefix);
    for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(count(0, all), kEntries);
        EXPECT_EQ(count(100, all), kEntries - 34);
        EXPECT_EQ(count(100, prefix + number(200)), 33U);
        EXPECT_EQ(count(5000, all), 0U);
    }
    const ViewPtr view = store->view();
    const detail::ViewImpl& impl = static_cast<const detail::ViewBase&>(*view).impl();
    const auto list = impl.database().posting_lists().find(prefix, impl.index_files().table);
    ASSERT_NE(list, nullptr);
    EXPECT_EQ(list->size(), kEntries);
    // A range over several first values has no list of one, and finds all of them.
    const std::string path = keys::index_path(1, 7 + keys::kReservedPathHashes);
    const auto cursor = view->scan(Family::kIndex, path + other + number(0), all);
    uint64_t entries = 0;
    for (; cursor->valid(); cursor->next()) ++entries;
    EXPECT_EQ(entries, 2 * kEntries);
}

}  // namespace
}  // namespace orrery::storage
