#include "storage/detail/term_columns.h"

#include <gtest/gtest.h>

#include "storage/light_view.h"
#include "storage/store_test_support.h"

namespace orrery::storage {
namespace {

/// Entries that were walked often enough are counted once for all by somebody who may wait. Who may
/// not says so: a walk that fits its budget would otherwise be repeated for ever.
TEST(TermColumns, AreMadeByThoseWhoMayWait) {
    constexpr size_t kDocrefBytes = 16;
    constexpr uint64_t kEntries = 50;
    auto store = testing::open_started({});
    ASSERT_TRUE(testing::commit(*store, [&](CommitScope& scope) {
                    IndexDelta delta;
                    for (uint64_t i = 0; i < kEntries; ++i)
                        delta.add(testing::index_key(1, 7, i % 5 == 0 ? "few" : "many", i), false);
                    scope.put(Family::kMeta, "note", "x");
                    scope.index(1, 1, std::move(delta));
                    return true;
                }).ok());
    ASSERT_TRUE(store->flush().ok());
    const ViewPtr view = store->view();
    const std::string path = keys::index_path(1, 7 + keys::kReservedPathHashes);
    const auto counts = [&](const View& of) {
        return term_counts(of, path, kDocrefBytes, "", "", kEntries);
    };
    const auto within_budget = [&](bool& exceeded) {
        ReadBudget budget{.steps_left = 1000};
        const auto found = counts(*in_memory(*view, budget));
        exceeded = budget.exceeded;
        return found.ok() && *found;
    };
    bool exceeded = false;
    EXPECT_FALSE(within_budget(exceeded));
    EXPECT_FALSE(exceeded) << "nobody has walked yet";
    note_walk(*view, path, kEntries - 1);
    EXPECT_FALSE(within_budget(exceeded));
    EXPECT_FALSE(exceeded) << "not worth it yet";
    note_walk(*view, path, 1);
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(within_budget(exceeded));
        EXPECT_TRUE(exceeded) << "a worker is to make it";
    }
    const auto made = counts(*view);
    ASSERT_TRUE(made.ok() && *made);
    std::vector<uint64_t> found;
    (*made)->each([&](std::string_view, uint64_t count, bool) { found.push_back(count); });
    EXPECT_EQ(found, (std::vector<uint64_t>{10, 40}));
    EXPECT_TRUE(within_budget(exceeded));
    EXPECT_FALSE(exceeded);
}

}  // namespace
}  // namespace orrery::storage
