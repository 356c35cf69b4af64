#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/bytes.h"
#include "base/crash_copy_test_support.h"
#include "base/encoding.h"
#include "base/rounds_test_support.h"
#include "catalog/catalog_test_support.h"
#include "json/document.h"
#include "json/item.h"

/// Splits and merges of physical partitions.
namespace orrery::catalog {
namespace {

using testing::Account;
using testing::Folder;
using Step = RangeProgress::Step;

constexpr std::string_view kV2 =
    R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},)"
    R"("uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},"defaultTtl":1000})";
constexpr std::string_view kV1 = R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}})";
constexpr std::string_view kMultiHash =
    R"({"id":"c","partitionKey":{"paths":["/t","/u","/pk"],"kind":"MultiHash","version":2}})";

using ItemKey = std::pair<std::string, std::string>;  ///< key text, id
using Items = std::map<ItemKey, std::string>;         ///< to the stored text

/// A container under random writes, and what must be in it.
class Written {
public:
    Written(Account& account, uint64_t seed) : account_(account), random_(seed) {}

    ContainerPtr container() { return account_->find_container("d", "c"); }
    size_t pick(size_t below) { return random_() % below; }

    std::string epk(std::string_view pk) {
        const auto current = container();
        partition::PartitionKeyComponents components;
        // Hierarchical keys: few tenants, so that a split cuts inside one.
        if (current->settings->key.paths.size() == 3)
            components = {json::Value::string("t"), json::Value::string(pk.substr(0, 1))};
        components.push_back(json::Value::string(pk));
        return partition::effective_partition_key(current->settings->key, components).value();
    }
    std::string body(std::string_view pk, std::string_view id, size_t v) {
        std::string text = R"({"id":")" + std::string(id) + R"(","pk":")" + std::string(pk) +
                           R"(","t":"t","u":")" + std::string(pk.substr(0, 1)) + R"(","v":)" +
                           std::to_string(v);
        if (v % 3 == 0) text += R"(,"ttl":)" + std::to_string(100000 + v);
        return text + "}";
    }
    partition::TransactionResult run(const std::shared_ptr<partition::Partition>& partition,
                                     partition::Transaction transaction) {
        std::promise<partition::TransactionResult> promise;
        auto future = promise.get_future();
        partition->execute(std::move(transaction), [&](partition::TransactionResult result) {
            promise.set_value(std::move(result));
        });
        return future.get();
    }

    /// One random write; `through`: a container as a slow request holds it.
    void write(const ContainerPtr& through) {
        const std::string pk =
            std::string(1, static_cast<char>('a' + pick(3))) + std::to_string(pick(12));
        const std::string id = "i" + std::to_string(pick(8));
        partition::Transaction transaction;
        transaction.epk = epk(pk);
        partition::ItemOperation operation;
        const bool exists = items.contains({pk, id});
        if (exists && pick(3) == 0) {
            operation.kind = partition::OperationKind::kDelete;
            operation.id = id;
        } else {
            operation.kind = partition::OperationKind::kUpsert;
            operation.body = body(pk, id, pick(1000));
        }
        const std::string text = operation.body;
        transaction.operations.push_back(std::move(operation));
        const auto& range = through->ranges->of_epk(transaction.epk);
        const auto result = run(range.partition, std::move(transaction));
        if (!result.committed) {
            // Another item of the key has the unique value.
            ASSERT_EQ(result.results[0].status.error().http_status, 409);
            return;
        }
        lsns_.push_back({result.range_number, result.lsn});
        if (text.empty())
            items.erase({pk, id});
        else
            items[{pk, id}] = text;
    }
    void write_many(size_t count) {
        const ContainerPtr through = container();
        for (size_t i = 0; i < count; ++i) {
            account_.clock.advance_us(10'000);
            ASSERT_NO_FATAL_FAILURE(write(through));
        }
    }

    /// Everything is where the map says, once, and all parts of all partitions agree.
    void expect_whole() {
        const ContainerPtr current = container();
        const storage::ViewPtr view = account_.store->view();
        std::vector<std::string> findings;
        Items found;
        std::string expected_min;
        for (const PartitionRange& range : current->ranges->ranges) {
            const partition::Partition& partition = *range.partition;
            ASSERT_EQ(hex_encode_upper(partition.identity().range.min),
                      hex_encode_upper(expected_min));
            expected_min = partition.identity().range.max;
            ASSERT_TRUE(range.partition->check(*view, findings).ok());
            const std::string begin = storage::keys::partition(partition.identity().id);
            const auto cursor = view->scan(storage::Family::kItems, begin, prefix_successor(begin));
            for (; cursor->valid(); cursor->next()) {
                const auto document = json::decode_document(cursor->value()).value();
                json::Arena arena;
                const auto names = json::extract(document.text, {{"pk"}, {"id"}}, arena).value();
                ASSERT_TRUE(
                    found
                        .emplace(ItemKey(names[0].as_string(), names[1].as_string()), document.text)
                        .second);
            }
        }
        ASSERT_EQ(hex_encode_upper(expected_min), "FF");
        ASSERT_EQ(findings, std::vector<std::string>());
        ASSERT_EQ(found, items);
        for (const auto& [key, text] : items) {
            const std::string where = epk(key.first);
            const auto result =
                current->ranges->of_epk(where).partition->read(where, key.second, {});
            ASSERT_TRUE(result.has_item);
        }
    }

    Items items;

private:
    Account& account_;
    std::mt19937_64 random_;
    std::vector<std::pair<uint32_t, storage::Lsn>> lsns_;
};

