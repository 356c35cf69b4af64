#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "partition/operation.h"
#include "partition/partition_key.h"
#include "partition/record.h"
#include "storage/keys.h"

/// The change feed of one partition (docs/protocol.md): its log in LSN order, with the items.
namespace orrery::partition {

struct ChangesRequest {
    EpkRange range{};  ///< changes of other keys are left out
    /// `range` is that of this full key.
    std::optional<std::string> epk{};
    storage::Lsn after = 0;  ///< changes above this LSN ...
    /// ... up to this one, which was published before the view was made.
    storage::Lsn up_to = 0;
    std::optional<int64_t> newer_than{};  ///< only changes whose `_ts` is greater
    /// Every version and delete; otherwise the latest version of each item, once.
    bool all_versions = false;
    /// With the latest versions: also deletes, as far as the log still has their records
    /// (Partition::hold_log_for_reader).
    bool deletes = false;
    /// Bounds of a page. A commit is never split: the first one may be larger.
    uint32_t items_max = 100;
    uint64_t bytes_max = 4ULL << 20;
};

struct Change {
    storage::Lsn lsn = 0;
    LogOperation operation = LogOperation::kCreate;
    bool expired = false;           ///< a delete because the time to live ran out
    int64_t ts = 0;                 ///< of the commit
    storage::Lsn previous_lsn = 0;  ///< of the version replaced or deleted; 0 for a create
    std::string id;                 ///< of a delete
    StoredItem current;             ///< the version written; without document: a delete
    StoredItem previous;            ///< the version replaced or deleted; all versions only
};

struct ChangesPage {
    std::vector<Change> changes;
    storage::Lsn position = 0;  ///< every change up to here was looked at
    bool more = false;          ///< `position` is not yet `up_to`
};

}  // namespace orrery::partition
