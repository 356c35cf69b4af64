#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/ended_test_support.h"
#include "base/worker_pool.h"
#include "catalog/catalog.h"
#include "engine/account.h"
#include "engine/engine.h"
#include "heads/rest/bodies/bodies_test_support.h"
#include "json/parse.h"
#include "partition/item_cache.h"
#include "query/computed.h"
#include "storage/store.h"

/// An engine over a folder, which can be stopped, started again, and crash.
namespace orrery::engine::testing_support {

class DurableEngine {
public:
    explicit DurableEngine(bool background) : background_(background) {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "orrery-engine-XXXXXX").string();
        CHECK(::mkdtemp(pattern.data()) != nullptr);
        root_ = pattern;
        folder_ = root_ + "/0";
        open();
    }
    ~DurableEngine() {
        close();
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    Engine& engine() { return *engine_; }
    catalog::Catalog& catalog() { return *catalog_; }
    storage::Store& store() { return *store_; }
    ManualClock& clock() { return clock_; }

    void restart() {
        close();
        open();
    }
    /// What a crash would find on disk now; nobody may be writing. Comes into force with crash().
    void photograph() {
        photograph_ = root_ + "/" + std::to_string(++photographs_);
        // Files come and go in the background: a copy counts if nothing did meanwhile.
        for (;;) {
            std::error_code failed;
            const auto before = files();
            std::filesystem::copy(folder_, photograph_, std::filesystem::copy_options::recursive,
                                  failed);
            if (!failed && files() == before) return;
            std::filesystem::remove_all(photograph_);
        }
    }
    /// Goes on from the photograph (taken now, if there is none) as if everything since had never
    /// been.
    void crash() {
        if (photograph_.empty()) photograph();
        close();
        folder_ = std::exchange(photograph_, {});
        open();
    }

    catalog::ContainerPtr create_container(const std::string& body,
                                           std::optional<int64_t> manual = std::nullopt) {
        json::Arena arena;
        catalog::ThroughputRequest throughput;
        throughput.manual = manual;
        if (catalog_->find_database("d") == nullptr)
            CHECK(rest::by_body::create_database(*catalog_, *json::parse(R"({"id":"d"})", arena))
                      .ok());
        auto made =
            rest::by_body::create_container(*catalog_, "d", *json::parse(body, arena), throughput);
        EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
        return made.ok() ? *made : nullptr;
    }
    catalog::ContainerPtr container(const std::string& id) {
        return catalog_->find_container("d", id);
    }

    static std::string epk_of(const catalog::Container& container, const std::string& pk) {
        return partition::effective_partition_key(container.settings->key,
                                                  {json::Value::string(pk)})
            .value();
    }
    TransactionAnswer execute(const catalog::ContainerPtr& to, partition::Transaction transaction) {
        std::promise<TransactionAnswer> done;
        engine_->execute(to, std::move(transaction),
                         [&](TransactionAnswer answer) { done.set_value(std::move(answer)); });
        return done.get_future().get();
    }
    static partition::Transaction one(std::string epk, partition::OperationKind kind,
                                      const std::string& id, std::string body = {}) {
        partition::Transaction transaction;
        transaction.epk = std::move(epk);
        partition::ItemOperation operation;
        operation.kind = kind;
        operation.id = id;
        operation.body = std::move(body);
        transaction.operations.push_back(std::move(operation));
        return transaction;
    }
    /// One operation under a key; how it ended.
    Ended run(const catalog::ContainerPtr& to, partition::OperationKind kind, const std::string& pk,
              const std::string& id, std::string body = {}) {
        const auto answer = execute(to, one(epk_of(*to, pk), kind, id, std::move(body)));
        return ended(answer.result.results.front().status);
    }

private:
    /// Names and sizes of all files but RocksDB's messages.
    std::map<std::string, uintmax_t> files() const {
        std::map<std::string, uintmax_t> out;
        std::error_code ignored;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_, ignored))
            if (!entry.path().filename().string().starts_with("LOG"))
                out[entry.path().string()] =
                    entry.is_regular_file(ignored) ? entry.file_size(ignored) : 0;
        return out;
    }

    void open() {
        cache_ = std::make_unique<partition::ItemCache>(4 << 20);
        workers_ = std::make_unique<WorkerPool>("test", 2);
        AccountSettings settings;
        settings.throttled = false;
        account_ = std::make_unique<Account>(Account::create({}, settings).value());
        storage::StoreOptions options;
        options.folder = folder_;
        options.clock = &clock_;
        auto store = storage::Store::open(options);
        ASSERT_TRUE(store.ok()) << store.error().message;
        store_ = std::move(store).value();
        auto catalog = catalog::Catalog::load(
            {*store_, *cache_, *workers_, clock_, query::compile_computed_properties, {}, {}});
        ASSERT_TRUE(catalog.ok()) << catalog.error().message;
        catalog_ = std::move(catalog).value();
        ASSERT_TRUE(store_->start().ok());
        engine_ = std::make_unique<Engine>(
            Engine::Deps{*store_, *catalog_, *workers_, clock_, *account_});
        if (background_) engine_->start_background();
    }
    void close() {
        if (engine_) engine_->stop_background();
        if (workers_) workers_->stop();
        if (store_) {
            EXPECT_TRUE(store_->close().ok());
        }
        engine_.reset();
        catalog_.reset();
        store_.reset();
        workers_.reset();
        cache_.reset();
    }

    const bool background_;
    std::string root_;
    std::string folder_;
    std::string photograph_;
    int photographs_ = 0;
    ManualClock clock_{1'700'000'000'000'000};
    std::unique_ptr<partition::ItemCache> cache_;
    std::unique_ptr<WorkerPool> workers_;
    std::unique_ptr<Account> account_;
    std::unique_ptr<storage::Store> store_;
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<Engine> engine_;
};

/// Waits as long as it takes, within reason.
template <typename Done>
bool wait_for(Done done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!done()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

}  // namespace orrery::engine::testing_support
