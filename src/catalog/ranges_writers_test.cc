#include <algorithm>
#include <array>
#include <atomic>
#include <iostream>

#include "base/ended_test_support.h"
#include "catalog/ranges_test_support.h"

/// Writers while physical partitions are split and merged.
namespace orrery::catalog {
namespace {

using namespace testing;

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
                                        else if (ended(status) == Ended::kRangeSwitching)
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
    std::array<std::atomic<int>, kWriters> writes{};
    std::vector<std::thread> threads;
    const auto join = [&] {
        stop = true;
        for (std::thread& thread : threads) thread.join();
        threads.clear();
    };
    const std::shared_ptr<void> joined(nullptr, [&](void*) { join(); });  // however it ends
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
                ++writes[w];
                // What was acknowledged is read back, by whichever map.
                const auto read = partition->read(epk, id, {});
                ASSERT_TRUE(read.has_item);
                ASSERT_NE(json::decode_document(*read.item.document)
                              ->text()
                              .find("\"n\":" + std::to_string(n) + "}"),
                          std::string_view::npos);
            }
        });
    }
    // A range of one key cannot be split: there must be many first.
    const auto enough = [](const auto& n) { return n >= 100; };
    while (!std::all_of(writes.begin(), writes.end(), enough) && !::testing::Test::HasFailure())
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
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
    join();
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
                          ->text()
                          .find("\"n\":" + std::to_string(n) + "}"),
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
