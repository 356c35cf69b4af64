// What a page tells about itself: the plan, the times, the indexes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "engine/query_test_support.h"

namespace orrery::engine {
namespace {

using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::TestEngine;

/// Every look at it takes a microsecond.
class TickingClock final : public Clock {
public:
    explicit TickingClock(const Clock& wall) : wall_(wall) {}
    int64_t wall_us() const override { return wall_.wall_us(); }
    int64_t monotonic_us() const override { return ++ticks_; }

private:
    const Clock& wall_;
    mutable int64_t ticks_ = 0;
};

class ExplainTest : public ::testing::Test {
protected:
    static constexpr int kItems = 200;

    QueryContainer make(const std::string& policy = {}, bool several_partitions = false) {
        QueryContainerSpec spec;
        spec.partition_key = R"({"paths":["/pk"],"kind":"Hash","version":2})";
        spec.indexing_policy = policy;
        spec.several_partitions = several_partitions;
        auto container = QueryContainer::create(engine_, spec);
        CHECK(container.has_value());
        for (int i = 0; i < kItems; ++i)
            CHECK(container->upsert(fmt::format(
                R"({{"id":"i{}","pk":"p{}","n":{},"team":"t{}","tags":["a","b"]{}}})", i, i % 4, i,
                i % 5, i % 10 == 0 ? "" : fmt::format(R"(,"some":{})", i))));
        return std::move(*container);
    }
    QueryAnswer ask(const QueryContainer& container, const std::string& text,
                    QueryRequest request = {}) {
        request.text = text;
        request.explain = true;
        if (request.items_max == QueryRequest().items_max) request.items_max = 1000;
        auto answer = engine_.engine().query(container.container(), request);
        if (!answer.ok()) ADD_FAILURE() << text << ": " << answer.error().message;
        return answer.ok() ? std::move(*answer) : QueryAnswer();
    }
    /// "range 0: index on /n: 10 10 10; filter c.n < 10: 10 10; …", unknown numbers as "?".
    static std::string plan(const QueryAnswer& answer) {
        std::string out;
        for (const auto& one : answer.page.accesses)
            out += fmt::format("range {}: {} on {}: {} {} {}; ", answer.range_ids[one.partition],
                               one.access, one.detail, one.candidates, one.loaded, one.matched);
        const auto number = [](const std::optional<uint64_t>& rows) {
            return rows ? std::to_string(*rows) : "?";
        };
        for (const auto& one : answer.page.operators)
            out += fmt::format("{}{}{}: {} {}; ", one.name, one.detail.empty() ? "" : " ",
                               one.detail, number(one.in), number(one.out));
        if (!out.empty()) out.resize(out.size() - 2);
        return out;
    }
    std::string plan(const QueryContainer& container, const std::string& text) {
        return plan(ask(container, text));
    }
    /// In one key.
    QueryRequest within(const QueryContainer& container, const std::string& key) {
        QueryRequest request;
        request.full_epk = TestEngine::epk(container.container(), key);
        request.range = partition::range_of_key(*request.full_epk);
        return request;
    }
    /// The page alone, under a clock that goes on.
    query::PageAnswer timed(const QueryContainer& container, const std::string& text) {
        const auto routed = engine_.engine().route(container.container());
        CHECK(routed.ok());
        const auto compiled = query::compile(text);
        CHECK(compiled.ok());
        const auto parameters = query::Parameters::bind(**compiled, json::Value());
        CHECK(parameters.ok());
        const TickingClock clock(engine_.clock());
        RowTexts rows;
        query::PageRequest request{.query = **compiled,
                                   .parameters = *parameters,
                                   .scope = {.sources = {},
                                             .range = {},
                                             .full_epk = {},
                                             .clock = clock,
                                             .position = {},
                                             .rows = rows,
                                             .rows_max = 1000,
                                             .deadline_us = INT64_MAX,
                                             .cancelled = {}},
                                   .owner = nullptr,
                                   .parked = nullptr};
        for (const auto& range : routed->container->ranges->ranges)
            request.scope.sources.push_back(
                {range.partition.get(), routed->view, routed->settings});
        auto page = query::execute_page(request);
        CHECK(page.ok());
        return std::move(*page);
    }

