#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/rounds_test_support.h"
#include "engine/query_test_support.h"

// Ways to an answer that depend on how many entries there are: where several values meet, walks
// that decide the filter, runs of one key that are counted. Each must give what reading every item
// gives, whole and in pages, from entries on disk and in memory.
namespace orrery::engine {
namespace {

using testing_support::kUnlimitedPage;
using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryOptions;
using testing_support::QueryOutcome;
using testing_support::TestEngine;

struct Setting {
    bool several_partitions = false;
    bool expires = false;  ///< some items have expired and are still there
};

/// Of a page: one, and four where a sanitizer makes so many pages take minutes.
constexpr uint32_t kRowsMin = 4 / rounds(4U);

class Accesses : public ::testing::TestWithParam<Setting> {
protected:
    Accesses() {
        QueryContainerSpec spec;
        spec.partition_key = R"({"paths":["/pk"],"kind":"Hash","version":2})";
        spec.several_partitions = GetParam().several_partitions;
        if (GetParam().expires) spec.default_ttl = -1;
        container_ = QueryContainer::create(engine_, spec);
        CHECK(container_.has_value());
        for (int i = 0; i < 900; ++i) put(i);
        // Half of what follows stays in memory.
        CHECK(engine_.store().flush().ok());
        for (int i = 0; i < 900; i += 7) put(i);
        for (int i = 3; i < 900; i += 11)
            EXPECT_TRUE(container_->remove(body_[static_cast<size_t>(i)]));
        for (int i = 900; i < 1000; ++i) put(i);
        engine_.clock().advance_seconds(10);  // those with a ttl of 5 have expired
    }
    ~Accesses() override { container_->drop(); }

    void put(int i) {
        const auto number = [&](uint64_t below) { return std::to_string(random_() % below); };
        std::string item = R"({"id":")" + std::to_string(i) + R"(","pk":"tenant)" +
                           std::to_string(i % 4) + R"(","x":)" + number(6) + R"(,"y":)" +
                           number(5) + R"(,"z":"z)" + number(3) + '"';
        switch (random_() % 6) {
            case 0:
                break;  // no r
            case 1:     // beyond what doubles hold: terms are not the whole value
                item += R"(,"r":900719925474099)" + number(10) + number(10);
                break;
            case 2:  // beyond what terms hold
                item += R"(,"r":")" + std::string(260, 'a') + number(50) + '"';
                break;
            default:
                item += R"(,"r":)" + number(500);
        }
        if (random_() % 20 == 0) item += R"(,"ttl":5)";
        item += '}';
        EXPECT_TRUE(container_->upsert(item));
        body_.resize(std::max(body_.size(), static_cast<size_t>(i) + 1));
        body_[static_cast<size_t>(i)] = item;
    }

    /// Whether this setting runs a case. Of two settings that take turns, one or the other has
    /// several partitions, and one or the other has items that expired.
    static bool takes(size_t one_case) {
        return takes_turn(one_case, GetParam().several_partitions != GetParam().expires ? 1 : 0, 2);
    }

    /// Rows of the query by every plan agree; returns the accesses of the first.
    std::set<std::string> expect_same(const std::string& text, const std::string& key) {
        QueryOptions options;
        if (!key.empty()) options.partition_key = "[\"" + key + "\"]";
        options.use_index = false;
        QueryOutcome plain = container_->query(text, options);
        EXPECT_FALSE(plain.error.has_value()) << text << ": " << *plain.error;
        options.use_index = true;
        const bool ordered = text.find("ORDER BY") != std::string::npos;
        if (!ordered) std::sort(plain.rows.begin(), plain.rows.end());
        std::set<std::string> accesses;
        // The small pages take turns by pairs of comparisons: a test compares the same query over
        // all keys and inside one.
        const size_t pair = comparisons_++ / 2;
        constexpr std::array kSmallPages = {7 * kRowsMin, kRowsMin};
        std::vector<uint32_t> pages = {kUnlimitedPage};
        for (size_t i = 0; i < kSmallPages.size(); ++i)
            if (takes_turn(pair, i, kSmallPages.size())) pages.push_back(kSmallPages[i]);
        for (const uint32_t page_rows : pages) {
            options.page_rows = page_rows;
            QueryOutcome served = container_->query(text, options);
            EXPECT_FALSE(served.error.has_value()) << text << ": " << *served.error;
            if (!ordered) std::sort(served.rows.begin(), served.rows.end());
            EXPECT_EQ(served.rows, plain.rows) << text << " in '" << key << "', " << page_rows;
            if (page_rows == kUnlimitedPage) accesses = served.accesses;
        }
        return accesses;
    }

    TestEngine engine_;
    std::mt19937_64 random_{11};
    size_t comparisons_ = 0;
    std::vector<std::string> body_;
    std::optional<QueryContainer> container_;
};

