#include "lab/insight.h"

#include <algorithm>
#include <bit>

#include "engine/outcome.h"
#include "json/document.h"
#include "json/parse.h"

namespace orrery::lab {
namespace {

using engine::OperationClass;
using engine::RequestRecord;

/// Records of different threads may come this much out of order.
constexpr int64_t kSecondsOpen = 3;
constexpr uint32_t kSmallPage = 10;
constexpr size_t kTraceTextMax = 4096;
constexpr size_t kTraceBodyMax = 16 << 10;
constexpr size_t kExampleMax = 1000;

double ru(int64_t units) {
    return static_cast<double>(units) / static_cast<double>(meter::kUnitsPerRu);
}

bool is_write(OperationClass operation) {
    return operation == OperationClass::kCreate || operation == OperationClass::kReplace ||
           operation == OperationClass::kUpsert || operation == OperationClass::kPatch ||
           operation == OperationClass::kDelete;
}

bool is_update(OperationClass operation) {
    return operation == OperationClass::kReplace || operation == OperationClass::kUpsert ||
           operation == OperationClass::kPatch;
}

}  // namespace

Insight::Hour& Insight::hour_of(int64_t second) {
    if (last_hour_use_ != nullptr && last_hour_ == second / 3600) return *last_hour_use_;
    Hour& hour = hours_[second / 3600];
    while (hours_.size() > kHoursMax && hours_.begin()->first != second / 3600)
        hours_.erase(hours_.begin());
    last_hour_ = second / 3600;
    last_hour_use_ = &hour;
    return hour;
}

void Insight::close_second(int64_t second, const Second& use) {
    Hour& hour = hour_of(second);
    hour.peak_units = std::max(hour.peak_units, use.units);
    for (const auto& [range, units] : use.by_range)
        hour.peak_range_units = std::max(hour.peak_range_units, units);
}

void Insight::apply_use(const UseSum& sum) {
    Second& second = seconds_[sum.wall_seconds];
    second.units += sum.charge.units;
    second.by_range[sum.range] += sum.charge.units;
    hour_of(sum.wall_seconds).units += sum.charge.units;
    while (!seconds_.empty() && seconds_.begin()->first < sum.wall_seconds - kSecondsOpen) {
        close_second(seconds_.begin()->first, seconds_.begin()->second);
        seconds_.erase(seconds_.begin());
    }
}

void Insight::apply(const UseSum& sum) {
    last_seconds_ = std::max(last_seconds_, sum.wall_seconds);
    Operation& operation = operations_[static_cast<size_t>(sum.operation)];
    if (engine::outcome::is_rate_limit(sum.status)) {
        operation.throttled += sum.requests;
        if (!sum.inner) hour_of(sum.wall_seconds).throttled += sum.requests;
        return;
    }
    operation.requests += sum.requests;
    if (engine::outcome::is_failure(sum.status)) operation.failed += sum.requests;
    if (sum.inner) return;
    operation.units += sum.charge.units;
    hour_of(sum.wall_seconds).requests += sum.requests;
}

void Insight::apply(const RequestRecord& record) {
    if (record.query_hash != 0) apply_query(record);
    if (is_write(record.operation)) apply_item(record);
    if (record.operation == OperationClass::kRead && record.item_ts > 0) {
        const int64_t age = std::max<int64_t>(0, record.wall_seconds - record.item_ts);
        ++read_ages_[std::min<size_t>(read_ages_.size() - 1, static_cast<size_t>(std::bit_width(
                                                                 static_cast<uint64_t>(age))))];
    }
}

void Insight::apply_query(const RequestRecord& record) {
    const auto found = shape_of_text_.find(record.query_hash);
    if (found == shape_of_text_.end()) return;
    Shape& shape = shapes_[found->second];
    ++shape.pages;
    shape.units += record.charge.units;
    shape.retrieved += record.retrieved;
    shape.output += record.output;
    shape.output_bytes += record.response_bytes;
    shape.result_bytes.add(record.response_bytes);
    shape.ranges += record.ranges;
    shape.ranges_max = std::max<uint64_t>(shape.ranges_max, record.ranges);
    const bool small = record.page_size > 0 && record.page_size < kSmallPage;
    shape.small_pages += small ? 1 : 0;
    if (record.continued) return;
    ++shape.runs;
    shape.keyed_runs += record.keyed ? 1 : 0;
    shape.small_page_runs += small ? 1 : 0;
}

void Insight::apply_item(const RequestRecord& record) {
    if (record.item_hash == 0 || !is_update(record.operation)) return;
    const bool conflict = engine::outcome::is_lost_race(record.status);
    std::string name(record.key_text());
    name += '\n';
    name += record.id_text();
    item_writes_.add(record.item_hash, name, 1, {conflict ? 1 : 0, 0});
}

void Insight::apply_sample(const engine::RequestSample& sample) {
    const RequestRecord& record = sample.record;
    std::string text;
    if (sample.document != nullptr)
        if (const auto document = json::decode_document(*sample.document); document.ok())
            text = document->text();
    if (sample.query != nullptr && !shape_of_text_.contains(record.query_hash)) {
        QueryShape shape = shape_of(*sample.query);
        const auto known = shape_of_normalized_.find(shape.text);
        if (known != shape_of_normalized_.end() || shapes_.size() < kShapesMax) {
            if (shape_of_text_.size() >= kTextsMax) shape_of_text_.clear();
            if (known == shape_of_normalized_.end()) {
                shape_of_normalized_[shape.text] = shapes_.size();
                shapes_.push_back({});
                shapes_.back().example = std::string(sample.query->text().substr(0, kExampleMax));
                shapes_.back().shape = std::move(shape);
                shape_of_text_[record.query_hash] = shapes_.size() - 1;
            } else {
                shape_of_text_[record.query_hash] = known->second;
            }
        }
    }
    if (sample.query != nullptr)
        if (const auto found = shape_of_text_.find(record.query_hash);
            found != shape_of_text_.end())
            shapes_[found->second].index_use = sample.index_use;
    if (is_write(record.operation) && !text.empty() && engine::outcome::is_success(record.status))
        items_.add(
            {record.docref_hash, record.wall_seconds, sample.key, sample.id, text, record.updated},
            sample.settings == nullptr ? std::vector<std::string>() : sample.settings->key.paths);
    if (engine::outcome::is_failure(record.status) || record.inner) return;
    TracedRequest traced;
    traced.wall_ms = record.wall_seconds * 1000 + record.wall_ms;
    traced.operation = record.operation;
    traced.key = sample.key;
    traced.id = sample.id;
    if (is_write(record.operation) && text.size() <= kTraceBodyMax) traced.body = text;
    if (sample.query != nullptr) {
        if (sample.query->text().size() + sample.parameters.size() > kTraceTextMax) return;
        traced.query = std::string(sample.query->text());
        traced.parameters = sample.parameters;
    }
    trace_.push_back(std::move(traced));
    if (trace_.size() > kTraceMax) trace_.pop_front();
}

void Insight::burst(std::string_view key, bool first) {
    bursts_.bursts += first ? 1 : 0;
    bursts_.queries += first ? 3 : 1;
    if (first) bursts_.example_key = std::string(key);
}

void Insight::correlated_keys(std::string_view first, std::string_view second) {
    ++correlated_.several_keys;
    correlated_.example_keys = {std::string(first), std::string(second)};
}

void Insight::observe_queries(Observation& out) const {
    for (const Shape& shape : shapes_) {
        if (shape.pages == 0) continue;
        QueryUse use;
        use.text = shape.shape.text;
        use.example = shape.example;
        use.runs = static_cast<int64_t>(shape.runs);
        use.pages = static_cast<int64_t>(shape.pages);
        use.ru = ru(shape.units);
        use.retrieved = static_cast<int64_t>(shape.retrieved);
        use.output = static_cast<int64_t>(shape.output);
        use.output_bytes = static_cast<int64_t>(shape.output_bytes);
        use.ranges = static_cast<int64_t>(shape.ranges);
        use.ranges_max = static_cast<int64_t>(shape.ranges_max);
        use.keyed_runs = static_cast<int64_t>(shape.keyed_runs);
        use.returns_items = shape.shape.returns_items;
        use.aggregates = shape.shape.aggregates;
        use.equality_paths = shape.shape.equality_paths;
        use.filter_paths = shape.shape.filter_paths;
        use.order_paths = shape.shape.order_paths;
        use.projected_paths = shape.shape.projected_paths;
        use.scan_functions = shape.shape.scan_functions;
        use.utilized = shape.index_use.utilized;
        use.potential = shape.index_use.potential;
        use.potential_composite = shape.index_use.potential_composite;
        use.small_page_runs = static_cast<int64_t>(shape.small_page_runs);
        use.small_pages = static_cast<int64_t>(shape.small_pages);
        use.p50_result_bytes = shape.result_bytes.quantile(0.5);
        // One item at most: id and the whole key, by filter or by header, and nothing else is
        // asked.
        const auto& equal = shape.shape.equality_paths;
        const auto has = [&](std::string_view path) {
            return std::find(equal.begin(), equal.end(), path) != equal.end();
        };
        const bool all_keys = std::all_of(out.key_paths.begin(), out.key_paths.end(), has);
        bool only = true;
        for (const auto& path : shape.shape.filter_paths)
            only = only && (path == "/id" || std::find(out.key_paths.begin(), out.key_paths.end(),
                                                       path) != out.key_paths.end());
        use.pins_key_and_id = has("/id") && only && (all_keys || shape.keyed_runs == shape.runs);
        out.queries.push_back(std::move(use));
    }
    std::sort(out.queries.begin(), out.queries.end(),
              [](const QueryUse& a, const QueryUse& b) { return a.ru > b.ru; });
}

void Insight::observe_items(Observation& out, int64_t now_seconds) const {
    if (items_.count() > 0) {
        out.item_use = items_.use();
        out.paths = items_.paths();
        for (PathUse& path : out.paths) {
            for (const QueryUse& query : out.queries) {
                const auto among = [&](const std::vector<std::string>& list) {
                    return std::find(list.begin(), list.end(), path.path) != list.end();
                };
                if (among(query.filter_paths)) path.filter_runs += query.runs;
                if (among(query.projected_paths)) path.project_runs += query.runs;
                for (const auto& order : query.order_paths)
                    if (order.substr(0, order.rfind(' ')) == path.path)
                        path.order_runs += query.runs;
            }
        }
    }
    const double days =
        static_cast<double>(std::max<int64_t>(1, now_seconds - since_seconds_)) / 86'400;
    for (const auto& entry : item_writes_.top(20)) {
        const int64_t attempts = entry.weight - entry.error;
        if (attempts < 5) continue;
        HotItem item;
        const size_t line = entry.key.find('\n');
        item.key = entry.key.substr(0, line);
        item.id = entry.key.substr(line + 1);
        item.attempts = attempts;
        item.conflicts = entry.extra.writes;
        item.writes_per_day = static_cast<double>(attempts - item.conflicts) / days;
        items_.describe_item(item);
        out.hot_items.push_back(std::move(item));
    }
}

void Insight::observe(Observation& out, int64_t now_seconds, const DownTimes& down) const {
    out.observed_seconds = static_cast<double>(std::max<int64_t>(1, now_seconds - since_seconds_));
    out.now_seconds = now_seconds;
    if (last_seconds_ > 0) {
        // While the server did not run, nobody could send requests.
        int64_t last = last_seconds_;
        for (const auto& [from, to] : down)
            if (from >= last_seconds_) last += to - from;
        out.last_request_seconds = std::min(last, now_seconds);
    }
    for (size_t i = 0; i < operations_.size(); ++i) {
        const Operation& operation = operations_[i];
        if (operation.requests == 0 && operation.throttled == 0) continue;
        out.operations.push_back(
            {std::string(engine::operation_name(static_cast<OperationClass>(i))),
             static_cast<int64_t>(operation.requests), static_cast<int64_t>(operation.failed),
             static_cast<int64_t>(operation.throttled), ru(operation.units)});
    }
    // Seconds that are still open count, too.
    auto hours = hours_;
    for (const auto& [second, use] : seconds_) {
        Hour& hour = hours[second / 3600];
        hour.peak_units = std::max(hour.peak_units, use.units);
        for (const auto& [range, units] : use.by_range)
            hour.peak_range_units = std::max(hour.peak_range_units, units);
    }
    // Hours without a request are hours, too, if there was a server to ask.
    const auto was_down = [&](int64_t hour) {
        return std::any_of(down.begin(), down.end(), [&](const auto& time) {
            return time.first <= hour * 3600 && (hour + 1) * 3600 <= time.second;
        });
    };
    if (!hours.empty())
        for (int64_t hour = hours.begin()->first; hour <= now_seconds / 3600; ++hour)
            if (!was_down(hour)) hours.try_emplace(hour);
    for (const auto& [hour, use] : hours) {
        HourUse one;
        one.hour = hour;
        one.ru = ru(use.units);
        one.peak_ru = ru(use.peak_units);
        one.normalized = ru(use.peak_range_units);  // divided by the share in observe.cc
        one.requests = static_cast<int64_t>(use.requests);
        one.throttled = static_cast<int64_t>(use.throttled);
        out.hours.push_back(one);
    }
    if (out.hours.size() > kHoursMax)
        out.hours.erase(out.hours.begin(), out.hours.end() - kHoursMax);
    observe_queries(out);
    observe_items(out, now_seconds);
    out.bursts = bursts_;
    if (correlated_.groups > 0) out.correlated = correlated_;
    ReadAges ages;
    for (const uint64_t count : read_ages_) ages.reads += static_cast<int64_t>(count);
    if (ages.reads > 0 && out.read_ages) {
        ages.life_seconds = out.read_ages->life_seconds;
        for (size_t i = 0; i < read_ages_.size(); ++i)
            if (static_cast<double>((uint64_t{1} << i) - 1) <= ages.life_seconds / 20)
                ages.newest += static_cast<int64_t>(read_ages_[i]);
        out.read_ages = ages;
    } else {
        out.read_ages.reset();
    }
}

}  // namespace orrery::lab
