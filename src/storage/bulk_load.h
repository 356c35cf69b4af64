#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "storage/keys.h"
#include "storage/store.h"

namespace orrery::storage {

/// Writes sorted files for partitions that nobody reads or writes yet. They bypass the log, the
/// memtables and the committer. Owned by one thread. Files that were not ingested are removed.
///
/// The keys of one partition and family come in ascending order. Loads may follow one another; the
/// later one wins. After the first write through the committer no further load is allowed. The
/// partition's number must be durable before ingest() (the log is synced there in any case).
class BulkLoad {
public:
    virtual ~BulkLoad() = default;

    /// For kIndex: entries, whose value is empty or kPartialTerm.
    virtual Status put(Family family, std::string_view key, std::string_view value) = 0;
    /// The key may be there from an earlier load.
    virtual Status remove(Family family, std::string_view key) = 0;
    /// The counter's sum. Counters are keys of kIndex and stand before the partition's entries.
    virtual Status set_count(std::string_view counter_key, const Count& sum) = 0;

    /// Keys and values so far.
    virtual uint64_t bytes() const = 0;

    /// All or nothing, durable. The next view shows it.
    virtual Status ingest() = 0;
};

}  // namespace orrery::storage