TEST_P(Accesses, WhereSeveralValuesMeet) {
    for (const std::string select : {"*", "VALUE c.id", "VALUE [c.x, c.y]"}) {
        for (const std::string filter :
             {"c.x = 1 AND c.y = 2", "c.y = 2 AND c.x = 1 AND c.z = 'z1'", "c.x = 1 AND c.x = 2",
              "c.x = 1 AND c.y = 99", "c.x = 3 AND c.y = 0 AND c.r > 100",
              "c.x = 3 AND c.y IN (0, 1)", "c.x = 3 AND (c.y = 0 OR c.z = 'z2')",
              "c.x = 5 AND c.y = 4 AND CONTAINS(c.z, '1')",
              "c.pk = 'tenant1' AND c.x = 1 AND c.y = 2"}) {
            const std::string text = "SELECT " + select + " FROM c WHERE " + filter;
            expect_same(text, "");
            expect_same(text, "tenant1");
            expect_same(text, "nobody");
        }
    }
    EXPECT_EQ(expect_same("SELECT * FROM c WHERE c.x = 1 AND c.y = 2", ""),
              std::set<std::string>{"index"});
}

TEST_P(Accesses, WalksThatDecideTheFilter) {
    const std::vector<std::string> selects = {"*", "VALUE c", "TOP 20 *", "VALUE c.r"};
    size_t cases = 0;
    for (const std::string& select : std::span(selects).first(rounds(selects.size()))) {
        for (const std::string filter :
             {"c.r > 100", "c.r >= 9007199254740990", "c.r > 9007199254740993", "IS_STRING(c.r)",
              "c.r > 100 AND c.r < 300", "c.r > 'a'", "c.r > 100 AND c.x = 2",
              "STARTSWITH(c.r, 'aaa')", "c.r > 100 AND CONTAINS(c.z, '1')",
              "CONTAINS(c.r, 'a1')"}) {
            for (const std::string direction : {"", " DESC"}) {
                if (!takes(cases++)) continue;
                const std::string text =
                    "SELECT " + select + " FROM c WHERE " + filter + " ORDER BY c.r" + direction;
                expect_same(text, "");
                expect_same(text, "tenant2");
            }
            ++cases;  // the next filter begins with the other direction
        }
    }
    EXPECT_EQ(expect_same("SELECT TOP 5 * FROM c WHERE c.r > 100 ORDER BY c.r", ""),
              std::set<std::string>{"index order"});
}

TEST_P(Accesses, CountsInsideOneKey) {
    for (const std::string filter :
         {"", " WHERE c.x = 1", " WHERE c.x = 99", " WHERE c.x = 1 AND c.y = 2",
          " WHERE c.r = 9007199254740995", " WHERE c.x > 2", " WHERE CONTAINS(c.z, '1')",
          " WHERE c.pk = 'tenant3' AND c.x = 1"}) {
        for (const std::string key : {"", "tenant3", "nobody"}) {
            expect_same("SELECT VALUE COUNT(1) FROM c" + filter, key);
            expect_same("SELECT c.z, COUNT(1) AS n FROM c" + filter + " GROUP BY c.z", key);
        }
    }
    const std::string count = "SELECT VALUE COUNT(1) FROM c WHERE c.x = 1";
    EXPECT_EQ(expect_same(count, "tenant3"), std::set<std::string>{"index only"});
}

