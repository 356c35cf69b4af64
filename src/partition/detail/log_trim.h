#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "storage/store.h"

namespace orrery::partition::detail {

class PartitionImpl;

/// Moves the window of the all-versions feed and removes log records, in one batch.
class LogTrimCommit final : public storage::CommitOperation {
public:
    struct Change {
        storage::Lsn trimmed = 0;        ///< the log has been gone through up to here; 0: not moved
        storage::Lsn versions_from = 0;  ///< where the window begins; 0: not moved
        std::vector<std::string> removed;  ///< keys in the log
    };
    LogTrimCommit(std::shared_ptr<PartitionImpl> partition, Change change);
    std::future<Status> result() { return promise_.get_future(); }
    bool decide(storage::CommitScope& scope) override;
    void published(const storage::View& view) override;
    void complete(Status status) override;
    size_t bytes() const override { return change_.removed.size() * 64; }

private:
    const std::shared_ptr<PartitionImpl> partition_;
    const Change change_;
    bool moves_window_ = false;
    std::promise<Status> promise_;
};

}  // namespace orrery::partition::detail
