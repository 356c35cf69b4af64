#include "catalog/meta_commit.h"

#include <future>

namespace orrery::catalog {

class MetaCommit final : public storage::CommitOperation {
public:
    explicit MetaCommit(MetaChange change) : change_(std::move(change)) {}

    std::future<Status> done() { return done_.get_future(); }

    bool decide(storage::CommitScope& scope) override {
        if (change_.guard_) refused_ = change_.guard_();
        if (!refused_.ok()) return false;
        for (const auto& [key, value] : change_.entries_) {
            if (value)
                scope.put(storage::Family::kMeta, key, *value);
            else
                scope.remove(storage::Family::kMeta, key);
        }
        for (storage::PartitionId partition : change_.retired_) scope.retire(partition);
        if (change_.companion_.write) change_.companion_.write(scope);
        return true;
    }
    void before_write() override {
        if (change_.companion_.before_write) change_.companion_.before_write();
    }
    void published(const storage::View&) override {
        if (change_.companion_.published) change_.companion_.published();
    }
    void complete(Status status) override {
        done_.set_value(refused_.ok() ? std::move(status) : std::move(refused_));
    }
    size_t bytes() const override {
        size_t total = change_.companion_.bytes;
        for (const auto& [key, value] : change_.entries_)
            total += key.size() + (value ? value->size() : 0);
        return total;
    }

private:
    MetaChange change_;
    Status refused_;
    std::promise<Status> done_;
};

Status MetaChange::commit(storage::Store& store) && {
    auto operation = std::make_unique<MetaCommit>(std::move(*this));
    std::future<Status> done = operation->done();
    store.submit(std::move(operation));
    return done.get();
}

}  // namespace orrery::catalog
