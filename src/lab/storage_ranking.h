#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "catalog/resources.h"
#include "lab/heavy_hitters.h"
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
    /// How bytes are spread over all logical partitions. From buckets that grow by a twelfth, so
    /// that sizes are that exact; counts and sums are exact.
    struct Spread {
        int64_t median_bytes = 0;
        int64_t p95_bytes = 0;
        double gini = 0;
        std::vector<double> lorenz;  ///< share of bytes in the smallest 0 %, 10 %, … 100 %
        std::vector<int64_t> level_distinct;  ///< hierarchical keys: different prefixes
        double second_level_share = 0;        ///< of bytes, under its most frequent value
    };
    struct Answer {
        Spread spread;
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
    /// Sizes in buckets: how many, and how many bytes together.
    struct Buckets {
        static constexpr size_t kCount = 512;
        std::vector<std::pair<uint64_t, uint64_t>> buckets{kCount};
        void add(uint64_t bytes);
    };
    struct Walk {
        Buckets sizes;
        std::string last_epk;
        std::vector<int64_t> level_distinct;
        HeavyHitters second_levels{100};
        uint64_t map_version = 0;
        std::string resume_epk;  ///< binary; empty and `begun`: see largest()
        bool begun = false;
        bool complete = false;
        int64_t ended_seconds = 0;
        uint64_t seen = 0;
        std::vector<Entry> heap;  // smallest first
    };

    static void note_size(const catalog::Container& container, const std::string& epk,
                          int64_t bytes, Walk& walk);
    static Spread spread_of(const Walk& walk);
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
