// Filters about what arrays and objects hold: found by the scalars in them where the index has
// those, read and charged item by item where it has not.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/query_test_support.h"

namespace orrery::engine {
namespace {

using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryOptions;
using testing_support::QueryOutcome;
using testing_support::TestEngine;

class HeldValues : public ::testing::TestWithParam<bool> {
protected:
    static constexpr int kItems = 400;

    HeldValues() {
        QueryContainerSpec spec;
        spec.several_partitions = GetParam();
        container_ = QueryContainer::create(engine_, spec);
        CHECK(container_.has_value());
        for (int i = 0; i < kItems; ++i) {
            CHECK(container_->upsert(fmt::format(
                R"({{"id":"{0}","lines":[{{"sku":"s{1}","n":{2}}},{{"sku":"x","n":{1}}}],)"
                R"("tags":["t{1}","u{2}",{2}],"o":{{"a":{1},"b":{{"d":"{2}"}}}},"pair":[{1},{2}]}})",
                i, i % 50, i % 3)));
        }
    }
    ~HeldValues() override { container_->drop(); }

    /// The rows, which must be those of a scan.
    QueryOutcome find(const std::string& where) {
        const std::string text = "SELECT VALUE c.id FROM c WHERE " + where;
        QueryOutcome found = container_->query(text);
        EXPECT_FALSE(found.error.has_value()) << where << ": " << *found.error;
        QueryOptions scan;
        scan.use_index = false;
        std::vector<std::string> rows = container_->query(text, scan).rows;
        std::vector<std::string> sorted = found.rows;
        std::sort(rows.begin(), rows.end());
        std::sort(sorted.begin(), sorted.end());
        EXPECT_EQ(sorted, rows) << where;
        return found;
    }

    TestEngine engine_;
    std::optional<QueryContainer> container_;
};

TEST_P(HeldValues, AreLookedUp) {
    struct Case {
        std::string where;
        size_t rows;
    };
    for (const auto& [where, rows] :
         std::vector<Case>{{R"(ARRAY_CONTAINS(c.lines, {"sku": "s7"}, true))", 8},
                           {R"(ARRAY_CONTAINS(c.lines, {"sku": "s7", "n": 1}))", 3},
                           {R"(ARRAY_CONTAINS(c.lines, {"sku": "s7"}))", 0},
                           // Each is there, but not in one element.
                           {R"(ARRAY_CONTAINS(c.lines, {"sku": "s7", "n": 7}, true))", 0},
                           {R"(c.o = {"a": 7, "b": {"d": "1"}})", 3},
                           {R"({"b": {"d": "1"}, "a": 7} = c.o)", 3},
                           {R"(c.pair = [7, 1])", 3},
                           {R"(c.pair = [1, 7])", 0},
                           {R"(ARRAY_CONTAINS_ANY(c.tags, "t7", "t8"))", 16},
                           {R"(ARRAY_CONTAINS_ALL(c.tags, "t7", "u1"))", 3},
                           {R"(ARRAY_CONTAINS_ANY(c.lines, {"sku": "s7", "n": 1}, "t8"))", 3}}) {
        const QueryOutcome found = find(where);
        EXPECT_EQ(found.rows.size(), rows) << where;
        EXPECT_FALSE(found.accesses.contains("scan")) << where;
        EXPECT_LE(found.loaded, 16U) << where;
        EXPECT_EQ(found.charged_items, rows) << where;
        EXPECT_GT(found.charged_seeks, 0U) << where;
    }
}

TEST_P(HeldValues, AreReadAndChargedWhereNoEntryTells) {
    for (const std::string where :
         {"ARRAY_LENGTH(c.tags) = 2", "SetIntersect(c.tags, ['t7']) = ['none']",
          R"(c.o != {"a": 1} AND ARRAY_LENGTH(c.tags) = 2)"}) {
        const QueryOutcome found = find(where);
        EXPECT_EQ(found.rows.size(), 0U) << where;
        EXPECT_EQ(found.accesses, std::set<std::string>{"scan"}) << where;
        EXPECT_EQ(found.charged_items, static_cast<uint64_t>(kItems)) << where;
    }
}

INSTANTIATE_TEST_SUITE_P(Partitions, HeldValues, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Several" : "One"; });

}  // namespace
}  // namespace orrery::engine
