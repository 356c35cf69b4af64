#include "catalog/meta_commit.h"

#include <future>

namespace orrery::catalog {

class MetaCommit final : public storage::CommitOperation {
public:
    MetaCommit(MetaChange change, storage::Store& store)
        : change_(std::move(change)), store_(store) {}

    std::future<Status> done() { return done_.get_future(); }

    bool decide(storage::CommitScope& scope) override {
        for (const auto& [key, value] : change_.entries_) {
            if (value)
                scope.put(storage::Family::kMeta, key, *value);
            else
                scope.remove(storage::Family::kMeta, key);
        }
        for (storage::PartitionId partition : change_.retired_) store_.retire_partition(partition);
        return true;
    }
    void complete(Status status) override { done_.set_value(std::move(status)); }
    size_t bytes() const override {
        size_t total = 0;
        for (const auto& [key, value] : change_.entries_)
            total += key.size() + (value ? value->size() : 0);
        return total;
    }

private:
    MetaChange change_;
    storage::Store& store_;
    std::promise<Status> done_;
};

Status MetaChange::commit(storage::Store& store) && {
    auto operation = std::make_unique<MetaCommit>(std::move(*this), store);
    std::future<Status> done = operation->done();
    store.submit(std::move(operation));
    return done.get();
}

}  // namespace orrery::catalog
