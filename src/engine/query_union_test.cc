// ORs whose parts are tried on the values of paths: the union of what the index finds, where that
// costs less than reading every item.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rounds_test_support.h"
#include "engine/query_test_support.h"

namespace orrery::engine {
namespace {

using testing_support::kUnlimitedPage;
using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryOptions;
using testing_support::QueryOutcome;
using testing_support::TestEngine;

class Unions : public ::testing::TestWithParam<bool> {
protected:
    static constexpr int kItems = 1200;

    Unions() {
        QueryContainerSpec spec;
        spec.partition_key = R"({"paths":["/pk"],"kind":"Hash","version":2})";
        spec.several_partitions = GetParam();
        container_ = QueryContainer::create(engine_, spec);
        CHECK(container_.has_value());
        for (int i = 0; i < kItems; ++i) {
            CHECK(container_->upsert(item(i)));
            if (i == kItems / 2) CHECK(engine_.store().flush().ok());
        }
    }
    ~Unions() override { container_->drop(); }

    /// Every path but "n" has values that tests must leave to the item, or pass over.
    static std::string item(int i) {
        std::string out =
            fmt::format(R"({{"id":"{}","pk":"p{}","n":{},"kind":"kind{}")", i, i % 40, i, i % 4);
        if (i % 9 == 0) {
            out += R"(,"s":null)";
        } else if (i % 31 == 0) {
            out += fmt::format(R"(,"s":"{}x{}")", std::string(256, 'k'), i);  // cut
        } else if (i % 37 == 0) {
            out += fmt::format(R"(,"s":["s{}"])", i);
        } else if (i % 7 != 0) {
            out += fmt::format(R"(,"s":"s{:04}s")", i);
        }
        if (i % 13 == 0) {
            // One term, which is the whole value of some.
            const int64_t large = 9007199254740992 + (i % 4) / 2;
            out += fmt::format(R"(,"t":{})", i % 2 == 0 ? large : i);
        } else if (i % 11 != 0) {
            out += fmt::format(R"(,"t":"T{:04}","u":{{"v":"v{:04}v"}})", i, i);
        }
        if (i % 100 == 0) out += fmt::format(R"(,"w":"w{}","x":"x{}","y":"y{}")", i, i, i);
        return out + "}";
    }

    /// How the rows of a query are found, in all partitions the same way: "index (/a or /b)".
    std::string access(const std::string& where, QueryOptions options = {}) {
        const QueryOutcome outcome = container_->query("SELECT * FROM c WHERE " + where, options);
        EXPECT_FALSE(outcome.error.has_value()) << where << ": " << *outcome.error;
        std::string out;
        for (const std::string& one : outcome.accesses) out += (out.empty() ? "" : ", ") + one;
        for (const std::string& one : outcome.details) out += " " + one;
        return out;
    }
    /// Distinct values of a path, as the index has them, over all partitions.
    uint64_t values(const std::string& path) {
        const QueryOutcome outcome = container_->query("SELECT VALUE " + path + " FROM c");
        std::vector<std::string> all = outcome.rows;
        for (std::string& one : all)
            if (one[0] == '[' || one[0] == '{') one.resize(1);
        // A string that is cut, and a number that is not the only one of its term, is not tested.
        std::erase_if(all, [](const std::string& one) {
            return one.size() > 256 || one == "9007199254740993";
        });
        std::sort(all.begin(), all.end());
        return static_cast<uint64_t>(std::unique(all.begin(), all.end()) - all.begin());
    }

