#include "query/query.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "base/ended_test_support.h"
#include "base/rounds_test_support.h"
#include "json/parse.h"
#include "json/problems.h"
#include "json/select.h"
#include "json/write.h"
#include "query/bind/eval.h"
#include "query/limits.h"

namespace orrery::query {
namespace {

using json::Value;

class QueryTest : public ::testing::Test {
protected:
    Value parse(std::string_view text) {
        auto value = json::parse(text, arena_);
        EXPECT_TRUE(value.ok()) << text;
        return value.ok() ? *value : Value();
    }
    std::shared_ptr<const CompiledQuery> compiled(std::string_view text) {
        auto query = compile(text);
        EXPECT_TRUE(query.ok()) << text << " "
                                << (query.ok() ? "" : json::error_text(query.error()));
        return query.ok() ? *query : nullptr;
    }
    Parameters bound(const CompiledQuery& query, std::string_view list = "null") {
        auto parameters = Parameters::bind(query, parse(list));
        EXPECT_TRUE(parameters.ok());
        return *parameters;
    }
    /// The rows of a whole run as one JSON array, or the error message.
    std::string run(std::string_view text, std::string_view items = "[]",
                    const Environment& environment = {}) {
        auto query = compile(text);
        if (!query.ok()) return json::error_text(query.error());
        auto parameters = Parameters::bind(**query, {}, environment);
        if (!parameters.ok()) return json::error_text(parameters.error());
        QueryRun run(**query, *parameters);
        std::vector<Value> rows;
        const Value list = parse(items);
        for (const Value& item : list.elements())
            if (Status s = run.feed(item, arena_, rows); !s.ok())
                return json::error_text(s.error());
        if (Status s = run.finish(arena_, rows); !s.ok()) return json::error_text(s.error());
        return json::to_text(Value::array(arena_.copy(std::span<const Value>(rows))),
                             json::NumberForm::kCanonical);
    }
    json::Arena arena_;
};

TEST_F(QueryTest, StreamsItemByItem) {
    const auto query = compiled("SELECT t AS tag, c.n FROM c JOIN t IN c.tags WHERE c.n > @min");
    EXPECT_TRUE(query->is_streaming());
    EXPECT_FALSE(query->returns_whole_item());
    const Parameters parameters = bound(*query, R"([{"name":"@min","value":1},{"name":"@other"}])");
    std::vector<Value> rows;
    ASSERT_TRUE(
        run_item(*query, parameters, parse(R"({"n":2,"tags":["a","b"]})"), arena_, rows).ok());
    ASSERT_TRUE(run_item(*query, parameters, parse(R"({"n":1,"tags":["c"]})"), arena_, rows).ok());
    ASSERT_TRUE(run_item(*query, parameters, parse(R"({"n":5})"), arena_, rows).ok());
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(json::to_text(rows[0]), R"({"tag":"a","n":2})");
    EXPECT_EQ(json::to_text(rows[1]), R"({"tag":"b","n":2})");
}

TEST_F(QueryTest, KnowsItsProperties) {
    EXPECT_TRUE(compiled("SELECT * FROM c")->returns_whole_item());
    EXPECT_TRUE(compiled("SELECT VALUE f FROM Families f WHERE f.x")->returns_whole_item());
    EXPECT_TRUE(compiled("SELECT TOP 3 * FROM c ORDER BY c.a")->returns_whole_item());
    EXPECT_FALSE(compiled("SELECT * FROM c.a")->returns_whole_item());
    EXPECT_FALSE(compiled("SELECT * FROM x IN c.a")->returns_whole_item());
    EXPECT_FALSE(compiled("SELECT VALUE c.a FROM c")->returns_whole_item());
    EXPECT_TRUE(compiled("SELECT * FROM c WHERE c.a = 1")->is_streaming());
    EXPECT_TRUE(compiled("SELECT VALUE r.a FROM (SELECT VALUE c.b FROM c) r")->is_streaming());
    for (const char* text : {"SELECT 1", "SELECT TOP 1 * FROM c", "SELECT DISTINCT c.a FROM c",
                             "SELECT * FROM c ORDER BY c.a", "SELECT * FROM c OFFSET 0 LIMIT 1",
                             "SELECT COUNT(1) FROM c", "SELECT c.a FROM c GROUP BY c.a",
                             "SELECT VALUE r FROM (SELECT DISTINCT VALUE c.b FROM c) r"})
        EXPECT_FALSE(compiled(text)->is_streaming()) << text;
    EXPECT_FALSE(compiled("SELECT 1")->reads_items());
    EXPECT_FALSE(compiled("SELECT * FROM (SELECT 1 AS a) r")->reads_items());
    EXPECT_TRUE(compiled("SELECT SUM(c.a) / 2 FROM c")->composes_aggregates());
    EXPECT_FALSE(compiled("SELECT SUM(c.a), c.b FROM c GROUP BY c.b")->composes_aggregates());
}

TEST_F(QueryTest, CachesByText) {
    const auto first = compiled("SELECT VALUE 'cached'");
    EXPECT_EQ(first, compiled("SELECT VALUE 'cached'"));
    for (size_t i = 0; i < limits::kCacheEntries; ++i)
        compiled("SELECT VALUE " + std::to_string(i));
    EXPECT_NE(first, compiled("SELECT VALUE 'cached'"));
}

/// Each of these took seconds to minutes when the work grew with the square of the width.
TEST_F(QueryTest, WideQueriesCompile) {
    const size_t many = rounds(size_t{20'000});
    const auto listed = [&](std::string_view before, std::string_view after) {
        std::string out;
        for (size_t i = 0; i < many; ++i)
            out += fmt::format("{}{}{}{}", i == 0 ? "" : ",", before, i, after);
        return out;
    };
    EXPECT_TRUE(compile("SELECT " + listed("c.x", "") + " FROM c").ok());
    EXPECT_TRUE(compile("SELECT COUNT(1) FROM c GROUP BY " + listed("c.x", "")).ok());
    EXPECT_TRUE(compile("SELECT * FROM c ORDER BY " + listed("c.x", "")).ok());
    const auto grouped =
        compile("SELECT " + listed("c.x", "") + " FROM c GROUP BY " + listed("c.x", ""));
    EXPECT_TRUE(grouped.ok());
    EXPECT_TRUE(
        compile("SELECT VALUE [" + listed("-c.x", "") + "] FROM c GROUP BY " + listed("-c.x", ""))
            .ok());
    EXPECT_TRUE(compile("SELECT Abs(c.a[0]) FROM c GROUP BY ABS(c[\"a\"][0.0])").ok());
    const auto twice = compile("SELECT " + listed("c.x", "") + ", c.x7 FROM c");
    ASSERT_FALSE(twice.ok());
    EXPECT_NE(json::error_text(twice.error()).find("'x7' is specified more than once"),
              std::string::npos);
    for (const char* after : {"", "()"}) {
        const auto wrong = compile("SELECT " + listed("unknown", after));
        ASSERT_FALSE(wrong.ok());
        size_t reported = 0;
        for (const QueryProblem& problem : wrong.error().details.problems)
            if (!problem.code.empty()) ++reported;
        EXPECT_EQ(reported, 32U);
    }
}

TEST_F(QueryTest, KnowsWhetherAnItemMayTakeLong) {
    for (const char* text :
         {"SELECT * FROM c WHERE c.a = 'SELECT' ORDER BY c.b", "SELECT VALUE t FROM t IN c.t",
          "SELECT c.a, COUNT(1) FROM c WHERE ARRAY_CONTAINS(c.t, 1) GROUP BY c.a"})
        EXPECT_FALSE(compiled(text)->is_heavy()) << text;
    for (const char* text :
         {"SELECT VALUE t FROM c JOIN t IN c.t", "SELECT * FROM (SELECT VALUE c.a FROM c)",
          "SELECT * FROM c WHERE EXISTS(select VALUE t FROM t IN c.t)",
          "SELECT ARRAY(SELECT VALUE t FROM t IN c.t) AS a FROM c", "SELECT udf.f(c.a) FROM c"})
        EXPECT_TRUE(compiled(text)->is_heavy()) << text;
}

TEST_F(QueryTest, ParametersAreChecked) {
    const auto query = compiled("SELECT TOP @n VALUE c[@k] FROM c WHERE c.a = @v");
    const auto error = [&](std::string_view list) {
        auto parameters = Parameters::bind(*query, parse(list));
        return parameters.ok() ? std::string() : json::error_text(parameters.error());
    };
    EXPECT_EQ(
        error(R"([{"name":"@n","value":1},{"name":"@k","value":"x"},{"name":"@v","value":null}])"),
        "");
    EXPECT_EQ(error(R"([{"name":"@n","value":1},{"name":"@v","value":null}])"),
              "The query uses the parameter '@k', which is not in its 'parameters'.");
    EXPECT_EQ(error(R"([{"name":"@n","value":1},{"name":"@k"},{"name":"@v"}])"), "");
    EXPECT_EQ(
        error(
            R"([{"name":"@n","value":1},{"name":"@k","value":"x"},{"name":"@v","value":1},{"name":"@k","value":"y"}])"),
        "The parameter '@k' is given twice, with different values.");
    EXPECT_EQ(error(R"([{"name":"@unused","value":1},{"name":"@unused"}])"),
              "The parameter '@unused' is given twice, with different values.");
    EXPECT_NE(error("null"), "");
    EXPECT_NE(error("{}"), "");
    EXPECT_NE(error("[1]"), "");
    EXPECT_NE(error(R"([{"name":1,"value":1}])"), "");
    for (const char* count : {"-1", "1.5", "\"1\"", "4294967296", "null"})
        EXPECT_NE(
            error(R"([{"name":"@k","value":1},{"name":"@v","value":1},{"name":"@n","value":)" +
                  std::string(count) + "}]"),
            "")
            << count;
}

TEST_F(QueryTest, Conditions) {
    auto condition = compile_condition("from c where c.stock >= 5 AND NOT IS_DEFINED(c.hidden)",
                                       index::GeometrySpace::kEarth);
    ASSERT_TRUE(condition.ok());
    const Parameters none = bound(**condition);
    EXPECT_TRUE(*matches(**condition, none, parse(R"({"stock":5})"), arena_));
    EXPECT_FALSE(*matches(**condition, none, parse(R"({"stock":4})"), arena_));
    EXPECT_FALSE(*matches(**condition, none, parse(R"({"stock":5,"hidden":null})"), arena_));
    EXPECT_FALSE(compile_condition("from c where d.x = 1", index::GeometrySpace::kEarth).ok());
    EXPECT_FALSE(
        compile_condition("from c join t in c.t where t = 1", index::GeometrySpace::kEarth).ok());
}

TEST_F(QueryTest, OneTextMeansAnotherThingInAPlane) {
    const std::string_view text =
        R"(SELECT VALUE ST_DISTANCE({"type":"Point","coordinates":[0,0]},)"
        R"( {"type":"Point","coordinates":[3,4]}))";
    const auto answer = [&](index::GeometrySpace space) {
        const auto compiled = compile(text, nullptr, space);
        EXPECT_TRUE(compiled.ok());
        const Parameters none = bound(**compiled);
        QueryRun run(**compiled, none);
        std::vector<json::Value> rows;
        EXPECT_TRUE(run.finish(arena_, rows).ok());
        return rows.at(0).as_double();
    };
    EXPECT_EQ(answer(index::GeometrySpace::kPlane), 5);
    EXPECT_GT(answer(index::GeometrySpace::kEarth), 500'000);
    EXPECT_EQ(answer(index::GeometrySpace::kPlane), 5);
}

class Doubler final : public UdfHost {
public:
    Result<Value> call(std::string_view name, std::span<const Value> args,
                       json::Arena& arena) override {
        if (name != "twice" && name != "both") return errors::bad_request("no such function");
        if (args.empty() || !args[0].is_number()) return Value();
        const Value twice = Value::number(args[0].as_double() * 2);
        if (name == "twice") return twice;
        const Value both[] = {args[0], twice};
        return Value::array(arena.copy(std::span<const Value>(both)));
    }
};

TEST_F(QueryTest, UserDefinedFunctions) {
    Doubler host;
    const Environment environment{.udf = &host};
    EXPECT_EQ(
        run("SELECT VALUE udf.twice(c.a) FROM c", R"([{"a":4},{"a":"x"},{"a":1.5}])", environment),
        "[8,3]");
    EXPECT_EQ(run("SELECT VALUE x FROM x IN udf.both(c.a)", R"([{"a":4},{"a":"x"},{"a":1}])",
                  environment),
              "[4,8,1,2]");
    EXPECT_EQ(run("SELECT VALUE [c.a, x] FROM c JOIN x IN udf.both(c.a) WHERE x > 2",
                  R"([{"a":4},{"a":"x"},{"a":1.5}])", environment),
              "[[4,4],[4,8],[1.5,3]]");
    EXPECT_EQ(run("SELECT VALUE udf.other(1)", "[]", environment), "no such function");
    EXPECT_NE(run("SELECT VALUE udf.twice(1)").find("does not exist"), std::string::npos);
}

TEST_F(QueryTest, StaticTimeStandsStill) {
    class Ticking final : public Clock {
    public:
        int64_t wall_us() const override { return now_ += 1000; }
        int64_t monotonic_us() const override { return now_; }

    private:
        mutable int64_t now_ = 1'000'000'000'000;
    } clock;
    const Environment environment{.clock = &clock};
    EXPECT_EQ(run("SELECT VALUE GETCURRENTTIMESTAMPSTATIC() FROM c", "[{},{}]", environment),
              "[1000000001,1000000001]");
    EXPECT_EQ(run("SELECT VALUE GETCURRENTTIMESTAMP() FROM c", "[{},{}]", environment),
              "[1000000003,1000000004]");
}

TEST_F(QueryTest, StopsEarly) {
    const auto query = compiled("SELECT TOP 2 VALUE c.a FROM c");
    const Parameters none = bound(*query);
    QueryRun run(*query, none);
    std::vector<Value> rows;
    const Value item = parse(R"({"a":1})");
    ASSERT_TRUE(run.feed(item, arena_, rows).ok());
    EXPECT_FALSE(run.is_done());
    ASSERT_TRUE(run.feed(item, arena_, rows).ok());
    EXPECT_TRUE(run.is_done());
    ASSERT_TRUE(run.feed(item, arena_, rows).ok());
    ASSERT_TRUE(run.finish(arena_, rows).ok());
    EXPECT_EQ(rows.size(), 2u);
}

TEST_F(QueryTest, BlockingRunsCopyWhatTheyKeep) {
    for (const char* text :
         {"SELECT VALUE c.s FROM c ORDER BY c.s", "SELECT DISTINCT VALUE c.s FROM c",
          "SELECT VALUE c.s FROM c GROUP BY c.s", "SELECT VALUE MIN(c.s) FROM c",
          "SELECT VALUE MAKELIST(c.s) FROM c", "SELECT VALUE MAKESET(c) FROM c",
          "SELECT TOP 1 VALUE c.s FROM c ORDER BY c.s"}) {
        const auto query = compiled(text);
        const Parameters none = bound(*query);
        QueryRun run(*query, none);
        std::vector<Value> rows;
        for (int i = 0; i < 5000; ++i) {
            json::Arena item_arena;
            const std::string item =
                "{\"s\":\"a long enough string number " + std::to_string(i % 7) + "\"}";
            std::vector<Value> early;
            ASSERT_TRUE(run.feed(*json::parse(item, item_arena), item_arena, early).ok());
        }
        ASSERT_TRUE(run.finish(arena_, rows).ok());
        for (const Value& row : rows)
            EXPECT_NE(json::to_text(row).find("number"), std::string::npos);
    }
}

TEST_F(QueryTest, MemoryIsBounded) {
    const auto query = compiled("SELECT * FROM c ORDER BY c.n");
    const Parameters none = bound(*query);
    QueryRun run(*query, none);
    std::vector<Value> rows;
    const std::string text(size_t{2} << 20, 'x');
    const json::Member members[] = {{"n", Value::integer(1)}, {"s", Value::string(text)}};
    Status status;
    for (int i = 0; i < 200 && status.ok(); ++i)
        status = run.feed(Value::object(members), arena_, rows);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(ended(status.error()), Ended::kBadRequest);
}

/// By steps, or on a slow machine by time, whichever comes first.
TEST_F(QueryTest, WorkIsBounded) {
    std::string list = "[0";
    for (int i = 0; i < 3000; ++i) list += ",1";
    const std::string items = "[{\"l\":" + list + "]}]";
    EXPECT_NE(run("SELECT VALUE COUNT(1) FROM c JOIN a IN c.l JOIN b IN c.l JOIN d IN c.l", items)
                  .find("on a single item"),
              std::string::npos);
    EXPECT_NE(run("SELECT VALUE ARRAY(SELECT VALUE c FROM a IN c.l JOIN b IN c.l) FROM c", items)
                  .find("too large"),
              std::string::npos);
    // Values that share parts are small in memory and huge as JSON.
    std::string nested = "SELECT VALUE {a: c, b: c} FROM c";
    for (int i = 0; i < 60; ++i) nested = "SELECT VALUE {a: x, b: x} FROM (" + nested + ") x";
    EXPECT_NE(run(nested, items).find("too large"), std::string::npos);
    std::string doubled = "SELECT VALUE ARRAY_CONCAT(c.l, c.l) FROM c";
    for (int i = 0; i < 60; ++i)
        doubled = "SELECT VALUE ARRAY_CONCAT(x, x) FROM (" + doubled + ") x";
    EXPECT_NE(run(doubled, items).find("too"), std::string::npos);
    const std::string bomb =
        "REPLACE(REPLACE(REPLICATE('a', 10000), 'a', REPLICATE('b', 10000)), 'b', REPLICATE('c', "
        "9999))";
    EXPECT_NE(run("SELECT VALUE " + bomb).find("too large"), std::string::npos);
}

/// Texts that are alike everywhere, which a naive search compares at every place.
TEST_F(QueryTest, SearchesInTextAreBounded) {
    const std::string text(1'000'000, 'a');
    const std::string part(250'000, 'a');
    const std::string items = R"([{"t":")" + text + R"(","l":)" + [] {
        std::string list = "[0";
        for (int i = 0; i < 50'000; ++i) list += ",1";
        return list + "]}]";
    }();
    const auto about = [&](const std::string& expression) {
        return run("SELECT VALUE " + expression + " FROM c", items);
    };
    EXPECT_EQ(about("CONTAINS(c.t, '" + part + "b')"), "[false]");
    EXPECT_EQ(about("CONTAINS(c.t, '" + part + "b" + part + "')"), "[false]");
    EXPECT_EQ(about("CONTAINS(c.t, '" + part + "')"), "[true]");
    EXPECT_EQ(about("INDEX_OF(c.t, 'b" + part + "')"), "[-1]");
    EXPECT_EQ(about("LASTINDEXOF(c.t, 'b" + part + "')"), "[-1]");
    EXPECT_EQ(about("LASTINDEXOF(c.t, '" + part + "b')"), "[-1]");
    EXPECT_EQ(about("LASTINDEXOF(c.t, '" + part + "')"), "[750000]");
    EXPECT_EQ(about("INDEX_OF(c.t, '" + part + "', 3)"), "[3]");
    EXPECT_EQ(about("LENGTH(REPLACE(c.t, '" + part + "', 'b'))"), "[4]");
    EXPECT_EQ(about("ARRAY_LENGTH(STRINGSPLIT(c.t, '" + part + "'))"), "[5]");
    EXPECT_EQ(about("LENGTH(TRIM(c.t, '" + part + "b'))"), "[0]");
    EXPECT_EQ(about("c.t LIKE '%" + part + "b%'"), "[false]");
    EXPECT_EQ(about("c.t LIKE '%a_a%'"), "[true]");
    EXPECT_NE(about("c.t LIKE '%" + part + "_b%'").find("on a single item"), std::string::npos);
    EXPECT_NE(about("'" + part + "' LIKE '%" + part.substr(9) + "_b%'").find("on a single item"),
              std::string::npos);
    // Many searches of one large text.
    const std::string many = "SELECT VALUE COUNT(1) FROM c JOIN x IN c.l WHERE ";
    constexpr auto kSearches = std::to_array<const char*>(
        {"CONTAINS(c.t, CONCAT('b', TOSTRING(x)))", "LENGTH(UPPER(c.t)) = x", "c.t LIKE '%_b'",
         "RegexMatch(c.t, 'b$')", "INDEX_OF(c.t, 'b') = x", "CONTAINS(c.t, 'B', true)",
         "REPLACE(c.t, 'b', 'c') = 'x'", "CONTAINS_ANY_CS(c.t, 'b', 'd')"});
    for (const char* each : std::span(kSearches).first(rounds(kSearches.size())))
        EXPECT_NE(run(many + each, items).find("too "), std::string::npos) << each;
}

/// Deeper than any item is.
TEST_F(QueryTest, LongPathsEnd) {
    std::string path = "c";
    for (int i = 0; i < 200'000; ++i) path += ".a";
    EXPECT_EQ(run("SELECT VALUE " + path + " FROM c", R"([{"a":{"a":1}}])"), "[]");
    const auto query = compiled("SELECT VALUE " + path + " FROM c");
    ASSERT_EQ(query->needs().paths.size(), 1U);
    EXPECT_LE(query->needs().paths[0].size(), 200U);
    std::string deep = "7";
    std::string to_it = "c";
    for (int i = 0; i < 127; ++i) {
        deep = R"({"a":)" + deep + "}";
        to_it += ".a";
    }
    const auto reachable = compiled("SELECT VALUE " + to_it + " FROM c");
    const json::Selection& selection = reachable->selection();
    auto selected = json::parse_selected(deep, selection, arena_);
    ASSERT_TRUE(selected.ok());
    std::vector<Value> rows;
    ASSERT_TRUE(run_item(*reachable, bound(*reachable), *selected, arena_, rows).ok());
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].as_double(), 7);
}

TEST_F(QueryTest, PartialMatchesAreBounded) {
    std::string list = "[{\"k\":0}";
    for (int i = 1; i < 8000; ++i) list += ",{\"k\":" + std::to_string(i) + "}";
    const std::string items = "[{\"o\":" + list + "]}]";
    EXPECT_NE(run("SELECT VALUE ARRAY_CONTAINS([c.o], c.o.missing ?? c.o, true) FROM c", items),
              "");
    EXPECT_NE(run("SELECT VALUE ARRAY_CONTAINS([ARRAY_CONCAT(c.o, [{}])], c.o, true) FROM c", items)
                  .find("on a single item"),
              std::string::npos);
}

/// Steps that are each as large as the item add up; a clock ends them.
TEST_F(QueryTest, TimePerItemIsBounded) {
    class SlowClock final : public Clock {
    public:
        int64_t wall_us() const override { return 0; }
        int64_t monotonic_us() const override { return now_us_ += 1'000'000; }

    private:
        mutable int64_t now_us_ = 1;
    };
    const SlowClock clock;
    Environment environment;
    environment.clock = &clock;
    std::string list = "[0";
    for (int i = 0; i < 5000; ++i) list += ",1";
    const std::string one = "{\"l\":" + list + "]}";
    EXPECT_NE(run("SELECT VALUE COUNT(1) FROM c JOIN x IN c.l", "[" + one + "]", environment)
                  .find("too long on a single item"),
              std::string::npos);
    // The time of one item is not that of others.
    const std::string small = R"({"l":[1,2,3]})";
    std::string many = small;
    for (int i = 0; i < 5000; ++i) many += "," + small;
    EXPECT_EQ(run("SELECT VALUE COUNT(1) FROM c JOIN x IN c.l", "[" + many + "]", environment),
              "[15003]");
}

TEST_F(QueryTest, NobodyWaits) {
    const auto query = compiled("SELECT VALUE x FROM c JOIN x IN c.l");
    const Parameters parameters = bound(*query);
    EvalContext context;
    size_t asked = 0;
    const std::function<bool()> gone = [&] { return ++asked == 2; };
    context.cancelled = &gone;
    context.arena = &arena_;
    context.begin_item();
    size_t charges = 0;
    while (context.charge() && charges < 100'000) ++charges;
    EXPECT_EQ(asked, 2U);
    EXPECT_LT(charges, 1000U);
    EXPECT_EQ(ended(context.take_status().error()), Ended::kTimeout);
}

// --- point candidates ---------------------------------------------------------------------------

class PointsTest : public QueryTest {
protected:
    /// "id/key1/key2 …" separated by blanks, '?' after uncertain ids; "none" without an answer.
    std::string points(std::string_view where, std::vector<json::MemberPath> paths = {{"pk"}},
                       std::string_view parameters = "null", std::string_view from = "c") {
        const auto query =
            compiled("SELECT * FROM " + std::string(from) + " WHERE " + std::string(where));
        const Parameters values = bound(*query, parameters);
        const auto candidates = point_candidates(*query, values, paths);
        if (!candidates) return "none";
        std::string out;
        for (const PointCandidate& candidate : *candidates) {
            if (!out.empty()) out += ' ';
            out += candidate.id;
            if (!candidate.certain) out += '?';
            if (candidate.key)
                for (const Value& v : *candidate.key) out += "/" + json::to_text(v);
        }
        return out;
    }
};

TEST_F(PointsTest, ReadManyShapes) {
    EXPECT_EQ(points("( ( c.id = 'a' AND c.pk = 1 ) OR ( c.id = 'b' AND c[\"pk\"] = 2 ) )"),
              "a/1 b/2");
    EXPECT_EQ(points("c.id IN ('a', 'b', 'a')"), "a b");
    EXPECT_EQ(points("c.id IN ('a', 'b') AND c.pk = 'x'"), "a/\"x\" b/\"x\"");
    EXPECT_EQ(points("c.id = 'a'", {{"id"}}), "a/\"a\"");
    EXPECT_EQ(points("c.id IN (@a, @b)", {{"id"}},
                     R"([{"name":"@a","value":"p"},{"name":"@b","value":"q"}])"),
              "p/\"p\" q/\"q\"");
    EXPECT_EQ(points("'a' = c.id AND c.t.u = 5 AND c.s = null", {{"t", "u"}, {"s"}}), "a/5/null");
    EXPECT_EQ(points("c.id = 'a' AND c.t.u = 5", {{"t", "u"}, {"s"}}), "a?");
    EXPECT_EQ(points("f.id = 'a'", {{"pk"}}, "null", "Families f"), "a");
}

TEST_F(PointsTest, OnlyNarrows) {
    EXPECT_EQ(points("c.id = 'a' AND c.n > 5 AND CONTAINS(c.s, 'x')"), "a?");
    EXPECT_EQ(points("(c.id = 'a' OR c.id = 'b') AND (c.pk = 1 OR c.pk = 2)"), "a/1 a/2 b/1 b/2");
    EXPECT_EQ(points("c.id = 'a' AND c.id = 'b'"), "");
    EXPECT_EQ(points("c.id = 5"), "");
    EXPECT_EQ(points("c.id = 'a' OR c.id = 5"), "a");
    EXPECT_EQ(points("c.id = 'a' AND c.pk = undefined"), "");
    EXPECT_EQ(points("c.id = 'a' AND c.pk = {}"), "a?");
    EXPECT_EQ(points("(c.id = 'a' AND c.n = 1) OR c.id = 'a' OR (c.id = 'b' AND c.n = 1)"), "a b?");
}

TEST_F(PointsTest, OtherFiltersGiveNothing) {
    for (const char* where :
         {"c.pk = 1", "c.id = 'a' OR c.n = 1", "NOT c.id = 'a'", "c.id != 'a'", "c.id > 'a'",
          "c.id NOT IN ('a')", "c.x.id = 'a'", "c.id = c.other", "true", "c.id = 'a' = true",
          "c.id IN ('a', c.b)", "c.id LIKE 'a'", "c.id ?? 'a' = 'a'"})
        EXPECT_EQ(points(where), "none") << where;
    EXPECT_EQ(points("x.id = 'a'", {{"pk"}}, "null", "x IN c.list"), "none");
    EXPECT_EQ(points("x.id = 'a'", {{"pk"}}, "null", "(SELECT VALUE c.y FROM c) x"), "none");
    EXPECT_EQ(points("y.id = 'a'", {{"pk"}}, "null", "c.y"), "none");
}

}  // namespace
}  // namespace orrery::query
