#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "partition/partition.h"
#include "query/query.h"
#include "query/row_sink.h"
#include "storage/store.h"

/// Queries over the items of partitions: one page at a time, on the index where it serves.
namespace orrery::query {

/// A pass over the items that goes on with the next page. Holds a view; not for long.
class ParkedPass {
public:
    virtual ~ParkedPass() = default;
    /// What it holds in memory, about.
    virtual size_t bytes() const = 0;
};

/// A partition that is read, and what belongs to it: nothing else says that the views of two
/// partitions were made together, or that a change of settings has reached both.
struct SourceRange {
    partition::Partition* partition = nullptr;
    storage::ViewPtr view;
    partition::ContainerSettingsPtr settings;  ///< under which the view's index was written
};

/// What a page is about, and when it ends.
struct PageScope {
    /// Those that overlap `range`, in order of their ranges; at least one.
    std::vector<SourceRange> sources;
    partition::EpkRange range;
    std::optional<std::string> full_epk;  ///< the range is exactly this key
    const Clock& clock;
    std::string position;  ///< PageAnswer::position of the page before; empty: the first page
    RowSink& rows;
    uint32_t rows_max = 100;
    uint64_t bytes_max = 4ULL << 20;
    int64_t deadline_us = 0;  ///< monotonic; later the page ends with what it has
    std::function<bool()> cancelled;
    bool use_index = true;  ///< false: every item is read, as if nothing were indexed
    bool explain = false;   ///< somebody will read what the reports say in words, and `operators`
    size_t position_bytes_max = SIZE_MAX;
};

/// A page of a query in SQL.
struct PageRequest {
    const CompiledQuery& query;
    const Parameters& parameters;
    PageScope scope;
    /// Keeps `query`, `parameters` and the partitions alive. Null: nothing can be parked.
    std::shared_ptr<const void> owner;
    std::unique_ptr<ParkedPass>* parked = nullptr;  ///< PageAnswer::parked of the page before
};

/// Work in one partition, counted as the RU formula counts it: by what the query says, not by what
/// the plan did (docs/request-units.md).
struct PartitionWork {
    size_t partition = 0;  ///< index in PageScope::sources
    uint64_t seeks = 0;
    uint64_t loaded_items = 0;
    uint64_t index_entries = 0;
    uint64_t join_tuples = 0;
    uint64_t udf_calls = 0;
};

/// What really happened in one partition, for people.
struct AccessReport {
    size_t partition = 0;
    std::string access;  ///< "points", "scan", "index", "index order", "sort", "index only"
    std::string detail;  ///< what it read, or the conditions that drove it
    uint64_t candidates =
        0;                 ///< entries (values, where those are counted as one), or scanned items
    uint64_t loaded = 0;   ///< items that were read and belong to the range
    uint64_t matched = 0;  ///< items that the WHERE clause let pass
};

/// A clause of the query behind the accesses, over all partitions of the page.
struct OperatorReport {
    std::string name;  ///< "filter", "subquery", "join", "group", "aggregate", "sort", "merge", …
    std::string detail;          ///< as the query says it
    std::optional<uint64_t> in;  ///< rows; nullopt: not known
    std::optional<uint64_t> out;
};

struct IndexUse {
    std::vector<std::string> utilized;  ///< "/a/?"
    std::vector<std::string> potential;
    std::vector<std::vector<std::string>> utilized_composite;  ///< {"/a ASC", "/b DESC"}
    std::vector<std::vector<std::string>> potential_composite;
};

struct PageAnswer {
    uint64_t row_count = 0;  ///< that went to the sink
    std::string position;    ///< empty: there is no more
    /// The position counts rows of the whole range: over a part of it, it means nothing.
    bool whole_range = false;
    std::vector<PartitionWork> work;
    uint64_t retrieved_items = 0;
    uint64_t matched_items = 0;  ///< those of them that the filter let pass
    uint64_t retrieved_bytes = 0;
    uint64_t returned_bytes = 0;  ///< as the RU formula counts them
    uint64_t output_bytes = 0;
    int64_t plan_us = 0;
    int64_t index_us = 0;
    int64_t load_us = 0;
    IndexUse index_use;
    std::vector<AccessReport> accesses;
    std::vector<OperatorReport> operators;  ///< in the order in which rows go through them
    /// ORDER BY rewritten for clients that merge: whether rows with equal keys come with falling
    /// `_rid`.
    std::optional<bool> rids_fall;
    /// ORDER BY had to look for items without the key: an index on it would help.
    std::vector<index::PathStep> wants_sorted_path;
    /// With a position: the parked pass. A caller that has lost it asks without it.
    std::unique_ptr<ParkedPass> parked;
};

/// Runs one page. Worker thread. A bad request for ORDER BY that no index serves.
Result<PageAnswer> execute_page(const PageRequest& request);

}  // namespace orrery::query
