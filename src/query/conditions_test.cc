#include "query/conditions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "json/parse.h"

namespace orrery::query {
namespace {

/// What the index may do for a filter, in short: paths with "=" (single terms) or "~" (ranges), "?"
/// for a test of every value, "!" where the item decides, "-" for conjuncts it cannot serve.
class ConditionsTest : public ::testing::Test {
protected:
    std::string analyze(const std::string& where, const std::string& from = "c") {
        const auto compiled = compile("SELECT VALUE 1 FROM " + from + " WHERE " + where);
        if (!compiled.ok()) return compiled.error().message;
        kept_ = *compiled;
        const auto list =
            json::parse(R"([{"name":"@p","value":5},{"name":"@list","value":[1,"x"]}])", arena_);
        const auto parameters = Parameters::bind(*kept_, *list);
        EXPECT_TRUE(parameters.ok());
        IndexFacts facts;
        facts.is_indexed = [](const IndexPathSteps& path) { return path[0].name != "off"; };
        facts.posts_undefined = [](const IndexPathSteps& path) { return path[0].name == "known"; };
        const Filter filter = analyze_filter(*kept_, *parameters, facts);
        std::string out;
        for (const Conjunct& conjunct : filter.conjuncts) {
            if (!out.empty()) out += " & ";
            out += conjunct.condition ? text(*conjunct.condition) : "-";
        }
        seeks_ = filter.seeks();
        missing_ = filter.missing_paths.size();
        return out;
    }

    static std::string text(const Condition& condition) {
        std::string out;
        if (condition.kind == Condition::Kind::kTerms) {
            if (condition.ranges.empty()) return "never";
            for (const auto& step : condition.path)
                out += step.any_element ? "[]" : "." + step.name;
            const bool points = std::all_of(condition.ranges.begin(), condition.ranges.end(),
                                            [](const auto& r) { return r.single; });
            out += condition.test != nullptr ? "?" : points ? "=" : "~";
            if (condition.ranges.size() > 1) out += std::to_string(condition.ranges.size());
        } else {
            const bool all = condition.kind == Condition::Kind::kAll;
            for (const Condition& part : condition.parts) {
                out += out.empty() ? "(" : all ? " and " : " or ";
                out += text(part);
            }
            out += ")";
        }
        return condition.exact ? out : out + "!";
    }

