#include "cli/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/errors.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/workload.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

constexpr int64_t kShowEveryMs = 100;
/// Half of the numbers of a workload's items lie below.
constexpr int64_t kQueryNumber = 500'000;

/// What one connection saw. Added up at the end.
struct Seen {
    std::vector<uint32_t> latencies_us;
    uint64_t reads = 0;
    uint64_t writes = 0;
    uint64_t queries = 0;
    uint64_t rows = 0;
    uint64_t throttled = 0;
    int64_t waited_ms = 0;
    double charge = 0;
    std::map<int, uint64_t> errors;
    std::string first_error;

    void add(const Seen& other) {
        latencies_us.insert(latencies_us.end(), other.latencies_us.begin(),
                            other.latencies_us.end());
        reads += other.reads;
        writes += other.writes;
        queries += other.queries;
        rows += other.rows;
        throttled += other.throttled;
        waited_ms += other.waited_ms;
        charge += other.charge;
        for (const auto& [status, count] : other.errors) errors[status] += count;
        if (first_error.empty()) first_error = other.first_error;
    }
};

class Bench {
public:
    Bench(const BenchOptions& options, const AccountClient::Shared& account)
        : options_(options), account_(account) {}
    int run();

private:
    Status prepare();
    Status load();
    void measure(size_t thread, Seen& seen);
    AccountClient::Request request(Workload::Step step, const std::string& id,
                                   std::string& body) const;
    void report(const Seen& seen, double seconds) const;
    bool is_query() const { return options_.workload.starts_with("query"); }

    const BenchOptions& options_;
    const AccountClient::Shared& account_;
    const SystemClock clock_;
    bool made_container_ = false;
    bool made_database_ = false;
    std::atomic<uint64_t> done_{0};
    std::atomic<uint64_t> throttled_{0};
    std::atomic<bool> stop_{false};
};

Status Bench::prepare() {
    AccountClient client(account_);
    const auto& name = options_.container;
    TRY(const auto created,
        create_missing(client,
                       {.name = name, .key_paths = {"/pk"}, .throughput = options_.throughput}));
    made_database_ = created.database;
    made_container_ = created.container;
    TRY(const auto info, read_container(client, name));
    if (info.key_paths != std::vector<std::vector<std::string>>{{"pk"}})
        return Status(
            errors::bad_request(fmt::format("{} is no container of this benchmark: its partition "
                                            "key is not /pk. Name another with --container.",
                                            name.text())));
    return load();
}

Status Bench::load() {
    if (options_.workload == "create") return {};
    AccountClient probe(account_);
    // The last item is written last, so its presence shows that all are there.
    const std::string last = item_id(options_.items - 1);
    TRY(const auto there,
        probe.send({.resource = item_resource(options_.container.database,
                                              options_.container.container, last),
                    .headers = {{"x-ms-documentdb-partitionkey", fmt::format("[\"{}\"]", last)}}}));
    if (there.status == 200) return {};
    std::atomic<uint64_t> next{0};
    std::mutex mutex;
    Status failed;
    std::vector<std::thread> threads;
    std::atomic<size_t> running{options_.parallel};
    const auto put = [&](AccountClient& client, uint64_t key) -> Status {
        const std::string id = item_id(key);
        TRY(const auto answer,
            client.send(
                {.method = "POST",
                 .resource = item_feed(options_.container.database, options_.container.container),
                 .headers = {{"content-type", "application/json"},
                             {"prefer", "return=minimal"},
                             {"x-ms-documentdb-is-upsert", "true"},
                             {"x-ms-documentdb-partitionkey", fmt::format("[\"{}\"]", id)}},
                 .body = item_json(key, 0)}));
        return answer.status >= 400 ? Status(answer_error(answer)) : Status();
    };
    for (size_t i = 0; i < options_.parallel; ++i)
        threads.emplace_back([&] {
            AccountClient client(account_);
            for (uint64_t key = next++; key + 1 < options_.items && !stop_ && !interrupted();
                 key = next++)
                if (Status status = put(client, key); !status.ok()) {
                    const std::lock_guard lock(mutex);
                    if (failed.ok()) failed = std::move(status);
                    stop_ = true;
                }
            running -= 1;
        });
    Progress progress("loading", clock_);
    while (running > 0) {
        const uint64_t done = std::min(next.load(), options_.items);
        progress.show(
            {.items = done,
             .fraction = static_cast<double>(done) / static_cast<double>(options_.items)});
        std::this_thread::sleep_for(std::chrono::milliseconds(kShowEveryMs));
    }
    for (auto& thread : threads) thread.join();
    if (!failed.ok()) return failed;
    if (interrupted()) return Status(errors::bad_request("Interrupted."));
    return put(probe, options_.items - 1);
}

