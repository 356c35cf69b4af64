#include "lab/what_if/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "base/errors.h"
#include "json/item.h"
#include "json/parse.h"
#include "json/write.h"
#include "lab/described.h"
#include "lab/what_if/sandbox.h"
#include "query/query.h"

namespace orrery::lab {
namespace {

using Kind = WorkloadOperation::Kind;

constexpr double kGb = 1024.0 * 1024 * 1024;
constexpr double kPartitionGb = 50;
constexpr int64_t kPartitionRu = 10'000;
constexpr int64_t kPartitionsMax = 64;
/// Requests that are really made; beyond, each stands for several.
constexpr double kRequestsMax = 8000;
constexpr double kSimulatedSecondsMax = 60;
constexpr double kSimulatedSecondsMin = 10;
// What official clients do by default.
constexpr int kRetriesMax = 9;
constexpr int64_t kRetryUsMax = 30'000'000;

struct LoadedItem {
    std::string epk;
    std::string key;  ///< JSON array text
    std::string id;
    bool loaded = false;
};

struct Event {
    int64_t at_us = 0;
    uint64_t order = 0;  ///< ties in the order of arrival
    size_t operation = 0;
    uint64_t round = 0;
    int64_t arrived_us = 0;
    int retries = 0;
    bool operator>(const Event& other) const {
        return at_us != other.at_us ? at_us > other.at_us : order > other.order;
    }
};

double quantile(std::vector<double>& values, double share) {
    if (values.empty()) return 0;
    const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(values.size() - 1) * share);
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<size_t>(at)];
}

/// One replay under one key.
class Run {
public:
    Run(const Workload& workload, const Scale& scale, const ReplayControl& control,
        ReplayOutcome& out)
        : workload_(workload), scale_(scale), control_(control), out_(out) {}

    Status load(Sandbox& sandbox) {
        created_.assign(workload_.items.size(), false);
        for (const auto& operation : workload_.operations)
            if (operation.kind == Kind::kCreate && operation.item >= workload_.loaded)
                created_[operation.item] = true;
        // An item that something else asks for must be there.
        for (const auto& operation : workload_.operations)
            if (operation.kind != Kind::kCreate && operation.kind != Kind::kQuery)
                created_[operation.item] = false;
        const auto& key = sandbox.container()->settings->key;
        std::map<std::string, double> bytes_by_key;
        engine::RequestTerms terms;
        terms.exempt = true;
        for (size_t i = 0; i < workload_.items.size(); ++i) {
            TRY_STATUS(step());
            json::Arena arena;
            std::vector<json::MemberPath> paths = key.member_paths;
            paths.push_back({"id"});
            TRY(auto values, json::extract(workload_.items[i], paths, arena));
            LoadedItem item;
            item.id =
                values.back().is_string() ? std::string(values.back().as_string()) : std::string();
            values.pop_back();
            // Arrays and objects are no key values: as if they were missing.
            for (auto& value : values)
                if (value.is_array() || value.is_object()) value = json::Value();
            TRY(item.epk, partition::effective_partition_key(key, values));
            item.key = partition::partition_key_json(values);
            if (!created_[i]) {
                partition::ItemOperation operation;
                operation.kind = partition::OperationKind::kCreate;
                operation.body = workload_.items[i];
                const auto answer = sandbox.execute(item.epk, std::move(operation), terms);
                const Status& status = answer.result.results.front().status;
                item.loaded = status.ok();
                if (status.ok())
                    bytes_by_key[item.key] += static_cast<double>(workload_.items[i].size());
                else if (errors::is_duplicate(status.error().code))
                    ++out_.id_conflicts;
                else
                    note_failure(status.error());
            }
            items_.push_back(std::move(item));
        }
        double total = 0;
        for (const auto& [name, bytes] : bytes_by_key) total += bytes;
        out_.logical_partitions = static_cast<int64_t>(bytes_by_key.size());
        for (const auto& [name, bytes] : bytes_by_key) {
            if (total <= 0 || bytes / total <= out_.largest_key_share) continue;
            out_.largest_key_share = bytes / total;
            out_.largest_key = name;
        }
        out_.largest_key_bytes = out_.largest_key_share * bytes_at_scale();
        return {};
    }

    double bytes_at_scale() const {
        return std::max(workload_.bytes_total, workload_.item_bytes()) * scale_.data;
    }

