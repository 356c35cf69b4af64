#include "script/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace orrery::script {
namespace {

using testing::HasSubstr;

constexpr std::string_view kContext =
    R"({"self":"dbs/D==/colls/C=","alt":"dbs/d/colls/c","operation":"Create","values":{"x-ms-a":"1"}})";

/// Notes what it is asked and answers with what it was given.
class FakeCollection final : public Collection {
public:
    std::optional<std::string> call(std::string_view operation,
                                    std::string_view arguments) override {
        calls.push_back(std::string(operation) + " " + std::string(arguments));
        if (answers.empty()) return R"({"resource":{"id":"r"},"options":{"statusCode":200}})";
        auto answer = answers.front();
        if (answers.size() > 1) answers.erase(answers.begin());
        return answer;
    }
    std::vector<std::string> calls;
    std::vector<std::optional<std::string>> answers;
};

RunResult run(std::string_view text, std::string arguments = "[]", Collection* collection = nullptr,
              Kind kind = Kind::kProcedure, const Limits& limits = {},
              std::string context = std::string(kContext)) {
    RunRequest request;
    request.kind = kind;
    request.name = "test";
    request.text = text;
    request.arguments = std::move(arguments);
    request.context = std::move(context);
    request.logging = true;
    request.collection = collection;
    return Runtime::of_this_thread().run(request, limits);
}

std::string body_of(std::string_view text, std::string arguments = "[]",
                    Collection* collection = nullptr) {
    const RunResult result = run(text, std::move(arguments), collection);
    if (!result.status.ok())
        return "error " + std::to_string(result.status.error().http_status) + " " +
               result.status.error().message;
    return result.response_body.value_or("(none)");
}

/// The expression's value as JSON.
std::string value_of(std::string_view expression) {
    return body_of("function () { getContext().getResponse().setBody(" + std::string(expression) +
                   "); }");
}

Limits short_limits() {
    Limits limits;
    limits.time_ms = 300;
    limits.accept_ms = 200;
    return limits;
}

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
    EXPECT_EQ(numbered.status.error().http_status, 400);
    EXPECT_EQ(numbered.status.error().sub_status, 404);
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
        EXPECT_EQ(result.status.error().http_status, 400) << thrown;
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
        const int status = result.status.error().http_status;
        EXPECT_TRUE(status == 408 || status == 413)
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
    EXPECT_EQ(loop.status.error().http_status, 503);
    // What begins now ends as well.
    EXPECT_EQ(run("function () { for (;;); }").status.error().http_status, 503);
    const auto functions = Functions::create({});
    const auto added = functions->add("loop", "function () { for (;;); }");
    ASSERT_TRUE(added.ok());
    json::Arena arena;
    const auto called = functions->call(*added, {}, arena);
    ASSERT_FALSE(called.ok());
    EXPECT_EQ(called.error().http_status, 503);
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
        EXPECT_THAT(error.http_status, testing::AnyOf(400, 408, 413))
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

TEST(Script, SyntaxErrorsHaveAPlace) {
    const auto error = [](std::string_view text) {
        const Status status = Runtime::of_this_thread().check(text);
        return status.ok()
                   ? std::string("fine")
                   : std::to_string(status.error().http_status) + " " + status.error().message;
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

TEST(Script, AnswerIsBounded) {
    const RunResult result = run("function () { __.response.setBody('x'.repeat(5000000)); }");
    EXPECT_EQ(result.status.error().http_status, 413);
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

TEST(ScriptCollectionCalls, PassOptionsAndDeliverLater) {
    FakeCollection collection;
    EXPECT_EQ(body_of("function () { const order = []; const c = getContext().getCollection();"
                      "const ok = c.createDocument(c.getSelfLink(), {a: 1, id: 'i'}, {indexAction: "
                      "'exclude'}, (e, r, o) => { order.push('callback', e === undefined, r.id, "
                      "o.statusCode); __.response.setBody(order); });"
                      "order.push(ok, 'returned'); }",
                      "[]", &collection),
              R"([true,"returned","callback",true,"r",200])");
    EXPECT_THAT(collection.calls,
                testing::ElementsAre(
                    R"(create {"body":{"a":1,"id":"i"},"options":{"indexAction":"exclude"}})"));
}

TEST(ScriptCollectionCalls, LinksAreChecked) {
    FakeCollection collection;
    for (std::string_view call :
         {"__.createDocument('dbs/x/colls/y', {})",
          "__.createDocument(undefined, {})",
          "__.readDocument('dbs/d/colls/c')",
          "__.readDocument('dbs/d/colls/c/docs/a/b')",
          "__.deleteDocument(__.getAltLink())",
          "__.queryDocuments(__.getAltLink(), 5)",
          "__.createDocument(__.getAltLink(), 'no json')",
          "__.createDocument(__.getAltLink(), [1])",
          "__.createDocument(__.getAltLink(), {}, {unknown: 1})",
          "__.createDocument(__.getAltLink(), {}, {}, 5)",
          "__.createDocument(__.getAltLink(), {}, {constructor: 1})",
          "__.createDocument(__.getAltLink(), {}, {disableAutomaticIdGeneration: 'yes'})",
          "__.replaceDocument(__.getAltLink() + '/docs/i', {}, {etag: 5})",
          "__.deleteDocument(__.getAltLink() + '/docs/i', {etag: {}})",
          "__.readDocument(__.getAltLink() + '/docs/i', {ifNoneMatch: 5})",
          "__.queryDocuments(__.getAltLink(), 'SELECT * FROM c', {continuation: 5})",
          "__.readDocuments(__.getAltLink(), {pageSize: '5'})",
          "__.filter(() => true, {continuation: 5})",
          "__.request.setBody(1)",
          "__.request.setValue('x-ms-a', 1)",
          "__.response.setValue('nope', 1)"})
        EXPECT_THAT(body_of("function () { " + std::string(call) + "; }", "[]", &collection),
                    HasSubstr("error 400"))
            << call;
    EXPECT_TRUE(collection.calls.empty());
    EXPECT_EQ(body_of("function () { __.readDocument('dbs/d/colls/c/docs/i'); "
                      "__.readDocument('dbs/D==/colls/C=/docs/rid=/', {ifNoneMatch: 'e'}); "
                      "__.readDocuments(__.getSelfLink(), () => {}); }",
                      "[]", &collection),
              "(none)");
    EXPECT_THAT(collection.calls,
                testing::ElementsAre(R"(read {"id":"i","options":{}})",
                                     R"(read {"rid":"rid=","options":{"ifNoneMatch":"e"}})",
                                     R"(feed {"options":{}})"));
}

TEST(ScriptCollectionCalls, ErrorsGoToTheCallbackOrAreThrown) {
    FakeCollection collection;
    collection.answers = {
        R"({"error":{"number":409,"body":"taken"},"options":{"statusCode":409}})"};
    EXPECT_EQ(body_of("function () { __.createDocument(__.getAltLink(), {}, (e) => { "
                      "__.response.setBody([e.number, e.body]); }); }",
                      "[]", &collection),
              R"([409,"taken"])");
    EXPECT_EQ(body_of("function () { try { __.createDocument(__.getAltLink(), {}); } catch (e) { "
                      "__.response.setBody([e.number, e.message]); } }",
                      "[]", &collection),
              R"([409,"taken"])");
    const RunResult result =
        run("function () { __.createDocument(__.getAltLink(), {}); }", "[]", &collection);
    EXPECT_EQ(result.status.error().sub_status, 409);
}

TEST(ScriptCollectionCalls, AreNotAcceptedWhenTheBudgetIsOver) {
    FakeCollection collection;
    collection.answers = {std::nullopt};
    EXPECT_EQ(body_of("function () { __.response.setBody([__.createDocument(__.getAltLink(), {}), "
                      "__.filter(() => true)]); }",
                      "[]", &collection),
              R"([false,{"isAccepted":false}])");
    FakeCollection patient;
    const RunResult result =
        run("function () { let n = 0; while (__.createDocument(__.getAltLink(), {id: 'x'})) ++n; "
            "__.response.setBody(n > 0); }",
            "[]", &patient, Kind::kProcedure, short_limits());
    EXPECT_EQ(result.response_body.value_or("none"), "true");
}

TEST(ScriptCollectionCalls, FluentQueries) {
    FakeCollection collection;
    collection.answers = {
        R"({"resource":[{"id":"a","n":2,"t":[1,2]},{"id":"b","n":1,"t":[3]},{"id":"c","t":[]}],"options":{"statusCode":200}})"};
    const auto query = [&](std::string_view text) {
        return body_of("function () { " + std::string(text) + "; }", "[]", &collection);
    };
    EXPECT_EQ(query("__.filter((d) => d.n > 1, (e, r) => __.response.setBody(r.length))"), "1");
    EXPECT_EQ(query("__.map((d) => d.n)"), "[2,1]");
    EXPECT_EQ(query("__.pluck('id')"), R"(["a","b","c"])");
    EXPECT_EQ(query("__.chain().pluck('t').flatten().value()"), "[1,2,3]");
    EXPECT_EQ(query("__.chain().sortBy((d) => d.n).pluck('id').value()"), R"(["c","b","a"])");
    EXPECT_EQ(query("__.chain().filter((d) => 'n' in d).sortByDescending((d) => d.id).map((d) => "
                    "d.id).value()"),
              R"(["b","a"])");
    EXPECT_EQ(query("__.chain().unwind('t', (d, t) => d.id + t).value()"), R"(["a1","a2","b3"])");
    EXPECT_EQ(query("__.unwind((d) => d.t, (d, t) => t, {pageSize: 3})"), "[1,2,3]");
    EXPECT_EQ(query("__.unwind((d) => new Array(400000).fill(1), (d, t) => t, (e, r) => "
                    "__.response.setBody(r.length))"),
              "1200000");
}

TEST(ScriptTriggers, PreTriggersChangeTheRequest) {
    const std::string context =
        R"({"self":"s","alt":"a","operation":"Create","values":{},"body":{"id":"i","n":1}})";
    const RunResult result =
        run("function () { const r = getContext().getRequest(); const b = r.getBody(); b.seen = "
            "r.getOperationType(); b.r = typeof getContext().getResponse; r.setBody(b); }",
            "[]", nullptr, Kind::kPreTrigger, {}, context);
    EXPECT_TRUE(result.status.ok());
    EXPECT_EQ(result.request_body.value_or("none"),
              R"({"id":"i","n":1,"seen":"Create","r":"undefined"})");
    EXPECT_FALSE(run("function () {}", "[]", nullptr, Kind::kPreTrigger, {}, context).request_body);
    EXPECT_FALSE(
        run("function () { __.filter(() => true); }", "[]", nullptr, Kind::kPreTrigger, {}, context)
            .status.ok());
}

TEST(ScriptTriggers, PostTriggersSeeTheResponse) {
    const std::string context =
        R"({"self":"s","alt":"a","operation":"Create","values":{},"body":{"id":"i"},"response":{"id":"i","_etag":"e"},"quota":"q","usage":"u"})";
    const RunResult result =
        run("function () { const r = getContext().getResponse(); if (r.getBody()._etag !== 'e') "
            "throw 1; r.setBody([r.getMaxResourceQuota(), r.getResourceQuotaCurrentUsage(), "
            "r.getValue('Body').id]); }",
            "[]", nullptr, Kind::kPostTrigger, {}, context);
    EXPECT_TRUE(result.status.ok());
    EXPECT_EQ(result.response_body.value_or("none"), R"(["q","u","i"])");
    EXPECT_FALSE(
        run("function () {}", "[]", nullptr, Kind::kPostTrigger, {}, context).response_body);
}

}  // namespace
}  // namespace orrery::script
