#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "catalog/resources.h"
#include "storage/store.h"

namespace orrery::lab {

/// The largest logical partitions of containers, exact, from the sizes that the index keeps. Found
/// by a walk over all of a container's logical partitions that goes on with each question, so that
/// one question takes a bounded time. Thread-safe.
class StorageRanking {
public:
    struct Entry {
        std::string epk;  ///< binary
        std::string key;  ///< JSON array text of the partition key value
        int64_t items = 0;
        int64_t bytes = 0;
    };
    struct Answer {
        std::vector<Entry> largest;       ///< largest first
        uint64_t logical_partitions = 0;  ///< walked over so far
        bool complete = false;            ///< all of them
        int64_t as_of_seconds = 0;        ///< when the walk ended, or now
    };

    StorageRanking(const storage::Store& store, const Clock& clock)
        : store_(store), clock_(clock) {}

    /// Walks on for `budget_us` at most; a finished walk is answered from memory for a minute.
    Result<Answer> largest(const catalog::Container& container, size_t count, int64_t budget_us);

    static constexpr size_t kKept = 200;

private:
    struct Walk {
        uint64_t map_version = 0;
        std::string resume_epk;  ///< binary; empty and `begun`: see largest()
        bool begun = false;
        bool complete = false;
        int64_t ended_seconds = 0;
        uint64_t seen = 0;
        std::vector<Entry> heap;  // smallest first
    };

    Status walk_on(const catalog::Container& container, Walk& walk, int64_t deadline_us);
    Status walk_range(const storage::View& view, const catalog::Container& container,
                      const partition::Partition& part, Walk& walk, int64_t deadline_us,
                      bool& out_of_time);

    const storage::Store& store_;
    const Clock& clock_;
    std::mutex mutex_;
    std::map<std::string, Walk> walks_;  // by container rid
};

/// The partition key value of a logical partition as JSON array text, read from one of its items;
/// empty when it has none.
Result<std::string> key_text_of(const storage::View& view, const catalog::Container& container,
                                const partition::Partition& part, std::string_view epk);

}  // namespace orrery::lab
