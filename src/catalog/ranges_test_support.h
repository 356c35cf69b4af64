#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/ended_test_support.h"
#include "catalog/catalog_test_support.h"
#include "json/document.h"
#include "json/item.h"

/// Containers under random writes, for tests of splits and merges.
namespace orrery::catalog::testing {

using Step = RangeProgress::Step;

inline constexpr std::string_view kV2 =
    R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},)"
    R"("uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},"defaultTtl":1000})";
inline constexpr std::string_view kV1 =
    R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}})";
inline constexpr std::string_view kMultiHash =
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
            ASSERT_EQ(ended(result.results[0].status.error()), Ended::kConflict);
            return;
        }
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
                const auto names = document.values_at({{"pk"}, {"id"}}, arena).value();
                ASSERT_TRUE(found
                                .emplace(ItemKey(names[0].as_string(), names[1].as_string()),
                                         document.text())
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
};

inline RangeChange split_of(const Container& container, std::string id,
                            RangeChange::At at = RangeChange::At::kBytes) {
    RangeChange change;
    change.container = container.rid;
    change.range_ids = {std::move(id)};
    change.at = at;
    return change;
}
inline RangeChange merge_of(const Container& container, std::string left, std::string right) {
    RangeChange change;
    change.container = container.rid;
    change.range_ids = {std::move(left), std::move(right)};
    return change;
}

inline void carry_out_index_changes(Account& account) {
    for (;;) {
        const auto more = account->carry_out_index_changes();
        ASSERT_TRUE(more.ok());
        if (!*more) return;
    }
}

inline void create(Account& account, std::string_view definition) {
    ASSERT_TRUE(account.create_database(R"({"id":"d"})").ok());
    ASSERT_TRUE(account.create_container("d", definition).ok());
}

/// Keys of partitions that no map has.
inline std::vector<storage::PartitionId> left_over(Account& account) {
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

/// Writes to a container that is not concerned until nothing is left.
inline void expect_nothing_left_over(Account& account, std::string_view database,
                                     std::string_view container) {
    std::vector<storage::PartitionId> left;
    for (int i = 0; i < 400; ++i) {
        // The newest view is made anew, so that no old one keeps what is dead.
        account.put_item(*account->find_container(database, container), "x");
        left = left_over(account);
        if (left.empty()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(left, std::vector<storage::PartitionId>());
}

}  // namespace orrery::catalog::testing
