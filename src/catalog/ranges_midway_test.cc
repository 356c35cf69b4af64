#include <utility>

#include "base/crash_copy_test_support.h"
#include "catalog/ranges_test_support.h"

/// What happens to a container, or to the server, in the middle of a split or merge.
namespace orrery::catalog {
namespace {

using namespace testing;

/// What a crash leaves at each step: the split has not been, or is done.
TEST(Ranges, CrashAtEveryStep) {
    for (const bool merging : {false, true}) {
        Folder folder;
        Folder copies;
        Account account(folder.path());
        ASSERT_NO_FATAL_FAILURE(create(account, kV2));
        ASSERT_TRUE(
            account.create_container("d", R"({"id":"other","partitionKey":{"paths":["/pk"]}})")
                .ok());
        Written written(account, 3);
        ASSERT_NO_FATAL_FAILURE(written.write_many(150));
        RangeChange change = split_of(*written.container(), "0");
        if (merging) {
            RangeProgress progress;
            ASSERT_TRUE(account->change_ranges(change, progress).ok());
            change = merge_of(*written.container(), "1", "2");
        }
        const size_t ranges_before = written.container()->ranges->ranges.size();
        struct Copy {
            std::string path;
            Items items;
            Step step;
        };
        std::vector<Copy> made;
        RangeProgress progress;
        progress.on_step = [&](Step step) {
            // Writes go on between the steps, but not while nobody may write.
            if (step < Step::kClosed) {
                ASSERT_NO_FATAL_FAILURE(written.write_many(40));
            }
            made.push_back({copies.path() + "/" + std::to_string(static_cast<int>(step)),
                            written.items, step});
            copy_as_after_a_crash(folder.path(), made.back().path);
        };
        ASSERT_TRUE(account->change_ranges(change, progress).ok());
        progress.on_step = nullptr;
        ASSERT_EQ(made.size(), 6U);
        ASSERT_NO_FATAL_FAILURE(written.write_many(40));
        ASSERT_NO_FATAL_FAILURE(written.expect_whole());
        made.push_back({copies.path() + "/after", written.items, Step::kSwitched});
        copy_as_after_a_crash(folder.path(), made.back().path);
        for (const Copy& copy : made) {
            Account again(copy.path);
            Written reopened(again, 4);
            reopened.items = copy.items;
            ASSERT_NO_FATAL_FAILURE(reopened.expect_whole()) << copy.path;
            EXPECT_EQ(reopened.container()->ranges->ranges.size() == ranges_before,
                      copy.step != Step::kSwitched)
                << copy.path;
            ASSERT_TRUE(again->clean_up().ok());
            expect_nothing_left_over(again, "d", "other");
            ASSERT_NO_FATAL_FAILURE(reopened.write_many(30));
            ASSERT_NO_FATAL_FAILURE(reopened.expect_whole()) << copy.path;
            // And once more, with numbers that were not used before.
            RangeProgress next;
            const auto split = again->change_ranges(
                split_of(*reopened.container(), reopened.container()->ranges->ranges[0].id), next);
            ASSERT_TRUE(split.ok()) << split.error().message;
            ASSERT_NO_FATAL_FAILURE(reopened.expect_whole()) << copy.path;
        }
    }
}

/// A change of settings in the middle: the split begins again and follows it.
TEST(Ranges, SettingsChangeInTheMiddle) {
    Account account;
    ASSERT_NO_FATAL_FAILURE(create(account, kV2));
    Written written(account, 5);
    ASSERT_NO_FATAL_FAILURE(written.write_many(100));
    RangeProgress progress;
    int copies = 0;
    progress.on_step = [&](Step step) {
        if (step != Step::kCopied) return;
        if (++copies > 1) return;
        ASSERT_TRUE(account.replace_container("d", "c", R"({"id":"c","defaultTtl":5000})").ok());
    };
    const auto split = account->change_ranges(split_of(*written.container(), "0"), progress);
    ASSERT_TRUE(split.ok()) << split.error().message;
    EXPECT_EQ(copies, 2);
    EXPECT_EQ((*split)->settings->default_ttl, 5000);
    EXPECT_EQ((*split)->ranges->ranges[0].partition->settings()->default_ttl, 5000);
    ASSERT_NO_FATAL_FAILURE(written.expect_whole());
    // While an index transformation runs it has to wait; what would come of it is known.
    ASSERT_TRUE(
        account
            .replace_container("d", "c", R"({"id":"c","indexingPolicy":{"indexingMode":"none"}})")
            .ok());
    const std::string id = (*split)->ranges->ranges[0].id;
    EXPECT_EQ(ended(account->change_ranges(split_of(**split, id), progress)), Ended::kRetry);
    EXPECT_EQ(ended(account->forecast(split_of(**split, id))), Ended::kOk);
    ASSERT_NO_FATAL_FAILURE(carry_out_index_changes(account));
    EXPECT_EQ(
        ended(account->change_ranges(
            split_of(*written.container(), written.container()->ranges->ranges[0].id), progress)),
        Ended::kOk);
    ASSERT_NO_FATAL_FAILURE(written.expect_whole());
}

/// Another indexing policy at every step of a split, and of a merge: the copy is given up, and when
/// the index has been changed it can be done.
TEST(Ranges, IndexingPolicyChangesInTheMiddle) {
    int policies = 0;
    for (const Step when : {Step::kReserved, Step::kCopied, Step::kCaughtUp}) {
        for (const bool merge : {false, true}) {
            Folder folder;
            Account account(folder.path());
            ASSERT_NO_FATAL_FAILURE(create(account, kV2));
            Written written(account, 11);
            ASSERT_NO_FATAL_FAILURE(written.write_many(150));
            RangeProgress progress;
            RangeChange change = split_of(*written.container(), "0");
            if (merge) {
                ASSERT_TRUE(account->change_ranges(change, progress).ok());
                change = merge_of(*written.container(), "1", "2");
            }
            bool changed = false;
            progress.on_step = [&](Step step) {
                if (step != when || std::exchange(changed, true)) return;
                ASSERT_NO_FATAL_FAILURE(written.write_many(20));
                const std::string policy =
                    ++policies % 2 == 0
                        ? R"({"indexingMode":"none"})"
                        : R"({"excludedPaths":[{"path":"/v/?"}],"includedPaths":[{"path":"/*"}]})";
                ASSERT_TRUE(
                    account
                        .replace_container(
                            "d", "c",
                            R"({"id":"c","defaultTtl":1000,"indexingPolicy":)" + policy + "}")
                        .ok());
                ASSERT_NO_FATAL_FAILURE(written.write_many(20));
            };
            EXPECT_EQ(ended(account->change_ranges(change, progress)), Ended::kRetry);
            ASSERT_TRUE(changed);
            EXPECT_EQ(written.container()->ranges->ranges.size(), merge ? 2U : 1U);
            ASSERT_NO_FATAL_FAILURE(written.write_many(20));
            ASSERT_NO_FATAL_FAILURE(carry_out_index_changes(account));
            ASSERT_NO_FATAL_FAILURE(written.expect_whole());
            const auto done = account->change_ranges(change, progress);
            ASSERT_TRUE(done.ok()) << done.error().message;
            ASSERT_NO_FATAL_FAILURE(written.write_many(20));
            ASSERT_NO_FATAL_FAILURE(written.expect_whole());
            account.reopen();
            ASSERT_NO_FATAL_FAILURE(written.expect_whole());
        }
    }
}

/// Throughput is redistributed in the middle: the split begins again, with the new weights.
TEST(Ranges, RedistributedInTheMiddle) {
    Account account;
    ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
    ASSERT_TRUE(account.create_container("d", kV1, {12'000, {}, {}}).ok());
    Written written(account, 15);
    ASSERT_NO_FATAL_FAILURE(written.write_many(100));
    RangeProgress progress;
    int copies = 0;
    progress.on_step = [&](Step step) {
        if (step != Step::kCaughtUp || ++copies > 1) return;
        const Redistribution wanted{false, {{0, 3000}, {1, 9000}}};
        const auto moved = account->redistribute(*written.container(), wanted);
        ASSERT_TRUE(moved.ok()) << moved.error().message;
    };
    const auto split = account->change_ranges(split_of(*written.container(), "1"), progress);
    ASSERT_TRUE(split.ok()) << split.error().message;
    EXPECT_EQ(copies, 2);
    std::vector<double> rates;
    for (const auto& range : (*split)->ranges->ranges) rates.push_back(range.budget->rate_ru());
    EXPECT_EQ(rates, (std::vector<double>{3000, 4500, 4500}));
    ASSERT_NO_FATAL_FAILURE(written.expect_whole());
}

/// The container goes while its partition is being divided: so does what was made of it.
TEST(Ranges, DeletedInTheMiddle) {
    for (const bool database : {false, true}) {
        for (const Step when : {Step::kReserved, Step::kCopied, Step::kCaughtUp}) {
            Folder folder;
            Account account(folder.path());
            ASSERT_NO_FATAL_FAILURE(create(account, kV2));
            ASSERT_TRUE(account.create_database(R"({"id":"e"})").ok());
            ASSERT_TRUE(account
                            .create_container(
                                "e", R"({"id":"x","partitionKey":{"paths":["/pk"],"version":2}})")
                            .ok());
            Written written(account, 13);
            ASSERT_NO_FATAL_FAILURE(written.write_many(200));
            RangeProgress progress;
            progress.on_step = [&](Step step) {
                if (step != when) return;
                const Status gone = database ? account->delete_database("d", "")
                                             : account->delete_container("d", "c", "");
                ASSERT_TRUE(gone.ok()) << gone.error().message;
            };
            const RangeChange change = split_of(*written.container(), "0");
            EXPECT_EQ(ended(account->change_ranges(change, progress)), Ended::kNotFound);
            EXPECT_EQ(account->find_container("d", "c"), nullptr);
            ASSERT_TRUE(account.store->flush().ok());  // index entries in memory go to disk first
            expect_nothing_left_over(account, "e", "x");
        }
    }
}

/// Items from before the container had a TTL get their entries in the background. A partition that
/// is copied meanwhile does not take that for done.
TEST(Ranges, TtlIsFilledInTheMiddle) {
    Folder folder;
    Account account(folder.path());
    ASSERT_NO_FATAL_FAILURE(create(account, kV1));
    Written written(account, 14);
    ASSERT_NO_FATAL_FAILURE(written.write_many(300));
    ASSERT_TRUE(account.replace_container("d", "c", R"({"id":"c","defaultTtl":100000})").ok());
    RangeProgress progress;
    progress.on_step = [&](Step step) {
        if (step != Step::kCopied) return;
        ASSERT_TRUE(written.container()->ranges->ranges[0].partition->remove_expired(10).ok());
    };
    const auto split = account->change_ranges(split_of(*written.container(), "0"), progress);
    ASSERT_TRUE(split.ok()) << split.error().message;
    ASSERT_NO_FATAL_FAILURE(written.expect_whole());
    account.clock.advance_us(200'000'000'000);
    size_t removed = 0;
    for (const ContainerPtr now = written.container();
         const PartitionRange& range : now->ranges->ranges) {
        const auto some = range.partition->remove_expired(1000);
        ASSERT_TRUE(some.ok());
        removed += *some;
    }
    EXPECT_EQ(removed, written.items.size());
}

}  // namespace
}  // namespace orrery::catalog
