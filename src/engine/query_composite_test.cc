#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/query_test_support.h"

// Walks over composite indexes must give what a sort of all items gives: narrowed by fixed members
// and ranges, inside one key and over the container, whole and in pages.
namespace orrery::engine {
namespace {

using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryOptions;
using testing_support::QueryOutcome;
using testing_support::TestEngine;

constexpr std::string_view kPolicy = R"({"compositeIndexes":[[{"path":"/pk"},{"path":"/r"}],)"
                                     R"([{"path":"/pk"},{"path":"/r","order":"descending"}],)"
                                     R"([{"path":"/pk"},{"path":"/kind"},{"path":"/r"}]]})";

class CompositeWalks : public ::testing::TestWithParam<bool> {
protected:
    CompositeWalks() {
        QueryContainerSpec spec;
        spec.partition_key = R"({"paths":["/pk"],"kind":"Hash","version":2})";
        spec.indexing_policy = kPolicy;
        spec.several_partitions = GetParam();
        container_ = QueryContainer::create(engine_, spec);
        CHECK(container_.has_value());
        for (int i = 0; i < 600; ++i) {
            // Longer than what an index term holds: the keys differ behind the cut.
            const std::string key = "tenant" + std::to_string(random_() % 4) +
                                    (random_() % 2 == 0 ? "" : std::string(150, 'x') + "y");
            EXPECT_TRUE(container_->upsert(R"({"id":")" + std::to_string(i) + R"(","pk":")" + key +
                                           R"(","kind":)" + std::to_string(random_() % 3) +
                                           value_of_r() + "}"));
        }
    }
    ~CompositeWalks() override { container_->drop(); }

    std::string value_of_r() {
        switch (random_() % 8) {
            case 0:
                return "";
            case 1:
                return R"(,"r":null)";
            case 2:
                return R"(,"r":"text)" + std::to_string(random_() % 9) + '"';
            case 3:
                return R"(,"r":[1])";
            default:
                return R"(,"r":)" + std::to_string(static_cast<int>(random_() % 60) - 20);
        }
    }
    std::string key() {
        return "tenant" + std::to_string(random_() % 5) +
               (random_() % 2 == 0 ? "" : std::string(150, 'x') + "y");
    }

    TestEngine engine_;
    std::mt19937_64 random_{7};
    std::optional<QueryContainer> container_;
};

TEST_P(CompositeWalks, GiveWhatASortGives) {
    const std::vector<std::string> filters = {"",
                                              " AND c.r > 5",
                                              " AND c.r >= -3 AND c.r < 20",
                                              " AND c.r <= 0",
                                              " AND c.r = 7",
                                              " AND c.r > 'text3'",
                                              " AND (c.r < 0 OR c.r > 30)",
                                              " AND IS_STRING(c.r)",
                                              " AND c.kind = 1",
                                              " AND c.kind = 1 AND c.r > 5",
                                              " AND NOT IS_DEFINED(c.r)"};
    const std::vector<std::string> orders = {
        "c.pk, c.r",      "c.pk DESC, c.r DESC", "c.pk, c.r DESC",
        "c.pk DESC, c.r", "c.pk, c.kind, c.r",   "c.pk DESC, c.kind DESC, c.r DESC"};
    size_t walks_in_key = 0;
    for (const std::string& filter : filters) {
        for (const std::string& order : orders) {
            const std::string pk = key();
            const std::string text =
                "SELECT VALUE [c.pk, c.kind, c.r, c.id] FROM c WHERE c.pk = '" + pk + "'" + filter +
                " ORDER BY " + order;
            for (const bool in_key : {false, true}) {
                QueryOptions options;
                if (in_key) options.partition_key = "[\"" + pk + "\"]";
                options.use_index = false;
                const QueryOutcome sorted = container_->query(text, options);
                ASSERT_FALSE(sorted.error.has_value()) << text << ": " << *sorted.error;
                options.use_index = true;
                for (const uint32_t page_rows : {testing_support::kUnlimitedPage, 3U}) {
                    options.page_rows = page_rows;
                    const QueryOutcome walked = container_->query(text, options);
                    ASSERT_FALSE(walked.error.has_value()) << text << ": " << *walked.error;
                    EXPECT_EQ(walked.rows, sorted.rows) << text;
                    walks_in_key += in_key && walked.accesses.contains("index order") ? 1 : 0;
                }
            }
        }
    }
    // Where another filter leaves few items, sorting those is cheaper.
    EXPECT_GT(walks_in_key, filters.size() * orders.size());
}

