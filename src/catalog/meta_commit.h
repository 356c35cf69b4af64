#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "catalog/records.h"
#include "storage/store.h"

namespace orrery::catalog {

/// One change of the catalog: written as a whole or not at all.
class MetaChange {
public:
    template <typename Record>
    void put(const Record& record) {
        entries_.emplace_back(records::key(record), records::encode(record));
    }
    void put(const records::Account& record) {
        entries_.emplace_back(records::account_key(), records::encode(record));
    }
    void remove(std::string key) { entries_.emplace_back(std::move(key), std::nullopt); }
    /// The partition's record goes with this change, its keys in the background.
    void retire(storage::PartitionId partition) {
        remove(records::partition_key(partition));
        retired_.push_back(partition);
    }

    /// Runs on the committer's thread at this change's place in the commit order; an error refuses
    /// the change.
    void guard(std::function<Status()> check) { guard_ = std::move(check); }

    /// What else becomes of the store with this change, all on the committer's thread.
    struct Companion {
        std::function<void(storage::CommitScope&)> write;  ///< as part of the change
        std::function<void()> before_write;
        std::function<void()> published;  ///< durable and visible, before anybody is answered
        size_t bytes = 0;                 ///< about
    };
    void accompany(Companion companion) { companion_ = std::move(companion); }

    /// Waits until the change is durable. Not on the committer's thread.
    Status commit(storage::Store& store) &&;

private:
    std::vector<std::pair<std::string, std::optional<std::string>>> entries_;
    std::vector<storage::PartitionId> retired_;
    std::function<Status()> guard_;
    Companion companion_;

    friend class MetaCommit;
};

}  // namespace orrery::catalog