    Status run(Sandbox& sandbox) {
        const double rate = workload_.operations_per_second * scale_.traffic;
        const auto operations = static_cast<double>(workload_.operations.size());
        // As many rounds of the workload as a minute holds; where even one is too much for ten
        // seconds, each request stands for several.
        seconds_ = std::clamp(operations / rate, kSimulatedSecondsMin, kSimulatedSecondsMax);
        const double wanted = rate * seconds_;
        stands_for_ = std::max(1.0, wanted / kRequestsMax);
        const auto count = static_cast<uint64_t>(std::max(1.0, wanted / stands_for_));
        start_us_ = sandbox.clock().wall_us();
        const auto& ranges = sandbox.container()->ranges->ranges;
        out_.partition_ru.assign(ranges.size(), 0);
        out_.ru_by_second.assign(static_cast<size_t>(std::ceil(seconds_)) + 1, 0);
        uint64_t order = 0;
        for (uint64_t i = 0; i < count; ++i) {
            Event event;
            event.at_us = start_us_ + static_cast<int64_t>(static_cast<double>(i) * seconds_ * 1e6 /
                                                           static_cast<double>(count));
            event.arrived_us = event.at_us;
            event.order = order++;
            event.operation = static_cast<size_t>(i % workload_.operations.size());
            event.round = i / workload_.operations.size();
            events_.push(event);
        }
        const uint64_t steps = workload_.operations.size();
        uint64_t reported = 0;
        uint64_t arrivals = 0;
        while (!events_.empty()) {
            Event event = events_.top();
            events_.pop();
            if (control_.cancelled != nullptr && control_.cancelled->load())
                return Status(errors::bad_request("The what-if run was cancelled."));
            if (event.retries == 0) {
                ++arrivals;
                for (; reported < steps * arrivals / count; ++reported)
                    if (control_.done != nullptr) ++*control_.done;
            }
            if (event.at_us > sandbox.clock().wall_us())
                sandbox.clock().advance_us(event.at_us - sandbox.clock().wall_us());
            const Status refused = perform(sandbox, event);
            if (refused.ok()) continue;
            ++out_.refused;
            const int64_t wait_us =
                std::max<int64_t>(1, refused.error().details.retry_after_ms) * 1000;
            if (++event.retries > kRetriesMax ||
                event.at_us + wait_us - event.arrived_us > kRetryUsMax) {
                ++out_.given_up;
                waits_.push_back(static_cast<double>(event.at_us - event.arrived_us) / 1000);
                continue;
            }
            event.at_us += wait_us;
            event.order = order++;
            events_.push(event);
        }
        finish(sandbox, static_cast<double>(count));
        return {};
    }

private:
    Status step() const {
        if (control_.cancelled != nullptr && control_.cancelled->load())
            return Status(errors::bad_request("The what-if run was cancelled."));
        if (control_.done != nullptr) ++*control_.done;
        return {};
    }
    void note_failure(const Error& error) {
        ++out_.failed;
        out_.failure = error.message;
    }

    /// Ok: done, whatever came of it. Otherwise a 429.
    Status perform(Sandbox& sandbox, const Event& event) {
        const WorkloadOperation& operation = workload_.operations[event.operation];
        const SystemClock real;
        const int64_t began = real.monotonic_us();
        Status refused = operation.kind == Kind::kQuery
                             ? perform_query(sandbox, operation)
                             : perform_point(sandbox, operation, event.round);
        if (!refused.ok()) return refused;
        executions_.push_back(static_cast<double>(real.monotonic_us() - began));
        waits_.push_back(static_cast<double>(event.at_us - event.arrived_us) / 1000);
        return {};
    }

    void charge(Sandbox& sandbox, uint32_t range_number, meter::Charge charge) {
        const auto& ranges = sandbox.container()->ranges->ranges;
        for (size_t i = 0; i < ranges.size(); ++i) {
            if (ranges[i].number != range_number) continue;
            const double ru = meter::ru_value(charge) * stands_for_;
            out_.partition_ru[i] += ru;
            out_.ru += ru;
            const auto second =
                static_cast<size_t>((sandbox.clock().wall_us() - start_us_) / 1'000'000);
            if (second < out_.ru_by_second.size()) out_.ru_by_second[second] += ru;
            // The engine has charged one request; charge the others that it stands for.
            const auto more =
                static_cast<int64_t>(static_cast<double>(charge.units) * (stands_for_ - 1));
            if (more > 0) sandbox.engine().settle(ranges[i], {}, {more});
        }
    }

