#include "lab/rules/observation.h"

#include "json/parse.h"
#include "lab/described.h"

namespace orrery::lab {

template <typename V>
void describe(V& v, KeyWeight& o) {
    v.field("key", o.key);
    v.field("weight", o.weight);
    v.field("error", o.error);
    v.field("writes", o.writes);
    v.field("grownBytes", o.grown_bytes);
}
template <typename V>
void describe(V& v, KeyUse& o) {
    v.field("total", o.total);
    v.field("errorMax", o.error_max);
    v.field("seconds", o.seconds);
    v.field("writes", o.writes);
    v.field("grownBytes", o.grown_bytes);
    v.field("top", o.top);
}
template <typename V>
void describe(V& v, KeySize& o) {
    v.field("key", o.key);
    v.field("items", o.items);
    v.field("bytes", o.bytes);
}
template <typename V>
void describe(V& v, StorageKeys& o) {
    v.field("complete", o.complete);
    v.field("distinct", o.distinct);
    v.field("medianBytes", o.median_bytes);
    v.field("p95Bytes", o.p95_bytes);
    v.field("gini", o.gini);
    v.field("lorenz", o.lorenz);
    v.field("largest", o.largest);
    v.field("levelDistinct", o.level_distinct);
    v.field("secondLevelShare", o.second_level_share);
}
template <typename V>
void describe(V& v, MinutePoint& o) {
    v.field("ru", o.ru);
    v.field("peakRu", o.peak_ru);
    v.field("requests", o.requests);
    v.field("throttled", o.throttled);
}
template <typename V>
void describe(V& v, RangeUse& o) {
    v.field("id", o.id);
    v.field("provisionedRu", o.provisioned_ru);
    v.field("items", o.items);
    v.field("bytes", o.bytes);
    v.field("minutes", o.minutes);
}
template <typename V>
void describe(V& v, HourUse& o) {
    v.field("hour", o.hour);
    v.field("ru", o.ru);
    v.field("peakRu", o.peak_ru);
    v.field("normalized", o.normalized);
    v.field("requests", o.requests);
    v.field("throttled", o.throttled);
}
template <typename V>
void describe(V& v, OperationUse& o) {
    v.field("operation", o.operation);
    v.field("requests", o.requests);
    v.field("failed", o.failed);
    v.field("throttled", o.throttled);
    v.field("ru", o.ru);
}
template <typename V>
void describe(V& v, QueryUse& o) {
    v.field("text", o.text);
    v.field("example", o.example);
    v.field("runs", o.runs);
    v.field("pages", o.pages);
    v.field("ru", o.ru);
    v.field("retrieved", o.retrieved);
    v.field("output", o.output);
    v.field("outputBytes", o.output_bytes);
    v.field("ranges", o.ranges);
    v.field("rangesMax", o.ranges_max);
    v.field("keyedRuns", o.keyed_runs);
    v.field("pinsKeyAndId", o.pins_key_and_id);
    v.field("returnsItems", o.returns_items);
    v.field("aggregates", o.aggregates);
    v.field("equalityPaths", o.equality_paths);
    v.field("filterPaths", o.filter_paths);
    v.field("orderPaths", o.order_paths);
    v.field("projectedPaths", o.projected_paths);
    v.field("scanFunctions", o.scan_functions);
    v.field("utilizedIndexes", o.utilized);
    v.field("potentialIndexes", o.potential);
    v.field("potentialComposites", o.potential_composite);
    v.field("smallPageRuns", o.small_page_runs);
    v.field("smallPages", o.small_pages);
    v.field("p50ResultBytes", o.p50_result_bytes);
    v.field("usedBytes", o.used_bytes);
}
template <typename V>
void describe(V& v, ArrayUse& o) {
    v.field("samples", o.samples);
    v.field("p50", o.p50);
    v.field("p99", o.p99);
    v.field("max", o.max);
    v.field("sizeShare", o.size_share);
    v.field("rises", o.rises);
    v.field("falls", o.falls);
    v.field("ofObjects", o.of_objects);
}
template <typename V>
void describe(V& v, PathUse& o) {
    v.field("path", o.path);
    v.field("indexed", o.indexed);
    v.field("samples", o.samples);
    v.field("terms", o.terms);
    v.field("changes", o.changes);
    v.field("distinct", o.distinct);
    v.field("filterRuns", o.filter_runs);
    v.field("orderRuns", o.order_runs);
    v.field("projectRuns", o.project_runs);
    v.field("meanBytes", o.mean_bytes);
    v.field("blobBytesMax", o.blob_bytes_max);
    v.field("timeLike", o.time_like);
    v.field("examples", o.examples);
    v.field("array", o.array);
}
template <typename V>
void describe(V& v, TypeUse& o) {
    v.field("name", o.name);
    v.field("samples", o.samples);
    v.field("withKey", o.with_key);
}
template <typename V>
void describe(V& v, ItemUse& o) {
    v.field("samples", o.samples);
    v.field("meanBytes", o.mean_bytes);
    v.field("maxBytes", o.max_bytes);
    v.field("sizeHistogram", o.size_histogram);
    v.field("growthBytesPerDay", o.growth_bytes_per_day);
    v.field("growthItemBytes", o.growth_item_bytes);
    v.field("randomIds", o.random_ids);
    v.field("typeProperty", o.type_property);
    v.field("types", o.types);
    v.field("updates", o.updates);
}
template <typename V>
void describe(V& v, HotItem& o) {
    v.field("key", o.key);
    v.field("id", o.id);
    v.field("writesPerDay", o.writes_per_day);
    v.field("attempts", o.attempts);
    v.field("conflicts", o.conflicts);
    v.field("bytes", o.bytes);
    v.field("changedShare", o.changed_share);
    v.field("changedPaths", o.changed_paths);
}
template <typename V>
void describe(V& v, Bursts& o) {
    v.field("bursts", o.bursts);
    v.field("queries", o.queries);
    v.field("exampleKey", o.example_key);
}
template <typename V>
void describe(V& v, PairUse& o) {
    v.field("first", o.first);
    v.field("second", o.second);
    v.field("secondContainer", o.second_container);
    v.field("count", o.count);
    v.field("secondReads", o.second_reads);
    v.field("secondWrites", o.second_writes);
    v.field("secondRu", o.second_ru);
}
template <typename V>
void describe(V& v, FeedUse& o) {
    v.field("consumer", o.consumer);
    v.field("read", o.read);
    v.field("used", o.used);
    v.field("ru", o.ru);
}
template <typename V>
void describe(V& v, Correlated& o) {
    v.field("groups", o.groups);
    v.field("severalKeys", o.several_keys);
    v.field("exampleKeys", o.example_keys);
}
template <typename V>
void describe(V& v, ReadAges& o) {
    v.field("reads", o.reads);
    v.field("newest", o.newest);
    v.field("lifeSeconds", o.life_seconds);
}
template <typename V>
void describe(V& v, Throughput& o) {
    v.field("mode", o.mode);
    v.field("ru", o.ru);
    v.field("shared", o.shared);
    v.field("plannedRu", o.planned_ru);
}
template <typename V>
void describe(V& v, Neighbours& o) {
    v.field("sharedThroughput", o.shared_throughput);
    v.field("sharedContainers", o.shared_containers);
    v.field("sameKey", o.same_key);
    v.field("minimumRu", o.minimum_ru);
}
template <typename V>
void describe(V& v, Observation& o) {
    v.field("database", o.database);
    v.field("container", o.container);
    v.field("consistency", o.consistency);
    v.field("regions", o.regions);
    v.field("multiRegionWrites", o.multi_region_writes);
    v.field("observedSeconds", o.observed_seconds);
    v.field("nowSeconds", o.now_seconds);
    v.field("keyPaths", o.key_paths);
    v.field("indexingPolicy", o.indexing_policy);
    v.field("defaultTtl", o.default_ttl);
    v.field("items", o.items);
    v.field("bytes", o.bytes);
    v.field("throughput", o.throughput);
    v.field("neighbours", o.neighbours);
    v.field("ranges", o.ranges);
    v.field("hours", o.hours);
    v.field("lastRequestSeconds", o.last_request_seconds);
    v.field("operations", o.operations);
    v.field("keys", o.keys);
    v.field("storageKeys", o.storage_keys);
    v.field("queries", o.queries);
    v.field("itemUse", o.item_use);
    v.field("paths", o.paths);
    v.field("hotItems", o.hot_items);
    v.field("bursts", o.bursts);
    v.field("pairs", o.pairs);
    v.field("feeds", o.feeds);
    v.field("correlated", o.correlated);
    v.field("readAges", o.read_ages);
}

const OperationUse* Observation::operation(std::string_view name) const {
    for (const auto& one : operations)
        if (one.operation == name) return &one;
    return nullptr;
}

double Observation::total_ru() const {
    double sum = 0;
    for (const auto& one : operations) sum += one.ru;
    return sum;
}

double Observation::write_requests() const {
    double sum = 0;
    for (const std::string_view name : {"create", "replace", "upsert", "patch", "delete"})
        if (const auto* one = operation(name))
            sum += static_cast<double>(one->requests - one->failed);
    return sum;
}

double Observation::read_ru() const {
    double sum = 0;
    for (const std::string_view name : {"read", "query", "readFeed", "changeFeed"})
        if (const auto* one = operation(name)) sum += one->ru;
    return sum;
}

double Observation::per_month(double observed) const {
    return observed_seconds <= 0 ? 0 : observed * kSecondsPerMonth / observed_seconds;
}

std::string observation_json(const Observation& observation) {
    return described_json(observation);
}

Result<std::vector<Observation>> read_observations(const json::Value& value) {
    std::vector<Observation> out;
    const json::Value containers = value.member("containers");
    const json::Value list = containers.is_array() ? containers : value;
    if (!list.is_array()) {
        TRY(auto one, read_described<Observation>(list));
        out.push_back(std::move(one));
        return out;
    }
    for (const auto& element : list.elements()) {
        const json::Value inside = element.member("observation");
        if (containers.is_array() && inside.is_undefined())
            return errors::bad_request(
                "The report does not carry its observations; make it with observations=true.");
        TRY(auto one, read_described<Observation>(containers.is_array() ? inside : element));
        out.push_back(std::move(one));
    }
    return out;
}

Result<Observation> read_observation(std::string_view text) {
    json::Arena arena;
    TRY(const auto value, json::parse(text, arena));
    return read_described<Observation>(value);
}

}  // namespace orrery::lab