TEST_P(CompositeWalks, ReadNoMoreThanTheyShow) {
    QueryOptions options;
    options.partition_key = R"(["tenant1"])";
    options.page_rows = 5;
    QueryOutcome outcome;
    container_->next_page(
        "SELECT c.id FROM c WHERE c.pk = 'tenant1' AND c.r >= 0 ORDER BY c.pk, c.r", options,
        outcome);
    EXPECT_EQ(outcome.rows.size(), 5U);
    EXPECT_EQ(outcome.accesses, std::set<std::string>{"index order"});
    // Without the key in the filter the composite says nothing about one key.
    QueryOutcome open;
    container_->next_page("SELECT c.id FROM c WHERE c.r >= 0 ORDER BY c.pk, c.r", options, open);
    EXPECT_EQ(open.rows, outcome.rows);
    EXPECT_EQ(open.accesses, std::set<std::string>{"sort"});
}

/// The error says which index would do.
TEST_P(CompositeWalks, OrdersWithoutAnIndexAreRefused) {
    const auto error = [&](const std::string& order) {
        return container_->query("SELECT * FROM c ORDER BY " + order, QueryOptions{})
            .error.value_or("");
    };
    const std::string refusal =
        "The order by query does not have a corresponding composite index that it can be served "
        "from.";
    EXPECT_EQ(error(R"(c.r, c["my kind"].x DESC)"),
              refusal + R"( Add it to the container's indexing policy: "compositeIndexes": )"
                        R"([[{"path": "/r", "order": "ascending"}, )"
                        R"({"path": "/\"my kind\"/x", "order": "descending"}]].)");
    EXPECT_EQ(error("c.r, c.list[0]"), refusal);
    EXPECT_EQ(error("c._etag"),
              "The index path corresponding to the specified order-by item is excluded. System "
              "properties other than _ts are not indexed and cannot be sorted by: sort by _ts, or "
              "by a property of the item's own.");
}

/// Filters without an order use the entries of composite indexes, too.
TEST_P(CompositeWalks, FiltersGiveWhatAScanGives) {
    const std::vector<std::string> filters = {"c.kind = 1 AND c.r = 7",
                                              "c.kind = 1 AND c.r > 5",
                                              "c.kind = 2 AND c.r >= -3 AND c.r < 20",
                                              "c.r > 'text3'",
                                              "c.r = 'text3' AND c.kind = 0",
                                              "c.r = null",
                                              "c.r = [1]",
                                              "IS_ARRAY(c.r)",
                                              "NOT IS_DEFINED(c.r)",
                                              "IS_DEFINED(c.r)",
                                              "c.r != 7",
                                              "c.r = 7 AND c.r = 8",
                                              "c.r IN (1, 2, 3)",
                                              "CONTAINS(c.id, '1') AND c.r = 3"};
    const std::vector<std::string> shapes = {"SELECT VALUE c.id", "SELECT VALUE COUNT(1)",
                                             "SELECT *", "SELECT DISTINCT VALUE c.kind"};
    size_t served = 0;
    for (const std::string& filter : filters) {
        for (const std::string& shape : shapes) {
            const std::string pk = key();
            const std::string text = shape + " FROM c WHERE c.pk = '" + pk + "' AND " + filter;
            for (const bool in_key : {false, true}) {
                QueryOptions options;
                if (in_key) options.partition_key = "[\"" + pk + "\"]";
                options.use_index = false;
                QueryOutcome scanned = container_->query(text, options);
                ASSERT_FALSE(scanned.error.has_value()) << text << ": " << *scanned.error;
                std::sort(scanned.rows.begin(), scanned.rows.end());
                options.use_index = true;
                for (const uint32_t page_rows : {testing_support::kUnlimitedPage, 3U}) {
                    options.page_rows = page_rows;
                    QueryOutcome found = container_->query(text, options);
                    ASSERT_FALSE(found.error.has_value()) << text << ": " << *found.error;
                    std::sort(found.rows.begin(), found.rows.end());
                    EXPECT_EQ(found.rows, scanned.rows) << text;
                    served += found.composites.empty() ? 0 : 1;
                }
            }
        }
    }
    EXPECT_GT(served, filters.size() * shapes.size());
}