    TestEngine engine_;
};

TEST_F(ExplainTest, AccessesSayWhatTheyRead) {
    const QueryContainer container =
        make(R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/off/*"}],)"
             R"("compositeIndexes":[[{"path":"/team"},{"path":"/n","order":"descending"}]]})");
    EXPECT_EQ(plan(container, "SELECT * FROM c"), "range 0: scan on every item: 200 200 200");
    EXPECT_EQ(plan(container, "SELECT * FROM c WHERE c.n = 7"),
              "range 0: index on /n: 1 1 1; filter c.n = 7: 1 1");
    EXPECT_EQ(plan(container, "SELECT * FROM c WHERE c.n IN (7, 8) AND c.off = 1"),
              "range 0: index on /n: 2 2 0; filter c.n IN (7, 8) AND c.off = 1: 2 0");
    EXPECT_EQ(plan(container, "SELECT TOP 2 * FROM c ORDER BY c.team, c.n DESC"),
              "range 0: index order on /team ASC, /n DESC (composite): 8 8 8; limit TOP 2: 2 2");
    EXPECT_EQ(plan(container, "SELECT TOP 2 * FROM c ORDER BY c.team DESC, c.n"),
              "range 0: index order on /team ASC, /n DESC (composite), from its end: 8 8 8; "
              "limit TOP 2: 2 2");
    EXPECT_EQ(plan(container, "SELECT * FROM c WHERE c.id = 'i7' AND c.pk = 'p3'"),
              "range 0: points on id \"i7\": 1 1 1; filter c.id = 'i7' AND c.pk = 'p3': 1 1");
    const std::string four = "SELECT * FROM c WHERE c.pk = 'p3' AND c.id IN ('i3', 'i7', 'x', 'y')";
    EXPECT_EQ(plan(container, four),
              "range 0: points on 4 ids: 4 2 2; "
              "filter c.pk = 'p3' AND c.id IN ('i3', 'i7', 'x', 'y'): 2 2");
}

TEST_F(ExplainTest, TheIndexAloneCountsItems) {
    const QueryContainer container = make();
    EXPECT_EQ(plan(container, "SELECT VALUE COUNT(1) FROM c"),
              "range 0: index only on the number of items: 0 0 200; aggregate COUNT: 200 1; "
              "project: 1 1");
    EXPECT_EQ(plan(container, "SELECT VALUE COUNT(1) FROM c WHERE c.team = 't1'"),
              "range 0: index only on /team: 40 0 40; filter c.team = 't1': ? 40; "
              "aggregate COUNT: 40 1; project: 1 1");
    EXPECT_EQ(plan(container, "SELECT c.team, COUNT(1) AS k FROM c GROUP BY c.team"),
              "range 0: index only on /team: 200 0 200; group c.team: 200 5; project: 5 5");
    EXPECT_EQ(plan(container, "SELECT DISTINCT VALUE c.pk FROM c"),
              "range 0: index only on /pk: 200 0 200; project: 200 200; distinct: 200 4");
}

TEST_F(ExplainTest, ClausesCountTheirRows) {
    const QueryContainer container = make();
    EXPECT_EQ(plan(container, "SELECT c.id FROM c WHERE c.n < 10 AND c.n + 0 < 5 OFFSET 1 LIMIT 9"),
              "range 0: index on /n: 10 10 5; filter c.n < 10 AND c.n + 0 < 5: 10 5; "
              "project: 5 5; limit OFFSET 1 LIMIT 9: 5 4");
    EXPECT_EQ(plan(container, "SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n < 10 AND t = 'a'"),
              "range 0: index on /n: 10 10 10; "
              "filter c.n < 10 AND t = 'a': 10 10; join t IN c.tags: 10 20; "
              "filter c.n < 10 AND t = 'a': 20 10; project: 10 10");
    EXPECT_EQ(plan(container, "SELECT DISTINCT c.team, c.pk FROM c WHERE c.n < 10 ORDER BY c.team"),
              "range 0: index on /n: 10 10 10; filter c.n < 10: 10 10; project: 10 10; "
              "distinct: 10 10; sort ORDER BY c.team: 10 10");
    EXPECT_EQ(plan(container, "SELECT c.team, SUM(c.n) AS s FROM c WHERE c.n < 10 GROUP BY c.team"),
              "range 0: index on /n: 10 10 10; filter c.n < 10: 10 10; group c.team: 10 5; "
              "project: 5 5");
    EXPECT_EQ(plan(container, "SELECT VALUE c.some FROM c WHERE c.n < 20"),
              "range 0: index on /n: 20 20 20; filter c.n < 20: 20 20; project: 20 18");
    EXPECT_EQ(plan(container, "SELECT VALUE 1"), "project: 1 1");
}

TEST_F(ExplainTest, RowsInOrder) {
    const QueryContainer container = make();
    EXPECT_EQ(plan(container, "SELECT VALUE c.n FROM c WHERE c.team = 't1' ORDER BY c.n"),
              "range 0: sort on /team: 40 40 40; filter c.team = 't1': 40 40; "
              "sort ORDER BY c.n: 40 40; project: 40 40");
    const auto first = ask(container, "SELECT TOP 3 VALUE c.n FROM c ORDER BY c.some");
    ASSERT_EQ(first.page.accesses.size(), 2U) << plan(first);
    EXPECT_EQ(first.page.accesses[0].access, "index order");
    EXPECT_EQ(first.page.accesses[0].loaded, 0U);
    const auto& scan = first.page.accesses[1];
    EXPECT_EQ(scan.access, "scan");
    EXPECT_EQ(scan.detail, "items without /some, which have no entry in its index yet");
    EXPECT_EQ(scan.candidates, 200U);
    EXPECT_EQ(scan.loaded, 200U);
    EXPECT_EQ(scan.matched, 20U);
}

TEST_F(ExplainTest, EveryRangeHasItsSteps) {
    const QueryContainer container = make({}, true);
    const auto answer = ask(container, "SELECT * FROM c ORDER BY c.n");
    const auto& ranges = container.container().ranges->ranges;
    ASSERT_EQ(answer.range_ids.size(), ranges.size());
    std::set<std::string> told;
    uint64_t matched = 0;
    for (const auto& one : answer.page.accesses) {
        told.insert(answer.range_ids[one.partition]);
        matched += one.matched;
    }
    EXPECT_EQ(told.size(), ranges.size());
    EXPECT_EQ(matched, 200U);
    ASSERT_EQ(answer.page.operators.size(), 1U) << plan(answer);
    EXPECT_EQ(answer.page.operators[0].name, "merge");
    EXPECT_EQ(answer.page.operators[0].out, 200U);
    std::string by_id = "SELECT * FROM c WHERE ";
    for (int i = 0; i < 4; ++i)
        by_id += fmt::format("{}(c.pk = 'p{}' AND c.id = 'i{}')", i == 0 ? "" : " OR ", i, i);
    uint64_t points = 0;
    for (const auto& one : ask(container, by_id).page.accesses) {
        EXPECT_EQ(one.access, "points");
        points += one.loaded;
    }
    EXPECT_EQ(points, 4U);
}

TEST_F(ExplainTest, PagesTellTheirOwnRows) {
    const QueryContainer container = make();
    QueryRequest request;
    request.items_max = 10;
    const std::string unordered = "SELECT * FROM c WHERE c.n >= 100";
    uint64_t matched = 0;
    do {
        const auto answer = ask(container, unordered, request);
        ASSERT_EQ(answer.page.accesses.size(), 1U);
        EXPECT_EQ(answer.page.accesses[0].matched, answer.rows.size());
        matched += answer.page.accesses[0].matched;
        request.continuation = answer.continuation;
    } while (!request.continuation.empty());
    EXPECT_EQ(matched, 100U);
    // Later pages show what the first one gathered.
    const std::string distinct = "SELECT DISTINCT c.n, c.pk FROM c";
    EXPECT_EQ(plan(ask(container, distinct, request)),
              "range 0: scan on every item: 200 200 200; project: 200 200; distinct: 200 200");
    request.continuation = ask(container, distinct, request).continuation;
    ASSERT_FALSE(request.continuation.empty());
    EXPECT_EQ(plan(ask(container, distinct, request)), "project: ? ?; distinct: ? ?");
}

TEST_F(ExplainTest, TimesAreThoseOfAllReading) {
    const QueryContainer container = make();
    const std::string by_some = "SELECT * FROM c ORDER BY c.some";
    const auto scanned = timed(container, by_some);
    ASSERT_EQ(scanned.accesses.size(), 2U);
    EXPECT_GT(scanned.load_us, 0);
    EXPECT_GT(scanned.index_us, 0);
    EXPECT_GT(scanned.plan_us, 0);
    const auto walked = timed(container, "SELECT * FROM c ORDER BY c.id");
    ASSERT_EQ(walked.accesses.size(), 1U);
    EXPECT_GT(walked.load_us, 0);
    EXPECT_GT(walked.index_us, 0);
    const auto sorted = timed(container, "SELECT * FROM c WHERE c.team = 't1' ORDER BY c.n");
    EXPECT_EQ(sorted.accesses.at(0).access, "sort");
    EXPECT_GT(sorted.load_us, 0);
    EXPECT_GT(sorted.index_us, 0);
    const auto counted = timed(container, "SELECT VALUE COUNT(1) FROM c WHERE c.team = 't1'");
    EXPECT_EQ(counted.accesses.at(0).access, "index only");
    EXPECT_GT(counted.index_us, 0);
    EXPECT_EQ(counted.load_us, 0);
}

TEST_F(ExplainTest, IndexesAreThoseOfALargeContainer) {
    const QueryContainer container = make();
    using Paths = std::vector<std::string>;
    // Few items are scanned; of many, the index would find these.
    const auto scanned = ask(container, "SELECT * FROM c WHERE c.n >= 5");
    EXPECT_EQ(scanned.page.accesses.at(0).access, "scan");
    EXPECT_EQ(scanned.page.index_use.utilized, Paths{"/n/?"});
    const auto sorted = ask(container, "SELECT * FROM c WHERE c.team = 't1' ORDER BY c.n");
    EXPECT_EQ(sorted.page.accesses.at(0).access, "sort");
    EXPECT_EQ(sorted.page.index_use.utilized, (Paths{"/team/?", "/n/?"}));
    // Inside one key the order is walked where nothing else narrows, and only there.
    const QueryRequest key = within(container, "\"p1\"");
    EXPECT_EQ(ask(container, "SELECT * FROM c ORDER BY c.n", key).page.index_use.utilized,
              Paths{"/n/?"});
    EXPECT_EQ(ask(container, "SELECT * FROM c WHERE c.team = 't1' ORDER BY c.n", key)
                  .page.index_use.utilized,
              Paths{"/team/?"});
}

TEST_F(ExplainTest, ACompositeIndexThatIsAdvisedCanBeMade) {
    const QueryContainer container = make();
    std::vector<std::string> members;
    std::vector<std::string> paths;
    std::string filter;
    for (int i = 0; i < 20; ++i) {
        const std::string name = "p" + std::to_string(i);
        if (i < 8) members.push_back("/" + name + " ASC");
        paths.push_back("/" + name + "/?");
        // Each path twice: it is named once.
        filter += (filter.empty() ? "c." : " AND c.") + name + " = 1 AND c." + name + " = 1";
    }
    const auto filtered = ask(container, "SELECT * FROM c WHERE " + filter);
    EXPECT_EQ(filtered.page.index_use.utilized, paths);
    ASSERT_EQ(filtered.page.index_use.potential_composite.size(), 1U);
    EXPECT_EQ(filtered.page.index_use.potential_composite[0], members) << "at most 8 paths";
    const auto sorted = ask(container, "SELECT * FROM c WHERE " + filter + " ORDER BY c.n");
    members.back() = "/n ASC";
    ASSERT_EQ(sorted.page.index_use.potential_composite.size(), 1U);
    EXPECT_EQ(sorted.page.index_use.potential_composite[0], members);
}

}  // namespace
}  // namespace orrery::engine
