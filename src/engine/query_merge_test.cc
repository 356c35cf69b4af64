#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "client_plan/client_plan.h"
#include "engine/query_test_support.h"

// What is refused over several logical partitions, and answered inside one.
namespace orrery::engine {
namespace {

using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryOptions;
using testing_support::TestEngine;

class QueryMerge : public ::testing::TestWithParam<bool> {
protected:
    QueryMerge() {
        QueryContainerSpec spec;
        spec.partition_key = R"({"paths":["/pk"],"kind":"Hash","version":2})";
        spec.several_partitions = GetParam();
        container_ = QueryContainer::create(engine_, spec);
        CHECK(container_.has_value());
        for (const char* item : {R"({"id":"1","pk":"a","k":1})", R"({"id":"2","pk":"b","k":1})"})
            CHECK(container_->upsert(item));
    }

    /// The error of a request over the container; empty: there is none.
    std::string error(const std::string& text) {
        QueryRequest request;
        request.text = text;
        request.over_container = true;
        const auto answer = engine_.engine().query(container_->container(), request);
        const std::string message = answer.ok() ? "" : json::error_text(answer.error());
        const auto light = query_in_memory(engine_.engine(), container_->container(), request);
        EXPECT_TRUE(!light || (light->ok() ? "" : json::error_text(light->error())) == message)
            << text;
        return message;
    }

    static std::string grouped(size_t aggregates, const std::string& where = "") {
        std::string text = "SELECT c.k";
        for (size_t i = 1; i <= aggregates; ++i) text += ", COUNT(" + std::to_string(i) + ")";
        return text + " FROM c " + where + " GROUP BY c.k";
    }

    TestEngine engine_;
    std::optional<QueryContainer> container_;
};

TEST_P(QueryMerge, AggregatesBesideGroups) {
    constexpr size_t kMost = client_plan::kGroupByAggregatesMax;
    EXPECT_EQ(error(grouped(kMost)), "");
    EXPECT_EQ(error(grouped(kMost + 1)),
              "The query has 22 aggregates. With GROUP BY, a query over several partitions may "
              "have at most 21.");
    EXPECT_EQ(error(grouped(kMost + 1, "WHERE c.pk = 'a'")), "");
    EXPECT_NE(error(grouped(kMost + 1, "WHERE c.pk IN ('a', 'b')")), "");
    std::string alone = "SELECT COUNT(1)";
    for (size_t i = 2; i <= kMost + 1; ++i) alone += ", COUNT(" + std::to_string(i) + ")";
    EXPECT_EQ(error(alone + " FROM c"), "");

    QueryOptions inside;
    inside.partition_key = R"(["a"])";
    const auto rows = container_->query(grouped(kMost + 1), inside);
    EXPECT_FALSE(rows.error.has_value()) << *rows.error;
    EXPECT_EQ(rows.rows.size(), 1U);
}

TEST_P(QueryMerge, Compositions) {
    EXPECT_NE(error("SELECT VALUE COUNT(1) > 0 FROM c").find("Compositions of aggregates"),
              std::string::npos);
    EXPECT_EQ(error("SELECT VALUE COUNT(1) > 0 FROM c WHERE c.pk = 'a'"), "");
    EXPECT_NE(error("SELECT VALUE COUNT(1) > 0 FROM c WHERE EXISTS(SELECT VALUE 1 WHERE c.pk = "
                    "'a')"),
              "");
}

INSTANTIATE_TEST_SUITE_P(Partitions, QueryMerge, ::testing::Bool());

}  // namespace
}  // namespace orrery::engine
