#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/worker_pool.h"
#include "catalog/catalog.h"
#include "engine/account.h"
#include "engine/engine.h"
#include "heads/rest/bodies/bodies_test_support.h"
#include "json/parse.h"
#include "partition/item_cache.h"
#include "query/computed.h"
#include "storage/store.h"

namespace orrery::engine::testing_support {

/// Store, catalog and engine in memory or over a folder, under a clock that tests move.
class TestEngine {
public:
    /// Unthrottled: most tests are about something else, and their clock stands still.
    static AccountSettings unthrottled() {
        AccountSettings settings;
        settings.throttled = false;
        return settings;
    }

    explicit TestEngine(int64_t start_seconds = 1'700'000'000,
                        const AccountSettings& settings = unthrottled(),
                        const catalog::ThroughputSettings& throughput = {},
                        const catalog::RangeLimits& range_limits = {}, std::string folder = {},
                        const ScriptOptions& scripts = {})
        : clock_(start_seconds * 1'000'000), cache_(8 << 20), workers_("test", 2) {
        auto account = Account::create({}, settings);
        CHECK(account.ok());
        account_ = std::make_unique<Account>(std::move(account).value());
        storage::StoreOptions options;
        options.folder = std::move(folder);
        options.clock = &clock_;
        auto store = storage::Store::open(options);
        CHECK(store.ok());
        store_ = std::move(store).value();
        catalog::ThroughputSettings own = throughput;
        own.throttled = settings.throttled;
        own.partition_ru_max = range_limits.throughput;
        auto catalog =
            catalog::Catalog::load({*store_, cache_, workers_, clock_,
                                    query::compile_computed_properties, own, range_limits});
        CHECK(catalog.ok());
        catalog_ = std::move(catalog).value();
        CHECK(store_->start().ok());
        engine_ = std::make_unique<Engine>(
            Engine::Deps{*store_, *catalog_, workers_, clock_, *account_, scripts});
    }
    ~TestEngine() {
        engine_->stop_background();
        workers_.stop();
        CHECK(store_->close().ok());
    }

    ManualClock& clock() { return clock_; }
    const Clock& clock() const { return clock_; }
    const Account& account() const { return *account_; }
    catalog::Catalog& catalog() { return *catalog_; }
    Engine& engine() { return *engine_; }
    storage::Store& store() { return *store_; }
    partition::ItemCache& cache() { return cache_; }

    void create_database(const std::string& id) {
        json::Arena arena;
        const std::string body = R"({"id":")" + id + "\"}";
        CHECK(rest::by_body::create_database(*catalog_, *json::parse(body, arena)).ok());
    }
    catalog::ContainerPtr create_container(const std::string& database, std::string_view body,
                                           bool legacy = false,
                                           const catalog::ThroughputRequest& throughput = {}) {
        json::Arena arena;
        auto made = rest::by_body::create_container(*catalog_, database, *json::parse(body, arena),
                                                    throughput, legacy);
        CHECK(made.ok());
        return *made;
    }
    void create_user(const std::string& database, const std::string& id) {
        CHECK(catalog_->create_user(database, id, catalog::Catalog::Upsert::kNo).ok());
    }
    catalog::PermissionPtr create_permission(const std::string& database, const std::string& user,
                                             std::string_view body) {
        json::Arena arena;
        auto made = rest::by_body::create_permission(
            *catalog_, database, user, *json::parse(body, arena), catalog::Catalog::Upsert::kNo);
        CHECK(made.ok());
        return made->permission;
    }

    /// Of a key with one path, given as JSON.
    static std::string epk(const catalog::Container& container, const std::string& key_json) {
        json::Arena arena;
        const auto key = json::parse("[" + key_json + "]", arena);
        CHECK(key.ok());
        partition::PartitionKeyComponents components;
        components.push_back(key->elements()[0]);
        return *partition::effective_partition_key(container.settings->key, components);
    }
    TransactionAnswer run(const catalog::ContainerPtr& container, const std::string& key_json,
                          std::vector<partition::ItemOperation> operations,
                          const RequestTerms& terms = {}) {
        partition::Transaction transaction;
        transaction.epk = epk(*container, key_json);
        transaction.is_batch = operations.size() > 1;
        transaction.operations = std::move(operations);
        std::promise<TransactionAnswer> promise;
        auto answer = promise.get_future();
        engine_->execute(container, std::move(transaction), terms,
                         [&](TransactionAnswer given) { promise.set_value(std::move(given)); });
        return answer.get();
    }

private:
    ManualClock clock_;
    partition::ItemCache cache_;
    WorkerPool workers_;
    std::unique_ptr<Account> account_;
    std::unique_ptr<storage::Store> store_;
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace orrery::engine::testing_support