/// Runs of the key: what walks a path's values reads no items.
TEST_P(Accesses, ValuesInsideOneKey) {
    const std::set<std::string> index_only{"index only"};
    for (const std::string query :
         {"SELECT VALUE COUNT(1) FROM c WHERE c.x > 2",
          "SELECT VALUE COUNT(1) FROM c WHERE c.x != 2",
          "SELECT VALUE COUNT(1) FROM c WHERE CONTAINS(c.z, '1')",
          "SELECT VALUE COUNT(1) FROM c WHERE c.z LIKE '%2'",
          "SELECT VALUE COUNT(1) FROM c WHERE c.x > 1 AND c.y < 3",
          "SELECT VALUE COUNT(1) FROM c WHERE c.x > 1 OR c.z = 'z1'",
          "SELECT VALUE COUNT(1) FROM c WHERE c.r > 100 AND c.r < 9007199254740995",
          "SELECT c.x, COUNT(1) AS n FROM c GROUP BY c.x",
          "SELECT c.x, COUNT(1) AS n FROM c WHERE c.x BETWEEN 1 AND 3 GROUP BY c.x",
          "SELECT DISTINCT VALUE c.z FROM c", "SELECT VALUE MIN(c.x) FROM c",
          "SELECT VALUE SUM(c.y) FROM c WHERE c.y > 1", "SELECT VALUE MAX(c.none) FROM c",
          "SELECT c.none, COUNT(1) AS n FROM c GROUP BY c.none"}) {
        for (int again = 0; again < 2; ++again)
            EXPECT_EQ(expect_same(query, "tenant3"), index_only) << query;
        expect_same(query, "nobody");
    }
    // A third of these values is not told by its term: reading all items in passing is faster.
    EXPECT_EQ(expect_same("SELECT c.r, COUNT(1) AS n FROM c GROUP BY c.r", "tenant3"),
              std::set<std::string>{"scan"});
    // Paths through arrays have no runs, nor do several paths that are shown.
    EXPECT_EQ(expect_same("SELECT VALUE COUNT(1) FROM c WHERE c.l[0] > 2", "tenant3"),
              std::set<std::string>{"scan"});
    EXPECT_EQ(expect_same("SELECT c.x, SUM(c.y) AS n FROM c GROUP BY c.x", "tenant3"),
              std::set<std::string>{"scan"});
}

/// A run is made in one go: not of items that take long to read, however few they are.
TEST_P(Accesses, LargeItemsInsideOneKeyHaveNoRuns) {
    const std::string query = "SELECT c.x, COUNT(1) AS n FROM c GROUP BY c.x";
    const std::string body(1'900'000, 'b');
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(container_->upsert(R"({"id":"large)" + std::to_string(i) +
                                       R"(","pk":"heavy","x":1,"body":")" + body + "\"}"));
        const bool few = i < 10;
        if (few || i == 19) {
            EXPECT_EQ(expect_same(query, "heavy"),
                      std::set<std::string>{few ? "index only" : "scan"})
                << i;
        }
    }
}

