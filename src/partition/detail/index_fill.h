#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "partition/detail/version.h"
#include "storage/store.h"

namespace orrery::partition::detail {

class PartitionImpl;

/// An item that gets the entries of a new policy, as it was when it was read.
struct ItemToFill {
    std::string id_key;
    IdEntry entry;
    storage::IndexDelta delta;
    uint32_t terms = 0;  ///< charged terms that differ from the policy before
};

/// From what the item may have in the index, by any of the policies, to exactly what the present
/// one says. An entry that all policies have is left alone.
/// Returns how many charged terms the last of the previous policies and the present one do not
/// share.
uint32_t append_fill(storage::PartitionId partition, const ItemVersion& version,
                     storage::IndexDelta& delta);

/// Gives items the entries of a new policy. Items that changed since they were read are read again:
/// what is written is always right for the version that the index then belongs to.
class IndexFillCommit final : public storage::CommitOperation {
public:
    IndexFillCommit(std::shared_ptr<PartitionImpl> partition, SettingsStatePtr settings,
                    std::vector<ItemToFill> items);
    /// False: the settings have changed meanwhile, nothing was done.
    std::future<Result<bool>> result() { return promise_.get_future(); }
    bool decide(storage::CommitScope& scope) override;
    void complete(Status status) override;
    size_t bytes() const override { return bytes_; }

private:
    Status fill(storage::CommitScope& scope, storage::IndexDelta& delta);

    const std::shared_ptr<PartitionImpl> partition_;
    const SettingsStatePtr settings_;
    std::vector<ItemToFill> items_;
    size_t bytes_ = 0;
    bool filled_ = false;
    Status status_;
    std::promise<Result<bool>> promise_;
};

}  // namespace orrery::partition::detail