TEST_P(CompositeWalks, FiltersReadNoMoreThanTheyShow) {
    const auto rows = [&](const std::string& text, QueryOutcome& outcome) {
        outcome = container_->query(text, QueryOptions{});
        EXPECT_FALSE(outcome.error.has_value()) << text;
        return outcome.rows.size();
    };
    QueryOutcome outcome;
    const size_t found =
        rows("SELECT * FROM c WHERE c.pk = 'tenant1' AND c.kind = 1 AND c.r > 5", outcome);
    EXPECT_GT(found, 0U);
    EXPECT_EQ(outcome.loaded, found);
    EXPECT_EQ(outcome.candidates, found);
    const std::set<std::vector<std::string>> composite = {{"/pk ASC", "/kind ASC", "/r ASC"}};
    EXPECT_EQ(outcome.composites, composite);
    // A gap in the leading members is no use of an index.
    rows("SELECT * FROM c WHERE c.kind = 1 AND c.r > 5", outcome);
    EXPECT_TRUE(outcome.composites.empty());
}

/// The direction of a member means nothing to a filter.
class DescendingMember : public ::testing::TestWithParam<std::string> {
protected:
    DescendingMember() {
        QueryContainerSpec spec;
        spec.indexing_policy = R"({"compositeIndexes":[)" + GetParam() + "]}";
        container_ = QueryContainer::create(engine_, spec);
        CHECK(container_.has_value());
        const std::string longer(300, 'x');  // than what a term holds
        const std::vector<std::string> values = {"",
                                                 ",\"r\":null",
                                                 ",\"r\":true",
                                                 ",\"r\":false",
                                                 ",\"r\":\"\"",
                                                 ",\"r\":[1]",
                                                 ",\"r\":{}",
                                                 R"(,"r":"a")",
                                                 R"(,"r":"ab")",
                                                 R"(,"r":"a\u0000b")",
                                                 R"(,"r":")" + longer + '"',
                                                 R"(,"r":")" + longer + R"(y")"};
        for (int i = 0; i < 400; ++i) {
            const std::string r = i % 3 == 0 ? values[static_cast<size_t>(i / 3) % values.size()]
                                             : ",\"r\":" + std::to_string(i % 61 - 30);
            EXPECT_TRUE(container_->upsert(R"({"id":")" + std::to_string(i) + R"(","pk":"p)" +
                                           std::to_string(i % 5) + R"(","kind":)" +
                                           std::to_string(i % 2) + r + "}"));
        }
    }
    ~DescendingMember() override { container_->drop(); }

    TestEngine engine_;
    std::optional<QueryContainer> container_;
};

