#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "base/rounds_test_support.h"
#include "json/parse.h"
#include "lab/what_if/jobs.h"
#include "lab/what_if/sandbox.h"

namespace orrery::lab {
namespace {

double skew(const std::vector<double>& values) {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return sum <= 0 ? 1
                    : *std::max_element(values.begin(), values.end()) *
                          static_cast<double>(values.size()) / sum;
}

/// A replay makes the requests of ten seconds at least. Fewer of them meet as few tokens.
constexpr int kPart = sized(1, 10);
constexpr int64_t throughput(int64_t in_release) {
    return in_release / kPart;
}

Workload demo(std::string_view name) {
    Workload workload = demo_workload(name).value();
    workload.operations_per_second /= kPart;
    return workload;
}

/// A part of a workload: the last of the items that are there first, the first of the requests, all
/// for items that there are, and the items that these create.
Workload part_of(Workload workload, size_t loaded, size_t operations) {
    const auto end = workload.items.begin() + static_cast<std::ptrdiff_t>(workload.loaded);
    std::vector<std::string> items(end - static_cast<std::ptrdiff_t>(loaded), end);
    workload.operations.resize(operations);
    for (WorkloadOperation& operation : workload.operations) {
        if (operation.kind == WorkloadOperation::Kind::kCreate) {
            items.push_back(workload.items[operation.item]);
            operation.item = items.size() - 1;
        } else {
            operation.item %= loaded;
        }
    }
    workload.items = std::move(items);
    workload.loaded = loaded;
    return workload;
}

ReplayOutcome run(const Workload& workload, const std::vector<std::string>& key,
                  const Scale& scale) {
    auto outcome = replay(workload, key, scale, {});
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
    return outcome.ok() ? std::move(outcome).value() : ReplayOutcome{};
}

TEST(WhatIf, CarTelemetryShowsWhatTheDocumentationSays) {
    // An item for each car and month; requests are for the last three months.
    constexpr int kCars = 400;
    constexpr int kMonths = sized(12, 3);
    const Workload workload = part_of(demo("car-telemetry"), kCars * kMonths, 4000);
    const Scale scale{.throughput = throughput(30'000)};
    const ReplayOutcome month = run(workload, {"/month"}, scale);
    const ReplayOutcome device = run(workload, {"/deviceId"}, scale);
    const ReplayOutcome both = run(workload, {"/deviceId", "/month"}, scale);
    const ReplayOutcome model = run(workload, {"/model"}, scale);
    for (const auto* one : {&month, &device, &both, &model}) {
        EXPECT_TRUE(one->ran) << one->why_not;
        EXPECT_EQ(one->failed, 0) << one->failure;
        EXPECT_GE(one->partitions, 6);  // 300 GB
        EXPECT_EQ(one->partition_bytes.size(), static_cast<size_t>(one->partitions));
    }
    // All writers of a month meet in one partition; cars do not.
    EXPECT_GT(skew(month.partition_ru), 3);
    EXPECT_GT(month.refused, 0);
    EXPECT_GT(month.wait_p99_ms, 0);
    EXPECT_LT(skew(device.partition_ru), 2);
    EXPECT_LT(device.refused, month.refused);
    EXPECT_LT(device.ranges_per_query, model.ranges_per_query);
    EXPECT_EQ(device.logical_partitions, kCars);
    EXPECT_EQ(month.logical_partitions, kMonths);
    EXPECT_EQ(both.logical_partitions, kCars * kMonths);
    // A month of everything is more than one value may hold.
    EXPECT_GT(month.largest_key_bytes, 20.0 * (1ULL << 30));
    EXPECT_LT(both.largest_key_bytes, 1.0 * (1ULL << 30));
    EXPECT_LT(device.cost.options[0].total(), month.cost.options[0].total());
}

TEST(WhatIf, TheWhaleSpreadsWithASecondLevel) {
    const Workload workload = part_of(demo("multi-tenant"), rounds(4000u), 4000);
    const Scale scale{.throughput = throughput(20'000)};
    const ReplayOutcome tenant = run(workload, {"/tenantId"}, scale);
    const ReplayOutcome user = run(workload, {"/tenantId", "/userId"}, scale);
    EXPECT_GT(tenant.largest_key_share, 0.4);
    EXPECT_LT(user.largest_key_share, 0.05);
    EXPECT_EQ(tenant.largest_key, R"(["tenant-000"])");
}

TEST(WhatIf, TheSameEveryTime) {
    const Workload workload = part_of(demo("multi-tenant"), rounds(4000u), 500);
    const Scale scale{.throughput = sized(2000, 400)};
    const ReplayOutcome a = run(workload, {"/tenantId"}, scale);
    const ReplayOutcome b = run(workload, {"/tenantId"}, scale);
    EXPECT_GT(a.refused, 0);
    EXPECT_EQ(a.ru, b.ru);
    EXPECT_EQ(a.refused, b.refused);
    EXPECT_EQ(a.wait_p99_ms, b.wait_p99_ms);
    EXPECT_EQ(a.partition_ru, b.partition_ru);
}

TEST(WhatIf, TrafficAndThroughputDecideAboutRefusals) {
    const Workload workload = part_of(demo("multi-tenant"), rounds(4000u), 500);
    const int64_t ru = throughput(20'000);
    EXPECT_EQ(run(workload, {"/tenantId"}, {.traffic = 0.01, .throughput = ru}).refused, 0);
    EXPECT_GT(run(workload, {"/tenantId"}, {.traffic = 4, .throughput = ru}).refused, 0);
}

Result<Workload> read(const std::string& text) {
    json::Arena arena;
    return read_workload(*json::parse(text, arena));
}

TEST(WhatIf, UploadsAreRead) {
    const auto workload = read(
        R"({"keyPaths":["/a"],"items":[{"id":"1","a":"x"},{"id":"1","a":"y"}],"operationsPerSecond":10,
        "operations":[{"op":"read","id":"1","key":["y"],"times":3},{"op":"query","query":"SELECT * FROM c WHERE c.n = 1 OR c.m = 2 ORDER BY c.t","key":["x"]},
                      {"op":"create","item":{"id":"2","a":"z"}}]})");
    ASSERT_TRUE(workload.ok()) << workload.error().message;
    ASSERT_EQ(workload->operations.size(), 5u);
    EXPECT_EQ(workload->operations[0].item, 1u);
    EXPECT_EQ(workload->operations[3].query,
              "SELECT * FROM c WHERE (c.n = 1 OR c.m = 2) AND c.a = \"x\" ORDER BY c.t");
    const ReplayOutcome outcome = run(*workload, {"/a"}, {});
    EXPECT_EQ(outcome.failed, 0) << outcome.failure;
    EXPECT_EQ(outcome.id_conflicts, 0);
    // Under another key the two items are one.
    EXPECT_EQ(run(*workload, {"/b"}, {}).id_conflicts, 1);
    for (const std::string wrong :
         {R"([])", R"({"items":[],"operations":[]})",
          R"({"items":[{"a":1}],"operations":[{"op":"read","id":"1"}]})",
          R"({"items":[{"id":"1"}],"operations":[{"op":"jump"}]})",
          R"({"items":[{"id":"1"}],"operations":[{"op":"read","id":"2"}]})",
          R"({"items":[{"id":"1"}],"operations":[{"op":"query"}]})",
          R"({"keyPaths":["a"],"items":[{"id":"1"}],"operations":[{"op":"read","id":"1"}]})",
          R"({"items":[{"id":"1"}],"operations":[{"op":"read","id":"1","times":0}]})"})
        EXPECT_FALSE(read(wrong).ok()) << wrong;
}

TEST(WhatIf, CandidatesAreRankedByWhatTheyServe) {
    const auto cars = demo_workload("car-telemetry");
    ASSERT_TRUE(cars.ok());
    const auto candidates = propose_candidates(*cars, 8);
    ASSERT_GE(candidates.size(), 4u);
    EXPECT_EQ(candidates[0].key_paths[0], "/deviceId");
    for (size_t i = 1; i < candidates.size(); ++i)
        EXPECT_GE(candidates[i - 1].score, candidates[i].score);
    for (const auto& candidate : candidates)
        if (candidate.key_paths == std::vector<std::string>{"/month"}) {
            EXPECT_TRUE(candidate.time_based);
        }
}

TEST(WhatIf, ALastLevelThatNamesSomethingComesFirst) {
    Workload shop;
    shop.key_paths = {"/tenant"};
    for (int i = 0; i < 600; ++i)
        shop.items.push_back(R"({"id":")" + std::to_string(i) + R"(","tenant":"t)" +
                             std::to_string(i % 5) + R"(","user":"u)" + std::to_string(i % 200) +
                             R"(","price":)" + std::to_string(i) + "}");
    for (const std::string path : {"price", "user"}) {
        WorkloadOperation query;
        query.kind = WorkloadOperation::Kind::kQuery;
        query.query = "SELECT * FROM c WHERE c.tenant = 't1' AND c." + path + " = " +
                      (path == "price" ? "7" : "'u7'");
        for (int i = 0; i < 50; ++i) shop.operations.push_back(query);
    }
    const auto place = [&](const std::vector<std::string>& paths) {
        const auto candidates = propose_candidates(shop, 50);
        const auto found =
            std::find_if(candidates.begin(), candidates.end(),
                         [&](const Candidate& one) { return one.key_paths == paths; });
        EXPECT_NE(found, candidates.end());
        return std::distance(candidates.begin(), found);
    };
    EXPECT_LT(place({"/tenant", "/user"}), place({"/tenant", "/price"}));
    EXPECT_LT(place({"/tenant", "/id"}), place({"/tenant", "/price"}));
}

TEST(WhatIf, JobsRunAndCanBeCancelled) {
    const SystemClock clock;
    WhatIfJobs jobs(clock);
    const auto wait = [&](uint64_t id) {
        std::string text;
        do {
            std::this_thread::yield();
            text = *jobs.json(id);
        } while (text.find("\"state\":\"running\"") != std::string::npos ||
                 text.find("\"state\":\"waiting\"") != std::string::npos);
        return text;
    };
    WhatIfJobs::Request small;
    small.workload =
        *read(R"({"items":[{"id":"1","a":"x"}],"operations":[{"op":"read","id":"1"}]})");
    small.candidates = {{"/a"}, {"/id"}};
    const auto first = jobs.start(small);
    ASSERT_TRUE(first.ok());
    const std::string done = wait(*first);
    EXPECT_NE(done.find("\"state\":\"done\""), std::string::npos) << done;
    json::Arena arena;
    EXPECT_EQ(json::parse(done, arena)->member("outcomes").elements().size(), 2u);
    WhatIfJobs::Request large;
    large.workload = *demo_workload("car-telemetry");
    const auto second = jobs.start(large);
    ASSERT_TRUE(second.ok());
    EXPECT_TRUE(jobs.cancel(*second).ok());
    EXPECT_NE(wait(*second).find("\"state\":\"cancelled\""), std::string::npos);
    EXPECT_FALSE(jobs.json(99).ok());
    EXPECT_FALSE(jobs.cancel(99).ok());
    // The destructor ends what runs.
    ASSERT_TRUE(jobs.start(large).ok());
}

}  // namespace
}  // namespace orrery::lab