    TestEngine engine_;
    std::optional<QueryContainer> container_;
};

TEST_P(Unions, AreReadFromTheIndex) {
    for (const std::string where :
         {"CONTAINS(c.s, '77') OR CONTAINS(c.t, '88')", "c.s LIKE '%77%' OR c.t LIKE '%88'",
          "RegexMatch(c.s, '7[78]s$') OR RegexMatch(c.t, '^t000', 'i')",
          "ENDSWITH(c.s, '77S', true) OR STARTSWITH(c.t, 't000', true)",
          "UPPER(c.s) = 'S0077S' OR LOWER(c.t) = 't0088'",
          "StringEquals(c.s, 'S0077S', true) OR c.t = 'T0088'",
          "CONTAINS(c.s, '77') OR c.t IN ('T0088', 'T0089') OR CONTAINS(c.s, '99')",
          "CONTAINS(c.s, '77') OR (CONTAINS(c.t, '88') AND c.n + LENGTH(c.s) > 5)",
          "NOT (NOT CONTAINS(c.s, '77') AND NOT CONTAINS(c.t, '88'))"})
        EXPECT_EQ(access(where), "index (/s or /t)") << where;
    EXPECT_EQ(access("CONTAINS(c.s, '77') OR (c.t = 'T0088' AND c.n + LENGTH(c.s) > 5)"),
              "index (/s or (/t))");
    EXPECT_EQ(access("CONTAINS(c.s, '77') OR CONTAINS(c.s, '88')"), "index /s");
    EXPECT_EQ(access("CONTAINS(c.s, '77') OR c.s = 's0005s'"), "index /s");
    EXPECT_EQ(access("CONTAINS(c.s, 'none') OR CONTAINS(c.u.v, 'none')"), "index (/s or /u/v)");
    EXPECT_EQ(access("CONTAINS(c.s, '77') OR CONTAINS(c.t, '88') OR CONTAINS(c.u.v, '99')"),
              "index (/s or /t or /u/v)");
}

TEST_P(Unions, AreNotReadFromTheIndexWhereAScanCostsLess) {
    // Many items match.
    EXPECT_EQ(access("CONTAINS(c.s, '1') OR CONTAINS(c.t, '2')"), "scan every item");
    EXPECT_EQ(access("CONTAINS(c.s, '77') OR c.n > 300"), "scan every item");
    EXPECT_EQ(access("CONTAINS(c.s, '77') OR NOT CONTAINS(c.t, '88')"), "scan every item");
    // Four paths that most items have are more entries than it takes to read the items …
    EXPECT_EQ(access("CONTAINS(c.s, '77') OR CONTAINS(c.t, '88') OR CONTAINS(c.u.v, '99') OR "
                     "CONTAINS(c.id, '777')"),
              "scan every item");
    // … four that few items have are not.
    EXPECT_EQ(access("CONTAINS(c.w, '7') OR CONTAINS(c.x, '8') OR CONTAINS(c.y, '9') OR "
                     "CONTAINS(c.s, '777')"),
              "index (/w or /x or /y or /s)");
    // One part alone would need every item.
    EXPECT_EQ(access("CONTAINS(c.s, '77') OR CONTAINS(c.t, c.s)"), "scan every item");
    EXPECT_EQ(access("CONTAINS(c.s, '77') OR NOT IS_DEFINED(c.t)"), "scan every item");
    // Every page walks the values anew; those of the last path are four.
    QueryOptions pages;
    pages.page_rows = 2;
    const std::string few = "CONTAINS(c.s, '77') OR CONTAINS(c.t, '77')";
    EXPECT_EQ(access(few), "index (/s or /t)");
    EXPECT_EQ(access(few, pages), "scan every item");
    EXPECT_EQ(access("CONTAINS(c.kind, '9') OR c.n IN (1, 2, 3, 4, 5, 6, 7, 8, 9)", pages),
              "index (/kind or /n)");
    // What is found soon is not looked for in the index.
    EXPECT_EQ(
        container_->query("SELECT TOP 3 * FROM c WHERE CONTAINS(c.s, 's') OR c.n > 3").accesses,
        std::set<std::string>{"scan"});
}

/// Whatever the plan: whole and in pages, in order and not, everywhere and in one key.
TEST_P(Unions, HaveTheRowsOfAScan) {
    const std::vector<std::string> filters = {
        "CONTAINS(c.s, '77') OR CONTAINS(c.t, '88')",
        "CONTAINS(c.s, 'x') OR CONTAINS(c.t, '88')",
        "c.s LIKE '%x6%' OR c.t = 9007199254740992 OR c.t * 2 = 26",
        "c.s LIKE '%x6%' OR c.t = 9007199254740993",
        "c.s LIKE '%x6%' OR TOSTRING(c.t) = '9007199254740993'",
        "c.s LIKE '%x6%' OR TOSTRING(c.t) = '9007199254740992'",
        "ARRAY_LENGTH(c.s) = 1 OR ENDSWITH(c.t, '99')",
        "NOT (CONTAINS(c.s, '0') AND c.t < 'T1')",
        "NOT (CONTAINS(c.s, 's') OR CONTAINS(c.t, 'T'))",
        "CONTAINS(c.s, '77') OR NOT CONTAINS(c.kind, 'k')",
        "CONTAINS(c.s, '77') OR CONTAINS(c.s, 'x93') OR c.n = 5",
        "(CONTAINS(c.s, '77') AND CONTAINS(c.t, '7')) OR (CONTAINS(c.t, '88') AND c.n > 500)",
        "CONTAINS(c.w, '7') OR CONTAINS(c.x, '8') OR CONTAINS(c.y, '9') OR CONTAINS(c.s, '777')",
        "CONTAINS(c.s, '77') OR IS_NULL(c.s)",
        "(CONTAINS(c.s, '7') OR CONTAINS(c.t, '8')) AND CONTAINS(c.id, '9') AND c.n > 100",
    };
    size_t cases = 0;
    for (const std::string& filter : filters) {
        for (const std::string query :
             {"SELECT * FROM c WHERE {}", "SELECT VALUE c.n FROM c WHERE {}",
              "SELECT c.id FROM c WHERE {} ORDER BY c.n DESC",
              "SELECT TOP 9 VALUE [c.s, c.t] FROM c WHERE {} ORDER BY c.s",
              "SELECT VALUE COUNT(1) FROM c WHERE {}",
              "SELECT c.kind, COUNT(1) AS n FROM c WHERE {} GROUP BY c.kind"}) {
            if (!takes_turn(cases++, GetParam() ? 1 : 0, 2)) continue;
            const std::string text = fmt::format(fmt::runtime(query), filter);
            for (const std::string key : {"", R"(["p1"])"}) {
                QueryOptions options;
                options.partition_key = key;
                options.use_index = false;
                QueryOutcome plain = container_->query(text, options);
                ASSERT_FALSE(plain.error.has_value()) << text << ": " << *plain.error;
                options.use_index = true;
                const bool ordered = text.find("ORDER BY") != std::string::npos;
                if (!ordered) std::sort(plain.rows.begin(), plain.rows.end());
                for (const uint32_t rows : {kUnlimitedPage, 7U}) {
                    options.page_rows = rows;
                    QueryOutcome served = container_->query(text, options);
                    ASSERT_FALSE(served.error.has_value()) << text << ": " << *served.error;
                    if (!ordered) std::sort(served.rows.begin(), served.rows.end());
                    EXPECT_EQ(served.rows, plain.rows) << text << " in '" << key << "' " << rows;
                }
            }
        }
    }
}

TEST_P(Unions, AreCountedWithoutReadingItems) {
    const std::string count = "SELECT VALUE COUNT(1) FROM c WHERE ";
    for (const std::string key : {"", R"(["p1"])"}) {
        QueryOptions options;
        options.partition_key = key;
        const QueryOutcome outcome = container_->query(
            count + "CONTAINS(c.u.v, '77') OR ENDSWITH(c.kind, '3') OR c.n = 5", options);
        EXPECT_EQ(outcome.accesses, std::set<std::string>{"index only"});
        EXPECT_EQ(outcome.details, std::set<std::string>{"(/u/v or /kind or /n)"});
        EXPECT_EQ(outcome.loaded, 0U);
        EXPECT_EQ(outcome.charged_items, 0U);
        EXPECT_EQ(std::to_string(outcome.charged_entries), outcome.rows.at(0));
    }
    // As for rows, four paths are too many, unless they are the runs of one key.
    const std::string four =
        "CONTAINS(c.kind, 'q') OR CONTAINS(c.s, 'q') OR CONTAINS(c.u.v, 'q') OR "
        "CONTAINS(c.id, 'q')";
    EXPECT_EQ(container_->query(count + four).accesses, std::set<std::string>{"scan"});
    QueryOptions in_key;
    in_key.partition_key = R"(["p1"])";
    EXPECT_EQ(container_->query(count + four, in_key).accesses,
              std::set<std::string>{"index only"});
}

TEST_P(Unions, NarrowOrderedRows) {
    const QueryOutcome outcome = container_->query(
        "SELECT * FROM c WHERE CONTAINS(c.s, '77') OR CONTAINS(c.t, '88') ORDER BY c.n");
    EXPECT_EQ(outcome.accesses, std::set<std::string>{"sort"});
    EXPECT_EQ(outcome.details, std::set<std::string>{"(/s or /t)"});
    EXPECT_LT(outcome.loaded, kItems / 4);
}

/// Look-ups are those of the parts that are looked up; a test is one entry for every distinct value
/// of its path, once for all pages; loaded are the items that match.
TEST_P(Unions, ChargesFollowTheFormula) {
    const auto partitions = container_->container().ranges->ranges.size();
    const std::string text = "SELECT * FROM c WHERE CONTAINS(c.s, '77') OR CONTAINS(c.t, '88')";
    const QueryOutcome whole = container_->query(text);
    const uint64_t tested = values("c.s") + values("c.t");
    EXPECT_EQ(whole.charged_items, whole.rows.size());
    EXPECT_GT(whole.rows.size(), 5U);
    EXPECT_EQ(whole.charged_seeks, 0U);
    // Equal values in two partitions are one in each.
    EXPECT_GE(whole.charged_entries, tested);
    EXPECT_LE(whole.charged_entries, tested + 4 * partitions);
    const QueryOutcome looked_up = container_->query(text + " OR c.n IN (1, 2)");
    EXPECT_EQ(looked_up.charged_seeks, 2 * partitions);
    EXPECT_EQ(looked_up.charged_entries, whole.charged_entries);
    EXPECT_EQ(looked_up.charged_items, whole.charged_items + 2);
    // The values of a path count once, whatever number of tests it has.
    const QueryOutcome more = container_->query(text + " OR CONTAINS(c.s, '99')");
    EXPECT_EQ(more.charged_entries, whole.charged_entries);
    QueryOptions pages;
    pages.page_rows = 12;
    const std::string few = "SELECT * FROM c WHERE CONTAINS(c.w, '0') OR CONTAINS(c.x, '1')";
    const QueryOutcome paged = container_->query(few, pages);
    const QueryOutcome once = container_->query(few);
    EXPECT_EQ(paged.accesses, std::set<std::string>{"index"});
    EXPECT_EQ(paged.charged_entries, once.charged_entries);
    EXPECT_EQ(paged.charged_items, once.charged_items);
    // Whether the page is so short that a scan is cheaper does not matter.
    pages.page_rows = 2;
    const QueryOutcome scanned = container_->query(text, pages);
    EXPECT_EQ(scanned.accesses, std::set<std::string>{"scan"});
    EXPECT_EQ(scanned.charged_items, whole.charged_items);
    EXPECT_EQ(scanned.charged_entries, whole.charged_entries);
    // Where so many match that not all values are tried, none is charged.
    const QueryOutcome scan =
        container_->query("SELECT * FROM c WHERE CONTAINS(c.s, 's') OR CONTAINS(c.t, '88')");
    EXPECT_EQ(scan.accesses, std::set<std::string>{"scan"});
    EXPECT_EQ(scan.charged_items, scan.rows.size());
    EXPECT_EQ(scan.charged_entries, 0U);
}

TEST_P(Unions, IndexMetricsNameEveryPath) {
    QueryRequest request;
    request.text = "SELECT * FROM c WHERE CONTAINS(c.s, '77') OR c.t LIKE '%88' OR c.n = 5";
    const auto answer = engine_.engine().query(container_->container(), request);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->page.index_use.utilized, (std::vector<std::string>{"/s/?", "/t/?", "/n/?"}));
    EXPECT_TRUE(answer->page.index_use.potential.empty());
    ASSERT_TRUE(container_->set_policy(
        R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/s/?"}]})"));
    const auto without = engine_.engine().query(container_->container(), request);
    ASSERT_TRUE(without.ok());
    EXPECT_TRUE(without->page.index_use.utilized.empty());
    EXPECT_EQ(without->page.index_use.potential, std::vector<std::string>{"/s/?"});
}

INSTANTIATE_TEST_SUITE_P(Partitions, Unions, ::testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "Several" : "One"; });

}  // namespace
}  // namespace orrery::engine
