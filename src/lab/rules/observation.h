#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "json/value.h"

/// What is known of one container's data and traffic at one moment: the recorder makes it, or a
/// file. A member that is absent was not seen; rules that need it say so instead of passing.
/// Charges are in RU and summed over `observed_seconds` unless said otherwise.
namespace orrery::lab {

/// One logical partition with a share of something. `key` is the JSON array text of its value.
struct KeyWeight {
    std::string key;
    double weight = 0;
    double error = 0;  ///< the true weight is in [weight - error, weight]
    double writes = 0;
    double grown_bytes = 0;  ///< that writes have added; what deletes took away is not subtracted
};
/// The heaviest logical partitions by charge.
struct KeyUse {
    double total = 0;
    double error_max = 0;  ///< no key that is not listed weighs more
    double seconds = 0;    ///< that the figures cover
    double writes = 0;     ///< of all keys
    double grown_bytes = 0;
    std::vector<KeyWeight> top;  ///< heaviest first
};

struct KeySize {
    std::string key;
    int64_t items = 0;
    int64_t bytes = 0;
};
/// Logical partitions by size.
struct StorageKeys {
    bool complete = true;  ///< all were looked at
    int64_t distinct = 0;
    int64_t median_bytes = 0;
    int64_t p95_bytes = 0;
    double gini = 0;
    std::vector<double> lorenz;  ///< share of bytes in the smallest 0 %, 10 %, … 100 % of the keys
    std::vector<KeySize> largest;
    std::vector<int64_t> level_distinct;  ///< hierarchical keys: different prefixes of each length
    double second_level_share = 0;  ///< share of bytes under the most frequent second-level value
};

struct MinutePoint {
    double ru = 0;
    double peak_ru = 0;  ///< its busiest second
    int64_t requests = 0;
    int64_t throttled = 0;
};
/// One physical partition.
struct RangeUse {
    std::string id;
    double provisioned_ru = 0;
    int64_t items = 0;
    int64_t bytes = 0;
    std::vector<MinutePoint> minutes;  ///< of the last hour, oldest first
};

/// One wall-clock hour of the container.
struct HourUse {
    int64_t hour = 0;  ///< since 1970
    double ru = 0;
    double peak_ru = 0;     ///< busiest second, all partitions together
    double normalized = 0;  ///< busiest second of the busiest partition over its share
    int64_t requests = 0;
    int64_t throttled = 0;
};

struct OperationUse {
    std::string operation;
    int64_t requests = 0;
    int64_t failed = 0;  ///< of them; rate limits are not among the requests
    int64_t throttled = 0;
    double ru = 0;
};

/// All queries of one shape: texts that differ in constants only.
struct QueryUse {
    std::string text;     ///< constants replaced by `?`
    std::string example;  ///< one as it was sent
    int64_t runs = 0;     ///< first pages
    int64_t pages = 0;
    double ru = 0;
    int64_t retrieved = 0;
    int64_t output = 0;
    int64_t output_bytes = 0;
    int64_t ranges = 0;  ///< physical partitions visited, summed over pages
    int64_t ranges_max = 0;
    int64_t keyed_runs = 0;        ///< whose filter or header names a partition key (or a prefix)
    bool pins_key_and_id = false;  ///< equality on the whole key and on the id
    bool returns_items = false;    ///< SELECT * or SELECT VALUE c
    bool aggregates = false;
    std::vector<std::string> equality_paths;
    std::vector<std::string> filter_paths;  ///< equality paths among them
    std::vector<std::string> order_paths;   ///< "/a ASC"
    std::vector<std::string> projected_paths;
    std::vector<std::string> scan_functions;  ///< called in the filter on what an item stores
    std::vector<std::string> utilized;        ///< index paths
    std::vector<std::string> potential;       ///< that would have helped
    std::vector<std::vector<std::string>> potential_composite;
    int64_t small_page_runs = 0;        ///< asked for fewer than ten items a page
    int64_t small_pages = 0;            ///< pages of those
    int64_t p50_result_bytes = 0;       ///< of a page
    std::optional<int64_t> used_bytes;  ///< what the application looked at, where it told
};

struct ArrayUse {
    int64_t samples = 0;
    int64_t p50 = 0;
    int64_t p99 = 0;
    int64_t max = 0;
    double size_share = 0;  ///< of the bytes of the items that have it
    int64_t rises = 0;      ///< later versions of an item with a longer one
    int64_t falls = 0;
    bool of_objects = false;
};
/// One path of the container's items, from samples of what is written.
struct PathUse {
    std::string path;  ///< "/a/b", array elements as "/[]"
    bool indexed = true;
    int64_t samples = 0;      ///< items that have it
    double terms = 0;         ///< index terms per item written
    int64_t changes = 0;      ///< later versions of an item that differ here
    int64_t distinct = 0;     ///< different values among the samples
    int64_t filter_runs = 0;  ///< queries
    int64_t order_runs = 0;
    int64_t project_runs = 0;
    double mean_bytes = 0;
    int64_t blob_bytes_max = 0;  ///< longest text that looks like base64
    bool time_like = false;
    std::vector<std::string> examples;
    std::optional<ArrayUse> array;
};

struct TypeUse {
    std::string name;
    int64_t samples = 0;
    int64_t with_key = 0;  ///< that have a value at the partition key path
};
struct ItemUse {
    int64_t samples = 0;
    double mean_bytes = 0;
    int64_t max_bytes = 0;
    std::vector<int64_t> size_histogram;  ///< items of up to 1 KB, 2 KB, 4 KB … 2 MB
    double growth_bytes_per_day = 0;      ///< of the item that grows fastest
    int64_t growth_item_bytes = 0;        ///< its present size
    double random_ids = 0;                ///< share of ids that look like chance
    std::string type_property;            ///< empty: items have none
    std::vector<TypeUse> types;
    int64_t updates = 0;  ///< samples that replaced an earlier version
};

/// An item that is written often.
struct HotItem {
    std::string key;
    std::string id;
    double writes_per_day = 0;
    int64_t attempts = 0;
    int64_t conflicts = 0;     ///< another writer was first
    int64_t bytes = 0;         ///< 0: no version of it was sampled
    double changed_share = 1;  ///< of its bytes, from one version to the next
    std::vector<std::string> changed_paths;
};

/// Bursts of queries of one connection on one key.
struct Bursts {
    int64_t bursts = 0;   ///< of three or more queries within 50 ms
    int64_t queries = 0;  ///< in them
    std::string example_key;
};
/// Requests that follow one another on a connection within 50 ms.
struct PairUse {
    std::string first;  ///< "container operation"
    std::string second;
    std::string second_container;
    int64_t count = 0;
    int64_t second_reads = 0;  ///< on the second container in all
    int64_t second_writes = 0;
    double second_ru = 0;  ///< of the reads that followed
};
/// A consumer of the change feed, as it reports itself.
struct FeedUse {
    std::string consumer;
    int64_t read = 0;
    int64_t used = 0;
    double ru = 0;
};
/// Writes that carry one correlation id.
struct Correlated {
    int64_t groups = 0;
    int64_t several_keys = 0;  ///< of them: written to more than one key within 50 ms
    std::vector<std::string> example_keys;
};
struct ReadAges {
    int64_t reads = 0;
    int64_t newest = 0;  ///< of items in the newest twentieth of the container's life
    double life_seconds = 0;
};

struct Throughput {
    std::string mode;  ///< manual, autoscale, serverless, shared, none
    int64_t ru = 0;    ///< per second; autoscale: the maximum
    bool shared = false;
    std::optional<int64_t> planned_ru;  ///< what it is about to be raised to
};
/// The database around the container.
struct Neighbours {
    bool shared_throughput = false;
    int64_t shared_containers = 0;  ///< without throughput of their own
    std::vector<std::string>
        same_key;              ///< containers with the same partition key paths, this one too
    int64_t minimum_ru = 400;  ///< of a container with throughput of its own
};

struct Observation {
    std::string database;
    std::string container;
    std::string consistency = "Session";
    int64_t regions = 1;
    bool multi_region_writes = false;
    double observed_seconds = 0;
    int64_t now_seconds = 0;
    std::vector<std::string> key_paths;
    std::string indexing_policy;  ///< JSON text
    std::optional<int64_t> default_ttl;
    int64_t items = 0;
    int64_t bytes = 0;
    std::optional<Throughput> throughput;
    std::optional<Neighbours> neighbours;
    std::vector<RangeUse> ranges;
    std::vector<HourUse> hours;
    std::optional<int64_t> last_request_seconds;
    std::vector<OperationUse> operations;
    std::optional<KeyUse> keys;
    std::optional<StorageKeys> storage_keys;
    std::vector<QueryUse> queries;
    std::optional<ItemUse> item_use;
    std::vector<PathUse> paths;
    std::vector<HotItem> hot_items;
    std::optional<Bursts> bursts;
    std::vector<PairUse> pairs;
    std::vector<FeedUse> feeds;
    std::optional<Correlated> correlated;
    std::optional<ReadAges> read_ages;

    const OperationUse* operation(std::string_view name) const;
    double total_ru() const;
    double write_requests() const;  ///< that succeeded
    double read_ru() const;         ///< reads, queries and feeds
    /// What is summed up, for a month of 730 hours.
    double per_month(double observed) const;
};

std::string observation_json(const Observation& observation);
/// A bad request that names the member which is wrong.
Result<Observation> read_observation(std::string_view text);
/// One object, an array of them, or a report that carries its observations.
Result<std::vector<Observation>> read_observations(const json::Value& value);

inline constexpr double kSecondsPerMonth = 730.0 * 3600;

}  // namespace orrery::lab
