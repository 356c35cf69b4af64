#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "partition/operation.h"
#include "storage/keys.h"

namespace orrery::partition {

/// A transaction on one logical partition whose operations become known one after the other, each
/// with its outcome: what a script does. It reads one view and what it has written itself; nobody
/// else sees anything before commit(), which writes all of it under one LSN, or nothing. Owned by
/// one thread at a time; not for loop threads.
class StepTransaction {
public:
    virtual ~StepTransaction() = default;

    /// Carries an operation out. One that fails changes nothing, and the transaction may go on. An
    /// item that this transaction wrote has a provisional etag and `_ts` until commit().
    virtual OperationResult run(ItemOperation operation) = 0;
    /// The id of the item with this docref or kNotFound.
    virtual Result<std::string> id_of(const storage::Docref& docref) = 0;
    /// Text bytes of all versions written so far.
    virtual uint64_t bytes_written() const = 0;

    struct Ending {
        bool committed = false;
        /// Not committed, because something that it rests on has changed since the view, or the key
        /// has moved to another partition. To be begun again.
        bool stale = false;
        Status status;              ///< why it failed, if neither
        storage::Lsn lsn = 0;       ///< of the commit, or the partition's high-water mark
        uint32_t range_number = 0;  ///< rid prefix of the partition
        /// Provisional and final etags of what was written. Items in results have become final.
        std::vector<std::pair<std::string, std::string>> etags;
    };
    /// Last call. `done` may be called on any thread.
    virtual void commit(std::function<void(Ending)> done) = 0;
};

}  // namespace orrery::partition
