#include "query/exec/retained.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "base/ended_test_support.h"
#include "json/parse.h"
#include "query/limits.h"
#include "query/query.h"

namespace orrery::query {
namespace {

using json::Value;
using limits::kRetainedBytesMax;
using limits::kRetainedTotalBytesMax;

TEST(RetainedTest, OneRunAndAllRunsHaveTheirLimits) {
    const size_t before = Retained::total();
    {
        std::deque<Retained> runs;
        for (size_t i = 0; i < kRetainedTotalBytesMax / kRetainedBytesMax; ++i) {
            EXPECT_TRUE(runs.emplace_back().hold(1).ok());
            runs.back().release();
            EXPECT_TRUE(runs.back().hold(kRetainedBytesMax).ok());
            EXPECT_EQ(ended(runs.back().hold(kRetainedBytesMax + 1).error()), Ended::kBadRequest);
        }
        Retained one_more;
        EXPECT_EQ(ended(one_more.hold(1).error()), Ended::kUnavailable);
        EXPECT_EQ(one_more.bytes(), 0U);
        runs.pop_back();
        EXPECT_TRUE(one_more.hold(1).ok());
    }
    EXPECT_EQ(Retained::total(), before);
}

class RetainingRunTest : public ::testing::Test {
protected:
    /// Feeds `items` items {"k":"0"}, {"k":"1"}, …; rows are counted and dropped.
    Status run(std::string_view text, int items) {
        const auto query = compile(text);
        if (!query.ok()) return query.status().clone();
        const auto parameters = Parameters::bind(**query, {});
        QueryRun run(**query, *parameters);
        for (int i = 0; i < items; ++i) {
            arena_.clear();
            const std::string item = "{\"k\":\"" + std::to_string(i) + "\"}";
            std::vector<Value> rows;
            TRY_STATUS(run.feed(*json::parse(item, arena_), arena_, rows));
            rows_ += rows.size();
        }
        return run.finish([&](const Value&) {
            ++rows_;
            return Status();
        });
    }
    json::Arena arena_;
    size_t rows_ = 0;
};

TEST_F(RetainingRunTest, GroupsMayBeMoreThanOneItemsMemory) {
    // Together the rows are larger than what evaluating one item may allocate.
    static_assert(7'000 * 10'000 > limits::kEvaluationBytesMax);
    const Status all = run(
        "SELECT c.k, REPLICATE('0123456789', 1000) AS r, COUNT(1) AS n FROM c GROUP BY c.k", 7'000);
    EXPECT_TRUE(all.ok()) << all.error().message;
    EXPECT_EQ(rows_, 7'000U);
}

TEST_F(RetainingRunTest, GroupsOfASubqueryToo) {
    const Status all =
        run("SELECT VALUE COUNT(1) FROM (SELECT c.k, REPLICATE('0123456789', 1000) AS r FROM c "
            "GROUP BY c.k)",
            7'000);
    EXPECT_TRUE(all.ok()) << all.error().message;
    EXPECT_EQ(rows_, 1U);
}

TEST_F(RetainingRunTest, TheTextsOfExtremesCount) {
    const Status refused =
        run("SELECT c.k, MAX(CONCAT(REPLICATE('0123456789', 1000), c.k)) AS m FROM c GROUP BY c.k",
            30'000);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(ended(refused.error()), Ended::kBadRequest);
    EXPECT_NE(refused.error().message.find("256 MB"), std::string::npos);
}

TEST_F(RetainingRunTest, AListIsAValue) {
    const std::string_view text = "SELECT VALUE MAKELIST(REPLICATE('0123456789', 1000)) FROM c";
    EXPECT_TRUE(run(text, 1'000).ok());
    const Status refused = run(text, 2'000);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("16 MB"), std::string::npos) << refused.error().message;
}

TEST_F(RetainingRunTest, ARowThatIsNotTakenEndsTheRun) {
    const auto query = compile("SELECT c.k, COUNT(1) AS n FROM c GROUP BY c.k");
    const auto parameters = Parameters::bind(**query, {});
    QueryRun run(**query, *parameters);
    std::vector<Value> rows;
    for (const char* item : {R"({"k":1})", R"({"k":2})"})
        ASSERT_TRUE(run.feed(*json::parse(item, arena_), arena_, rows).ok());
    size_t offered = 0;
    const Status status = run.finish([&](const Value&) {
        ++offered;
        return Status(errors::bad_request("enough"));
    });
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(offered, 1U);
}

}  // namespace
}  // namespace orrery::query