RangeChange split_of(const Container& container, std::string id,
                     RangeChange::At at = RangeChange::At::kBytes) {
    RangeChange change;
    change.container = container.rid;
    change.range_ids = {std::move(id)};
    change.at = at;
    return change;
}
RangeChange merge_of(const Container& container, std::string left, std::string right) {
    RangeChange change;
    change.container = container.rid;
    change.range_ids = {std::move(left), std::move(right)};
    return change;
}

void carry_out_index_changes(Account& account) {
    for (;;) {
        const auto more = account->carry_out_index_changes();
        ASSERT_TRUE(more.ok());
        if (!*more) return;
    }
}

void create(Account& account, std::string_view definition) {
    ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
    ASSERT_TRUE(account.create_container("d", definition).ok());
}

/// Keys of partitions that no map has.
std::vector<storage::PartitionId> left_over(Account& account) {
    std::set<storage::PartitionId> live;
    for (const auto& container : account->all_containers())
        for (const auto& range : container->ranges->ranges)
            live.insert(range.partition->identity().id);
    std::set<storage::PartitionId> found;
    const storage::ViewPtr view = account.store->view();
    for (const storage::Family family :
         {storage::Family::kItems, storage::Family::kIds, storage::Family::kLog,
          storage::Family::kImages, storage::Family::kTtl, storage::Family::kIndex}) {
        const auto cursor = view->scan(family, storage::keys::partition(1), {});
        while (cursor->valid()) {
            const storage::PartitionId id = load_u32_be(cursor->key().data());
            if (!live.contains(id)) found.insert(id);
            cursor->seek(storage::keys::partition(id + 1));
        }
    }
    return {found.begin(), found.end()};
}

