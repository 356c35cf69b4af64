#include <map>
#include <random>

#include "base/ended_test_support.h"
#include "base/rounds_test_support.h"
#include "partition/changes_test_support.h"
#include "storage/fault_file_system.h"
#include "storage/store_test_support.h"

namespace orrery::partition {
namespace {

using namespace testing;
using storage::Family;

TEST(Changes, LatestVersionInLsnOrder) {
    Bench bench;
    EXPECT_EQ(page(bench, {})->position, 0U);
    bench.one("a", create(item("1", "a", 1)));
    bench.one("b", create(item("2", "b", 1)));
    bench.one("a", create(item("3", "a", 1)));
    bench.one("a", replace("1", item("1", "a", 2)));
    bench.one("a", remove("3"));
    EXPECT_EQ(names(all(bench, {})), (std::vector<std::string>{"2:1", "1:2"}));
    EXPECT_EQ(all(bench, {})[1].lsn, 4U);
    EXPECT_EQ(names(all(bench, {.after = 2})), (std::vector<std::string>{"1:2"}));
    EXPECT_TRUE(all(bench, {.after = 4}).empty());
    EXPECT_EQ(page(bench, {.after = 4})->position, 5U);  // moves on over what is not shown
    EXPECT_EQ(names(all(bench, {.range = range_of_key(epk_of("b"))})),
              (std::vector<std::string>{"2:1"}));
    EXPECT_EQ(page(bench, {.range = range_of_key(epk_of("zz"))})->position, 5U);
    EXPECT_EQ(ended(page(bench, {.all_versions = true}).error()), Ended::kBadRequest);
}

TEST(Changes, ACommitIsNeverSplit) {
    Bench bench;
    for (int i = 0; i < 5; ++i) bench.one("a", create(item("s" + std::to_string(i), "a", i)));
    std::vector<ItemOperation> operations;
    for (int i = 0; i < 40; ++i)
        operations.push_back(create(item("b" + std::to_string(i), "a", i)));
    ASSERT_TRUE(bench.batch("a", std::move(operations)).committed);
    bench.one("a", create(item("z", "a")));
    ChangesRequest request;
    request.items_max = 3;
    std::vector<size_t> sizes;
    std::vector<storage::Lsn> positions;
    for (;;) {
        const ChangesPage one = page(bench, request).value();
        sizes.push_back(one.changes.size());
        positions.push_back(one.position);
        for (const Change& change : one.changes) {
            EXPECT_GT(change.lsn, request.after);
            EXPECT_LE(change.lsn, one.position);
        }
        request.after = one.position;
        if (!one.more) break;
    }
    EXPECT_EQ(sizes, (std::vector<size_t>{3, 2, 40, 1}));
    EXPECT_EQ(positions, (std::vector<storage::Lsn>{3, 5, 6, 7}));
    // By bytes likewise: always at least one commit.
    size_t pages = 0;
    EXPECT_EQ(all(bench, {.bytes_max = 1}, &pages).size(), 46U);
    EXPECT_EQ(pages, 7U);
}

/// One key of many: by its items the same as by the log.
TEST(Changes, OneKeyByItsItems) {
    ContainerSettings settings = default_settings();
    settings.default_ttl = -1;
    Bench bench(settings);
    for (int i = 0; i < 400; ++i) {
        const std::string pk = i % 20 == 0 ? "rare" : "k" + std::to_string(i % 7);
        bench.one(pk, upsert(item(std::to_string(i % 60), pk, i, i == 300 ? R"(,"ttl":1)" : "")));
        if (i % 50 == 0) bench.clock.advance_seconds(1);
    }
    std::vector<ItemOperation> operations;
    for (int i = 0; i < 4; ++i) operations.push_back(create(item("b" + std::to_string(i), "rare")));
    ASSERT_TRUE(bench.batch("rare", std::move(operations)).committed);
    bench.clock.advance_seconds(5);
    for (const uint32_t size : {1U, 2U, 3U, 100U}) {
        for (const storage::Lsn after : {0U, 100U, 301U, 400U}) {
            for (const int64_t newer : {int64_t{0}, bench.clock.wall_seconds() - 8}) {
                ChangesRequest by_log{.range = range_of_key(epk_of("rare")),
                                      .after = after,
                                      .newer_than = newer,
                                      .items_max = size};
                ChangesRequest by_items = by_log;
                by_items.epk = epk_of("rare");
                size_t log_pages = 0;
                size_t item_pages = 0;
                EXPECT_EQ(names(all(bench, by_log, &log_pages)),
                          names(all(bench, by_items, &item_pages)));
                EXPECT_EQ(log_pages, item_pages);
            }
        }
    }
    EXPECT_EQ(all(bench, {.range = range_of_key(epk_of("none")), .epk = epk_of("none")}).size(),
              0U);
}

TEST(Changes, ExpiredItemsVanishAtOnce) {
    ContainerSettings settings = default_settings();
    settings.default_ttl = 10;
    Bench bench(settings);
    bench.one("a", create(item("1", "a")));
    bench.clock.advance_seconds(5);
    bench.one("a", create(item("2", "a")));
    EXPECT_EQ(all(bench, {}).size(), 2U);
    bench.clock.advance_seconds(5);
    EXPECT_EQ(names(all(bench, {})), (std::vector<std::string>{"2:0"}));
    EXPECT_EQ(bench.partition->remove_expired(10).value(), 1U);
    EXPECT_EQ(names(all(bench, {})), (std::vector<std::string>{"2:0"}));
}

TEST(Changes, FromATime) {
    Bench bench;
    const int64_t start = bench.clock.wall_seconds();
    for (int i = 0; i < 60; ++i) {
        bench.one("a", create(item(std::to_string(i), "a", i)));
        if (i % 3 == 2) bench.clock.advance_seconds(2);
    }
    const auto before = [&](int64_t ts) {
        return bench.partition->lsn_before(*bench.store->view(), ts, bench.partition->lsn())
            .value();
    };
    EXPECT_EQ(before(start - 1), 0U);
    EXPECT_EQ(before(start), 3U);
    EXPECT_EQ(before(start + 1), 3U);
    EXPECT_EQ(before(start + 2), 6U);
    EXPECT_EQ(before(start + 37), 57U);
    EXPECT_EQ(before(start + 38), 60U);
    EXPECT_EQ(before(start + 1000), 60U);
    EXPECT_EQ(all(bench, {.newer_than = start + 1}).size(), 57U);
    // Also where records have gone.
    for (int i = 0; i < 60; i += 2) bench.one("a", remove(std::to_string(i)));
    ASSERT_TRUE(bench.store->flush().ok());
    ASSERT_TRUE(bench.partition->trim_log(10'000).ok());
    EXPECT_EQ(before(start), 2U);  // 1 and 3 are gone
    EXPECT_EQ(before(start + 1000), 90U);
}

TEST(Changes, AllVersions) {
    ContainerSettings settings = keeping(600);
    settings.default_ttl = -1;
    Bench bench(settings);
    const int64_t start = bench.clock.wall_seconds();
    bench.one("a", create(item("1", "a", 1)));
    bench.one("a", replace("1", item("1", "a", 2)));
    bench.clock.advance_seconds(7);
    bench.one("a", upsert(item("1", "a", 3)));
    bench.one("b", create(item("2", "b", 1, R"(,"ttl":5)")));
    bench.one("a", remove("1"));
    bench.one("a", create(item("1", "a", 4)));
    bench.clock.advance_seconds(5);
    EXPECT_EQ(bench.partition->remove_expired(10).value(), 1U);
    for (const bool reopened : {false, true}) {
        if (reopened) {
            ASSERT_TRUE(bench.store->flush().ok());
        }
        for (const uint32_t size : {1U, 2U, 100U}) {
            const auto changes = all(bench, {.all_versions = true, .items_max = size});
            ASSERT_EQ(names(changes),
                      (std::vector<std::string>{"1:1", "1:2", "1:3", "2:1", "-1", "1:4", "-2"}));
            EXPECT_EQ(changes[0].operation, LogOperation::kCreate);
            EXPECT_EQ(text(changes[0].previous), "");
            EXPECT_EQ(changes[1].operation, LogOperation::kReplace);
            EXPECT_EQ(changes[1].previous_lsn, 1U);
            EXPECT_EQ(text(changes[1].previous), item("1", "a", 1));
            EXPECT_EQ(changes[2].ts, start + 7);
            EXPECT_EQ(changes[4].operation, LogOperation::kDelete);
            EXPECT_FALSE(changes[4].expired);
            EXPECT_EQ(text(changes[4].previous), item("1", "a", 3));
            EXPECT_EQ(changes[4].previous_lsn, 3U);
            EXPECT_TRUE(changes[6].expired);
            EXPECT_EQ(changes[6].id, "2");
        }
    }
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Changes, TheWindow) {
    Bench bench;
    bench.one("a", create(item("1", "a", 1)));
    bench.set(keeping(60));
    // What was written before is outside; now is inside, though nothing follows.
    EXPECT_EQ(ended(page(bench, {.all_versions = true}).error()), Ended::kBadRequest);
    EXPECT_EQ(page(bench, {.after = 1, .all_versions = true})->position, 1U);
    bench.one("a", replace("1", item("1", "a", 2)));
    bench.one("a", replace("1", item("1", "a", 3)));
    EXPECT_EQ(names(all(bench, {.after = 1, .all_versions = true})),
              (std::vector<std::string>{"1:2", "1:3"}));
    EXPECT_FALSE(page(bench, {.all_versions = true}).ok());
    bench.clock.advance_seconds(60);
    EXPECT_TRUE(page(bench, {.after = 1, .all_versions = true}).ok());
    bench.clock.advance_seconds(1);
    bench.one("a", replace("1", item("1", "a", 4)));
    // Too old, whether removed already or not.
    EXPECT_FALSE(page(bench, {.after = 1, .all_versions = true}).ok());
    EXPECT_EQ(names(all(bench, {.after = 3, .all_versions = true})),
              (std::vector<std::string>{"1:4"}));
    ASSERT_TRUE(bench.store->flush().ok());
    ASSERT_TRUE(bench.partition->trim_log(100).ok());
    // A longer retention brings nothing back.
    bench.set(keeping(6000));
    EXPECT_FALSE(page(bench, {.after = 1, .all_versions = true}).ok());
    EXPECT_EQ(all(bench, {.after = 3, .all_versions = true}).size(), 1U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    // Off: whoever commits that removes the note.
    bench.set(default_settings());
    ASSERT_TRUE(storage::testing::commit(*bench.store, [&](storage::CommitScope& scope) {
                    scope.remove(Family::kMeta, meta_keys::versions_from(Bench::kPartition));
                    return true;
                }).ok());
    EXPECT_FALSE(page(bench, {.after = 3, .all_versions = true}).ok());
    bench.one("a", replace("1", item("1", "a", 5)));
    bench.set(keeping(60));
    EXPECT_FALSE(page(bench, {.after = 4, .all_versions = true}).ok());
    EXPECT_TRUE(page(bench, {.after = 5, .all_versions = true}).ok());
}

/// Random writes, deletes, batches, expiry, trimming and power cuts: who follows the feed has what
/// the container has.
TEST(Changes, FollowingTheFeedGivesTheState) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        storage::FaultFileSystem faults;
        storage::StoreOptions options;
        options.folder = "/data";
        options.file_system = faults.file_system();
        options.index_table_bytes = 4 << 10;
        ContainerSettings settings = keeping(1000);
        settings.default_ttl = -1;
        Bench bench(settings, options);
        std::mt19937_64 random(seed);
        const auto pick = [&](size_t below) { return random() % below; };
        std::map<std::string, std::string> latest;    // who reads the latest versions
        std::map<std::string, std::string> complete;  // who reads all versions and deletes
        storage::Lsn latest_at = 0;
        storage::Lsn complete_at = 0;
        const auto id_of = [](const StoredItem& stored) {
            json::Arena arena;
            const auto values = json::extract(text(stored), {{"pk"}, {"id"}}, arena).value();
            return std::string(values[0].as_string()) + "/" + std::string(values[1].as_string());
        };
        const auto follow = [&](uint32_t size) {
            const ChangesPage page_of_latest =
                page(bench, {.after = latest_at, .items_max = size}).value();
            for (const Change& change : page_of_latest.changes)
                latest[id_of(change.current)] = text(change.current);
            latest_at = page_of_latest.position;
            const auto versions =
                page(bench, {.after = complete_at, .all_versions = true, .items_max = size});
            ASSERT_TRUE(versions.ok()) << versions.error().message;
            for (const Change& change : versions->changes) {
                const std::string key =
                    id_of(change.previous.document != nullptr ? change.previous : change.current);
                ASSERT_EQ(text(change.previous), complete.contains(key) ? complete[key] : "");
                if (change.operation == LogOperation::kDelete)
                    complete.erase(key);
                else
                    complete[key] = text(change.current);
            }
            complete_at = versions->position;
        };
        const auto compare = [&] {
            while (latest_at < bench.partition->lsn() || complete_at < bench.partition->lsn())
                ASSERT_NO_FATAL_FAILURE(follow(7));
            ASSERT_TRUE(bench.partition->remove_expired(1000).ok());
            while (complete_at < bench.partition->lsn()) ASSERT_NO_FATAL_FAILURE(follow(50));
            std::map<std::string, std::string> state;
            FeedRequest everything;
            everything.items_max = 1000;
            const FeedPage items =
                bench.partition->read_feed(*bench.store->view(), everything).value();
            for (const StoredItem& stored : items.items) state[id_of(stored)] = text(stored);
            ASSERT_EQ(state, complete);
            for (const auto& [key, body] : state) ASSERT_EQ(latest[key], body) << key;
        };
        for (int round = 0; round < rounds(8); ++round) {
            const size_t steps = 50 + pick(150);
            for (size_t i = 0; i <= steps; ++i) {
                if (i == steps) faults.cut_power();
                const std::string pk(1, static_cast<char>('a' + pick(3)));
                Transaction transaction;
                transaction.epk = epk_of(pk);
                for (size_t n = pick(5) == 0 ? 1 + pick(6) : 1; n > 0; --n) {
                    const std::string id = std::to_string(pick(9));
                    const std::string ttl =
                        pick(4) == 0 ? ",\"ttl\":" + std::to_string(1 + pick(20)) : "";
                    transaction.operations.push_back(
                        pick(4) == 0 ? remove(id)
                                     : upsert(item(id, pk, static_cast<int>(pick(1000)), ttl)));
                }
                transaction.is_batch = transaction.operations.size() > 1;
                bench.run(std::move(transaction));
                if (i == steps) break;
                if (pick(3) == 0) bench.clock.advance_us(700'000);
                if (pick(10) == 0) {
                    ASSERT_TRUE(bench.partition->remove_expired(5).ok());
                }
                if (pick(20) == 0) {
                    ASSERT_TRUE(bench.partition->trim_log(1 + pick(60)).ok());
                }
                if (pick(4) == 0) {
                    ASSERT_NO_FATAL_FAILURE(follow(1 + static_cast<uint32_t>(pick(9))));
                }
            }
            bench.close();
            faults.restore_power(round % 2 == 0 ? storage::FaultFileSystem::Loss::kEverything
                                                : storage::FaultFileSystem::Loss::kKeepPrefix,
                                 static_cast<uint64_t>(round));
            bench.open();
            ASSERT_TRUE(bench.partition != nullptr);
            ASSERT_EQ(bench.check(), std::vector<std::string>()) << seed << " " << round;
            ASSERT_NO_FATAL_FAILURE(compare()) << seed << " " << round;
        }
    }
}

}  // namespace
}  // namespace orrery::partition
