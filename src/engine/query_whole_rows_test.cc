#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/ended_test_support.h"
#include "engine/query_test_support.h"

/// Pages of results that are computed whole, and what they cost.

namespace orrery::engine {
namespace {

using namespace testing_support;

constexpr const char* kComposite =
    R"({"compositeIndexes":[[{"path":"/n"},{"path":"/g"}],[{"path":"/g"},{"path":"/n","order":"descending"}]]})";

std::string item(int n, int copy) {
    return R"({"id":"i)" + std::to_string(n) + "-" + std::to_string(copy) + R"(","n":)" +
           std::to_string(n) + R"(,"g":"group )" + std::to_string(n % 10) + R"(","long":")" +
           std::string(300, 'a') + std::to_string(n) + R"("})";
}

/// Rows that were there all the time come once, whatever comes and goes between two pages, also
/// where nothing was kept from one page to the next.
TEST(QueryWholeRows, EveryLastingRowComesOnceThoughOthersComeAndGo) {
    struct Case {
        const char* text;
        const char* row;  ///< of the group or value %
    };
    for (const bool several : {false, true}) {
        for (const Case& one :
             {Case{"SELECT VALUE c.n FROM c GROUP BY c.n", "%"},
              Case{"SELECT DISTINCT VALUE c.n FROM c", "%"},
              Case{"SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n", "%"},
              Case{"SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n DESC", "%"},
              Case{"SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n, c.g", "%"},
              Case{"SELECT DISTINCT VALUE c.n FROM c ORDER BY c.g, c.n DESC", "%"},
              Case{"SELECT DISTINCT VALUE CONCAT(c.long, '-') FROM c", "a%-"},
              Case{"SELECT VALUE c.n FROM c GROUP BY c.long, c.n", "%"},
              Case{"SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n", R"({"n":%,)"},
              Case{"SELECT COUNT(1) AS k, c.n FROM c GROUP BY c.n", R"("n":%})"},
              Case{"SELECT VALUE x FROM (SELECT DISTINCT VALUE c.n FROM c) x", "%"}}) {
            TestEngine test;
            QueryContainerSpec spec;
            spec.several_partitions = several;
            spec.indexing_policy = kComposite;
            auto container = QueryContainer::create(test, spec);
            ASSERT_TRUE(container);
            // Those that last are multiples of four from 100 on.
            const auto lasts = [](int n) { return n % 4 == 0; };
            for (int n = 100; n < 180; ++n) ASSERT_TRUE(container->upsert(item(n, 0)));
            QueryOptions options;
            options.page_rows = 7;
            QueryOutcome outcome;
            int round = 0;
            do {
                ASSERT_NO_FATAL_FAILURE(container->next_page(one.text, options, outcome));
                ASSERT_EQ(outcome.error, std::nullopt) << one.text;
                // Another item for every group that lasts; others go, and new ones come.
                for (int n = 100; n < 180; ++n) {
                    if (lasts(n)) {
                        ASSERT_TRUE(container->upsert(item(n, round + 1)));
                    } else if (n % 4 == round) {
                        ASSERT_TRUE(container->remove(item(n, 0)));
                    }
                }
                for (int n = 1; n < 12; n += 2) {
                    ASSERT_TRUE(container->upsert(item(180 + 16 * round + n, 0)));
                    ASSERT_TRUE(container->upsert(item(99 - 16 * round - n, 0)));
                }
                if (round % 2 == 0) test.clock().advance_seconds(600);  // what was kept is gone
                ASSERT_LT(++round, 60) << one.text;
            } while (!outcome.continuation.empty());
            for (int n = 100; n < 180; n += 4) {
                std::string row = one.row;
                row.replace(row.find('%'), 1, std::to_string(n));
                const auto count = std::count_if(
                    outcome.rows.begin(), outcome.rows.end(), [&](const std::string& r) {
                        return row == std::to_string(n) ? r == row
                                                        : r.find(row) != std::string::npos;
                    });
                EXPECT_EQ(count, 1) << one.text << ": " << row << (several ? ", several" : "");
            }
        }
    }
}

