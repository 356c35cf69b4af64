#include "storage/detail/posting_lists.h"

#include <gtest/gtest.h>

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

TEST(PostingList, HoldsEntriesOfOneKindOnly) {
    PostingList list("term");
    EXPECT_FALSE(list.append("term", "")) << "nothing behind the prefix";
    EXPECT_TRUE(list.append("terma1", ""));
    EXPECT_FALSE(list.append("termb22", "")) << "longer";
    EXPECT_FALSE(list.append("termb2", kPartialTerm)) << "another value";
    EXPECT_EQ(list.size(), 1U);
}

TEST(PostingLists, AreTriedAfterFourTimesAsManySteps) {
    PostingLists lists(rocksdb::NewLRUCache(1 << 20));
    EXPECT_EQ(lists.worthwhile("t"), 0U);
    lists.note_walk("t", 500);
    EXPECT_EQ(lists.worthwhile("t"), 0U);
    lists.note_walk("t", 100);
    EXPECT_EQ(lists.worthwhile("t"), 600U);
    lists.tried("t", false);
    EXPECT_EQ(lists.worthwhile("t"), 0U);
    lists.note_walk("t", 1000);
    EXPECT_EQ(lists.worthwhile("t"), 0U);
    lists.note_walk("t", 6000);
    EXPECT_EQ(lists.worthwhile("t"), 7600U);
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
        const auto cursor = scan_term(view, begin, end);
        for (; cursor->valid(); cursor->next()) ++count;
        return cursor->status().ok() ? count : UINT64_MAX;
    };
    const auto is_listed = [&] {
        const ViewPtr view = store->view();
        const detail::ViewImpl& impl = static_cast<const detail::ViewBase&>(*view).impl();
        return impl.database().posting_lists().find(begin, impl.index_files().table) != nullptr;
    };
    add("\x50one", 0, 300);
    add("\x50two", 0, 300);
    ASSERT_TRUE(store->flush().ok());
    for (int i = 0; i < 4; ++i) EXPECT_EQ(entries(*store->view()), 300U);
    EXPECT_TRUE(is_listed());
    ReadBudget budget{.steps_left = 100};  // fewer than there are entries
    EXPECT_EQ(entries(*in_memory(*store->view(), budget)), 300U);
    EXPECT_FALSE(budget.exceeded);

    add("\x50two", 300, 400);
    ASSERT_TRUE(store->flush().ok());
    EXPECT_TRUE(is_listed()) << "the table has nothing of the term";
    add("\x50one", 300, 310);
    EXPECT_EQ(entries(*store->view()), 310U) << "not on disk yet";
    ASSERT_TRUE(store->flush().ok());
    EXPECT_FALSE(is_listed());
    EXPECT_EQ(entries(*store->view()), 310U);
    ASSERT_TRUE(store->close().ok());
}

}  // namespace
}  // namespace orrery::storage
