#include "query/plan/filter_analysis.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "json/parse.h"
#include "json/problems.h"

namespace orrery::query {
namespace {

/// What the index may do for a filter, in short: paths with "=" (single terms) or "~" (ranges), "?"
/// for a test of every value, "!" where the item decides, "-" for conjuncts it cannot serve.
class ConditionsTest : public ::testing::Test {
protected:
    std::string analyze(const std::string& where, const std::string& from = "c") {
        const auto compiled = compile("SELECT VALUE 1 FROM " + from + " WHERE " + where);
        if (!compiled.ok()) return json::error_text(compiled.error());
        kept_ = *compiled;
        const auto list =
            json::parse(R"([{"name":"@p","value":5},{"name":"@list","value":[1,"x"]}])", arena_);
        const auto parameters = Parameters::bind(*kept_, *list);
        EXPECT_TRUE(parameters.ok());
        IndexFacts facts;
        facts.is_indexed = [this](const IndexPathSteps& path) {
            return indexed_ && path[0].name != "off";
        };
        facts.spatial = [](const IndexPathSteps&) -> const index::SpatialGrid* { return nullptr; };
        facts.posts_undefined = [](const IndexPathSteps& path) { return path[0].name == "known"; };
        const Filter filter = analyze_filter(*kept_, *parameters, facts);
        std::string out;
        for (const Conjunct& conjunct : filter.conjuncts) {
            if (!out.empty()) out += " & ";
            out += conjunct.condition ? text(*conjunct.condition) : "-";
        }
        seeks_ = filter.seeks();
        missing_.clear();
        const auto note = [&](const IndexPathSteps& path, const char* ending) {
            if (!missing_.empty()) missing_ += ' ';
            for (const auto& step : path) missing_ += step.any_element ? "[]" : "." + step.name;
            missing_ += ending;
        };
        for (const IndexPathSteps& path : filter.missing_paths) note(path, "");
        for (const IndexPathSteps& path : filter.missing_spatial) note(path, "/*");
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
            out += !condition.tests.empty() ? "?" : points ? "=" : "~";
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
    bool indexed_ = true;  ///< all but "off"
    uint64_t seeks_ = 0;
    std::string missing_;
};

TEST_F(ConditionsTest, Comparisons) {
    EXPECT_EQ(analyze("c.a = 1"), ".a=");
    EXPECT_EQ(analyze("@p = c.a.b"), ".a.b=");
    EXPECT_EQ(analyze("c.a > 1 AND 'x' >= c[\"b\"]"), ".a~ & .b~");
    EXPECT_EQ(analyze("c.a != 1"), ".a~2");
    EXPECT_EQ(analyze("NOT (c.a != -1)"), ".a=");
    EXPECT_EQ(analyze("c.a = @list"), "(.a[]=! and .a[]=!)!");
    EXPECT_EQ(analyze("c.a = [1]"), ".a[]=!");
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

/// Each path is walked once, whatever number of tests it has.
TEST_F(ConditionsTest, TestsInsideAnOr) {
    EXPECT_EQ(analyze("CONTAINS(c.a, 'x') OR c.b = 1"), "(.a? or .b=)");
    EXPECT_EQ(seeks_, 1u);
    EXPECT_EQ(analyze("CONTAINS(c.a, 'x') OR c.a = 1"), ".a?");
    EXPECT_EQ(analyze("c.a LIKE '%x%' OR RegexMatch(c.b, 'y') OR ENDSWITH(c.a, 'z', true)"),
              "(.a? or .b?)");
    EXPECT_EQ(seeks_, 0u);
    EXPECT_EQ(analyze("c.a = 1 OR UPPER(c.b) = 'X' OR c.a = 2 OR STARTSWITH(c.b, 'y', true)"),
              "(.a=2 or .b?)");
    EXPECT_EQ(seeks_, 2u);
    EXPECT_EQ(analyze("CONTAINS(c.a, 'x') OR (c.b = 1 AND CONTAINS(c.d, 'y'))"),
              "(.a? or (.b=)!)!");
    // Of an AND one test is enough, of one path before several.
    EXPECT_EQ(analyze("c.b = 1 OR (c.a + c.b > 2 AND CONTAINS(c.d, 'y'))"), "(.b= or .d?!)!");
    EXPECT_EQ(analyze("c.b = 1 OR (CONTAINS(c.a, 'x') AND CONTAINS(c.d, 'y'))"), "(.b= or .a?!)!");
    EXPECT_EQ(analyze("c.b = 1 OR (true AND CONTAINS(c.d, 'y'))"), "(.b= or .d?)");
    EXPECT_EQ(analyze("(CONTAINS(c.a, 'x') OR CONTAINS(c.b, 'y')) AND CONTAINS(c.d, 'z')"),
              "- & .d?");
    EXPECT_EQ(analyze("(CONTAINS(c.a, 'x') OR CONTAINS(c.b, 'y')) AND c.a + c.b > 1"),
              "(.a? or .b?) & -");
    // Nothing is tested where something else narrows.
    EXPECT_EQ(analyze("(CONTAINS(c.a, 'x') OR CONTAINS(c.b, 'y')) AND c.d = 1"), "- & .d=");
    EXPECT_EQ(analyze("CONTAINS(c.a, 'x') OR CONTAINS(c.b, c.d)"), "-");
    EXPECT_EQ(analyze("CONTAINS(c.a, 'x') OR (c.b ?? 1) = 1"), "-");
    EXPECT_EQ(analyze("CONTAINS(c.a, 'x') OR true"), "-");
    EXPECT_EQ(analyze("CONTAINS(c.a, 'x') OR false OR c.b = null"), "(.a? or .b=)");
}

/// What must be false is an OR where what must be true is an AND.
TEST_F(ConditionsTest, TestsInsideANegation) {
    EXPECT_EQ(analyze("NOT (CONTAINS(c.a, 'x') AND c.b = 1)"), "(.a? or .b~2)");
    EXPECT_EQ(analyze("NOT (CONTAINS(c.a, 'x') AND NOT (c.b = 1))"), "(.a? or .b=)");
    EXPECT_EQ(analyze("c.b = 1 OR NOT CONTAINS(c.a, 'x')"), "(.b= or .a?)");
    EXPECT_EQ(analyze("c.b = 1 OR NOT (CONTAINS(c.a, 'x') OR CONTAINS(c.d, 'y'))"),
              "(.b= or .a?!)!");
    // False where the path is missing.
    EXPECT_EQ(analyze("c.b = 1 OR NOT (IS_DEFINED(c.a) AND LENGTH(c.a) = 2)"), "-");
    EXPECT_EQ(analyze("c.b = 1 OR NOT IS_INTEGER(c.a)"), "-");
}

TEST_F(ConditionsTest, Arrays) {
    EXPECT_EQ(analyze("ARRAY_CONTAINS(c.tags, 'x')"), ".tags[]=");
    EXPECT_EQ(analyze("ARRAY_CONTAINS(c.tags, {\"a\": 1}, true)"), ".tags[].a=!");
    EXPECT_EQ(analyze("ARRAY_CONTAINS([1, 2], c.a)"), ".a=2");
    EXPECT_EQ(analyze("ARRAY_CONTAINS(@list, c.a)"), ".a=2");
    EXPECT_EQ(analyze("c.list[0].a = 1"), ".list[].a=!");
    EXPECT_EQ(analyze("t.a = 1 AND c.b = 2", "c JOIN t IN c.list"), ".list[].a=! & .b=");
    EXPECT_EQ(analyze("EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'x')"), ".tags[]=!");
    EXPECT_EQ(analyze("x = 5", "x IN c.list"), ".list[]=!");
}

/// Arrays and objects are found by the scalars that they hold.
TEST_F(ConditionsTest, ConstantsThatHoldOthers) {
    EXPECT_EQ(analyze("ARRAY_CONTAINS(c.l, {\"a\": 1, \"b\": {\"d\": @p}}, true)"),
              "(.l[].a=! and .l[].b.d=!)!");
    EXPECT_EQ(seeks_, 2);
    EXPECT_EQ(analyze("ARRAY_CONTAINS(c.l, @list)"), "(.l[][]=! and .l[][]=!)!");
    EXPECT_EQ(analyze("{\"a\": [null, {\"b\": 'x'}]} = c.o"), "(.o.a[]=! and .o.a[].b=!)!");
    // What depends on the item, what is not there and what no entry tells is left to the item.
    EXPECT_EQ(analyze("c.o = {\"a\": c.b, \"d\": undefined, \"e\": 1}"), ".o.e=!");
    EXPECT_EQ(analyze("c.o = {\"a\": c.b}"), ".o=!");
    EXPECT_EQ(analyze("c.o = {}"), ".o=!");
    EXPECT_EQ(analyze("c.l = [1, 1, 1]"), ".l[]=!");
    // The last one of a name counts, and none is taken for it.
    EXPECT_EQ(analyze("c.o = {\"a\": 1, \"a\": 2}"), ".o=!");
    std::string wide = "c.l = [0";
    for (int i = 1; i < 20; ++i) wide += ", " + std::to_string(i);
    analyze(wide + "]");
    EXPECT_EQ(seeks_, 8);
    EXPECT_EQ(analyze("c.o != {\"a\": 1}"), "-");
    EXPECT_EQ(analyze("NOT (c.o = {\"a\": 1})"), "-");
    // Parts that the index has are enough.
    EXPECT_EQ(analyze("c.off = {\"a\": 1}"), "-");
    EXPECT_EQ(missing_, ".off.a");
}

TEST_F(ConditionsTest, SeveralValuesOfAnArray) {
    EXPECT_EQ(analyze("ARRAY_CONTAINS_ANY(c.tags, 'x', @p, undefined)"), ".tags[]=2");
    EXPECT_EQ(seeks_, 2);
    EXPECT_EQ(analyze("ARRAY_CONTAINS_ANY(c.tags, 'x', {\"a\": 1})"), "(.tags[].a=! or .tags[]=)!");
    EXPECT_EQ(analyze("ARRAY_CONTAINS_ANY(c.tags, 'x', c.b)"), "-");
    EXPECT_EQ(analyze("ARRAY_CONTAINS_ANY(c.tags, undefined)"), "never");
    EXPECT_EQ(analyze("ARRAY_CONTAINS_ALL(c.tags, 'x', @p)"), "(.tags[]= and .tags[]=)");
    EXPECT_EQ(analyze("ARRAY_CONTAINS_ALL(c.tags, 'x', c.b)"), ".tags[]=!");
    EXPECT_EQ(analyze("ARRAY_CONTAINS_ALL(c.tags, 'x', undefined)"), "never");
    // The list is the constant, what is looked for depends on one path.
    EXPECT_EQ(analyze("ARRAY_CONTAINS(['A', 'B'], UPPER(c.a))"), ".a?");
    EXPECT_EQ(analyze("ARRAY_LENGTH(c.tags) = 2"), "-");
    EXPECT_EQ(analyze("SetIntersect(c.tags, [1]) = [1]"), "-");
}

TEST_F(ConditionsTest, PathsOutsideTheIndexAreNamed) {
    EXPECT_EQ(analyze("c.off = 1 AND c.a = 2"), "- & .a=");
    EXPECT_EQ(missing_, ".off");
    EXPECT_EQ(analyze("c.off = 1 OR c.a = 2"), "-");
    EXPECT_EQ(missing_, ".off");
    EXPECT_EQ(analyze("c.off.a = 1 OR c.off.b = 2 OR c.a = 3"), "-");
    EXPECT_EQ(missing_, ".off.a .off.b");
    EXPECT_EQ(analyze("CONTAINS(c.off, 'x')"), "-");
    EXPECT_EQ(missing_, ".off");
    EXPECT_EQ(analyze("CONTAINS(c.off, 'x') OR c.off = 5"), "-");
    EXPECT_EQ(missing_, ".off");
    for (const char* where : {"CONTAINS(c.off, 'x') OR c.a = 5", "c.off = 1 OR CONTAINS(c.a, 'x')",
                              "CONTAINS(c.a, 'x') OR CONTAINS(c.off, 'x')"}) {
        EXPECT_EQ(analyze(where), "-");
        EXPECT_EQ(missing_, ".off") << where;
    }
    // Nothing is tested where something else narrows: an index would change nothing.
    EXPECT_EQ(analyze("(CONTAINS(c.off, 'x') OR CONTAINS(c.a, 'x')) AND c.b = 5"), "- & .b=");
    EXPECT_EQ(missing_, "");
    EXPECT_EQ(analyze("ARRAY_CONTAINS(c.off, 5)"), "-");
    EXPECT_EQ(missing_, ".off[]");
}

TEST_F(ConditionsTest, PathsAreNotNamedWhoseIndexWouldNotHelp) {
    // An OR is served as a whole or not at all.
    for (const char* where :
         {"c.off = 1 OR c.a + c.b = 2", "c.a + c.b = 2 OR c.off = 1",
          "CONTAINS(c.off, 'x') OR c.a + c.b = 2", "c.a + c.b = 2 OR CONTAINS(c.off, 'x')"}) {
        EXPECT_EQ(analyze(where), "-");
        EXPECT_EQ(missing_, "") << where;
    }
    EXPECT_EQ(analyze("c.off = 1 AND (c.off = 2 OR c.a + c.b = 2)"), "- & -");
    EXPECT_EQ(missing_, ".off");
    // What arrays hold is not in the entries of their own path.
    EXPECT_EQ(analyze("ARRAY_CONTAINS(c.off, {\"k\": 5}, true)"), "-");
    EXPECT_EQ(missing_, ".off[].k");
    EXPECT_EQ(analyze("ARRAY_LENGTH(c.off) > 5"), "-");
    EXPECT_EQ(missing_, "");
}

TEST_F(ConditionsTest, OfSystemPropertiesOnlyTheTimeIsIndexed) {
    indexed_ = false;
    for (const char* name : {"_rid", "_self", "_etag", "_attachments"}) {
        const std::string path = std::string("c.") + name;
        EXPECT_EQ(analyze(path + " != 'x'"), "-");
        EXPECT_EQ(missing_, "") << name;
        EXPECT_EQ(analyze("CONTAINS(" + path + ", 'x')"), "-");
        EXPECT_EQ(missing_, "") << name;
        EXPECT_EQ(analyze(path + " = 'x' OR c.a = 1"), "-");
        EXPECT_EQ(missing_, "") << name;
    }
    EXPECT_EQ(analyze("c._ts > 5 AND c.own._rid = 'x'"), "- & -");
    EXPECT_EQ(missing_, "._ts .own._rid");
}

TEST_F(ConditionsTest, SpatialIndexesThatAreMissingAreNamed) {
    const std::string near = "ST_DISTANCE(c.loc, {\"type\":\"Point\",\"coordinates\":[1,2]}) < 100";
    EXPECT_EQ(analyze(near), "-");
    EXPECT_EQ(missing_, ".loc/*");
    EXPECT_EQ(analyze(near + " OR c.a = 1"), "-");
    EXPECT_EQ(missing_, ".loc/*");
    EXPECT_EQ(analyze(near + " OR c.off = 1"), "-");
    EXPECT_EQ(missing_, ".off .loc/*");
    EXPECT_EQ(analyze(near + " OR c.a + c.b = 1"), "-");
    EXPECT_EQ(missing_, "");
}

}  // namespace
}  // namespace orrery::query
