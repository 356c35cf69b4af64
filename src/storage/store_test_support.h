#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "storage/store.h"

/// Small helpers for tests of the store and of what stands on it.
namespace orrery::storage::testing {

/// An operation made of functions.
class LambdaOperation final : public CommitOperation {
public:
    using Decide = std::function<bool(CommitScope&)>;
    using Complete = std::function<void(Status)>;

    LambdaOperation(Decide decide, Complete complete, size_t bytes = 100)
        : decide_(std::move(decide)), complete_(std::move(complete)), bytes_(bytes) {}
    bool decide(CommitScope& scope) override { return decide_(scope); }
    void complete(Status status) override { complete_(std::move(status)); }
    size_t bytes() const override { return bytes_; }

private:
    const Decide decide_;
    const Complete complete_;
    const size_t bytes_;
};

/// Submits; the future gets the status.
inline std::future<Status> submit(Store& store, LambdaOperation::Decide decide) {
    auto promise = std::make_shared<std::promise<Status>>();
    std::future<Status> future = promise->get_future();
    store.submit(std::make_unique<LambdaOperation>(
        std::move(decide), [promise](Status status) { promise->set_value(std::move(status)); }));
    return future;
}

/// Submits and waits.
inline Status commit(Store& store, LambdaOperation::Decide decide) {
    return submit(store, std::move(decide)).get();
}

/// A folder of its own, removed at the end.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "orrery-test-XXXXXX").string();
        EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
        path_ = pattern;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

inline std::unique_ptr<Store> open_started(const StoreOptions& options) {
    Result<std::unique_ptr<Store>> store = Store::open(options);
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    if (!store.ok()) return nullptr;
    EXPECT_TRUE((*store)->start().ok());
    return std::move(*store);
}

inline std::string index_key(PartitionId partition, uint64_t path, std::string_view term,
                             uint64_t item) {
    std::string key = keys::index_path(partition, path + keys::kReservedPathHashes);
    append_delimited(key, term);
    key.append(Docref("12345678", item).bytes());
    return key;
}

}  // namespace orrery::storage::testing