void expect_nothing_left_over(Account& account) {
    std::vector<storage::PartitionId> left;
    for (int i = 0; i < 400; ++i) {
        // The newest view is made anew, so that no old one keeps what is dead.
        account.put_item(*account->find_container("d", "other"), "x");
        left = left_over(account);
        if (left.empty()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(left, std::vector<storage::PartitionId>());
}

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
    expect_nothing_left_over(account);
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
    EXPECT_EQ(testing::code_of(account->change_ranges(split_of(*container, "7"), progress)),
              "410/1002");
    // Nothing to halve.
    EXPECT_EQ(testing::code_of(account->forecast(split_of(*container, "0"))), "400");
    account.put_item(*container, "x");
    EXPECT_EQ(testing::code_of(account->forecast(split_of(*container, "0"))), "400");
    RangeChange change = split_of(*container, "0", RangeChange::At::kGiven);
    change.epk = "\xFF";
    EXPECT_EQ(testing::code_of(account->forecast(change)), "400");
    change.epk = std::string(1, '\0');
    EXPECT_EQ(testing::code_of(account->forecast(change)), "ok");
    EXPECT_EQ(testing::code_of(account->forecast(merge_of(*container, "0", "0"))), "400");
    ASSERT_TRUE(
        account->change_ranges(split_of(*container, "0", RangeChange::At::kMiddle), progress).ok());
    EXPECT_EQ(testing::code_of(account->forecast(split_of(*container, "0"))), "410/1002");
    EXPECT_EQ(testing::code_of(account->forecast(merge_of(*container, "2", "1"))), "400");
    EXPECT_EQ(testing::code_of(account->forecast(merge_of(*container, "1", "2"))), "ok");
    RangeChange other = split_of(*container, "0");
    other.container.number += 1;
    EXPECT_EQ(testing::code_of(account->forecast(other)), "404");
    // A merge must leave enough partitions for the throughput.
    ASSERT_TRUE(
        account
            .create_container("d", R"({"id":"wide","partitionKey":{"paths":["/pk"],"version":2}})",
                              {.manual = 12'000, .autoscale_max = {}, .increment_percent = {}})
            .ok());
    EXPECT_EQ(testing::code_of(
                  account->forecast(merge_of(*account->find_container("d", "wide"), "0", "1"))),
              "400");
}

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
            expect_nothing_left_over(again);
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

/// Writers wait for the switch; when too many do, further ones are sent away with 410/1007 and
/// nothing of theirs is done. Those who waited are carried out in the new ranges.
TEST(Ranges, TooManyWaitForTheSwitch) {
    Account account;
    ASSERT_NO_FATAL_FAILURE(create(
        account, R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})"));
    Written written(account, 1);
    ASSERT_NO_FATAL_FAILURE(written.write_many(20));
    const ContainerPtr before = written.container();
    constexpr size_t kWriters = 20'200;  // a few more than may wait
    std::atomic<size_t> done{0};
    std::atomic<size_t> refused{0};
    std::atomic<size_t> other{0};
    RangeProgress progress;
    progress.on_step = [&](Step step) {
        if (step != Step::kClosed) return;
        for (size_t i = 0; i < kWriters; ++i) {
            const std::string pk = "w" + std::to_string(i);
            partition::Transaction transaction;
            transaction.epk = written.epk(pk);
            partition::ItemOperation operation;
            operation.kind = partition::OperationKind::kCreate;
            operation.body = R"({"id":"1","pk":")" + pk + "\"}";
            transaction.operations.push_back(std::move(operation));
            before->ranges->of_epk(transaction.epk)
                .partition->execute(std::move(transaction),
                                    [&](const partition::TransactionResult& result) {
                                        const Status& status = result.results[0].status;
                                        if (result.committed)
                                            ++done;
                                        else if (status.error().http_status == 410 &&
                                                 status.error().sub_status == 1007)
                                            ++refused;
                                        else
                                            ++other;
                                    });
        }
        // Nobody else is answered before the switch.
        for (int i = 0; i < 6000 && refused == 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_EQ(done, 0U);
    };
    ASSERT_TRUE(account->change_ranges(split_of(*before, "0"), progress).ok());
    for (int i = 0; i < 6000 && done + refused + other < kWriters; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GT(refused, 0U);
    EXPECT_EQ(other, 0U);
    EXPECT_EQ(done + refused, kWriters);
    size_t items = 0;
    for (const ContainerPtr now = written.container();
         const PartitionRange& range : now->ranges->ranges)
        items += static_cast<size_t>(range.partition->totals(*account.store->view())->items);
    EXPECT_EQ(items, done + written.items.size());
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
                ASSERT_EQ(testing::code_of(changed), "400") << changed.error().message;
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
    EXPECT_EQ(testing::code_of(account->change_ranges(split_of(**split, id), progress)), "449");
    EXPECT_EQ(testing::code_of(account->forecast(split_of(**split, id))), "ok");
    ASSERT_NO_FATAL_FAILURE(carry_out_index_changes(account));
    EXPECT_EQ(
        testing::code_of(account->change_ranges(
            split_of(*written.container(), written.container()->ranges->ranges[0].id), progress)),
        "ok");
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
            EXPECT_EQ(testing::code_of(account->change_ranges(change, progress)), "449");
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
        const auto body =
            account.parse(R"({"throughputPolicy":"custom","targetPhysicalPartitionThroughputInfo":)"
                          R"([{"id":"0","throughput":3000},{"id":"1","throughput":9000}]})");
        const auto moved = account->redistribute(*written.container(), body);
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
    EXPECT_EQ(testing::code_of(account->change_ranges(kept[0].change, progress)), "410/1002");
    ASSERT_TRUE(account->end_range_request(5).ok());
    account.reopen();
    EXPECT_TRUE(account->kept_range_requests().empty());
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
            EXPECT_EQ(testing::code_of(account->change_ranges(change, progress)), "404");
            EXPECT_EQ(account->find_container("d", "c"), nullptr);
            ASSERT_TRUE(account.store->flush().ok());  // index entries in memory go to disk first
            std::vector<storage::PartitionId> left;
            for (int i = 0; i < 400; ++i) {
                account.put_item(*account->find_container("e", "x"), "x");
                left = left_over(account);
                if (left.empty()) break;
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
            EXPECT_EQ(left, std::vector<storage::PartitionId>());
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

/// Writers on all sides while ranges are split and merged: nothing acknowledged is lost or doubled,
/// LSNs of each range are dense, and nobody gets an error.
TEST(Ranges, UnderConcurrentWriters) {
    Account account;
    ASSERT_NO_FATAL_FAILURE(
        create(account, R"({"id":"c","partitionKey":{"paths":["/pk"],"version":2}})"));
    constexpr size_t kWriters = 4;
    std::atomic<bool> stop{false};
    struct Acknowledged {
        std::map<ItemKey, int> values;
        std::map<uint32_t, std::vector<storage::Lsn>> lsns;
    };
    std::vector<Acknowledged> acknowledged(kWriters);
    std::vector<std::thread> threads;
    const ContainerPtr first = account->find_container("d", "c");
    for (size_t w = 0; w < kWriters; ++w) {
        threads.emplace_back([&, w] {
            std::mt19937_64 random(w);
            // One writer keeps the map that it found at the start.
            for (int n = 0; !stop; ++n) {
                const ContainerPtr container = w == 0 ? first : account->find_container("d", "c");
                const std::string pk =
                    "w" + std::to_string(w) + "k" + std::to_string(random() % 40);
                const std::string id = "i" + std::to_string(random() % 3);
                partition::Transaction transaction;
                transaction.epk = partition::effective_partition_key(container->settings->key,
                                                                     {json::Value::string(pk)})
                                      .value();
                partition::ItemOperation operation;
                operation.kind = partition::OperationKind::kUpsert;
                operation.body =
                    R"({"id":")" + id + R"(","pk":")" + pk + R"(","n":)" + std::to_string(n) + "}";
                transaction.operations.push_back(std::move(operation));
                std::promise<partition::TransactionResult> promise;
                auto future = promise.get_future();
                const auto partition = container->ranges->of_epk(transaction.epk).partition;
                const std::string epk = transaction.epk;
                partition->execute(std::move(transaction),
                                   [&](partition::TransactionResult result) {
                                       promise.set_value(std::move(result));
                                   });
                const auto result = future.get();
                ASSERT_TRUE(result.committed) << result.results[0].status.error().message;
                acknowledged[w].values[{pk, id}] = n;
                acknowledged[w].lsns[result.range_number].push_back(result.lsn);
                // What was acknowledged is read back, by whichever map.
                const auto read = partition->read(epk, id, {});
                ASSERT_TRUE(read.has_item);
                ASSERT_NE(json::decode_document(*read.item.document)
                              ->text.find("\"n\":" + std::to_string(n) + "}"),
                          std::string_view::npos);
            }
        });
    }
    int64_t longest_pause = 0;
    for (int round = 0; round < 6; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        const ContainerPtr now = account->find_container("d", "c");
        const auto& ranges = now->ranges->ranges;
        RangeChange change = split_of(*now, ranges[ranges.size() / 2].id, RangeChange::At::kBytes);
        if (round % 3 == 2) change = merge_of(*now, ranges[0].id, ranges[1].id);
        RangeProgress progress;
        const auto changed = account->change_ranges(change, progress);
        ASSERT_TRUE(changed.ok()) << changed.error().message;
        longest_pause = std::max(longest_pause, progress.pause_us.load());
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    std::cout << "longest pause: " << longest_pause << " us\n";

    const ContainerPtr now = account->find_container("d", "c");
    const storage::ViewPtr view = account.store->view();
    std::vector<std::string> findings;
    size_t items = 0;
    for (const auto& range : now->ranges->ranges) {
        ASSERT_TRUE(range.partition->check(*view, findings).ok());
        items += static_cast<size_t>(range.partition->totals(*view)->items);
    }
    EXPECT_EQ(findings, std::vector<std::string>());
    size_t expected = 0;
    std::map<uint32_t, std::vector<storage::Lsn>> lsns;
    for (const Acknowledged& one : acknowledged) {
        expected += one.values.size();
        for (const auto& [key, n] : one.values) {
            const std::string epk = partition::effective_partition_key(
                                        now->settings->key, {json::Value::string(key.first)})
                                        .value();
            const auto read = now->ranges->of_epk(epk).partition->read(epk, key.second, {});
            ASSERT_TRUE(read.has_item);
            EXPECT_NE(json::decode_document(*read.item.document)
                          ->text.find("\"n\":" + std::to_string(n) + "}"),
                      std::string_view::npos);
        }
        for (const auto& [range, some] : one.lsns)
            lsns[range].insert(lsns[range].end(), some.begin(), some.end());
    }
    EXPECT_EQ(items, expected);
    for (auto& [range, some] : lsns) {
        std::sort(some.begin(), some.end());
        for (size_t i = 1; i < some.size(); ++i) ASSERT_EQ(some[i], some[i - 1] + 1) << range;
    }
}

}  // namespace
}  // namespace orrery::catalog