AccountClient::Request Bench::request(Workload::Step step, const std::string& id,
                                      std::string& body) const {
    const auto& name = options_.container;
    const std::string key = fmt::format("[\"{}\"]", id);
    if (is_query()) {
        const bool cross = options_.workload == "query-cross";
        body =
            cross
                ? fmt::format(
                      R"({{"query":"SELECT TOP 10 c.id, c.number05 FROM c WHERE c.number05 > {}"}})",
                      kQueryNumber + static_cast<int64_t>(step.key % 100'000))
                : fmt::format(
                      R"({{"query":"SELECT * FROM c WHERE c.pk = @pk","parameters":[{{"name":"@pk","value":"{}"}}]}})",
                      id);
        Headers headers = {{"content-type", "application/query+json"},
                           {"x-ms-documentdb-isquery", "true"}};
        if (cross)
            headers.emplace_back("x-ms-documentdb-query-enablecrosspartition", "true");
        else
            headers.emplace_back("x-ms-documentdb-partitionkey", key);
        return {.method = "POST",
                .resource = item_feed(name.database, name.container),
                .headers = headers,
                .body = body};
    }
    if (step.operation == Operation::kRead)
        return {.resource = item_resource(name.database, name.container, id),
                .headers = {{"x-ms-documentdb-partitionkey", key}}};
    body = item_json(step.key, step.operation == Operation::kUpsert
                                   ? static_cast<uint64_t>(clock_.monotonic_us())
                                   : 0);
    Headers headers = {{"content-type", "application/json"},
                       {"prefer", "return=minimal"},
                       {"x-ms-documentdb-partitionkey", key}};
    if (step.operation == Operation::kUpsert)
        headers.emplace_back("x-ms-documentdb-is-upsert", "true");
    return {.method = "POST",
            .resource = item_feed(name.database, name.container),
            .headers = headers,
            .body = body};
}

void Bench::measure(size_t thread, Seen& seen) {
    constexpr uint64_t kThreadKeys = 100'000'000;
    AccountClient client(account_);
    Workload workload(
        {.name = is_query() ? "read" : options_.workload,
         .item_count = options_.items,
         .zipfian = !options_.uniform,
         .seed = thread + 1,
         // The ids of this run differ from those of an earlier one.
         .first_created = static_cast<uint64_t>(clock_.wall_seconds()) * kThreadKeys * 1000 +
                          thread * kThreadKeys});
    std::string body;
    while (!stop_ && !interrupted()) {
        const Workload::Step step = workload.next();
        const std::string id = item_id(step.key);
        const auto call = request(step, id, body);
        while (!stop_) {
            const int64_t begun = clock_.monotonic_us();
            const auto answer = client.send_once(call);
            if (!answer.ok()) {
                if (is_no_answer(answer.error(), NoAnswer::kInterrupted)) return;
                seen.errors[0] += 1;
                if (seen.first_error.empty()) seen.first_error = answer.error().message;
                stop_ = true;
                return;
            }
            seen.charge += answer->charge();
            if (answer->status == 429) {
                seen.throttled += 1;
                throttled_ += 1;
                const int64_t pause = std::max<int64_t>(1, answer->retry_after_ms());
                seen.waited_ms += pause;
                wait_ms(pause);
                continue;
            }
            seen.latencies_us.push_back(static_cast<uint32_t>(
                std::min<int64_t>(clock_.monotonic_us() - begun, UINT32_MAX)));
            if (answer->status >= 400) {
                seen.errors[answer->status] += 1;
                if (seen.first_error.empty()) seen.first_error = answer_error(*answer).message;
            } else if (is_query()) {
                seen.queries += 1;
                seen.rows += static_cast<uint64_t>(
                    std::max(0, std::atoi(std::string(answer->header("x-ms-item-count")).c_str())));
            } else {
                (step.operation == Operation::kRead ? seen.reads : seen.writes) += 1;
            }
            break;
        }
        if (const uint64_t done = ++done_; options_.operations > 0 && done >= options_.operations)
            stop_ = true;
    }
}

void Bench::report(const Seen& seen, double seconds) const {
    std::vector<uint32_t> sorted = seen.latencies_us;
    std::sort(sorted.begin(), sorted.end());
    const auto percentile = [&](double part) {
        return sorted.empty()
                   ? 0
                   : sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
    };
    const auto count = static_cast<double>(sorted.size());
    uint64_t errors = 0;
    for (const auto& [status, number] : seen.errors) errors += number;
    if (options_.json) {
        std::string by_status;
        for (const auto& [status, number] : seen.errors)
            by_status += fmt::format("{}\"{}\":{}", by_status.empty() ? "" : ",", status, number);
        std::string endpoint;
        json::write_string(endpoint, account_.settings.endpoint.text());
        fmt::print(
            "{{\"endpoint\":{},\"workload\":\"{}\",\"connections\":{},\"items\":{},\"seconds\":{:."
            "3f},\"operations\":{},"
            "\"perSecond\":{:.1f},\"reads\":{},\"writes\":{},\"queries\":{},\"rows\":{},\"p50Us\":{"
            "},\"p90Us\":{},\"p99Us\":{},"
            "\"p999Us\":{},\"maxUs\":{},\"charge\":{:.2f},\"ruPerSecond\":{:.1f},\"throttled\":{},"
            "\"waitedMs\":{},\"errors\":{},"
            "\"errorsByStatus\":{{{}}}}}\n",
            endpoint, options_.workload, options_.parallel, options_.items, seconds, sorted.size(),
            count / seconds, seen.reads, seen.writes, seen.queries, seen.rows, percentile(0.5),
            percentile(0.9), percentile(0.99), percentile(0.999), percentile(1), seen.charge,
            seen.charge / seconds, seen.throttled, seen.waited_ms, errors, by_status);
    } else {
        const auto ms = [&](double part) { return static_cast<double>(percentile(part)) / 1000; };
        fmt::print("{} with {} connections, {} keys, {:.1f} s against {}\n", options_.workload,
                   options_.parallel, options_.uniform ? "even" : "Zipf-distributed", seconds,
                   account_.settings.endpoint.text());
        fmt::print("  {} operations, {}/s\n", with_commas(sorted.size()),
                   with_commas(static_cast<uint64_t>(count / seconds)));
        fmt::print(
            "  latency ms   p50 {:.2f}   p90 {:.2f}   p99 {:.2f}   p99.9 {:.2f}   max {:.2f}\n",
            ms(0.5), ms(0.9), ms(0.99), ms(0.999), ms(1));
        fmt::print("  charge       {:.2f} RU, {:.1f} RU/s, {:.2f} RU per operation\n", seen.charge,
                   seen.charge / seconds, count > 0 ? seen.charge / count : 0);
        fmt::print(
            "  throttled    {} answers 429 ({:.1f} % of all); waited {} in all connections\n",
            with_commas(seen.throttled),
            100 * static_cast<double>(seen.throttled) /
                std::max(1.0, count + static_cast<double>(seen.throttled)),
            duration_text(seen.waited_ms * 1000));
        if (is_query()) fmt::print("  rows         {}\n", with_commas(seen.rows));
    }
    std::fflush(stdout);
    if (errors > 0)
        fmt::print(stderr, "orrery: {} operations failed, the first with: {}\n",
                   with_commas(errors), seen.first_error);
}

int Bench::run() {
    if (const Status ready = prepare(); !ready.ok()) {
        fmt::print(stderr, "orrery: {}\n", ready.error().message);
        return interrupted() ? kInterruptedExit : 1;
    }
    std::vector<Seen> seen(options_.parallel);
    std::vector<std::thread> threads;
    std::atomic<size_t> running{options_.parallel};
    const int64_t begun = clock_.monotonic_us();
    for (size_t i = 0; i < options_.parallel; ++i)
        threads.emplace_back([&, i] {
            measure(i, seen[i]);
            running -= 1;
        });
    {
        Progress progress(options_.workload, clock_);
        while (running > 0) {
            const int64_t elapsed = clock_.monotonic_us() - begun;
            if (elapsed >= options_.seconds * 1'000'000) stop_ = true;
            progress.show({.items = done_,
                           .fraction = static_cast<double>(elapsed) /
                                       (static_cast<double>(options_.seconds) * 1e6),
                           .throttled = throttled_});
            std::this_thread::sleep_for(std::chrono::milliseconds(kShowEveryMs / 5));
        }
    }
    for (auto& thread : threads) thread.join();
    const double seconds = static_cast<double>(clock_.monotonic_us() - begun) / 1e6;
    Seen all;
    for (const Seen& one : seen) all.add(one);
    report(all, seconds);
    const bool was_interrupted = interrupted();
    clear_interrupt();
    if (made_container_ && !options_.keep) {
        AccountClient client(account_);
        auto gone = client.call(
            {.method = "DELETE",
             .resource = made_database_ ? database_resource(options_.container.database)
                                        : container_resource(options_.container.database,
                                                             options_.container.container)});
        if (!gone.ok())
            fmt::print(stderr, "orrery: {} was not removed: {}\n", options_.container.text(),
                       gone.error().message);
    }
    if (was_interrupted) return kInterruptedExit;
    return all.errors.empty() ? 0 : 1;
}

}  // namespace

int run_bench(const BenchOptions& options, const AccountClient::Shared& account) {
    return Bench(options, account).run();
}

}  // namespace orrery::cli