/// One entry for each item that satisfies the filter, and no item: also when the run is made.
TEST_P(Accesses, ChargesOfValuesInsideOneKey) {
    QueryOptions options;
    options.partition_key = R"(["tenant3"])";
    const auto count = [&](const std::string& filter) {
        const std::string text = "SELECT VALUE COUNT(1) FROM c" + filter;
        const QueryOutcome outcome = container_->query(text, options);
        EXPECT_FALSE(outcome.error.has_value()) << *outcome.error;
        EXPECT_EQ(outcome.charged_items, 0U) << filter;
        EXPECT_EQ(std::to_string(outcome.charged_entries), outcome.rows.at(0)) << filter;
        return outcome.charged_entries;
    };
    EXPECT_GT(count(" WHERE c.x > 2"), 50U);
    EXPECT_GT(count(" WHERE CONTAINS(c.z, '1')"), 50U);
    EXPECT_EQ(count(" WHERE c.x > 99"), 0U);
    const uint64_t all = count("");
    const QueryOutcome groups =
        container_->query("SELECT c.none, COUNT(1) AS n FROM c GROUP BY c.none", options);
    EXPECT_EQ(groups.charged_entries, all);
    EXPECT_EQ(groups.charged_items, 0U);
    // Rows are loaded, one by one, up to the end of the page.
    const QueryOutcome rows =
        container_->query("SELECT TOP 5 * FROM c WHERE c.x > 1 ORDER BY c.x", options);
    EXPECT_EQ(rows.charged_items, 5U);
    EXPECT_EQ(rows.charged_entries, 0U);
}

TEST_P(Accesses, OrderInsideOneKey) {
    const std::set<std::string> walk{"index order"};
    for (const std::string direction : {"", " DESC"}) {
        for (const std::string query :
             {"SELECT TOP 5 * FROM c ORDER BY c.r", "SELECT TOP 5 c.id FROM c ORDER BY c.none",
              "SELECT TOP 5 * FROM c WHERE c.r > 100 ORDER BY c.r",
              "SELECT TOP 9 VALUE c.id FROM c WHERE c.pk = 'tenant3' ORDER BY c.x",
              "SELECT * FROM c WHERE c.r > 480 AND c.r < 490 ORDER BY c.r",
              "SELECT VALUE c.id FROM c ORDER BY c.z OFFSET 20 LIMIT 6"}) {
            const std::string text = query.find(" OFFSET") == std::string::npos
                                         ? query + direction
                                         : query.substr(0, query.find(" OFFSET")) + direction +
                                               query.substr(query.find(" OFFSET"));
            EXPECT_EQ(expect_same(text, "tenant3"), walk) << text;
        }
        // Most of the items are shown, or other paths say which.
        EXPECT_EQ(expect_same("SELECT * FROM c ORDER BY c.r" + direction, "tenant3"),
                  std::set<std::string>{"sort"});
        expect_same("SELECT TOP 5 * FROM c WHERE c.x = 1 ORDER BY c.r" + direction, "tenant3");
        expect_same("SELECT TOP 5 * FROM c WHERE c.x + 1 = 2 ORDER BY c.r" + direction, "tenant3");
        expect_same("SELECT TOP 5 * FROM c WHERE c.pk = 'tenant2' ORDER BY c.r" + direction,
                    "tenant3");
    }
}

/// Pages of one query, each over another state of the key: what stays as it is comes once and in
/// order.
TEST_P(Accesses, PagesInsideOneKeyWhileOthersWrite) {
    QueryOptions options;
    options.partition_key = R"(["tenant3"])";
    options.page_rows = 9;
    for (const std::string direction : {"", " DESC"}) {
        const std::string text =
            "SELECT VALUE [c.r, c.id] FROM c WHERE c.r >= 0 AND c.r < 1000 "
            "ORDER BY c.r" +
            direction;
        const auto stays = [](const std::string& row) {
            return row.find("\"w") == std::string::npos;
        };
        QueryOptions whole = options;
        whole.use_index = false;
        whole.page_rows = kUnlimitedPage;
        std::vector<std::string> expected = container_->query(text, whole).rows;
        std::erase_if(expected, [&](const std::string& row) { return !stays(row); });
        QueryOutcome outcome;
        do {
            container_->next_page(text, options, outcome);
            ASSERT_FALSE(outcome.error.has_value()) << *outcome.error;
            const std::string id = std::to_string(random_() % 20);
            EXPECT_TRUE(container_->upsert(R"({"id":"w)" + id + R"(","pk":"tenant3","r":)" +
                                           std::to_string(random_() % 500) + "}"));
        } while (!outcome.continuation.empty());
        EXPECT_GT(outcome.pages, 5U);
        std::erase_if(outcome.rows, [&](const std::string& row) { return !stays(row); });
        EXPECT_EQ(outcome.rows, expected);
    }
}

