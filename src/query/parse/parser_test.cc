#include "query/parse/parser.h"

#include <gtest/gtest.h>

#include <string>

#include "base/rounds_test_support.h"
#include "json/problems.h"
#include "query/limits.h"
#include "query/parse/printer.h"

namespace orrery::query {
namespace {

/// The canonical one-line text, or the error message.
std::string canonical(std::string_view text) {
    auto parsed = parse_query(text);
    if (!parsed.ok()) return json::error_text(parsed.error());
    return to_text(*(*parsed)->query, PrintForm::kOneLine);
}

std::string expression(std::string_view text) {
    auto parsed = parse_query("SELECT VALUE " + std::string(text));
    if (!parsed.ok()) return json::error_text(parsed.error());
    return to_text(*(*parsed)->query->value);
}

bool accepted(const std::string& text) {
    return parse_query(text).ok();
}

std::string syntax_error(int start, int end, std::string_view near) {
    return "{\"errors\":[{\"severity\":\"Error\",\"location\":{\"start\":" + std::to_string(start) +
           ",\"end\":" + std::to_string(end) +
           "},\"code\":\"SC1001\",\"message\":\"Syntax error, incorrect syntax near '" +
           std::string(near) + "'.\"";
}

/// Without the hint, which tests/query/hints.test is about.
std::string without_hint(const std::string& error) {
    return error.substr(0, error.find(",\"hint\""));
}

TEST(Parser, PrecedenceFollowsTheTable) {
    EXPECT_EQ(expression("p OR q AND r ? x ?? y : a ^ b & d"),
              "((p OR (q AND r)) ? (x ?? y) : (a ^ (b & d)))");
    EXPECT_EQ(expression("1 + 2 * 3 - 4"), "((1 + (2 * 3)) - 4)");
    EXPECT_EQ(expression("a << 1 + 2 < b"), "((a << (1 + 2)) < b)");
    EXPECT_EQ(expression("a = b < c"), "(a = (b < c))");
    EXPECT_EQ(expression("a || b | c"), "(a || (b | c))");
    EXPECT_EQ(expression("a || b BETWEEN c AND d || e"), "((a || b) BETWEEN c AND (d || e))");
    EXPECT_EQ(expression("a = 1 AND b IN (1, 2) OR NOT c"),
              "(((a = 1) AND (b IN (1, 2))) OR (NOT c))");
    EXPECT_EQ(expression("a ? b : c ? d : e"), "(a ? b : (c ? d : e))");
    EXPECT_EQ(expression("NOT a = b"), "((NOT a) = b)");
    EXPECT_EQ(expression("-a.b * ~c"), "((- a.b) * (~ c))");
    EXPECT_EQ(expression("a <> b"), "(a != b)");
    EXPECT_EQ(expression("a >>> 2 >> 1"), "((a >>> 2) >> 1)");
}

TEST(Parser, LiteralsPrintCanonically) {
    EXPECT_EQ(expression("-7"), "-7");
    EXPECT_EQ(expression("- 7"), "(- 7)");
    EXPECT_EQ(expression("1E2"), "100");
    EXPECT_EQ(expression("0x1F"), "31");
    EXPECT_EQ(expression(".5"), "0.5");
    EXPECT_EQ(expression("5."), "5");
    EXPECT_EQ(expression("9223372036854775807"), "9223372036854775807");
    EXPECT_EQ(expression("-9223372036854775808"), "-9223372036854775808");
    EXPECT_EQ(expression("'it\\'s \"x\"'"), "\"it's \\\"x\\\"\"");
    EXPECT_EQ(expression("\"\\u00e9\\ud83d\\ude00\\/\""), "\"\xC3\xA9\xF0\x9F\x98\x80/\"");
    EXPECT_EQ(expression("[true, false, null, undefined]"), "[true, false, null, undefined]");
    EXPECT_EQ(expression("{a: 1, 'b c': [2]}"), "{\"a\": 1, \"b c\": [2]}");
    EXPECT_EQ(expression("c.x-y"), "(c.x - y)");
    EXPECT_EQ(expression("1e999"), "1e999");
}

TEST(Parser, PathsKeepTheirSpelling) {
    EXPECT_EQ(expression("c.a['b'][0][@p].d"), "c.a[\"b\"][0][@p].d");
    EXPECT_EQ(expression("(1).a"), "(1).a");
    EXPECT_EQ(expression("[1, 2][0]"), "[1, 2][0]");
    EXPECT_EQ(expression("c.arr[2 + 2]"), "c.arr[(2 + 2)]");
}

TEST(Parser, ClausesPrintInOrder) {
    EXPECT_EQ(
        canonical("select distinct top 3 value c.a from Root c join t in c.tags where t = 'x' "
                  "order by c.b desc, c.d offset 1 limit @n"),
        "SELECT DISTINCT TOP 3 VALUE c.a FROM Root AS c JOIN t IN c.tags WHERE (t = \"x\") "
        "ORDER BY c.b DESC, c.d OFFSET 1 LIMIT @n");
    EXPECT_EQ(canonical("SELECT c.a x, COUNT(1) FROM c GROUP BY c.a, UPPER(c.b)"),
              "SELECT c.a AS x, COUNT(1) FROM c GROUP BY c.a, UPPER(c.b)");
    EXPECT_EQ(canonical("SELECT * FROM kv IN OBJECTTOARRAY(c.m)"),
              "SELECT * FROM kv IN OBJECTTOARRAY(c.m)");
    EXPECT_EQ(canonical("SELECT VALUE x FROM c JOIN x IN udf.parts(c.m, 1)"),
              "SELECT VALUE x FROM c JOIN x IN udf.parts(c.m, 1)");
    EXPECT_EQ(canonical("SELECT * FROM (SELECT VALUE 1) r JOIN (SELECT 2)"),
              "SELECT * FROM (SELECT VALUE 1) AS r JOIN (SELECT 2)");
    EXPECT_EQ(canonical("SELECT * ORDER BY RANK RRF(f(c.a), f(c.b)) DESC"),
              "SELECT * ORDER BY RANK RRF(f(c.a), f(c.b)) DESC");
}

TEST(Parser, PrintsOneClauseALine) {
    auto parsed = parse_query(
        "SELECT c.a FROM c JOIN (SELECT VALUE s FROM s IN c.l WHERE s>1) s WHERE c.a=1");
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(to_text(*(*parsed)->query, PrintForm::kLines),
              "SELECT c.a\nFROM c\nJOIN (\n    SELECT VALUE s\n    FROM s IN c.l\n"
              "    WHERE (s > 1)\n) AS s\nWHERE (c.a = 1)");
}

TEST(Parser, ContextualWords) {
    EXPECT_EQ(
        canonical("SELECT ALL(1, 2) AS ALL FROM LAST IN FIRST.ALL WHERE first(SELECT VALUE 1)"),
        "SELECT ALL(1, 2) AS ALL FROM LAST IN FIRST.ALL WHERE FIRST(SELECT VALUE 1)");
    EXPECT_EQ(expression("left('abc', 1)"), "left(\"abc\", 1)");
    EXPECT_EQ(expression("TRUE"), "TRUE");  // upper case: an identifier
    EXPECT_EQ(expression("udf.ALL(1)"), "udf.ALL(1)");
    EXPECT_EQ(canonical("SELECT 1 -- a comment\n, 2"), "SELECT 1, 2");
}

TEST(Parser, SyntaxErrorsCarryPositions) {
    EXPECT_EQ(without_hint(canonical("SELECT c.value FROM c")), syntax_error(9, 14, "value"));
    EXPECT_EQ(without_hint(canonical("SELECT TOP -1 c.a FROM c")), syntax_error(11, 12, "-"));
    EXPECT_EQ(without_hint(canonical("SELECT '\xC3\xA9\xF0\x9F\x98\x80' FROM FROM")),
              syntax_error(18, 22, "FROM"));
    EXPECT_EQ(
        without_hint(canonical("SELECT 1 FROM c WHERE")),
        "{\"errors\":[{\"severity\":\"Error\",\"location\":{\"start\":21,\"end\":21},\"code\":"
        "\"SC1002\",\"message\":\"Syntax error, unexpected end-of-file.\"");
}

TEST(Parser, RefusesWhatIsNotInTheGrammar) {
    for (const char* text : {"",
                             "SELECT",
                             "SELECT 1,",
                             "SELECT VALUE 1, 2",
                             "SELECT *, 1",
                             "SELECT VALUE *",
                             "SELECT [1,]",
                             "SELECT {a:1,}",
                             "SELECT {,}",
                             "SELECT {1:1}",
                             "SELECT f(1,)",
                             "SELECT 1 IN ()",
                             "SELECT 1 IN (1",
                             "SELECT 1 BETWEEN 2",
                             "SELECT 1 BETWEEN 2 AND 3 BETWEEN 4 AND 5",
                             "SELECT 1 BETWEEN 2 ?? 3 AND 4",
                             "SELECT a LIKE 'x' LIKE 'y'",
                             "SELECT a ESCAPE 'x'",
                             "SELECT a LIKE 'x' ESCAPE @e",
                             "SELECT a NOT 'x'",
                             "SELECT ?? 1",
                             "SELECT 1 ? : 2",
                             "SELECT 1 ? 2",
                             "SELECT EXISTS(1)",
                             "SELECT ARRAY(123)",
                             "SELECT f(SELECT 1)",
                             "SELECT ]",
                             "SELECT c.9x",
                             "SELECT c.2",
                             "SELECT c.a(1)",
                             "SELECT c.a{1}",
                             "SELECT 1e",
                             "SELECT 1e+",
                             "SELECT 0x",
                             "SELECT 12a",
                             "SELECT 'abc",
                             "SELECT \"a\\x\"",
                             "SELECT '\\ud800'",
                             "SELECT 'a\nb'",
                             "SELECT @",
                             "SELECT @1",
                             "SELECT c.@p",
                             "SELECT #",
                             "SELECT a ! b",
                             "SELECT 1 FROM",
                             "SELECT 1 FROM 1",
                             "SELECT 1 FROM @p",
                             "SELECT 1 FROM c[@p]",
                             "SELECT 1 FROM c AS @p",
                             "SELECT 1 FROM c JOIN",
                             "SELECT 1 FROM x IN",
                             "SELECT 1 FROM f(c)",
                             "SELECT 1 FROM (1)",
                             "SELECT 1 GROUP c",
                             "SELECT 1 GROUP BY",
                             "SELECT 1 ORDER BY",
                             "SELECT 1 ORDER BY c.a ASC,",
                             "SELECT 1 ORDER BY RANK 1",
                             "SELECT 1 OFFSET 1",
                             "SELECT 1 LIMIT 1",
                             "SELECT 1 OFFSET 1 LIMIT",
                             "SELECT 1 LIMIT 1 OFFSET 1",
                             "SELECT 1 WHERE 1 FROM c",
                             "SELECT TOP 'a' *",
                             "SELECT TOP *",
                             "SELECT TOP 1 DISTINCT *",
                             "SELECT x AS Value",
                             "SELECT x AS",
                             "SELECT order FROM c",
                             "SELECT left",
                             "SELECT udf",
                             "SELECT udf.f",
                             "SELECT udf.",
                             "SELECT (1",
                             "SELECT 1)",
                             "SELECT (SELECT 1",
                             "SELECTVALUE 1",
                             "SELECT 'it''s'",
                             "SELECT 1;",
                             "SELECT c..a",
                             "SELECT c.",
                             "SELECT c[",
                             "SELECT c[]"}) {
        EXPECT_FALSE(accepted(text)) << text;
    }
}

TEST(Parser, Conditions) {
    auto condition = parse_condition("from c where c.x > 0 AND IS_DEFINED(c.y)");
    ASSERT_TRUE(condition.ok());
    EXPECT_EQ(to_text(*(*condition)->query->where), "((c.x > 0) AND IS_DEFINED(c.y))");
    EXPECT_FALSE(parse_condition("c.x > 0").ok());
    EXPECT_FALSE(parse_condition("from c").ok());
    EXPECT_FALSE(parse_condition("from c where c.x order by c.x").ok());
    EXPECT_FALSE(parse_condition("select * from c where true").ok());
}

std::string repeat(std::string_view unit, size_t count) {
    std::string out;
    out.reserve(unit.size() * count);
    for (size_t i = 0; i < count; ++i) out += unit;
    return out;
}

TEST(Limits, NestingIsBounded) {
    // The query itself, the expression and the innermost literal are levels too.
    const size_t most = limits::kDepthMax - 2;
    EXPECT_TRUE(accepted("SELECT VALUE " + repeat("[", most) + "1" + repeat("]", most)));
    EXPECT_FALSE(accepted("SELECT VALUE " + repeat("[", most + 1) + "1" + repeat("]", most + 1)));
    for (const char* unit : {"[", "- ", "NOT ", "{a:", "f(", "c[", "1 ? 1 : ", "1 ? ",
                             "(SELECT VALUE ", "1 IN (", "1 + (", "EXISTS(SELECT ", "(1 + "})
        EXPECT_FALSE(accepted("SELECT VALUE " + repeat(unit, 30'000))) << unit;
    EXPECT_FALSE(accepted("SELECT * " + repeat("FROM (SELECT * ", 30'000)));
}

TEST(Limits, ParenthesesOnTheLeftAreFree) {
    const size_t many = rounds(size_t{50'000});
    EXPECT_EQ(expression(repeat("(", many) + "1" + repeat(")", many)), "1");
    EXPECT_FALSE(accepted("SELECT VALUE " + repeat("(", many) + "1" + repeat(")", many - 1)));
    EXPECT_FALSE(accepted("SELECT VALUE " + repeat("(", many) + "1" + repeat(")", many + 1)));
    EXPECT_TRUE(accepted("SELECT VALUE " + repeat("(", many) + "1" + repeat(" OR 2)", many)));
    EXPECT_TRUE(accepted("SELECT VALUE " + repeat("(", many) + "c" + repeat(".a)", many)));
    // What cannot become one chain makes the tree higher.
    EXPECT_TRUE(accepted("SELECT VALUE " + repeat("((", 100) + "1" + repeat(" + 1) * 1)", 100)));
    EXPECT_FALSE(accepted("SELECT VALUE " + repeat("((", many) + "1" + repeat(" + 1) * 1)", many)));
    EXPECT_FALSE(accepted("SELECT VALUE " + repeat("(", many) + "1" + repeat(" ? 1 : 1)", many)));
    EXPECT_EQ(expression("((a - b) - c) - (d - e)"), "(((a - b) - c) - (d - e))");
    EXPECT_EQ(expression("((SELECT 1)).a"), "(SELECT 1).a");
    EXPECT_EQ(expression("((c.a).b[0]).d"), "c.a.b[0].d");
    EXPECT_EQ(expression("(((a) ? b : c) ?? d) IN (1)"), "(((a ? b : c) ?? d) IN (1))");
}

TEST(Limits, LongChainsAreFine) {
    for (const char* unit :
         {"1 OR ", "1 AND ", "1 + ", "1 = ", "1 < ", "'a' || ", "1 ?? ", "1 * ", "1 | "}) {
        const std::string text = "SELECT VALUE " + repeat(unit, rounds(size_t{50'000})) + "1";
        auto parsed = parse_query(text);
        ASSERT_TRUE(parsed.ok()) << unit;
        const std::string printed = to_text(*(*parsed)->query, PrintForm::kOneLine);
        if (printed.size() > limits::kTextBytesMax) continue;
        auto again = parse_query(printed);
        ASSERT_TRUE(again.ok()) << unit;
        EXPECT_TRUE(ast::same(*(*parsed)->query, *(*again)->query)) << unit;
    }
    EXPECT_TRUE(accepted("SELECT VALUE c" + repeat(".a", 200'000)));
    EXPECT_TRUE(accepted("SELECT VALUE c" + repeat("[0]", 100'000)));
}

TEST(Limits, Counts) {
    EXPECT_TRUE(accepted("SELECT VALUE 1 FROM c" + repeat(" JOIN c.x", limits::kJoinsMax)));
    EXPECT_FALSE(accepted("SELECT VALUE 1 FROM c" + repeat(" JOIN c.x", limits::kJoinsMax + 1)));
    EXPECT_TRUE(
        accepted("SELECT [" + repeat("udf.f(),", limits::kUdfReferencesMax - 1) + "udf.f()]"));
    EXPECT_FALSE(accepted("SELECT [" + repeat("udf.f(),", limits::kUdfReferencesMax) + "udf.f()]"));
    EXPECT_TRUE(accepted("SELECT 1 IN (" + repeat("1,", limits::kInListMax - 1) + "1)"));
    EXPECT_FALSE(accepted("SELECT 1 IN (" + repeat("1,", limits::kInListMax) + "1)"));
    const std::string padding(limits::kTextBytesMax - 8, ' ');
    EXPECT_TRUE(accepted("SELECT 1" + padding));
    EXPECT_FALSE(accepted("SELECT 1 " + padding));
    EXPECT_FALSE(accepted("SELECT '\xff'"));
}

}  // namespace
}  // namespace orrery::query
