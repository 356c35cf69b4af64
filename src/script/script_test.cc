// The language that scripts have, what they answer and how their mistakes are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/ended_test_support.h"
#include "script/script_test_support.h"

namespace orrery::script {
namespace {

using testing::HasSubstr;
using testing_support::body_of;
using testing_support::FakeCollection;
using testing_support::run;
using testing_support::said;
using testing_support::value_of;

TEST(Script, SetsTheBodyFromItsArguments) {
    EXPECT_EQ(
        body_of("function (a, b) { getContext().getResponse().setBody({sum: a + b}); }", "[1,2]"),
        R"({"sum":3})");
    EXPECT_EQ(body_of("function f() { __.response.setBody('text'); }"), R"("text")");
    EXPECT_EQ(body_of("(x) => { __.response.setBody(x); };", R"([{"a":[1,"é"]}])"),
              R"({"a":[1,"é"]})");
    EXPECT_EQ(body_of("function () {}"), "(none)");
    EXPECT_EQ(
        body_of("function main() { __.response.setBody(help()); }\nfunction help() { return 7; }"),
        "7");
    EXPECT_EQ(body_of("function () { const r = getContext().getResponse(); r.setBody('a'); "
                      "r.appendBody('b'); }"),
              R"("ab")");
}

TEST(Script, NothingIsLeftForTheNextRun) {
    EXPECT_EQ(body_of("function () { globalThis.leak = 1; Array.prototype.leak = 2; "
                      "Object.prototype.x = 3; JSON.parse = null; }"),
              "(none)");
    EXPECT_EQ(value_of("[typeof leak, typeof [].leak, typeof ({}).x, typeof JSON.parse]"),
              R"(["undefined","undefined","undefined","function"])");
    // Nor promises that had not come to their turn.
    const RunResult first =
        run("function () { Promise.resolve().then(() => { for (;;); }); throw 1; }");
    EXPECT_FALSE(first.status.ok());
    EXPECT_EQ(value_of("1"), "1");
}

TEST(Script, HasTheLanguageAndNothingElse) {
    EXPECT_EQ(value_of("[2n ** 64n + '', [1,2].at(-1), Object.hasOwn({a:1},'a'), "
                       "'aXbX'.replaceAll('X','-'), [..."
                       "'a1b2'.matchAll(/[a-z]/g)].length, (null ?? 1), new "
                       "Intl.NumberFormat('en').format(1234)]"),
              R"(["18446744073709551616",2,true,"a-b-",2,1,"1,234"])");
    EXPECT_EQ(value_of("(() => { class A { #x = 4; static { A.y = 1; } get x() { return this.#x + "
                       "A.y; } } return new A().x; })()"),
              "5");
    EXPECT_EQ(
        value_of("structuredCloneIsMissing = [typeof require, typeof process, typeof load, typeof "
                 "print, typeof read, typeof quit, "
                 "typeof setTimeout, typeof fetch, typeof WebAssembly, typeof SharedArrayBuffer, "
                 "typeof Worker, typeof Debugger, typeof native]"),
        R"(["undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined"])");
}

TEST(Script, ModelCannotBeChanged) {
    EXPECT_EQ(
        value_of(
            "(() => { try { getContext = 1; } catch {} try { __.createDocument = 1; } catch {} "
            "delete globalThis.getContext; return [typeof getContext, typeof __.createDocument, "
            "ErrorCodes.NotFound]; })()"),
        R"(["function","function",404])");
}

TEST(Script, AnswersAreFormedWithoutTheScriptsHelp) {
    for (std::string_view value : {"undefined", "5", "({request: 5, response: {a: 1}})", "[]",
                                   "(() => { throw 1; })()", "'text'"}) {
        const std::string spoil =
            "Object.prototype.toJSON = String.prototype.toJSON = function () { return " +
            std::string(value) + "; };";
        EXPECT_EQ(body_of("function () { __.response.setBody(7); " + spoil + " }"), "7") << value;
        EXPECT_THAT(body_of("function () { " + spoil + " throw new Error('told'); }"),
                    HasSubstr("Error: told"))
            << value;
        FakeCollection collection;
        run("function () { " + spoil + " __.readDocument(__.getAltLink() + '/docs/i'); }", "[]",
            &collection);
        EXPECT_THAT(collection.calls, testing::ElementsAre(testing::StartsWith("read {\"id\":")))
            << value;
    }
}

TEST(Script, ThrownIsTold) {
    EXPECT_THAT(body_of("function () { throw new Error('no luck'); }"),
                HasSubstr("Exception = Error: no luck\r\nStack trace: "));
    EXPECT_THAT(body_of("function () {\n  undefinedName();\n}"),
                testing::EndsWith("Exception = ReferenceError: undefinedName is not "
                                  "defined\r\nStack trace: @script:2:3"));
    const RunResult numbered = run("function () { throw new Error(404, 'not there'); }");
    EXPECT_EQ(ended(numbered.status.error()), Ended::kBadRequest);
    EXPECT_EQ(numbered.status.error().details.number, 404);
    EXPECT_THAT(numbered.status.error().message, HasSubstr("Error: not there"));
    EXPECT_THAT(body_of("async function () { await null; throw new TypeError('later'); }"),
                HasSubstr("TypeError: later"));
    EXPECT_THAT(body_of("function () { try { getContext().abort(new Error('ended')); } catch {} "
                        "finally { for (;;); } }"),
                HasSubstr("Error: ended"));
}

TEST(Script, OddThingsCanBeThrown) {
    for (std::string_view thrown :
         {"null",
          "undefined",
          "5",
          "'text'",
          "Symbol('s')",
          "10n",
          "{}",
          "[]",
          "function () {}",
          "{toString() { throw 1; }}",
          "{get number() { throw 2; }}",
          "new Proxy({}, {get() { throw 3; }, getPrototypeOf() { throw 4; }})",
          "new Proxy(function () {}, {})",
          "Object.create(null)",
          "{toJSON() { throw this; }}",
          "Object.assign(new Error(), {message: {toString() { throw 5; }}})",
          "(() => { const a = {}; a.a = a; return a; })()",
          "Object.defineProperty(new Error('x'), 'stack', {get() { throw 6; }})",
          "new Date(NaN)",
          "'x'.repeat(1000000)"}) {
        const RunResult result = run("function () { throw " + std::string(thrown) + "; }");
        ASSERT_FALSE(result.status.ok()) << thrown;
        EXPECT_EQ(ended(result.status.error()), Ended::kBadRequest) << thrown;
        EXPECT_THAT(result.status.error().message, HasSubstr("Exception = ")) << thrown;
        EXPECT_LT(result.status.error().message.size(), 10000U) << thrown;
    }
}

TEST(Script, ErrorTakesANumber) {
    EXPECT_EQ(
        value_of("(() => { const e = new Error(409, 'x'); class My extends Error {} return "
                 "[e.number, e.message, e instanceof Error, "
                 "new TypeError('t') instanceof Error, new My('m') instanceof My, new My('m') "
                 "instanceof Error, Error('c').message, "
                 "new Error('a', {cause: 3}).cause, Object.prototype.toString.call(e)]; })()"),
        R"([409,"x",true,true,true,true,"c",3,"[object Error]"])");
}

TEST(Script, SyntaxErrorsHaveAPlace) {
    const auto error = [](std::string_view text) {
        const Status status = Runtime::of_this_thread().check(text);
        return status.ok() ? std::string("fine") : said(status.error());
    };
    EXPECT_EQ(error("function () { return 1; }"), "fine");
    EXPECT_EQ(error("function f(a, b = 1, ...c) { return a?.b ?? c; } function g() {}"), "fine");
    EXPECT_EQ(error("async (x) => await x;"), "fine");
    EXPECT_THAT(error("function () {\n  let a = 1;\n  let b = = 2;\n}"),
                HasSubstr("at line 3, column 11"));
    EXPECT_THAT(error("function f() {}\nfunction g( {}"), HasSubstr("at line 2"));
    EXPECT_THAT(error("function () { return 1"), HasSubstr("ends too early at line 1, column 23"));
    EXPECT_THAT(error("function () {\n  return 'é'\n"),
                HasSubstr("ends too early at line 2, column 13"));
    EXPECT_THAT(error("not javascript at all"), HasSubstr("no function"));
    EXPECT_THAT(error("not a function"), HasSubstr("at line 1, column 5"));
    EXPECT_THAT(error(""), HasSubstr("at line "));
    EXPECT_THAT(body_of("5"), HasSubstr("The script has no function."));
}

TEST(Script, LogIsFormattedAndBounded) {
    const RunResult result =
        run("function () { console.log('a %s 100%% %s', 1); console.log({}); for (let i = 0; i < "
            "100000; ++i) console.log('é'); }");
    EXPECT_TRUE(result.status.ok());
    EXPECT_THAT(result.log, testing::StartsWith("a 1 100% %s[object Object]é"));
    EXPECT_LE(result.log.size(), Limits().log_bytes);
    EXPECT_EQ(run("function () { console.log('x'); throw 1; }").log, "x");
}

TEST(Script, ManyThreadsRunAtOnce) {
    std::vector<std::thread> threads;
    std::vector<std::string> bodies(4);
    for (size_t i = 0; i < bodies.size(); ++i)
        threads.emplace_back([&bodies, i] {
            for (int n = 0; n < 20; ++n)
                bodies[i] = body_of(
                    "function (x) { let s = 0; for (let i = 0; i < 1000; ++i) s += x; "
                    "__.response.setBody(s); }",
                    "[" + std::to_string(i) + "]");
        });
    for (auto& thread : threads) thread.join();
    EXPECT_THAT(bodies, testing::ElementsAre("0", "1000", "2000", "3000"));
}

}  // namespace
}  // namespace orrery::script
