#pragma once

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/catalog.h"
#include "engine/engine.h"

/// What tests of splits and merges do to a container.
namespace orrery::engine::testing_support {

inline constexpr std::string_view kRangedContainer =
    R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})";

inline std::string epk_of(const catalog::Container& container, const std::string& pk) {
    return partition::effective_partition_key(container.settings->key, {json::Value::string(pk)})
        .value();
}

inline TransactionAnswer put(Engine& engine, const catalog::ContainerPtr& container,
                             const std::string& pk, const std::string& id, int n,
                             size_t padding = 0) {
    partition::Transaction transaction;
    transaction.epk = epk_of(*container, pk);
    partition::ItemOperation operation;
    operation.kind = partition::OperationKind::kUpsert;
    operation.body = R"({"id":")" + id + R"(","pk":")" + pk + R"(","n":)" + std::to_string(n) +
                     R"(,"x":")" + std::string(padding, 'x') + R"("})";
    transaction.operations.push_back(std::move(operation));
    std::promise<TransactionAnswer> done;
    engine.execute(container, std::move(transaction),
                   [&](TransactionAnswer answer) { done.set_value(std::move(answer)); });
    return done.get_future().get();
}

inline void expect_clean(Engine& engine, const catalog::Container& container) {
    std::vector<std::string> findings;
    const auto view = engine.store().view();
    for (const auto& range : container.ranges->ranges)
        EXPECT_TRUE(range.partition->check(*view, findings).ok());
    EXPECT_EQ(findings, std::vector<std::string>());
}

}  // namespace orrery::engine::testing_support
