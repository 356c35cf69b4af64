#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "partition/detail/plan.h"

namespace orrery::partition::detail {

/// The unique key values of one logical partition as one transaction changes them, over what a
/// reader shows. Owned by one thread.
class UniqueCheck {
public:
    /// An item that held a wanted value and has expired: removed by the commit.
    struct ExpiredOwner {
        std::string id;
        std::string id_key;
        ItemVersionPtr version;
    };

    UniqueCheck(storage::PartitionId partition, std::string_view epk)
        : partition_(partition), epk_(epk) {}

    /// False: a value of the step belongs to another item; nothing has changed then.
    Result<bool> apply(Reader& reader, const SettingsStatePtr& settings,
                       const std::vector<Slot>& slots, const UniqueStep& step, int64_t now);

    /// Entries that change: the id of the new owner, or none.
    const std::vector<std::pair<std::string, std::optional<std::string>>>& owners() const {
        return owners_;
    }
    const std::deque<ExpiredOwner>& expired_owners() const { return expired_owners_; }
    /// Key of the entry in `ids`.
    std::string key(const std::string& name) const;

private:
    Result<bool> is_taken(Reader& reader, const SettingsStatePtr& settings,
                          const std::vector<Slot>& slots, const std::string& name,
                          const std::string& id, int64_t now);
    std::optional<std::string>* find_owner(const std::string& name);
    void set_owner(const std::string& name, std::optional<std::string> owner);

    const storage::PartitionId partition_;
    const std::string epk_;
    std::vector<std::pair<std::string, std::optional<std::string>>> owners_;
    std::deque<ExpiredOwner> expired_owners_;
};

}  // namespace orrery::partition::detail