    json::Arena arena_;
    std::shared_ptr<const CompiledQuery> kept_;
    uint64_t seeks_ = 0;
    size_t missing_ = 0;
};

TEST_F(ConditionsTest, Comparisons) {
    EXPECT_EQ(analyze("c.a = 1"), ".a=");
    EXPECT_EQ(analyze("@p = c.a.b"), ".a.b=");
    EXPECT_EQ(analyze("c.a > 1 AND 'x' >= c[\"b\"]"), ".a~ & .b~");
    EXPECT_EQ(analyze("c.a != 1"), ".a~2");
    EXPECT_EQ(analyze("NOT (c.a != -1)"), ".a=");
    EXPECT_EQ(analyze("c.a = @list"), ".a=!");
    EXPECT_EQ(analyze("c.a = [1]"), ".a?");
    EXPECT_EQ(analyze("c.a < null"), "never");
    EXPECT_EQ(analyze("c.a <= null"), ".a=");
    EXPECT_EQ(analyze("NOT (c.a < null)"), "never");
    EXPECT_EQ(analyze("c.a > @list"), "never");
    EXPECT_EQ(analyze("c.flag"), ".flag=");
    EXPECT_EQ(analyze("NOT c.flag"), ".flag=");
    EXPECT_EQ(analyze("c.a = c.b"), "-");
    EXPECT_EQ(analyze("c.a BETWEEN 1 AND 5"), ".a~");
    EXPECT_EQ(analyze("c.a NOT BETWEEN 1 AND 5"), ".a~2");
    EXPECT_EQ(analyze("c.a BETWEEN 1 AND 'x'"), "never");
}

TEST_F(ConditionsTest, ListsAndLogic) {
    EXPECT_EQ(analyze("c.a IN (1, 2, 'x')"), ".a=3");
    EXPECT_EQ(seeks_, 3u);
    EXPECT_EQ(analyze("c.a NOT IN (1, 2)"), ".a~3");
    EXPECT_EQ(analyze("c.a = 1 OR c.a = 3"), ".a=2");
    EXPECT_EQ(analyze("c.a = 1 OR c.b > 3"), "(.a= or .b~)");
    EXPECT_EQ(seeks_, 2u);
    EXPECT_EQ(analyze("c.a = 1 OR LOWER(c.b) = c.d"), "-");
    EXPECT_EQ(analyze("(c.a = 1 AND c.a + c.b > 2) OR c.b = 3"), "((.a=)! or .b=)!");
    EXPECT_EQ(analyze("NOT (c.a = 1 OR c.b = 2)"), "(.a~2 and .b~2)");
    EXPECT_EQ(analyze("true AND c.a = 1"), ".a=");
    EXPECT_EQ(analyze("false OR c.a = 1"), ".a=");
    EXPECT_EQ(analyze("((c.a = 1) AND (c.b = 2))"), ".a= & .b=");
}

TEST_F(ConditionsTest, Functions) {
    EXPECT_EQ(analyze("IS_DEFINED(c.a)"), ".a~");
    EXPECT_EQ(analyze("NOT IS_DEFINED(c.a)"), "-");
    EXPECT_EQ(analyze("NOT IS_DEFINED(c.known)"), ".known=");
    EXPECT_EQ(analyze("IS_NUMBER(c.a) AND IS_NULL(c.b)"), ".a~ & .b=");
    EXPECT_EQ(analyze("STARTSWITH(c.a, 'x')"), ".a~");
    EXPECT_EQ(analyze("STARTSWITH(c.a, 'x', true)"), ".a?");
    EXPECT_EQ(analyze("c.a LIKE 'abc'"), ".a=");
    EXPECT_EQ(analyze("c.a LIKE 'abc%'"), ".a~");
    EXPECT_EQ(analyze("c.a LIKE '%abc'"), ".a?");
    EXPECT_EQ(analyze("CONTAINS(c.a, 'x')"), ".a?");
    EXPECT_EQ(seeks_, 0u);
    EXPECT_EQ(analyze("CONTAINS(c.a, 'x') AND c.b = 1"), "- & .b=");
    EXPECT_EQ(analyze("CONTAINS(c.a, c.b)"), "-");
    EXPECT_EQ(analyze("(c.a ?? 1) = 1"), "-");  // true where the path is missing
    EXPECT_EQ(analyze("RAND() > 0 AND c.a + 1 > RAND()"), "- & -");
}

TEST_F(ConditionsTest, Arrays) {
    EXPECT_EQ(analyze("ARRAY_CONTAINS(c.tags, 'x')"), ".tags[]=");
    EXPECT_EQ(analyze("ARRAY_CONTAINS(c.tags, {\"a\": 1}, true)"), ".tags?");
    EXPECT_EQ(analyze("ARRAY_CONTAINS([1, 2], c.a)"), ".a=2");
    EXPECT_EQ(analyze("ARRAY_CONTAINS(@list, c.a)"), ".a=2");
    EXPECT_EQ(analyze("c.list[0].a = 1"), ".list[].a=!");
    EXPECT_EQ(analyze("t.a = 1 AND c.b = 2", "c JOIN t IN c.list"), ".list[].a=! & .b=");
    EXPECT_EQ(analyze("EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'x')"), ".tags[]=!");
    EXPECT_EQ(analyze("x = 5", "x IN c.list"), ".list[]=!");
}

TEST_F(ConditionsTest, PathsOutsideTheIndexAreNamed) {
    EXPECT_EQ(analyze("c.off = 1 AND c.a = 2"), "- & .a=");
    EXPECT_EQ(missing_, 1u);
    EXPECT_EQ(analyze("c.off = 1 OR c.a = 2"), "-");
}

}  // namespace
}  // namespace orrery::query