TEST_P(DescendingMember, ServesRanges) {
    const std::string longer(300, 'x');
    const std::vector<std::string> ranges = {"c.r > 5",
                                             "c.r >= 5",
                                             "c.r < -29",
                                             "c.r <= -29",
                                             "c.r BETWEEN -2 AND 2",
                                             "(c.r < -25 OR c.r > 25)",
                                             "c.r IN (1, -7, 'a', null)",
                                             "c.r != 3",
                                             "c.r > 'a'",
                                             "c.r >= 'a'",
                                             "c.r <= 'ab'",
                                             "c.r > '" + longer + "'",
                                             "c.r <= '" + longer + "'",
                                             "STARTSWITH(c.r, 'a')",
                                             "STARTSWITH(c.r, 'x')",
                                             "IS_STRING(c.r)",
                                             "IS_BOOL(c.r)",
                                             "IS_NUMBER(c.r)",
                                             "IS_DEFINED(c.r)",
                                             "c.r >= false"};
    for (const std::string& range : ranges) {
        for (const std::string shape : {"SELECT VALUE c.id", "SELECT VALUE COUNT(1)"}) {
            const std::string text = shape + " FROM c WHERE c.kind = 1 AND " + range;
            QueryOptions options;
            options.use_index = false;
            QueryOutcome scanned = container_->query(text, options);
            ASSERT_FALSE(scanned.error.has_value()) << text << ": " << *scanned.error;
            std::sort(scanned.rows.begin(), scanned.rows.end());
            EXPECT_FALSE(scanned.rows.empty()) << text;
            options.use_index = true;
            for (const uint32_t page_rows : {testing_support::kUnlimitedPage, 3U}) {
                options.page_rows = page_rows;
                QueryOutcome found = container_->query(text, options);
                ASSERT_FALSE(found.error.has_value()) << text << ": " << *found.error;
                std::sort(found.rows.begin(), found.rows.end());
                EXPECT_EQ(found.rows, scanned.rows) << text;
                EXPECT_EQ(found.composites.size(), 1U) << text;
            }
        }
    }
}

TEST_P(DescendingMember, NarrowsTheWalkOfAnOrder) {
    const bool three = GetParam().find("/id") != std::string::npos;
    const std::vector<std::string> orders = {
        three ? "c.kind, c.r DESC, c.id" : "c.kind, c.r DESC",
        three ? "c.kind DESC, c.r, c.id DESC" : "c.kind DESC, c.r"};
    for (const std::string& order : orders) {
        for (const std::string range :
             {"c.r > 5", "c.r <= -20", "(c.r < -25 OR c.r > 25)", "c.r >= 'a'", "IS_NUMBER(c.r)"}) {
            const std::string text =
                "SELECT VALUE [c.kind, c.r, c.id] FROM c WHERE c.kind = 1 AND " + range +
                " ORDER BY " + order;
            QueryOptions options;
            options.use_index = false;
            const QueryOutcome sorted = container_->query(text, options);
            ASSERT_FALSE(sorted.error.has_value()) << text << ": " << *sorted.error;
            EXPECT_FALSE(sorted.rows.empty()) << text;
            options.use_index = true;
            for (const uint32_t page_rows : {testing_support::kUnlimitedPage, 3U}) {
                options.page_rows = page_rows;
                EXPECT_EQ(container_->query(text, options).rows, sorted.rows) << text;
            }
        }
    }
}

/// Entries of other values are not read.
TEST_P(DescendingMember, ReadsNoMoreThanItShows) {
    const QueryOutcome outcome =
        container_->query("SELECT * FROM c WHERE c.kind = 1 AND c.r > 25", QueryOptions{});
    EXPECT_FALSE(outcome.rows.empty());
    EXPECT_EQ(outcome.candidates, outcome.rows.size());
    EXPECT_EQ(outcome.loaded, outcome.rows.size());
}

INSTANTIATE_TEST_SUITE_P(Partitions, CompositeWalks, ::testing::Bool());
INSTANTIATE_TEST_SUITE_P(
    Forms, DescendingMember,
    ::testing::Values(R"([{"path":"/kind"},{"path":"/r","order":"descending"}])",
                      R"([{"path":"/kind"},{"path":"/r","order":"descending"},{"path":"/id"}])"));

}  // namespace
}  // namespace orrery::engine
