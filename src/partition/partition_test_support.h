#pragma once

#include <gtest/gtest.h>
#include <atomic>

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ended_test_support.h"
#include "base/worker_pool.h"
#include "json/document.h"
#include "json/parse.h"
#include "partition/partition.h"
#include "storage/store.h"

/// A partition on a store in memory, driven synchronously.
namespace orrery::partition::testing {

inline PartitionKeyDefinition key_definition(const std::string& path = "pk") {
    PartitionKeyDefinition definition;
    definition.version = 2;
    definition.version_given = true;
    definition.paths = {"/" + path};
    definition.member_paths = {{path}};
    return definition;
}

inline ContainerSettings default_settings() {
    ContainerSettings settings;
    settings.key = key_definition();
    settings.indexing = index::parse_indexing_policy({}).value();
    settings.path_key = {1, 2};
    settings.container_rid = std::string("\x2A\x3B\x4C\x5D\x80\x00\x00\x01", 8);
    return settings;
}

inline std::string epk_of(std::string_view pk) {
    return effective_partition_key(key_definition(), {json::Value::string(pk)}).value();
}

class Bench {
public:
    explicit Bench(ContainerSettings settings = default_settings(),
                   storage::StoreOptions options = {})
        : settings_(std::make_shared<const ContainerSettings>(std::move(settings))),
          options_(std::move(options)) {
        open();
    }
    ~Bench() { close(); }

    /// Opens store and partition, replaying the index where the store asks for it.
    void open() {
        workers = std::make_unique<WorkerPool>("test", 2);
        cache = std::make_unique<ItemCache>(16 << 20);
        auto opened = storage::Store::open(options_);
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        store = std::move(*opened);
        auto made = Partition::open({.id = kPartition, .range = {}, .rid_prefix = 3}, settings_,
                                    {*store, *cache, *workers, clock});
        ASSERT_TRUE(made.ok()) << made.error().message;
        partition = std::move(*made);
        replayed = false;
        for (const storage::ReplayNeed& need : store->replay_needs()) {
            ASSERT_EQ(need.partition, kPartition);
            const Status status = partition->replay_index(need.covered_lsn);
            ASSERT_TRUE(status.ok()) << status.error().message;
            replayed = true;
        }
        ASSERT_TRUE(store->start().ok());
    }
    void close() {
        workers.reset();  // finishes what is queued
        if (store != nullptr) (void)store->close();
        partition.reset();
        store.reset();
    }

    void set(ContainerSettings settings) {
        settings_ = std::make_shared<const ContainerSettings>(std::move(settings));
        partition->set_settings(settings_);
    }

    TransactionResult run(Transaction transaction) {
        auto promise = std::make_shared<std::promise<TransactionResult>>();
        auto future = promise->get_future();
        partition->execute(std::move(transaction), [promise](TransactionResult result) {
            promise->set_value(std::move(result));
        });
        return future.get();
    }
    OperationResult one(std::string_view pk, ItemOperation operation) {
        Transaction transaction;
        transaction.epk = epk_of(pk);
        transaction.operations.push_back(std::move(operation));
        TransactionResult result = run(std::move(transaction));
        last_lsn = result.lsn;
        return std::move(result.results.at(0));
    }
    TransactionResult batch(std::string_view pk, std::vector<ItemOperation> operations) {
        Transaction transaction;
        transaction.epk = epk_of(pk);
        transaction.operations = std::move(operations);
        transaction.is_batch = true;
        return run(std::move(transaction));
    }
    std::vector<std::string> check() {
        std::vector<std::string> findings;
        const Status status = partition->check(*store->view(), findings);
        if (!status.ok()) findings.push_back(status.error().message);
        return findings;
    }
    storage::Count totals() { return partition->totals(*store->view()).value(); }

    static constexpr storage::PartitionId kPartition = 7;
    ManualClock clock;
    std::unique_ptr<WorkerPool> workers;
    std::unique_ptr<ItemCache> cache;
    std::unique_ptr<storage::Store> store;
    std::shared_ptr<Partition> partition;
    std::atomic<storage::Lsn> last_lsn = 0;
    bool replayed = false;

private:
    ContainerSettingsPtr settings_;
    storage::StoreOptions options_;
};

inline ItemOperation create(std::string body) {
    ItemOperation operation;
    operation.kind = OperationKind::kCreate;
    operation.body = std::move(body);
    return operation;
}
inline ItemOperation upsert(std::string body, std::string if_match = {}) {
    ItemOperation operation;
    operation.kind = OperationKind::kUpsert;
    operation.body = std::move(body);
    operation.if_match = std::move(if_match);
    return operation;
}
inline ItemOperation replace(std::string id, std::string body, std::string if_match = {}) {
    ItemOperation operation;
    operation.kind = OperationKind::kReplace;
    operation.id = std::move(id);
    operation.body = std::move(body);
    operation.if_match = std::move(if_match);
    return operation;
}
inline ItemOperation remove(std::string id, std::string if_match = {}) {
    ItemOperation operation;
    operation.kind = OperationKind::kDelete;
    operation.id = std::move(id);
    operation.if_match = std::move(if_match);
    return operation;
}
inline ItemOperation read(std::string id, std::string if_none_match = {}) {
    ItemOperation operation;
    operation.kind = OperationKind::kRead;
    operation.id = std::move(id);
    operation.if_none_match = std::move(if_none_match);
    return operation;
}
inline ItemOperation patch(std::string id, std::string_view body,
                           std::function<Result<bool>(const json::Value&)> condition = {},
                           std::string if_match = {}) {
    auto program = std::make_shared<PatchProgram>();
    const json::Value value = json::parse(body, program->arena).value();
    auto parsed = json::parse_patch(value, program->arena);
    EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
    program->patch = std::move(*parsed);
    program->condition = std::move(condition);
    ItemOperation operation;
    operation.kind = OperationKind::kPatch;
    operation.id = std::move(id);
    operation.patch = std::move(program);
    operation.if_match = std::move(if_match);
    return operation;
}

inline Ended end_of(const OperationResult& result) {
    if (!result.status.ok()) return ended(result.status);
    if (result.not_modified) return Ended::kNotModified;
    if (result.work.kind == OperationKind::kDelete) return Ended::kRemoved;
    return result.created ? Ended::kCreated : Ended::kOk;
}
inline std::string text_of(const OperationResult& result) {
    if (!result.has_item) return {};
    return json::decode_document(*result.item.document).value().text();
}
inline std::string message_of(const OperationResult& result) {
    return result.status.ok() ? "" : result.status.error().message;
}

}  // namespace orrery::partition::testing