/// A window begins at the first page and ends after as many rows, though the pass is lost.
TEST(QueryWholeRows, WindowsGoOnWhereTheyWere) {
    TestEngine test;
    auto container = QueryContainer::create(test, {});
    ASSERT_TRUE(container);
    for (int n = 100; n < 160; ++n) ASSERT_TRUE(container->upsert(item(n, 0)));
    for (const char* text : {"SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 30",
                             // More in common than a token has room for.
                             "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.long OFFSET 10 LIMIT 30",
                             "SELECT DISTINCT VALUE c.n FROM c OFFSET 10 LIMIT 30",
                             "SELECT VALUE c.n FROM c GROUP BY c.n OFFSET 10 LIMIT 30"}) {
        QueryOptions options;
        options.page_rows = 8;
        QueryOutcome outcome;
        do {
            container->next_page(text, options, outcome);
            ASSERT_EQ(outcome.error, std::nullopt) << text;
            test.clock().advance_seconds(600);
        } while (!outcome.continuation.empty());
        std::vector<std::string> expected;
        for (int n = 110; n < 140; ++n) expected.push_back(std::to_string(n));
        EXPECT_EQ(outcome.rows, expected) << text;
    }
}

/// Groups of one key come from its values in memory, page by page.
TEST(QueryWholeRows, GroupsInsideAKeyHavePages) {
    TestEngine test;
    QueryContainerSpec spec;
    spec.partition_key = R"({"paths":["/pk"],"kind":"Hash","version":2})";
    auto container = QueryContainer::create(test, spec);
    ASSERT_TRUE(container);
    for (int n = 0; n < 90; ++n)
        ASSERT_TRUE(container->upsert(R"({"id":"i)" + std::to_string(n) + R"(","pk":"a","n":)" +
                                      std::to_string(n % 30) + "}"));
    for (const uint32_t rows : {4u, 30u, 100u}) {
        QueryOptions options;
        options.page_rows = rows;
        options.partition_key = R"(["a"])";
        QueryOutcome outcome;
        do {
            container->next_page("SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n", options, outcome);
            ASSERT_EQ(outcome.error, std::nullopt);
            if (outcome.pages % 2 == 1) test.clock().advance_seconds(600);
        } while (!outcome.continuation.empty());
        EXPECT_EQ(outcome.accesses, std::set<std::string>{"index only"});
        std::set<std::string> expected;
        for (int n = 0; n < 30; ++n) expected.insert(R"({"n":)" + std::to_string(n) + R"(,"k":3})");
        EXPECT_EQ(outcome.rows.size(), 30U);
        EXPECT_EQ(std::set<std::string>(outcome.rows.begin(), outcome.rows.end()), expected);
    }
}

/// Whoever asked for the whole container goes on in the whole container.
TEST(QueryWholeRows, TokensOfTheContainerAreNotThoseOfARange) {
    TestEngine test;
    auto container = QueryContainer::create(test, {});
    ASSERT_TRUE(container);
    for (int n = 0; n < 20; ++n) ASSERT_TRUE(container->upsert(item(n, 0)));
    for (const char* text : {"SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c GROUP BY c.n"}) {
        QueryRequest request;
        request.text = text;
        request.items_max = 5;
        request.over_container = true;
        const auto first = test.engine().query(container->container(), request);
        ASSERT_TRUE(first.ok());
        request.continuation = first->continuation;
        EXPECT_TRUE(test.engine().query(container->container(), request).ok());
        request.over_container = false;
        const auto refused = test.engine().query(container->container(), request);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(ended(refused.error()), Ended::kBadRequest);
    }
}

/// Equal rows of a subquery are told apart by their number.
TEST(QueryWholeRows, EqualRowsComeAsOftenAsTheyAre) {
    TestEngine test;
    auto container = QueryContainer::create(test, {});
    ASSERT_TRUE(container);
    for (int n = 100; n < 140; ++n) ASSERT_TRUE(container->upsert(item(n, 0)));
    const std::string text = "SELECT VALUE x % 4 FROM (SELECT DISTINCT VALUE c.n FROM c) x";
    for (const uint32_t rows : {1u, 3u, 7u, 100u}) {
        QueryOptions options;
        options.page_rows = rows;
        QueryOutcome outcome;
        do {
            container->next_page(text, options, outcome);
            ASSERT_EQ(outcome.error, std::nullopt);
            test.clock().advance_seconds(600);
        } while (!outcome.continuation.empty());
        std::map<std::string, int> counts;
        for (const std::string& row : outcome.rows) ++counts[row];
        const std::map<std::string, int> expected{{"0", 10}, {"1", 10}, {"2", 10}, {"3", 10}};
        EXPECT_EQ(counts, expected) << rows;
    }
}