    Status perform_point(Sandbox& sandbox, const WorkloadOperation& operation, uint64_t round) {
        const LoadedItem& item = items_[operation.item];
        partition::ItemOperation work;
        work.id = item.id;
        switch (operation.kind) {
            case Kind::kRead:
                work.kind = partition::OperationKind::kRead;
                break;
            case Kind::kDelete:
                work.kind = partition::OperationKind::kDelete;
                break;
            case Kind::kCreate:
                work.kind = partition::OperationKind::kCreate;
                work.body = fresh_body(operation.item, round);
                break;
            case Kind::kReplace:
                work.kind = partition::OperationKind::kReplace;
                work.body = workload_.items[operation.item];
                break;
            default:
                work.kind = partition::OperationKind::kUpsert;
                work.body = workload_.items[operation.item];
        }
        const auto answer = sandbox.execute(item.epk, std::move(work), {});
        const Status& status = answer.result.results.front().status;
        if (!status.ok() && errors::is_rate_limit(status.error().code)) return status.clone();
        charge(sandbox, answer.result.range_number, answer.total);
        if (!status.ok()) note_failure(status.error());
        if (operation.kind == Kind::kDelete && status.ok()) {
            // The next round finds it again.
            partition::ItemOperation again;
            again.kind = partition::OperationKind::kCreate;
            again.body = workload_.items[operation.item];
            engine::RequestTerms terms;
            terms.exempt = true;
            (void)sandbox.execute(item.epk, std::move(again), terms);
        }
        return {};
    }

    /// A create in a later round needs a new id.
    std::string fresh_body(size_t index, uint64_t round) {
        uint64_t& times = made_[index];
        const uint64_t number = times++;
        if (number == 0 && round == 0 && created_[index]) return workload_.items[index];
        json::Arena arena;
        const auto parsed = json::parse(workload_.items[index], arena);
        if (!parsed.ok()) return workload_.items[index];
        JsonText out;
        out.begin_object();
        for (const auto& member : parsed->members()) {
            out.name(member.name);
            if (member.name == "id")
                out.value(fmt::format("{}~{}", items_[index].id, number));
            else
                out.raw(json::to_text(member.value));
        }
        out.end_object();
        return out.take();
    }

    Status perform_query(Sandbox& sandbox, const WorkloadOperation& operation) {
        std::string continuation;
        bool first = true;
        // A client reads to the end; so many pages are enough to know what they cost.
        for (int page = 0; page < 20; ++page) {
            json::Arena arena;
            engine::QueryRequest request;
            request.text = operation.query;
            if (!operation.parameters.empty()) {
                TRY(request.parameters, json::parse(operation.parameters, arena));
            }
            request.over_container = true;
            request.items_max = 100;
            request.continuation = continuation;
            auto answer = sandbox.engine().query(*sandbox.container(), request);
            if (!answer.ok()) {
                if (errors::is_rate_limit(answer.error().code) && first)
                    return std::move(answer).take_status();
                if (!errors::is_rate_limit(answer.error().code)) note_failure(answer.error());
                return {};
            }
            for (const auto& part : answer->range_charges) charge(sandbox, part.range, part.charge);
            if (first) {
                ++out_.queries;
                if (!answer->keyed && sandbox.container()->ranges->ranges.size() > 1)
                    ++out_.fan_out_queries;
            }
            ranges_ += static_cast<double>(answer->range_charges.size());
            first = false;
            continuation = answer->continuation;
            if (continuation.empty()) break;
        }
        return {};
    }

    void finish(Sandbox& sandbox, double count) {
        const auto view = sandbox.engine().store().view();
        const double factor = workload_.scale_of_items() * scale_.data;
        for (const auto& range : sandbox.container()->ranges->ranges) {
            const auto totals = range.partition->totals(*view);
            out_.partition_bytes.push_back(totals.ok() ? static_cast<double>(totals->bytes) * factor
                                                       : 0);
        }
        out_.simulated_seconds = seconds_;
        out_.operations = count * stands_for_;
        out_.ranges_per_query = out_.queries > 0 ? ranges_ / out_.queries : 0;
        for (double* figure :
             {&out_.refused, &out_.given_up, &out_.queries, &out_.fan_out_queries, &out_.failed})
            *figure *= stands_for_;
        const double served = std::max(1.0, out_.operations - out_.given_up);
        out_.ru_per_operation = out_.ru / served;
        out_.wait_p50_ms = quantile(waits_, 0.5);
        out_.wait_p99_ms = quantile(waits_, 0.99);
        out_.execute_p50_us = quantile(executions_, 0.5);
        out_.execute_p99_us = quantile(executions_, 0.99);
        // What it would need: all operations, the refused ones too, with the hottest partition's
        // share as the measure, since throughput is dealt out evenly.
        const double wanted = out_.ru_per_operation * out_.operations / seconds_;
        const double hottest =
            *std::max_element(out_.partition_ru.begin(), out_.partition_ru.end());
        const double skew =
            out_.ru > 0 ? hottest * static_cast<double>(out_.partition_ru.size()) / out_.ru : 1;
        CostInput input;
        input.peak_ru_per_second = static_cast<int64_t>(std::ceil(wanted * std::max(1.0, skew)));
        input.ru_per_month = static_cast<int64_t>(wanted * kSecondsPerMonth);
        input.hourly_peak_percent = 100;
        input.storage_mb = static_cast<int64_t>(bytes_at_scale() / (1024 * 1024));
        out_.cost = compare_costs(input);
        out_.ran = true;
    }

