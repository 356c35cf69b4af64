#include "lab/pages.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/encoding.h"
#include "engine/scripts.h"
#include "json/write.h"

namespace orrery::lab {
namespace {

using catalog::Container;
using catalog::ContainerPtr;
using engine::OperationClass;

constexpr auto kOperations = static_cast<size_t>(OperationClass::kCount);
constexpr int64_t kRankingBudgetUs = 400'000;
constexpr std::array<int64_t, 14> kLatencyBoundsUs = {50,      100,     250,       500,      1'000,
                                                      2'500,   5'000,   10'000,    25'000,   50'000,
                                                      100'000, 500'000, 1'000'000, 5'000'000};

double ru(int64_t units) {
    return static_cast<double>(units) / meter::kUnitsPerRu;
}

std::string quoted(std::string_view text) {
    std::string out;
    json::write_string(out, text);
    return out;
}

/// A label value: backslash, quote and line end are escaped.
std::string label(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out;
}

std::string labels_of(const Container& container) {
    return fmt::format(R"(database="{}",container="{}")", label(container.database->id),
                       label(container.id));
}

uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    uint64_t pages = 0;
    uint64_t resident = 0;
    file >> pages >> resident;
    return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

template <typename Values, typename Write>
std::string json_array(const Values& values, Write write) {
    std::string out = "[";
    for (const auto& value : values) {
        if (out.size() > 1) out += ',';
        out += write(value);
    }
    return out + "]";
}

/// Gathers lines by metric, since a metric's lines must stand together.
class Metrics {
public:
    explicit Metrics(std::string& out) : out_(out) {}
    void begin(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        fmt::format_to(std::back_inserter(out_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help,
                       type);
    }
    template <typename Value>
    void line(std::string_view labels, Value value, std::string_view suffix = "") {
        if (labels.empty())
            fmt::format_to(std::back_inserter(out_), "{}{} {}\n", name_, suffix, value);
        else
            fmt::format_to(std::back_inserter(out_), "{}{}{{{}}} {}\n", name_, suffix, labels,
                           value);
    }

private:
    std::string& out_;
    std::string name_;
};

void write_requests(Metrics& metrics, const Recorder& recorder,
                    const std::map<uint64_t, ContainerPtr>& names) {
    const auto counters = recorder.counters();
    const auto labels = [&](const Recorder::CounterKey& key) {
        const auto found = names.find(key.container);
        const std::string of =
            found == names.end() ? R"(database="",container="")" : labels_of(*found->second);
        return fmt::format(R"({},operation="{}",status="{}")", of,
                           engine::operation_name(key.operation), key.status);
    };
    // Containers that are gone share one name with requests that name none.
    std::map<std::string, Recorder::Counter> by_labels;
    for (const auto& [key, counter] : counters) {
        auto& sum = by_labels[labels(key)];
        sum.requests += counter.requests;
        sum.charge += counter.charge;
        sum.request_bytes += counter.request_bytes;
        sum.response_bytes += counter.response_bytes;
    }
    metrics.begin("orrery_requests_total", "counter", "Requests answered.");
    for (const auto& [text, counter] : by_labels) metrics.line(text, counter.requests);
    metrics.begin("orrery_request_units_total", "counter", "Request Units charged.");
    for (const auto& [text, counter] : by_labels) metrics.line(text, ru(counter.charge.units));
    metrics.begin("orrery_request_body_bytes_total", "counter", "Bytes of request bodies.");
    for (const auto& [text, counter] : by_labels) metrics.line(text, counter.request_bytes);
    metrics.begin("orrery_response_body_bytes_total", "counter", "Bytes of response bodies.");
    for (const auto& [text, counter] : by_labels) metrics.line(text, counter.response_bytes);
}

void write_latencies(Metrics& metrics, const Recorder& recorder) {
    metrics.begin("orrery_request_duration_seconds", "histogram",
                  "From the request's arrival to its answer, in the server.");
    for (size_t i = 0; i < kOperations; ++i) {
        const auto operation = static_cast<OperationClass>(i);
        const auto histogram = recorder.latency(operation);
        if (histogram.count() == 0) continue;
        const std::string of = fmt::format(R"(operation="{}")", engine::operation_name(operation));
        for (const int64_t bound : kLatencyBoundsUs)
            metrics.line(fmt::format(R"({},le="{}")", of, static_cast<double>(bound) / 1e6),
                         histogram.at_most(bound), "_bucket");
        metrics.line(of + R"(,le="+Inf")", histogram.count(), "_bucket");
        metrics.line(of, static_cast<double>(histogram.sum_us()) / 1e6, "_sum");
        metrics.line(of, histogram.count(), "_count");
    }
}

struct RangeFacts {
    std::string labels;
    storage::Count size;
    double provisioned = 0;
    TotalUse total;
    double normalized = 0;  ///< busiest second of the last full minute
};

std::vector<RangeFacts> range_facts(const engine::Engine& engine, const Recorder& recorder,
                                    const std::vector<ContainerPtr>& containers) {
    std::vector<RangeFacts> out;
    const auto view = engine.store().view();
    const int64_t minute = engine.clock().wall_seconds() / 60 - 1;
    for (const auto& container : containers) {
        for (const auto& range : container->ranges->ranges) {
            const double share = range.budget->rate_ru();
            RangeFacts facts;
            facts.labels = fmt::format(R"({},range="{}")", labels_of(*container), range.id);
            if (const auto size = range.partition->totals(*view); size.ok()) facts.size = *size;
            facts.provisioned = share;
            const PartitionId id{container->rid.whole(), range.number};
            facts.total = recorder.total(id);
            const auto last = recorder.minutes(id, minute, minute + 1);
            facts.normalized = share > 0 ? ru(last[0].peak_units) / share : 0;
            out.push_back(std::move(facts));
        }
    }
    return out;
}

void write_ranges(Metrics& metrics, const std::vector<RangeFacts>& all) {
    const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                          auto value) {
        metrics.begin(name, type, help);
        for (const auto& facts : all) metrics.line(facts.labels, value(facts));
    };
    each("orrery_partition_request_units_total", "counter",
         "Request Units charged to a physical partition.",
         [](const RangeFacts& f) { return ru(f.total.charge.units); });
    each("orrery_partition_throttled_total", "counter", "Requests refused with 429.",
         [](const RangeFacts& f) { return f.total.throttled; });
    each("orrery_partition_provisioned_rus", "gauge", "Request Units per second that it may use.",
         [](const RangeFacts& f) { return f.provisioned; });
    each("orrery_partition_normalized_ru", "gauge",
         "Busiest second of the last full minute as a share of what is provisioned.",
         [](const RangeFacts& f) { return f.normalized; });
    each("orrery_partition_data_bytes", "gauge", "Bytes of items.",
         [](const RangeFacts& f) { return f.size.bytes; });
    each("orrery_partition_items", "gauge", "Items.",
         [](const RangeFacts& f) { return f.size.items; });
}

std::string minute_json(const MinuteUse& use, double share) {
    const double peak = ru(use.peak_units);
    return fmt::format(
        R"({{"charge":{:.2f},"peak":{:.2f},"normalized":{:.4f},"requests":{},"throttled":{},"bytes":{}}})",
        ru(use.charge_units), peak, share > 0 ? peak / share : 0.0, use.requests, use.throttled,
        use.bytes);
}

std::string second_json(const SecondUse& use) {
    return fmt::format("[{:.2f},{},{}]", ru(use.charge_units), use.requests, use.throttled);
}

}  // namespace

std::string Pages::prometheus() const {
    std::string out;
    Metrics metrics(out);
    auto containers = engine_.catalog().all_containers();
    std::map<uint64_t, ContainerPtr> names;
    for (const auto& container : containers) names[container->rid.whole()] = container;
    write_requests(metrics, recorder_, names);
    write_latencies(metrics, recorder_);
    write_ranges(metrics, range_facts(engine_, recorder_, containers));
    metrics.begin("orrery_containers", "gauge", "Containers.");
    metrics.line("", containers.size());
    metrics.begin("orrery_scripts_stuck", "gauge",
                  "Threads inside a script that has been answered for and cannot be ended.");
    metrics.line("", engine_.scripts().stuck());
    metrics.begin("process_resident_memory_bytes", "gauge", "Resident memory.");
    metrics.line("", resident_bytes());
    return out;
}

std::string Pages::account_json(int64_t minutes) const {
    const int64_t now = engine_.clock().wall_seconds();
    const int64_t to = now / 60 + 1;
    std::vector<size_t> used;
    for (size_t i = 0; i < kOperations; ++i)
        if (recorder_.recent_latency(static_cast<OperationClass>(i), minutes).count() > 0)
            used.push_back(i);
    const std::string operations = json_array(used, [&](size_t i) {
        const auto operation = static_cast<OperationClass>(i);
        const auto latency = recorder_.recent_latency(operation, minutes);
        return fmt::format(
            R"({{"operation":"{}","requests":{},"p50Us":{},"p90Us":{},"p99Us":{},"maxUs":{}}})",
            engine::operation_name(operation), latency.count(), latency.quantile_us(0.5),
            latency.quantile_us(0.9), latency.quantile_us(0.99), latency.quantile_us(1));
    });
    const auto view = engine_.store().view();
    const std::string containers =
        json_array(engine_.catalog().all_containers(), [&](const ContainerPtr& c) {
            double provisioned = 0;
            int64_t bytes = 0;
            int64_t items = 0;
            int64_t units = 0;
            uint64_t throttled = 0;
            uint64_t requests = 0;
            double normalized = 0;
            for (const auto& range : c->ranges->ranges) {
                const double share = range.budget->rate_ru();
                provisioned += share;
                if (const auto size = range.partition->totals(*view); size.ok()) {
                    bytes += size->bytes;
                    items += size->items;
                }
                for (const auto& use :
                     recorder_.minutes({c->rid.whole(), range.number}, to - minutes, to)) {
                    units += use.charge_units;
                    throttled += use.throttled;
                    requests += use.requests;
                    if (share > 0) normalized = std::max(normalized, ru(use.peak_units) / share);
                }
            }
            return fmt::format(
                R"({{"database":{},"container":{},"partitions":{},"provisioned":{:.0f},"items":{},"bytes":{},)"
                R"("requests":{},"charge":{:.2f},"throttled":{},"normalized":{:.4f}}})",
                quoted(c->database->id), quoted(c->id), c->ranges->ranges.size(), provisioned,
                items, bytes, requests, ru(units), throttled, normalized);
        });
    return fmt::format(
        R"({{"now":{},"minutes":{},"residentBytes":{},"operations":{},"containers":{}}})", now,
        minutes, resident_bytes(), operations, containers);
}

Result<std::string> Pages::container_json(const Container& container, int64_t minutes,
                                          int64_t seconds) const {
    const int64_t now = engine_.clock().wall_seconds();
    const int64_t minute_to = now / 60 + 1;
    const auto view = engine_.store().view();
    std::string ranges;
    for (const auto& range : container.ranges->ranges) {
        TRY(const auto size, range.partition->totals(*view));
        const PartitionId id{container.rid.whole(), range.number};
        const double share = range.budget->rate_ru();
        const auto& bounds = range.partition->identity().range;
        if (!ranges.empty()) ranges += ',';
        ranges += fmt::format(
            R"({{"id":"{}","minInclusive":"{}","maxExclusive":"{}","parents":{},"items":{},"bytes":{},)"
            R"("provisioned":{:.2f},"minutes":{},"seconds":{}}})",
            range.id, hex_encode_upper(bounds.min), hex_encode_upper(bounds.max),
            json_array(range.parents, [](const std::string& parent) { return quoted(parent); }),
            size.items, size.bytes, share,
            json_array(recorder_.minutes(id, minute_to - minutes, minute_to),
                       [share](const MinuteUse& use) { return minute_json(use, share); }),
            json_array(recorder_.seconds(id, now - seconds + 1, now + 1), second_json));
    }
    return fmt::format(
        R"({{"now":{},"firstMinute":{},"firstSecond":{},"secondColumns":["charge","requests","throttled"],)"
        R"("ranges":[{}]}})",
        now, (minute_to - minutes) * 60, now - seconds + 1, ranges);
}

Result<std::string> Pages::statistics_json(const Container& container) {
    constexpr size_t kKeysMax = 20;
    constexpr int64_t kKb = 1024;
    TRY(const auto ranking, ranking_.largest(container, kTopMax, kRankingBudgetUs));
    const auto view = engine_.store().view();
    std::string out;
    for (const auto& range : container.ranges->ranges) {
        TRY(const auto size, range.partition->totals(*view));
        std::vector<StorageRanking::Entry> keys;
        for (const StorageRanking::Entry& entry : ranking.largest)
            if (keys.size() < kKeysMax && range.partition->identity().range.contains(entry.epk))
                keys.push_back(entry);
        if (!out.empty()) out += ',';
        out += fmt::format(R"({{"id":"{}","sizeInKB":{},"documentCount":{},"partitionKeys":{}}})",
                           range.id, (size.bytes + kKb - 1) / kKb, size.items,
                           json_array(keys, [](const StorageRanking::Entry& entry) {
                               return fmt::format(R"({{"partitionKey":{},"sizeInKB":{}}})",
                                                  entry.key, (entry.bytes + kKb - 1) / kKb);
                           }));
    }
    return "[" + out + "]";
}

Result<std::string> Pages::top_json(const Container& container, TopBy by, int64_t hours,
                                    size_t count) {
    if (by == TopBy::kCharge) {
        const auto top = recorder_.top_keys(container.rid.whole(), hours, count);
        return fmt::format(
            R"({{"by":"charge","hours":{},"total":{:.2f},"errorMax":{:.2f},"keys":{}}})", hours,
            ru(top.total), ru(top.error_max),
            json_array(top.keys, [](const HeavyHitters::Entry& entry) {
                return fmt::format(R"({{"key":{},"charge":{:.2f},"error":{:.2f}}})",
                                   quoted(entry.key), ru(entry.weight), ru(entry.error));
            }));
    }
    TRY(const auto ranking, ranking_.largest(container, count, kRankingBudgetUs));
    return fmt::format(
        R"({{"by":"storage","complete":{},"logicalPartitions":{},"asOf":{},"keys":{}}})",
        ranking.complete, ranking.logical_partitions, ranking.as_of_seconds,
        json_array(ranking.largest, [](const StorageRanking::Entry& entry) {
            return fmt::format(R"({{"key":{},"epk":"{}","items":{},"bytes":{}}})",
                               quoted(entry.key), hex_encode_upper(entry.epk), entry.items,
                               entry.bytes);
        }));
}

}  // namespace orrery::lab
