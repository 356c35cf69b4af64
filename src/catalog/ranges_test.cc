#include "catalog/ranges_test_support.h"

#include "base/rounds_test_support.h"

/// Splits and merges of physical partitions.
namespace orrery::catalog {
namespace {

using namespace testing;

TEST(Ranges, SplitOfAnIdlePartition) {
    Folder folder;
    Account account(folder.path());
    ASSERT_NO_FATAL_FAILURE(create(account, kV2));
    Written written(account, 1);
    ASSERT_NO_FATAL_FAILURE(written.write_many(300));
    const ContainerPtr before = written.container();
    const storage::Lsn lsn = before->ranges->ranges[0].partition->lsn();
    RangeProgress progress;
    const auto split = account->change_ranges(split_of(*before, "0"), progress);
    ASSERT_TRUE(split.ok()) << split.error().message;
    const RangeMap& map = *(*split)->ranges;
    ASSERT_EQ(map.ranges.size(), 2U);
    EXPECT_EQ(map.version, before->ranges->version + 1);
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(map.ranges[i].id, std::to_string(i + 1));
        EXPECT_EQ(map.ranges[i].parents, std::vector<std::string>{"0"});
        EXPECT_EQ(map.ranges[i].partition->lsn(), lsn);
        EXPECT_EQ(map.ranges[i].partition->birth().lsn, lsn);
    }
    ASSERT_NO_FATAL_FAILURE(written.expect_whole());
    ASSERT_NO_FATAL_FAILURE(written.write_many(100));
    ASSERT_NO_FATAL_FAILURE(written.expect_whole());
    account.reopen();
    ASSERT_NO_FATAL_FAILURE(written.expect_whole());
    EXPECT_EQ(written.container()->ranges->ranges[1].parents, std::vector<std::string>{"0"});
    ASSERT_NO_FATAL_FAILURE(written.write_many(100));
    ASSERT_NO_FATAL_FAILURE(written.expect_whole());
    ASSERT_TRUE(
        account.create_container("d", R"({"id":"other","partitionKey":{"paths":["/pk"]}})").ok());
    expect_nothing_left_over(account, "d", "other");
}

/// Ranges, parents, sizes: whatever the kind of key and wherever the cut.
TEST(Ranges, EveryKindOfKey) {
    for (const std::string_view definition : {kV1, kV2, kMultiHash}) {
        Account account;
        ASSERT_NO_FATAL_FAILURE(create(account, definition));
        Written written(account, 2);
        ASSERT_NO_FATAL_FAILURE(written.write_many(200));
        for (const RangeChange::At at : {RangeChange::At::kBytes, RangeChange::At::kMiddle}) {
            const ContainerPtr before = written.container();
            const std::string id = before->ranges->ranges.back().id;
            const auto forecast = account->forecast(split_of(*before, id, at));
            ASSERT_TRUE(forecast.ok()) << forecast.error().message;
            RangeProgress progress;
            const auto split = account->change_ranges(split_of(*before, id, at), progress);
            ASSERT_TRUE(split.ok()) << split.error().message;
            const auto& ranges = (*split)->ranges->ranges;
            const storage::ViewPtr view = account.store->view();
            for (size_t i = 0; i < 2; ++i) {
                const auto& partition = *ranges[ranges.size() - 2 + i].partition;
                EXPECT_EQ(partition.identity().range, (*forecast)[i].range);
                EXPECT_EQ(partition.totals(*view)->bytes, (*forecast)[i].bytes);
                EXPECT_EQ(partition.totals(*view)->items, (*forecast)[i].items);
                EXPECT_EQ(partition.bytes(), (*forecast)[i].bytes);
            }
            ASSERT_NO_FATAL_FAILURE(written.expect_whole());
            ASSERT_NO_FATAL_FAILURE(written.write_many(50));
            ASSERT_NO_FATAL_FAILURE(written.expect_whole());
        }
        // Back to one, from the left.
        while (written.container()->ranges->ranges.size() > 1) {
            const ContainerPtr now = written.container();
            RangeProgress progress;
            const auto merged = account->change_ranges(
                merge_of(*now, now->ranges->ranges[0].id, now->ranges->ranges[1].id), progress);
            ASSERT_TRUE(merged.ok()) << merged.error().message;
            ASSERT_NO_FATAL_FAILURE(written.expect_whole());
            ASSERT_NO_FATAL_FAILURE(written.write_many(50));
            ASSERT_NO_FATAL_FAILURE(written.expect_whole());
        }
        const PartitionRange& last = written.container()->ranges->ranges[0];
        EXPECT_EQ(last.parents, (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
        EXPECT_EQ(last.id, "6");
    }
}

TEST(Ranges, RefusesWhatCannotBe) {
    Account account;
    ASSERT_NO_FATAL_FAILURE(create(account, kV2));
    const ContainerPtr container = account->find_container("d", "c");
    RangeProgress progress;
    EXPECT_EQ(ended(account->change_ranges(split_of(*container, "7"), progress)),
              Ended::kRangeGone);
    // Nothing to halve.
    EXPECT_EQ(ended(account->forecast(split_of(*container, "0"))), Ended::kBadRequest);
    account.put_item(*container, "x");
    EXPECT_EQ(ended(account->forecast(split_of(*container, "0"))), Ended::kBadRequest);
    RangeChange change = split_of(*container, "0", RangeChange::At::kGiven);
    change.epk = "\xFF";
    EXPECT_EQ(ended(account->forecast(change)), Ended::kBadRequest);
    change.epk = std::string(1, '\0');
    EXPECT_EQ(ended(account->forecast(change)), Ended::kOk);
    EXPECT_EQ(ended(account->forecast(merge_of(*container, "0", "0"))), Ended::kBadRequest);
    ASSERT_TRUE(
        account->change_ranges(split_of(*container, "0", RangeChange::At::kMiddle), progress).ok());
    EXPECT_EQ(ended(account->forecast(split_of(*container, "0"))), Ended::kRangeGone);
    EXPECT_EQ(ended(account->forecast(merge_of(*container, "2", "1"))), Ended::kBadRequest);
    EXPECT_EQ(ended(account->forecast(merge_of(*container, "1", "2"))), Ended::kOk);
    RangeChange other = split_of(*container, "0");
    other.container.number += 1;
    EXPECT_EQ(ended(account->forecast(other)), Ended::kNotFound);
    // A merge must leave enough partitions for the throughput.
    ASSERT_TRUE(
        account
            .create_container("d", R"({"id":"wide","partitionKey":{"paths":["/pk"],"version":2}})",
                              {.manual = 12'000, .autoscale_max = {}, .increment_percent = {}})
            .ok());
    EXPECT_EQ(ended(account->forecast(merge_of(*account->find_container("d", "wide"), "0", "1"))),
              Ended::kBadRequest);
}

/// Random writes, splits, merges, restarts and crashes against a model; writes go through old maps
/// too.
TEST(Ranges, Model) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        Folder folder;
        auto account = std::make_unique<Account>(folder.path());
        ASSERT_NO_FATAL_FAILURE(create(*account, seed == 1 ? kV2 : seed == 2 ? kV1 : kMultiHash));
        Written written(*account, seed);
        std::set<std::string> ids{"0"};
        ContainerPtr old = written.container();
        for (int round = 0; round < rounds(24); ++round) {
            for (size_t i = written.pick(40); i > 0; --i) {
                account->clock.advance_us(20'000);
                ASSERT_NO_FATAL_FAILURE(
                    written.write(written.pick(2) == 0 ? old : written.container()));
            }
            old = written.container();
            const auto& ranges = old->ranges->ranges;
            const size_t at = written.pick(ranges.size());
            RangeChange change =
                split_of(*old, ranges[at].id,
                         written.pick(2) == 0 ? RangeChange::At::kBytes : RangeChange::At::kMiddle);
            if (ranges.size() > 1 && written.pick(5) < 2 + ranges.size() / 4) {
                const size_t left = written.pick(ranges.size() - 1);
                change = merge_of(*old, ranges[left].id, ranges[left + 1].id);
            }
            RangeProgress progress;
            progress.on_step = [&](Step step) {
                if (step < Step::kClosed) {
                    ASSERT_NO_FATAL_FAILURE(written.write_many(written.pick(25)));
                }
            };
            const auto changed = (*account)->change_ranges(change, progress);
            if (changed.ok()) {
                for (const auto& range : (*changed)->ranges->ranges)
                    if (old->ranges->find(range.id) == nullptr) {
                        ASSERT_TRUE(ids.insert(range.id).second) << "used twice";
                    }
            } else {
                ASSERT_EQ(ended(changed), Ended::kBadRequest) << changed.error().message;
            }
            if (round % 4 == 3) {
                ASSERT_NO_FATAL_FAILURE(written.expect_whole()) << seed << " " << round;
            }
            if (round % 8 == 5) {
                old.reset();
                account->reopen();
                old = written.container();
            }
        }
        ASSERT_NO_FATAL_FAILURE(written.expect_whole()) << seed;
        old.reset();
    }
}

/// What was asked for is there after a restart until it is done, or was taken back.
TEST(Ranges, RequestsAreKept) {
    Folder folder;
    Account account(folder.path());
    ASSERT_NO_FATAL_FAILURE(create(account, kV2));
    Written written(account, 12);
    ASSERT_NO_FATAL_FAILURE(written.write_many(100));
    RangeRequest request;
    request.number = 4;
    request.asked_at = 1000;
    request.change = split_of(*written.container(), "0");
    request.change.request = 4;
    ASSERT_TRUE(account->keep_range_request(request).ok());
    request.number = request.change.request = 5;
    ASSERT_TRUE(account->keep_range_request(request).ok());
    account.reopen();
    auto kept = account->kept_range_requests();
    ASSERT_EQ(kept.size(), 2U);
    EXPECT_EQ(kept[0].number, 4U);
    EXPECT_EQ(kept[0].asked_at, 1000);
    EXPECT_EQ(kept[0].change.range_ids, std::vector<std::string>{"0"});
    EXPECT_EQ(kept[0].change.at, RangeChange::At::kBytes);
    RangeProgress progress;
    ASSERT_TRUE(account->change_ranges(kept[0].change, progress).ok());
    account.reopen();
    kept = account->kept_range_requests();
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept[0].number, 5U);
    EXPECT_EQ(ended(account->change_ranges(kept[0].change, progress)), Ended::kRangeGone);
    ASSERT_TRUE(account->end_range_request(5).ok());
    account.reopen();
    EXPECT_TRUE(account->kept_range_requests().empty());
    ASSERT_NO_FATAL_FAILURE(written.expect_whole());
}

}  // namespace
}  // namespace orrery::catalog
