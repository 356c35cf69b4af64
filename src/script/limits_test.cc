// What ends a script that would not end by itself: time, memory, stack, a server that stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/ended_test_support.h"
#include "script/script_test_support.h"

namespace orrery::script {
namespace {

using testing::HasSubstr;
using testing_support::body_of;
using testing_support::run;
using testing_support::short_limits;
using testing_support::value_of;

TEST(Script, LoopsEnd) {
    for (std::string_view loop :
         {"for (;;);", "while (true) { try { throw 1; } catch {} }",
          "try { for (;;); } finally { for (;;); }",
          "(function f() { try { f(); } catch { f(); } })();",
          "const a = []; for (;;) a.sort(() => { for (;;); }, a.push(1, 2));",
          "new Promise(() => {}); (async () => { for (;;) await null; })();",
          "const p = new Proxy({}, {get() { for (;;); }}); p.x;",
          "JSON.stringify({toJSON() { for (;;); }});",
          "for (const x of {[Symbol.iterator]: () => ({next: () => ({done: false})})});",
          "let n = 3n; for (;;) n = (n * n) % (2n ** 100000n);"}) {
        const RunResult result = run("function () { " + std::string(loop) + " }", "[]", nullptr,
                                     Kind::kProcedure, short_limits());
        ASSERT_FALSE(result.status.ok()) << loop;
        EXPECT_THAT(ended(result.status), testing::AnyOf(Ended::kTimeout, Ended::kTooLarge))
            << loop << ": " << result.status.error().message;
    }
    EXPECT_EQ(value_of("1"), "1");
}

TEST(Script, AServerThatStopsDoesNotWait) {
    std::optional<EndRuns> ending;
    std::thread stop([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ending.emplace();
    });
    const RunResult loop = run("function () { for (;;); }");
    stop.join();
    ASSERT_FALSE(loop.status.ok());
    EXPECT_EQ(ended(loop.status.error()), Ended::kUnavailable);
    // What begins now ends as well.
    EXPECT_EQ(ended(run("function () { for (;;); }").status.error()), Ended::kUnavailable);
    const auto functions = Functions::create({});
    const auto added = functions->add("loop", "function () { for (;;); }");
    ASSERT_TRUE(added.ok());
    json::Arena arena;
    const auto called = functions->call(*added, {}, arena);
    ASSERT_FALSE(called.ok());
    EXPECT_EQ(ended(called.error()), Ended::kUnavailable);
    ending.reset();
    EXPECT_EQ(value_of("1"), "1");
}

TEST(Script, WhatCannotEndWellEnds) {
    for (std::string_view text :
         {"/(a+)+$/.test('a'.repeat(60) + 'b');", "Array.from({length: 2 ** 40}, () => 1);"})
        EXPECT_FALSE(run("function () { " + std::string(text) + " }", "[]", nullptr,
                         Kind::kProcedure, short_limits())
                         .status.ok());
}

TEST(Script, CallsThatNothingCouldInterruptAreRefused) {
    const std::string marks = "'\\u0301\\u0323'.repeat(1 << 18)";
    const std::string search = "'x'.repeat(1 << 21)";
    const std::string sought = "('x'.repeat(1 << 20) + 'y')";
    for (const std::string& call :
         {marks + ".normalize('NFD')", marks + ".localeCompare('a')",
          "'a'.localeCompare(" + marks + ")", search + ".indexOf(" + sought + ")",
          search + ".lastIndexOf(" + sought + ")", search + ".includes(" + sought + ")",
          search + ".split(" + sought + ")", search + ".replace(" + sought + ", '')",
          search + ".replaceAll(" + sought + ", '')",
          // Whatever they are before they are texts, and however they are called.
          "new String(" + search + ").indexOf(new String(" + sought + "))",
          "const t = " + search + "; String.prototype.includes.call({toString: () => t}, [" +
              sought + "])",
          "const s = " + sought + "; " + search +
              ".includes({[Symbol.match]: false, toString: () => s})",
          "Reflect.apply(''.split, [" + search + "], [{toString: () => " + sought + "}])",
          "const s = " + sought + "; let n = 0; " + search +
              ".replaceAll({get [Symbol.replace]() { return n++ ? 1 : null; }, toString: () => s}, "
              "'')",
          "RegExp.prototype.exec = () => null; Array.prototype[Symbol.iterator] = null; new "
          "String(" +
              marks + ").normalize('NFD')",
          "''.localeCompare.call(['a'], {toString: () => " + marks + "})"})
        EXPECT_THAT(body_of("function () { " + call + "; }"), HasSubstr("RangeError: a text "))
            << call;
    EXPECT_EQ(
        value_of(
            "['abcabc'.indexOf('c', 3), 'abcabc'.lastIndexOf('c', 4), 'abc'.includes('bc'), "
            "'a,b,c'.split(',', 2), 'aa'.replace('a', (m) => m + 1), 'aa'.replaceAll(/a/g, 'b'), "
            "'\\u0065\\u0301'.normalize() === '\\u00e9', 'a'.localeCompare('b'), "
            "('e\\u0301'.repeat(5000)).normalize().length, "
            "'x'.repeat(1 << 21).indexOf('x'.repeat(1 << 14)), ''.split.length, "
            "'x'.indexOf.name]"),
        R"([5,2,true,["a","b"],"a1a","bb",true,-1,5000,0,2,"indexOf"])");
    // Otherwise they are the language's own.
    EXPECT_EQ(
        value_of(
            "(() => { const thrown = (f) => { try { return f(); } catch (e) { return e.name; } }; "
            "let n = 0; const once = {toString() { return 'b' + ++n; }}; "
            "return ['ab1'.indexOf(once), n, 'a1b'.split(1), 'anullb'.split(null), 'ab'.split(), "
            "'ab'.split(undefined, 0), 'abc'.split(/b/), 'xundefined'.indexOf(), "
            "[1, 2].toString.call([1, 2]).includes(2), ''.includes.call(12, 2), "
            "'abc'.replace({[Symbol.replace]: (t, r) => t + r}, 'd'), "
            "thrown(() => 'a'.includes(/a/)), thrown(() => 'a'.replaceAll(/a/, '')), "
            "thrown(() => ''.indexOf.call(null, '')), thrown(() => ''.split.call(undefined)), "
            "thrown(() => 'a'.indexOf(Symbol())), 'a-b'.replace('-', '$`'), "
            "'a'.localeCompare(), new String('e\u0301').normalize('NFC').length, "
            "thrown(() => 'a'.normalize('x'))]; })()"),
        R"([1,1,["a","b"],["a","b"],["ab"],[],["a","c"],1,true,true,"abcd","TypeError","TypeError",)"
        R"("TypeError","TypeError","TypeError","aab",-1,1,"RangeError"])");
}

TEST(Script, RecursionEnds) {
    EXPECT_THAT(body_of("function f() { (function g() { g(); })(); }"),
                HasSubstr("too much recursion"));
    EXPECT_THAT(body_of("function f() { let s = '['.repeat(100000); JSON.parse(s); }"),
                HasSubstr("Exception = "));
    EXPECT_THAT(body_of("function f() { let a = []; for (let i = 0; i < 200000; ++i) a = [a]; "
                        "__.response.setBody(a); }"),
                HasSubstr("Exception = "));
    EXPECT_EQ(value_of("1"), "1");
}

TEST(Script, MemoryIsLimited) {
    for (std::string_view hog :
         {"const a = []; for (;;) a.push({a: 1, b: [1, 2, 3]});",
          "const a = []; for (;;) a.push('x'.repeat(1000) + a.length);",
          "const m = new Map(); for (let i = 0; ; ++i) m.set(i, i);",
          "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1));",
          "const f = []; for (let i = 0; ; ++i) f.push(new Function('return ' + i));"}) {
        const RunResult result = run("function () { " + std::string(hog) + " }");
        ASSERT_FALSE(result.status.ok()) << hog;
        const Error& error = result.status.error();
        EXPECT_THAT(ended(error),
                    testing::AnyOf(Ended::kBadRequest, Ended::kTimeout, Ended::kTooLarge))
            << hog << ": " << error.message;
    }
    EXPECT_EQ(value_of("1"), "1");
}

#ifndef ORRERY_DCHECKS  // instrumented builds have another allocator
TEST(Script, NoSingleAllocationIsHuge) {
    for (std::string_view hog :
         {"new ArrayBuffer(4e9);", "new Float64Array(3e8).fill(1);",
          "let s = 'xy'; for (let i = 0; i < 29; ++i) s += s; s.charCodeAt(5); [...s];",
          "'x'.repeat(2 ** 29).split('');", "new Array(3e8).fill(0).map((x, i) => i);"}) {
        const RunResult result = run("function () { " + std::string(hog) + " }", "[]", nullptr,
                                     Kind::kProcedure, short_limits());
        ASSERT_FALSE(result.status.ok()) << hog;
    }
    EXPECT_EQ(value_of("1"), "1");
}
#endif

TEST(Script, AnswerIsBounded) {
    const RunResult result = run("function () { __.response.setBody('x'.repeat(5000000)); }");
    EXPECT_EQ(ended(result.status.error()), Ended::kTooLarge);
}

}  // namespace
}  // namespace orrery::script
