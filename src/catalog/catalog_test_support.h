#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ended_test_support.h"
#include "base/worker_pool.h"
#include "catalog/catalog.h"
#include "heads/rest/bodies/bodies_test_support.h"
#include "json/parse.h"
#include "partition/item_cache.h"
#include "storage/store.h"

namespace orrery::catalog::testing {

/// A folder of its own, removed at the end.
class Folder {
public:
    Folder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "orrery-catalog-XXXXXX").string();
        EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
        path_ = pattern;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// A store, in memory or in a folder, with the catalog on it.
class Account {
public:
    /// An empty folder name: in memory.
    explicit Account(std::string folder = {}) : folder_(std::move(folder)) { open(); }
    ~Account() { close(); }

    void open() {
        storage::StoreOptions options;
        options.folder = folder_;
        options.clock = &clock;
        auto opened = storage::Store::open(options);
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        store = std::move(opened).value();
        cache = std::make_unique<partition::ItemCache>(1 << 20);
        workers = std::make_unique<WorkerPool>("test", 2);
        auto loaded = Catalog::load({*store, *cache, *workers, clock});
        ASSERT_TRUE(loaded.ok()) << loaded.error().message;
        catalog = std::move(loaded).value();
        ASSERT_TRUE(store->start().ok());
    }
    void close() {
        if (workers) workers->stop();
        catalog.reset();
        if (store) {
            EXPECT_TRUE(store->close().ok());
        }
        store.reset();
        workers.reset();
        cache.reset();
    }
    /// As after a restart of the server.
    void reopen() {
        close();
        open();
    }

    Catalog* operator->() { return catalog.get(); }

    Result<DatabasePtr> create_database(std::string_view body,
                                        const ThroughputRequest& throughput = {}) {
        return rest::by_body::create_database(*catalog, parse(body), throughput);
    }
    Result<ContainerPtr> create_container(std::string_view database, std::string_view body,
                                          const ThroughputRequest& throughput = {},
                                          bool legacy = false) {
        return rest::by_body::create_container(*catalog, database, parse(body), throughput, legacy);
    }
    Result<ContainerPtr> replace_container(std::string_view database, std::string_view container,
                                           std::string_view body, std::string_view if_match = {}) {
        return rest::by_body::replace_container(*catalog, database, container, parse(body),
                                                if_match);
    }

    /// Values live as long as this.
    json::Value parse(std::string_view text) {
        auto value = json::parse(text, arena_);
        EXPECT_TRUE(value.ok()) << text << (value.ok() ? "" : value.error().message);
        return value.ok() ? *value : json::Value();
    }

    /// Creates an item with key /pk = "k" in the partition that owns it.
    partition::TransactionResult put_item(const Container& container, std::string_view id) {
        const auto epk =
            partition::effective_partition_key(container.settings->key, {json::Value::string("k")});
        EXPECT_TRUE(epk.ok());
        partition::Transaction transaction;
        transaction.epk = *epk;
        partition::ItemOperation operation;
        operation.kind = partition::OperationKind::kUpsert;
        operation.id = id;
        operation.body = R"({"id":")" + std::string(id) + R"(","pk":"k","v":1})";
        transaction.operations.push_back(std::move(operation));
        return run(container, std::move(transaction));
    }
    partition::TransactionResult delete_item(const Container& container, std::string_view id) {
        const auto epk =
            partition::effective_partition_key(container.settings->key, {json::Value::string("k")});
        partition::Transaction transaction;
        transaction.epk = *epk;
        partition::ItemOperation operation;
        operation.kind = partition::OperationKind::kDelete;
        operation.id = id;
        transaction.operations.push_back(std::move(operation));
        return run(container, std::move(transaction));
    }
    partition::OperationResult read_item(const Container& container, std::string_view id) {
        const auto epk =
            partition::effective_partition_key(container.settings->key, {json::Value::string("k")});
        return container.ranges->of_epk(*epk).partition->read(*epk, id, {});
    }

    ManualClock clock;
    std::unique_ptr<storage::Store> store;
    std::unique_ptr<partition::ItemCache> cache;
    std::unique_ptr<WorkerPool> workers;
    std::unique_ptr<Catalog> catalog;

private:
    static partition::TransactionResult run(const Container& container,
                                            partition::Transaction transaction) {
        std::promise<partition::TransactionResult> promise;
        auto future = promise.get_future();
        const std::string epk = transaction.epk;
        container.ranges->of_epk(epk).partition->execute(
            std::move(transaction),
            [&](partition::TransactionResult result) { promise.set_value(std::move(result)); });
        return future.get();
    }

    const std::string folder_;
    json::Arena arena_;
};

template <typename T>
std::string message_of(const T& result) {
    return result.ok() ? std::string() : result.error().message;
}

}  // namespace orrery::catalog::testing
