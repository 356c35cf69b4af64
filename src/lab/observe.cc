#include "lab/observe.h"

#include <algorithm>

#include "index/policy.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::lab {
namespace {

constexpr int64_t kWalkBudgetUs = 400'000;
constexpr int64_t kKeyHours = 24;
constexpr size_t kKeys = 200;
constexpr int64_t kMinutes = 60;

double ru(int64_t units) {
    return static_cast<double>(units) / static_cast<double>(meter::kUnitsPerRu);
}

void observe_definition(const engine::Engine& engine, const catalog::Container& container,
                        Observation& out) {
    out.database = container.database->id;
    out.container = container.id;
    out.consistency = engine::consistency_name(engine.account().default_consistency());
    out.key_paths = container.settings->key.paths;
    out.indexing_policy = container.settings->indexing.json;
    out.default_ttl = container.settings->default_ttl;
    const auto& catalog = engine.catalog();
    Throughput throughput;
    if (!catalog.check_offers().ok()) {
        throughput.mode = "serverless";
    } else {
        auto offer = catalog.offer_of(container.rid_text);
        throughput.shared = offer == nullptr;
        if (offer == nullptr) offer = catalog.offer_of(container.database->rid.text());
        throughput.mode = offer == nullptr        ? "none"
                          : offer->is_autoscale() ? "autoscale"
                                                  : "manual";
        if (offer != nullptr) throughput.ru = offer->value();
    }
    out.throughput = throughput;
    Neighbours neighbours;
    neighbours.shared_throughput = catalog.offer_of(container.database->rid.text()) != nullptr;
    for (const auto& other : catalog.all_containers()) {
        if (other->database->rid.text() != container.database->rid.text()) continue;
        if (catalog.offer_of(other->rid_text) == nullptr && neighbours.shared_throughput)
            ++neighbours.shared_containers;
        if (other->settings->key.paths == container.settings->key.paths)
            neighbours.same_key.push_back(other->id);
    }
    out.neighbours = std::move(neighbours);
}

Status observe_ranges(const engine::Engine& engine, const Recorder& recorder,
                      const catalog::Container& container, Observation& out) {
    const auto view = engine.store().view();
    const int64_t to = engine.clock().wall_seconds() / 60 + 1;
    for (const auto& range : container.ranges->ranges) {
        RangeUse use;
        use.id = range.id;
        use.provisioned_ru = range.budget->rate_ru();
        TRY(const auto size, range.partition->totals(*view));
        use.items = size.items;
        use.bytes = size.bytes;
        out.items += size.items;
        out.bytes += size.bytes;
        for (const auto& minute :
             recorder.minutes({container.rid.whole(), range.number}, to - kMinutes, to))
            use.minutes.push_back({ru(minute.charge_units), ru(minute.peak_units), minute.requests,
                                   minute.throttled});
        out.ranges.push_back(std::move(use));
    }
    return {};
}

Status observe_keys(const Recorder& recorder, StorageRanking& ranking,
                    const catalog::Container& container, Observation& out) {
    const auto top = recorder.top_keys(container.rid.whole(), kKeyHours, kKeys);
    if (!top.keys.empty()) {
        KeyUse use;
        use.total = ru(top.total);
        use.error_max = ru(top.error_max);
        use.writes = static_cast<double>(top.writes);
        use.grown_bytes = static_cast<double>(top.grown_bytes);
        use.seconds = std::min<double>(kKeyHours * 3600, out.observed_seconds);
        for (const auto& key : top.keys)
            use.top.push_back({key.key, ru(key.weight), ru(key.error),
                               static_cast<double>(key.extra.writes),
                               static_cast<double>(key.extra.bytes)});
        out.keys = std::move(use);
    }
    TRY(const auto sizes, ranking.largest(container, kKeys, kWalkBudgetUs));
    StorageKeys keys;
    keys.complete = sizes.complete;
    keys.distinct = static_cast<int64_t>(sizes.logical_partitions);
    keys.median_bytes = sizes.spread.median_bytes;
    keys.p95_bytes = sizes.spread.p95_bytes;
    keys.gini = sizes.spread.gini;
    keys.lorenz = sizes.spread.lorenz;
    keys.level_distinct = sizes.spread.level_distinct;
    keys.second_level_share = sizes.spread.second_level_share;
    for (const auto& entry : sizes.largest)
        keys.largest.push_back({entry.key, entry.items, entry.bytes});
    out.storage_keys = std::move(keys);
    return {};
}

void observe_pairs(const engine::Engine& engine, const Recorder& recorder,
                   const catalog::Container& container, Observation& out) {
    const auto containers = engine.catalog().all_containers();
    for (const auto& pair : recorder.pairs(container.rid.whole())) {
        const auto second = std::find_if(containers.begin(), containers.end(),
                                         [&](const catalog::ContainerPtr& one) {
                                             return one->rid.whole() == pair.second_container;
                                         });
        if (second == containers.end()) continue;
        PairUse use;
        use.first = container.id + " " + std::string(engine::operation_name(pair.first));
        use.second = (*second)->id + " " + std::string(engine::operation_name(pair.second));
        use.second_container = (*second)->id;
        use.count = static_cast<int64_t>(pair.count);
        use.second_ru = ru(pair.units);
        const auto [reads, writes] = recorder.reads_and_writes(pair.second_container);
        use.second_reads = static_cast<int64_t>(reads);
        use.second_writes = static_cast<int64_t>(writes);
        out.pairs.push_back(std::move(use));
    }
}

/// "/a/b/[]" in the steps of a policy.
std::vector<index::PathStep> steps_of(std::string_view path) {
    std::vector<index::PathStep> out;
    size_t from = 0;
    while (from < path.size()) {
        const size_t end = std::min(path.find('/', from + 1), path.size());
        const auto name = path.substr(from + 1, end - from - 1);
        out.push_back({name == "[]", name == "[]" ? std::string() : std::string(name)});
        from = end;
    }
    return out;
}

}  // namespace

Result<Observation> observe_container(const engine::Engine& engine, const Recorder& recorder,
                                      StorageRanking& ranking,
                                      const catalog::Container& container) {
    Observation out;
    observe_definition(engine, container, out);
    // Its life so far; the recorder puts the ages of reads into relation to it.
    out.read_ages = ReadAges{
        .life_seconds = static_cast<double>(engine.clock().wall_seconds() - container.version.ts)};
    recorder.describe(container.rid.whole(), out);
    TRY_STATUS(observe_ranges(engine, recorder, container, out));
    TRY_STATUS(observe_keys(recorder, ranking, container, out));
    observe_pairs(engine, recorder, container, out);
    double share = 0;
    for (const auto& range : out.ranges) share = std::max(share, range.provisioned_ru);
    for (auto& hour : out.hours) hour.normalized = share > 0 ? hour.normalized / share : 0;
    for (auto& path : out.paths) {
        path.indexed = index::path_is_indexed(container.settings->indexing, steps_of(path.path));
        if (!path.indexed) path.terms = 0;
    }
    return out;
}

}  // namespace orrery::lab
