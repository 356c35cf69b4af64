#include <gtest/gtest.h>

#include <string>

#include "base/ended_test_support.h"
#include "base/rounds_test_support.h"
#include "engine/query_test_support.h"

// A query for which nobody waits any more ends soon after that is known, whatever it is doing.
namespace orrery::engine {
namespace {

using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::TestEngine;

struct Ended {
    size_t polls = 0;  ///< how often the query looked whether somebody waits
    bool ok = false;
    orrery::Ended how = orrery::Ended::kOk;
};

/// Runs a page of everything; the client leaves at the given look.
Ended run(TestEngine& engine, const QueryContainer& container, const std::string& text,
          size_t leaves_at) {
    Ended ended;
    QueryRequest request;
    request.text = text;
    request.items_max = testing_support::kUnlimitedPage;
    request.cancelled = [&] { return ++ended.polls >= leaves_at; };
    auto answer = engine.engine().query(container.container(), request);
    ended.ok = answer.ok();
    ended.how = orrery::ended(answer);
    return ended;
}

/// So many that every plan looks more often than one that was left may.
constexpr int kItems = sized(6000, 3000);
constexpr size_t kLooksAfterLeavingMax = 11;

TEST(QueryCancel, StopsInEveryKindOfPlan) {
    TestEngine engine;
    QueryContainerSpec spec;
    spec.indexing_policy =
        R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/plain/?"}],)"
        R"("compositeIndexes":[[{"path":"/a","order":"ascending"},{"path":"/n","order":"ascending"}]]})";
    auto container = QueryContainer::create(engine, spec);
    ASSERT_TRUE(container.has_value());
    for (int i = 0; i < kItems; ++i) {
        const std::string n = std::to_string(i);
        ASSERT_TRUE(container->upsert(R"({"id":")" + n + R"(","n":)" + n + R"(,"plain":)" + n +
                                      R"(,"a":)" + std::to_string(i % 7) + R"(,"l":[1,2,3]})"));
    }
    for (const char* text : {
             "SELECT * FROM c WHERE c.plain >= 0",                      // a scan
             "SELECT VALUE c.plain FROM c WHERE c.n >= 0",              // by the index
             "SELECT c.id, x FROM c JOIN x IN c.l",                     // rows of arrays
             "SELECT VALUE c.plain FROM c ORDER BY c.n",                // in the index's order
             "SELECT VALUE c.plain FROM c ORDER BY c.a, c.n",           // of a composite index
             "SELECT VALUE c.plain FROM c WHERE c.a = 3 ORDER BY c.n",  // perhaps sorted
             "SELECT c.plain, COUNT(1) AS k FROM c GROUP BY c.plain",   // groups
             "SELECT DISTINCT VALUE c.plain FROM c",                    // distinct rows
             "SELECT VALUE SUM(c.plain) FROM c",                        // an aggregate of all
         }) {
        const Ended whole = run(engine, *container, text, SIZE_MAX);
        EXPECT_TRUE(whole.ok) << text;
        EXPECT_GT(whole.polls, kLooksAfterLeavingMax) << text << " hardly looks";
        const Ended left = run(engine, *container, text, 2);
        EXPECT_FALSE(left.ok) << text;
        EXPECT_EQ(left.how, orrery::Ended::kTimeout) << text;
        // A look per loop that it was in, not the rest of the work.
        EXPECT_LE(left.polls, kLooksAfterLeavingMax) << text;
    }
    container->drop();
}

/// A page looks at the clock item by item where each may take long.
TEST(QueryCancel, PagesEndInTimeWhateverItemsTake) {
    TestEngine engine;
    auto container = QueryContainer::create(engine, {});
    ASSERT_TRUE(container.has_value());
    constexpr uint64_t kLongItems = 30;
    std::string numbers = "0";
    for (int i = 1; i < 50; ++i) numbers += "," + std::to_string(i);
    for (uint64_t i = 0; i < kLongItems; ++i)
        ASSERT_TRUE(
            container->upsert(R"({"id":")" + std::to_string(i) + R"(","t":[)" + numbers + "]}"));
    const std::string triples =
        " FROM c JOIN x IN c.t JOIN y IN c.t JOIN z IN c.t WHERE x + y + z < 0";
    // How often the query looks around while it is with one item.
    const Ended one = run(engine, *container, "SELECT VALUE 1" + triples, SIZE_MAX);
    ASSERT_TRUE(one.ok);
    const size_t per_item = one.polls / kLongItems;
    ASSERT_GT(per_item, 0U);
    for (const char* select : {"SELECT VALUE 1", "SELECT VALUE ARRAY(SELECT VALUE 1)"}) {
        size_t pages = 0;
        uint64_t items = 0;
        std::string token;
        do {
            QueryRequest request;
            request.text = select + triples;
            request.items_max = testing_support::kUnlimitedPage;
            request.continuation = token;
            // An item takes about a second.
            request.cancelled = [&] {
                engine.clock().advance_us(1'000'000 / static_cast<int64_t>(per_item));
                return false;
            };
            const auto page = engine.engine().query(container->container(), request);
            ASSERT_TRUE(page.ok()) << page.error().message;
            EXPECT_LE(page->page.retrieved_items, 6U);
            items += page->page.retrieved_items;
            token = page->continuation;
            ++pages;
        } while (!token.empty());
        EXPECT_EQ(items, kLongItems);
        EXPECT_GT(pages, 4U);
    }
    container->drop();
}

}  // namespace
}  // namespace orrery::engine