/// A query that the index could answer alone pays for entries, whatever it read: one path or
/// several, beside a filter on another one, in a part of the key space or in all of it.
TEST(QueryWholeRows, WhatTheIndexHasIsPaidAsEntries) {
    TestEngine test;
    QueryContainerSpec spec;
    spec.indexing_policy = R"({"excludedPaths":[{"path":"/long/?"}]})";
    auto container = QueryContainer::create(test, spec);
    ASSERT_TRUE(container);
    for (int n = 0; n < 60; ++n) ASSERT_TRUE(container->upsert(item(n, 0)));
    struct Case {
        const char* text;
        uint64_t items;
        uint64_t entries;
    };
    for (const Case& one :
         {Case{"SELECT VALUE COUNT(1) FROM c", 0, 60},
          Case{"SELECT VALUE SUM(c.n) FROM c WHERE c.g = 'group 1'", 0, 6},
          Case{"SELECT VALUE MAX(c.n) FROM c WHERE c.g = 'group 1' AND c.n < 30", 0, 3},
          Case{"SELECT DISTINCT VALUE c.g FROM c WHERE c.n < 25", 0, 25},
          Case{"SELECT DISTINCT c.g, c.n FROM c", 0, 60},
          Case{"SELECT c.g, c.n, COUNT(1) AS k FROM c GROUP BY c.g, c.n", 0, 60},
          // What no index has is read in the items.
          Case{"SELECT DISTINCT c.g, c.long FROM c", 60, 0},
          Case{"SELECT VALUE COUNT(1) FROM c WHERE c.long = 'a'", 60, 0},
          Case{"SELECT VALUE SUM(c.n) FROM c WHERE c.g = 'group 1' AND c.n % 2 = 0", 6, 0},
          Case{"SELECT DISTINCT VALUE c._etag FROM c WHERE c.g = 'group 1'", 6, 0}}) {
        for (const bool use_index : {true, false}) {
            QueryOptions options;
            options.use_index = use_index;
            const QueryOutcome outcome = container->query(one.text, options);
            ASSERT_EQ(outcome.error, std::nullopt) << one.text;
            EXPECT_EQ(outcome.charged_items, one.items) << one.text << use_index;
            EXPECT_EQ(outcome.charged_entries, one.entries) << one.text << use_index;
        }
    }
}

/// DISTINCT does not spare the index that ORDER BY needs, nor does a way through an array.
TEST(QueryWholeRows, OrderByNeedsItsIndex) {
    TestEngine test;
    QueryContainerSpec spec;
    spec.indexing_policy = R"({"excludedPaths":[{"path":"/long/?"},{"path":"/tags/*"}]})";
    auto container = QueryContainer::create(test, spec);
    ASSERT_TRUE(container);
    ASSERT_TRUE(container->upsert(R"({"id":"1","n":1,"long":"x","tags":[1],"kept":[2]})"));
    for (const char* text : {"SELECT DISTINCT VALUE c.long FROM c ORDER BY c.long",
                             "SELECT DISTINCT TOP 2 c.n, c.long FROM c ORDER BY c.long",
                             "SELECT VALUE c.n FROM c ORDER BY c.tags[0]",
                             "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.tags[0].k"}) {
        const QueryOutcome outcome = container->query(text);
        ASSERT_TRUE(outcome.error) << text;
        EXPECT_NE(outcome.error->find("order-by item is excluded"), std::string::npos)
            << *outcome.error;
    }
    const QueryOutcome two = container->query("SELECT DISTINCT c.n, c.g FROM c ORDER BY c.n, c.g");
    ASSERT_TRUE(two.error);
    EXPECT_NE(two.error->find("composite index"), std::string::npos) << *two.error;
    for (const char* text : {"SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n",
                             "SELECT VALUE c.n FROM c ORDER BY c.kept[0]"}) {
        const QueryOutcome outcome = container->query(text);
        EXPECT_EQ(outcome.error, std::nullopt) << text;
        EXPECT_EQ(outcome.rows, std::vector<std::string>{"1"}) << text;
    }
}

}  // namespace
}  // namespace orrery::engine