    const Workload& workload_;
    const Scale& scale_;
    const ReplayControl& control_;
    ReplayOutcome& out_;
    std::vector<LoadedItem> items_;
    std::vector<bool> created_;
    std::map<size_t, uint64_t> made_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<double> waits_;
    std::vector<double> executions_;
    double seconds_ = 0;
    double stands_for_ = 1;
    double ranges_ = 0;
    int64_t start_us_ = 0;
};

}  // namespace

uint64_t steps_of_replay(const Workload& workload) {
    return workload.items.size() + workload.operations.size();
}

Result<ReplayOutcome> replay(const Workload& workload, const std::vector<std::string>& key_paths,
                             const Scale& scale, const ReplayControl& control) {
    ReplayOutcome out;
    out.key_paths = key_paths;
    Run run(workload, scale, control, out);
    Sandbox::Options options;
    options.key_paths = key_paths;
    options.indexing_policy = workload.indexing_policy;
    options.throughput = std::max<int64_t>(400, scale.throughput);
    const auto by_storage =
        static_cast<int64_t>(std::ceil(run.bytes_at_scale() / kGb / kPartitionGb));
    const int64_t by_throughput = (options.throughput + kPartitionRu - 1) / kPartitionRu;
    options.partitions =
        std::clamp<int64_t>(std::max(by_storage, by_throughput), 1, kPartitionsMax);
    auto sandbox = Sandbox::open(options);
    if (!sandbox.ok()) {
        out.why_not = sandbox.error().message;
        return out;
    }
    out.partitions = static_cast<int64_t>((*sandbox)->container()->ranges->ranges.size());
    TRY_STATUS(run.load(**sandbox));
    TRY_STATUS(run.run(**sandbox));
    return out;
}

std::string outcome_json(const ReplayOutcome& outcome) {
    JsonText out;
    const auto list = [&](std::string_view name, const std::vector<double>& values) {
        out.name(name).begin_array();
        for (const double value : values) out.value(std::round(value * 100) / 100);
        out.end_array();
    };
    out.begin_object().name("keyPaths").begin_array();
    for (const auto& path : outcome.key_paths) out.value(path);
    out.end_array().member("ran", outcome.ran);
    if (!outcome.ran) out.member("whyNot", outcome.why_not);
    out.member("partitions", outcome.partitions)
        .member("logicalPartitions", outcome.logical_partitions);
    out.member("largestKey", outcome.largest_key)
        .member("largestKeyShare", outcome.largest_key_share);
    out.member("largestKeyBytes", std::round(outcome.largest_key_bytes));
    list("partitionBytes", outcome.partition_bytes);
    list("partitionRu", outcome.partition_ru);
    list("ruBySecond", outcome.ru_by_second);
    out.member("simulatedSeconds", outcome.simulated_seconds)
        .member("operations", outcome.operations);
    out.member("refused", outcome.refused)
        .member("givenUp", outcome.given_up)
        .member("failed", outcome.failed);
    out.member("failure", outcome.failure)
        .member("ru", outcome.ru)
        .member("ruPerOperation", outcome.ru_per_operation);
    out.member("queries", outcome.queries).member("rangesPerQuery", outcome.ranges_per_query);
    out.member("fanOutQueries", outcome.fan_out_queries).member("waitP50Ms", outcome.wait_p50_ms);
    out.member("waitP99Ms", outcome.wait_p99_ms).member("executeP50Us", outcome.execute_p50_us);
    out.member("executeP99Us", outcome.execute_p99_us).member("idConflicts", outcome.id_conflicts);
    if (outcome.ran) out.name("cost").raw(cost_json(outcome.cost));
    out.end_object();
    return out.take();
}

}  // namespace orrery::lab
