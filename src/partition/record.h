#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "partition/operation.h"
#include "storage/keys.h"

/// Values that a partition keeps in `ids` and `log`. Layouts in docs/formats/partition.md.
namespace orrery::partition {

/// `ids`, kind item: enough for existence, etags, conflicts and expiry without the body.
struct IdEntry {
    storage::Docref docref;
    storage::Lsn lsn = 0;
    uint64_t etag_nonce = 0;
    int64_t ts = 0;
    int32_t own_ttl = 0;  ///< as in json::DocumentHeader
    /// What the write asked for; with the container's policy it says whether the item is indexed.
    IndexingDirective directive = IndexingDirective::kDefault;

    friend bool operator==(const IdEntry&, const IdEntry&) = default;
};
std::string encode_id_entry(const IdEntry& entry);
Result<IdEntry> decode_id_entry(std::string_view bytes);

/// `ids`, kind unique key: the id of the item that holds the values.
std::string encode_unique_entry(std::string_view id);
Result<std::string> decode_unique_entry(std::string_view bytes);

enum class LogOperation : uint8_t { kCreate = 1, kReplace = 2, kDelete = 3 };

/// `log`: what one commit did to one item.
struct LogRecord {
    LogOperation operation = LogOperation::kCreate;
    /// Of the version written; kDefault for a delete.
    IndexingDirective directive = IndexingDirective::kDefault;
    /// Of the version replaced or deleted; kDefault for a create.
    IndexingDirective previous_directive = IndexingDirective::kDefault;
    bool expired = false;           ///< a delete because the time to live ran out
    int64_t ts = 0;                 ///< `_ts` of the commit
    uint64_t etag_nonce = 0;        ///< of the version written; 0 for a delete
    storage::Lsn previous_lsn = 0;  ///< of the version replaced or deleted; 0 for a create
    uint32_t origin_region = 0;
    storage::Lsn origin_lsn = 0;  ///< the commit's number in its region of origin
    std::string_view epk;         ///< borrowed
    std::string_view id;          ///< borrowed

    friend bool operator==(const LogRecord&, const LogRecord&) = default;
};
std::string encode_log_record(const LogRecord& record);
/// Borrows `bytes`.
Result<LogRecord> decode_log_record(std::string_view bytes);

/// An LSN by itself: notes in `meta`, and in `images` the LSN of the record that replaced a
/// version.
std::string encode_lsn_note(storage::Lsn lsn);
Result<storage::Lsn> decode_lsn_note(std::string_view bytes);

/// How a partition that came from others began. Records at or below `lsn` are those of its
/// sources: with gaps after a split, and after a merge in no one order of `_ts`.
struct Birth {
    storage::Lsn lsn = 0;  ///< its own begin above it; 0: it began empty
    int64_t ts = 0;        ///< of the sources' last commit
    bool merged = false;   ///< from several sources, or from one that was
    /// What was in the index on disk when it began: for keys below `epk_max` (and not below the one
    /// before), records up to `covered`.
    struct Part {
        std::string epk_max;
        storage::Lsn covered = 0;
        friend bool operator==(const Part&, const Part&) = default;
    };
    std::vector<Part> parts;

    storage::Lsn covered_of(std::string_view epk) const;
    friend bool operator==(const Birth&, const Birth&) = default;
};
std::string encode_birth(const Birth& birth);
Result<Birth> decode_birth(std::string_view bytes);

/// Item counters below it may have been used.
std::string encode_item_counter(uint64_t bound);
Result<uint64_t> decode_item_counter(std::string_view bytes);

/// How far the entries of a new indexing policy are filled in, in docref order.
struct IndexFill {
    uint64_t change = 0;  ///< number of the policy change
    uint64_t items = 0;   ///< dealt with so far
    bool complete = false;
    std::string position;    ///< docref bytes of the last item dealt with
    uint64_t items_all = 0;  ///< in the partition, about; not stored

    bool reached(const storage::Docref& docref) const {
        return complete || docref.bytes() <= position;
    }
    friend bool operator==(const IndexFill&, const IndexFill&) = default;
};
std::string encode_index_fill(const IndexFill& fill);
Result<IndexFill> decode_index_fill(std::string_view bytes);

/// Keys of a partition's own values in `meta`.
namespace meta_keys {
std::string item_counter(storage::PartitionId partition);
/// Present while every item has its entry in `ttl`.
std::string ttl_complete(storage::PartitionId partition);
/// IndexFill, while a policy change runs; behind what is done, never ahead of what is on disk.
std::string index_fill(storage::PartitionId partition);
/// LSN from which log and images are complete; present while the container keeps all versions.
std::string versions_from(storage::PartitionId partition);
/// LSN up to which the log was gone through and lost what was superseded or deleted by then.
std::string log_trimmed(storage::PartitionId partition);
/// Birth; absent for a partition that began empty.
std::string birth(storage::PartitionId partition);
}  // namespace meta_keys

/// Keys of the counters (storage::CommitScope::count).
namespace counter_keys {
inline constexpr uint64_t kTotalsPath = 1;
inline constexpr uint64_t kLogicalPartitionPath = 2;
std::string totals(storage::PartitionId partition);
std::string logical_partition(storage::PartitionId partition, std::string_view epk);
}  // namespace counter_keys

}  // namespace orrery::partition