/// Items that were written before anything could expire are not yet listed as expired.
TEST(AccessesAlone, TimeToLiveThatIsSwitchedOnLater) {
    TestEngine engine;
    QueryContainerSpec spec;
    spec.partition_key = R"({"paths":["/pk"],"kind":"Hash","version":2})";
    auto container = QueryContainer::create(engine, spec);
    for (int i = 0; i < 50; ++i)
        ASSERT_TRUE(container->upsert(R"({"id":")" + std::to_string(i) + R"(","pk":"a","x":)" +
                                      std::to_string(i % 5) + "}"));
    engine.clock().advance_seconds(100);
    json::Arena arena;
    const std::string& id = container->container().id;
    const std::string body =
        R"({"id":")" + id + R"(","partitionKey":)" + spec.partition_key + R"(,"defaultTtl":10})";
    ASSERT_TRUE(
        rest::by_body::replace_container(engine.catalog(), "q", id, *json::parse(body, arena))
            .ok());
    for (const std::string key : {R"(["a"])", ""}) {
        QueryOptions options;
        options.partition_key = key;
        for (const std::string filter : {"", " WHERE c.x = 2", " WHERE c.x > 2"})
            EXPECT_EQ(container->query("SELECT VALUE COUNT(1) FROM c" + filter, options).rows,
                      std::vector<std::string>{"0"})
                << filter << key;
        const std::string groups = "SELECT c.x, COUNT(1) AS n FROM c GROUP BY c.x";
        EXPECT_TRUE(container->query(groups, options).rows.empty());
    }
}

/// Keys of the first version whose hashes are the same: entries of both lie together.
TEST(AccessesAlone, ChargesOfKeysThatShareAHash) {
    TestEngine engine;
    QueryContainerSpec spec;
    spec.partition_key = R"({"paths":["/pk"],"kind":"Hash","version":1})";
    auto container = QueryContainer::create(engine, spec);
    for (int i = 0; i < 60; ++i)
        for (const std::string key : {"key58286", "key158578"})
            ASSERT_TRUE(container->upsert(R"({"id":")" + std::to_string(i) + R"(","pk":")" + key +
                                          R"(","x":)" + std::to_string(i % 3) + "}"));
    QueryOptions options;
    options.partition_key = R"(["key58286"])";
    const std::string count = "SELECT VALUE COUNT(1) FROM c WHERE c.x = 1";
    const QueryOutcome before = container->query(count, options);
    container->query("SELECT c.x, COUNT(1) AS n FROM c GROUP BY c.x", options);
    const QueryOutcome after = container->query(count, options);
    EXPECT_EQ(before.rows, std::vector<std::string>{"20"});
    EXPECT_EQ(after.rows, before.rows);
    EXPECT_EQ(after.charged_items, before.charged_items);
    EXPECT_EQ(after.charged_entries, before.charged_entries);
}

/// Each run takes time and memory for every item.
TEST_P(Accesses, ManyPathsInsideOneKeyHaveNoRuns) {
    std::string query = "SELECT VALUE COUNT(1) FROM c WHERE c.x > 2 OR c.y > 3 OR c.z > 'z1'";
    EXPECT_EQ(expect_same(query, "tenant3"), std::set<std::string>{"index only"});
    for (int i = 0; i < 1000; ++i) query += " OR c.other" + std::to_string(i) + " > 1";
    EXPECT_EQ(expect_same(query, "tenant3"), std::set<std::string>{"scan"});
}

INSTANTIATE_TEST_SUITE_P(Settings, Accesses,
                         ::testing::Values(Setting{false, false}, Setting{false, true},
                                           Setting{true, false}, Setting{true, true}),
                         [](const auto& parameter) {
                             return std::string(parameter.param.several_partitions ? "Several"
                                                                                   : "One") +
                                    (parameter.param.expires ? "Expiring" : "Lasting");
                         });

}  // namespace
}  // namespace orrery::engine
