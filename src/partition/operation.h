#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/policy.h"
#include "json/patch.h"
#include "json/value.h"
#include "storage/keys.h"

/// What is asked of a partition and what it answers, in protocol-neutral terms.
namespace orrery::partition {

enum class OperationKind : uint8_t { kCreate, kReplace, kUpsert, kPatch, kDelete, kRead };
using IndexingDirective = index::ItemIndexing;

/// A parsed patch with whatever its values borrow from, and its condition, if any.
struct PatchProgram {
    json::Arena arena;
    json::Patch patch;
    /// Decides on the item as clients see it (system properties included); empty: no condition.
    std::function<Result<bool>(const json::Value& item)> condition;
};

/// One operation on one item.
struct ItemOperation {
    OperationKind kind = OperationKind::kRead;
    /// Core id of the target (json/item_id.h). Where the dialect has the id in the item, create and
    /// upsert take it from the body.
    std::string id;
    /// The item's text: create, replace, upsert. In the dialect nosql JSON as sent, in others as
    /// json::write_typed() gives it.
    std::string body;
    /// The item's own time to live, where the dialect keeps it beside the item: seconds, -1 never,
    /// 0 none.
    int32_t own_ttl = 0;
    std::optional<int64_t> client_time;  ///< json::DocumentHeader::client_time
    std::shared_ptr<const PatchProgram> patch;
    std::string if_match;       ///< etag text without quotes, "*", or empty
    std::string if_none_match;  ///< reads: likewise
    IndexingDirective directive = IndexingDirective::kDefault;
    bool wants_item = true;  ///< false: the client will not be sent the item
};

/// An item as read or written. Immutable, shared with the item cache.
struct StoredItem {
    std::shared_ptr<const std::string> document;  ///< json/document.h
    storage::Docref docref;
};

/// Counted work of one operation, for `meter` (docs/request-units.md).
struct OperationWork {
    OperationKind kind = OperationKind::kRead;
    bool existed = false;      ///< an upsert that replaced
    uint64_t old_bytes = 0;    ///< size of the version that was there
    uint64_t new_bytes = 0;    ///< size of the version written or read
    uint32_t terms_added = 0;  ///< charged terms, not index entries
    uint32_t terms_removed = 0;
    uint32_t patch_operations = 0;
};

struct OperationResult {
    Status
        status;  ///< ok, or the operation's own error (kFailedDependency: another one of the batch)
    bool created = false;       ///< 201 rather than 200
    bool not_modified = false;  ///< read: the caller has it
    bool has_item = false;      ///< false: delete, error, not modified
    StoredItem item;
    std::string
        etag;  ///< current etag text without quotes; also if not modified; empty after delete
    OperationWork work;
};

/// A request to a partition: one operation, or a transactional batch of up to 100, all on one
/// logical partition, atomic. One LSN if anything was written.
struct Transaction {
    std::string epk;  ///< binary, full key
    /// The key's components as JSON text (partition_key_json): bodies must agree, else
    /// kPartitionKeyMismatch.
    bool check_body_key = true;
    std::vector<ItemOperation> operations;
    bool is_batch = false;
    /// A batch whose items would make a longer answer fails as a whole, before anything
    /// is written. 0: no limit.
    uint64_t answer_bytes_max = 0;
};

struct TransactionResult {
    bool committed = false;     ///< false: every write was refused or rolled back
    bool stale = false;         ///< of steps only: to be begun again
    storage::Lsn lsn = 0;       ///< of the commit, or the partition's high-water mark
    uint32_t range_number = 0;  ///< rid prefix of the partition that answered: the one asked, or
                                ///< where its key has gone since
    std::vector<OperationResult> results;  ///< one per operation, same order
};
using TransactionDone = std::function<void(TransactionResult)>;

}  // namespace orrery::partition
