#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/write.h"
#include "script/script.h"
#include "script/script_test_support.h"

namespace orrery::script {
namespace {

using testing::HasSubstr;
using testing_support::said;

/// The function's result on JSON arguments, as JSON.
std::string call(std::string_view text, std::string_view arguments, const Limits& limits = {}) {
    const auto functions = Functions::create(limits);
    const auto number = functions->add("f", text);
    if (!number.ok()) return said(number.error());
    json::Arena arena;
    const auto list = json::parse(arguments, arena);
    const auto result = functions->call(*number, list->elements(), arena);
    if (!result.ok()) return said(result.error());
    return result->is_undefined() ? "undefined" : json::to_text(*result);
}

TEST(Functions, ValuesGoInAndOut) {
    EXPECT_EQ(call("function (x) { return x; }", R"([{"a":[1,2.5,null,true,"é\u0000"]}])"),
              R"({"a":[1,2.5,null,true,"é\u0000"]})");
    for (std::string_view value : {"1", "-0.5", "1e300", "9007199254740993", "true", "null", "\"\"",
                                   "\"text\"", "\"\\ud83d\\ude00\"", "[]", "{}"})
        EXPECT_NE(call("function (x) { return x; }", "[" + std::string(value) + "]"), "undefined")
            << value;
    // Names are names, whatever they look like.
    for (std::string_view object :
         {R"({"é":1,"0":{"1":[[],[{}]]},"":2,"a b":"ü"})", R"({"__proto__":{"x":1}})",
          R"({"toString":1,"constructor":{"prototype":null},"length":-1})"})
        EXPECT_EQ(call("function (x) { return JSON.stringify(x) === JSON.stringify(JSON.parse('" +
                           std::string(object) + "')) && Object.keys(x).length > 0; }",
                       "[" + std::string(object) + "]"),
                  "true")
            << object;
    EXPECT_EQ(call("function (x) { return [x.length, x instanceof Array, x[1].b.c]; }",
                   R"([[7,{"b":{"c":[]}}]])"),
              "[2,true,[]]");
    EXPECT_EQ(call("function (a, b) { return a + b; }", "[1,2]"), "3");
    EXPECT_EQ(call("function (a, b) { return typeof b; }", "[1]"), R"("undefined")");
    for (std::string_view nothing :
         {"undefined", "NaN", "Infinity", "() => 1", "Symbol('s')", "5n"})
        EXPECT_EQ(call("function () { return " + std::string(nothing) + "; }", "[]"), "undefined")
            << nothing;
    EXPECT_EQ(
        call("function main(x) { return help(x); } function help(x) { return x * 2; }", "[4]"),
        "8");
    EXPECT_EQ(call("(x) => new Date(x).toISOString()", "[0]"), R"("1970-01-01T00:00:00.000Z")");
}

TEST(Functions, HaveNoContext) {
    EXPECT_EQ(
        call(
            "function () { return [typeof getContext, typeof __, typeof console, typeof native]; }",
            "[]"),
        R"(["undefined","undefined","undefined","undefined"])");
}

TEST(Functions, FailWithTheirName) {
    EXPECT_THAT(
        call("function () { throw new Error('bad'); }", "[]"),
        HasSubstr("bad request Encountered exception while executing function udf.f. Exception = "
                  "Error: bad (line 1)"));
    EXPECT_THAT(call("function () { throw {toString() { throw 1; }}; }", "[]"),
                HasSubstr("bad request "));
    EXPECT_THAT(call("function ( {", "[]"), HasSubstr("SyntaxError"));
    EXPECT_THAT(call("5", "[]"), HasSubstr("no function"));
    EXPECT_THAT(call("function f() { return f(); }", "[]"), HasSubstr("too much recursion"));
    EXPECT_THAT(call("function f() { const a = {}; a.a = a; return a; }", "[]"),
                HasSubstr("cyclic"));
}

TEST(Functions, EndInTime) {
    Limits limits;
    limits.time_ms = 200;
    EXPECT_THAT(call("function () { for (;;); }", "[]", limits), HasSubstr("timeout "));
    EXPECT_EQ(call("function () { return 1; }", "[]", limits), "1");
}

TEST(Functions, KeepApart) {
    const auto functions = Functions::create({});
    const auto first =
        functions->add("a", "function f() { return g(); } function g() { return 1; }");
    const auto second = functions->add(
        "b", "function f() { return g(); } function g() { globalThis.x = 5; return 2; }");
    const auto third = functions->add("c", "() => typeof x");
    json::Arena arena;
    EXPECT_EQ(functions->call(*first, {}, arena)->as_double(), 1);
    EXPECT_EQ(functions->call(*second, {}, arena)->as_double(), 2);
    EXPECT_EQ(functions->call(*first, {}, arena)->as_double(), 1);
    EXPECT_EQ(functions->call(*third, {}, arena)->as_string(), "undefined");
}

}  // namespace
}  // namespace orrery::script
