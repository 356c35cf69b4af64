// Stored procedures, triggers and user-defined functions from end to end, over an engine in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "heads/rest/scripts_test_support.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::Headers;
using testing_support::json_text;
using testing_support::kContainer;
using testing_support::kKeyA;
using testing_support::Reply;
using testing_support::TestServer;

class ScriptsTest : public testing_support::ScriptContainerTest {
protected:
    /// Creates and runs it.
    Reply run(std::string_view body, const std::string& arguments = "[]",
              Headers headers = {kKeyA}) {
        const std::string id = "p" + std::to_string(++procedures_);
        const Reply made = create("sprocs", id, body);
        EXPECT_EQ(made.status, 201) << made.body;
        const Reply ran =
            server_.send("POST", kContainer + "/sprocs/" + id, std::move(headers), arguments);
        EXPECT_EQ(server_.send("DELETE", kContainer + "/sprocs/" + id).status, 204);
        return ran;
    }
    Reply item(const std::string& id) {
        return server_.send("GET", kContainer + "/docs/" + id, {kKeyA});
    }
    Reply post_item(const std::string& body, Headers headers = {}) {
        headers.push_back(kKeyA);
        return server_.send("POST", kContainer + "/docs", std::move(headers), body);
    }
    Reply query(const std::string& text) {
        return server_.send(
            "POST", kContainer + "/docs",
            {{"content-type", "application/query+json"}, {"x-ms-documentdb-isquery", "True"}},
            R"({"query":)" + json_text(text) + "}");
    }

    int procedures_ = 0;
};

TEST_F(ScriptsTest, Resources) {
    for (const std::string kind : {"sprocs", "triggers", "udfs"}) {
        const std::string more =
            kind == "triggers" ? R"(,"triggerType":"Pre","triggerOperation":"All")" : "";
        const std::string path = kContainer + "/" + kind;
        const Reply made = create(kind, "s", "function () {}", more);
        ASSERT_EQ(made.status, 201) << made.body;
        EXPECT_EQ(made.header("x-ms-request-charge"), "6.29");
        EXPECT_EQ(create(kind, "s", "function () {}", more).status, 409);
        EXPECT_EQ(create(kind, "bad", "function () { (", more).status, 400);
        EXPECT_THAT(create(kind, "bad", "function () {\n  ) }", more).body,
                    HasSubstr("line 2, column 3"));
        EXPECT_EQ(
            create(kind, "big", "function () {/*" + std::string(1 << 20, 'x') + "*/}", more).status,
            413);
        const Reply read = server_.send("GET", path + "/s");
        EXPECT_EQ(read.status, 200);
        EXPECT_EQ(read.body, made.body);
        EXPECT_EQ(server_.send("GET", path + "/s", {{"if-none-match", read.header("etag")}}).status,
                  304);
        const std::string body = R"({"id":"s","body":"function () { return 1; }")" + more + "}";
        EXPECT_EQ(server_.send("PUT", path + "/s", {{"if-match", "\"other\""}}, body).status, 412);
        const Reply replaced =
            server_.send("PUT", path + "/s", {{"if-match", read.header("etag")}}, body);
        EXPECT_EQ(replaced.status, 200) << replaced.body;
        EXPECT_EQ(replaced.member("_rid"), made.member("_rid"));
        EXPECT_THAT(server_.send("GET", path).body, HasSubstr(R"("_count":1})"));
        const Reply found =
            server_.send("POST", path, {{"content-type", "application/query+json"}},
                         R"({"query":"SELECT VALUE r.id FROM r WHERE r.id = 's'"})");
        EXPECT_THAT(found.body, HasSubstr(R"(["s"])"));
        EXPECT_EQ(server_.send("PATCH", path + "/s").status, 405);
        EXPECT_EQ(server_.send("GET", path + "/s", {}, "", 2).status, 200) << "read-only key";
        EXPECT_EQ(server_.send("DELETE", path + "/s", {}, "", 2).status, 403) << "read-only key";
        EXPECT_EQ(server_.send("DELETE", path + "/s").status, 204);
        EXPECT_EQ(server_.send("GET", path + "/s").status, 404);
        EXPECT_EQ(server_.send("GET", "/dbs/d/colls/none/" + kind).status, 404);
    }
}

TEST_F(ScriptsTest, RunsAndAnswers) {
    const Reply reply = run(
        "function (a, b) { console.log('sum'); getContext().getResponse().setBody({sum: a + b}); }",
        "[1,2]", {kKeyA, {"x-ms-documentdb-script-enable-logging", "true"}});
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, R"({"sum":3})");
    EXPECT_EQ(reply.header("x-ms-request-charge"), "4.60");
    EXPECT_EQ(reply.header("x-ms-documentdb-script-log-results"), "sum");
    const Reply quiet = run("function () { console.log('x'); }");
    EXPECT_EQ(quiet.status, 200);
    EXPECT_EQ(quiet.body, "");
    EXPECT_EQ(quiet.head.find("script-log-results"), std::string::npos);
    EXPECT_EQ(run("function () {}", "[]", {}).status, 400) << "no partition key";
    EXPECT_EQ(run("function () {}", "{}").status, 400) << "no array";
    EXPECT_EQ(run("function () {}", "[").status, 400);
    EXPECT_EQ(run("function () {}", "").status, 200);
    EXPECT_EQ(server_.send("POST", kContainer + "/sprocs/none", {kKeyA}, "[]").status, 404);
    EXPECT_EQ(run("function () { const r = __.request; "
                  "__.response.setBody([r.getValue('x-ms-documentdb-partitionkey'), typeof "
                  "r.getValue('authorization')]); }")
                  .body,
              R"(["[\"a\"]","undefined"])");
    const Reply thrown = run("function () { throw new Error(404, 'mine'); }");
    EXPECT_EQ(thrown.status, 400);
    EXPECT_EQ(thrown.header("x-ms-substatus"), "404");
    EXPECT_THAT(thrown.body, HasSubstr(R"(Exception = Error: mine\\r\\nStack trace: )"));
}

TEST_F(ScriptsTest, AllOrNothing) {
    ASSERT_EQ(post_item(R"({"id":"x","pk":"a","n":1})").status, 201);
    const Reply failed = run(
        "function () { __.replaceDocument(__.getAltLink() + '/docs/x', {id: 'x', pk: 'a', n: 2});"
        "__.createDocument(__.getAltLink(), {id: 'y', pk: 'a'}); throw 1; }");
    EXPECT_EQ(failed.status, 400);
    EXPECT_THAT(item("x").body, HasSubstr(R"("n":1,)"));
    EXPECT_EQ(item("y").status, 404);
    const Reply kept =
        run("function () { __.readDocument(__.getAltLink() + '/docs/x', (e, d) => { d.n += 10; "
            "__.replaceDocument(d._self, d, {etag: d._etag}, (e2, r) => {"
            "if (e2) throw e2; __.createDocument(__.getSelfLink(), {pk: 'a', of: r.n}, (e3, c) => "
            "__.response.setBody([r._etag, c.id.length, c._etag, c.of])); }); }); }");
    EXPECT_EQ(kept.status, 200) << kept.body;
    EXPECT_THAT(kept.body, HasSubstr(",36,"));
    const Reply now = item("x");
    EXPECT_THAT(now.body, HasSubstr(R"("n":11,)"));
    // The etags that the script answered are those that the items have.
    EXPECT_THAT(kept.body, HasSubstr(now.member("_etag")));
    EXPECT_EQ(kept.body.find("0000-000000000000"), std::string::npos);
}

TEST_F(ScriptsTest, ErrorsOfOperationsGoToTheScript) {
    ASSERT_EQ(post_item(R"({"id":"x","pk":"a","n":1})").status, 201);
    const auto outcome = [&](const std::string& call) {
        return run("function () { const say = (e, r, o) => __.response.setBody(e ? [e.number] : "
                   "[o.statusCode, o.notModified, r && r.n]); const l = __.getAltLink(); " +
                   call + "; }")
            .body;
    };
    EXPECT_EQ(outcome("__.createDocument(l, {id: 'x', pk: 'a'}, say)"), "[409]");
    EXPECT_EQ(outcome("__.createDocument(l, {id: 'y', pk: 'b'}, say)"), "[400]");
    EXPECT_EQ(outcome("__.createDocument(l, {pk: 'a'}, {disableAutomaticIdGeneration: true}, say)"),
              "[400]");
    EXPECT_EQ(outcome("__.readDocument(l + '/docs/none', say)"), "[404]");
    EXPECT_EQ(outcome("__.replaceDocument(l + '/docs/none', {id: 'none', pk: 'a'}, say)"), "[404]");
    EXPECT_EQ(
        outcome("__.replaceDocument(l + '/docs/x', {id: 'x', pk: 'a'}, {etag: 'other'}, say)"),
        "[412]");
    EXPECT_EQ(outcome("__.deleteDocument(l + '/docs/x', {etag: '\"other\"'}, say)"), "[412]");
    EXPECT_EQ(outcome("__.queryDocuments(l, 'SELECT nonsense FROM', say)"), "[400]");
    EXPECT_EQ(outcome("__.readDocument(l + '/docs/x', {ifNoneMatch: '*'}, say)"),
              "[304,true,null]");
    EXPECT_EQ(outcome("__.readDocument(l + '/docs/x', say)"), "[200,false,1]");
    EXPECT_EQ(outcome("__.upsertDocument(l, {id: 'x', pk: 'a', n: 5}, say)"), "[200,null,5]");
    EXPECT_EQ(outcome("__.deleteDocument(l + '/docs/x', say)"), "[204,null,null]");
    EXPECT_EQ(outcome("__.createAttachment(l, {}, say)"), "[400]");
    EXPECT_EQ(item("x").status, 404);
}

TEST_F(ScriptsTest, CallsThatFailArePaidLikeRequests) {
    const auto charge = [&](const std::string& call) {
        const Reply ran =
            run("function () { const l = __.getAltLink(); const say = (e) => "
                "__.response.setBody(e.number); " +
                call + "; }");
        EXPECT_EQ(ran.status, 200) << ran.body;
        return ran.header("x-ms-request-charge") + " " + ran.body;
    };
    EXPECT_EQ(charge("__.createDocument(l, {id: 'y', pk: 'b'}, say)"), "5.60 400");
    EXPECT_EQ(charge("__.createDocument(l, {id: 'y', pk: 'a', s: '\\ud800'}, say)"), "5.60 400");
    EXPECT_EQ(charge("__.readDocument(__.getSelfLink() + 'docs/none', say)"), "5.60 404");
    EXPECT_EQ(charge("__.queryDocuments(l, 'SELECT nonsense FROM', say)"), "5.60 400");
    EXPECT_EQ(charge("__.queryDocuments(l, 'SELECT * FROM c', {continuation: 'x'}, say)"),
              "5.60 400");
    EXPECT_EQ(charge("__.readDocuments(l, {pageSize: 0}, say)"), "5.60 400");
    EXPECT_EQ(charge("__.readDocuments(l, {pageSize: 1.5}, say)"), "5.60 400");
    EXPECT_EQ(charge("__.filter((d) => true, {pageSize: 2.5}, say)"), "5.60 400");
}

TEST_F(ScriptsTest, QueriesAndFeedsInPagesWithinTheKey) {
    for (int i = 0; i < 25; ++i)
        ASSERT_EQ(post_item(R"({"id":"i)" + std::to_string(i) + R"(","pk":"a","n":)" +
                            std::to_string(i) + "}")
                      .status,
                  201);
    ASSERT_EQ(
        server_
            .send("POST", kContainer + "/docs", {{"x-ms-documentdb-partitionkey", R"(["b"])"}},
                  R"({"id":"other","pk":"b","n":1})")
            .status,
        201);
    const std::string pages =
        "function (kind) { let pages = 0, all = []; const next = (continuation) => { const done = "
        "(e, r, o) => { if (e) throw e; ++pages; all.push(...r.map((d) => d.n));"
        "if (o.continuation) next(o.continuation); else __.response.setBody([pages, all.length, "
        "all.reduce((a, b) => a + b, 0)]); };"
        "const o = {pageSize: 10, continuation}; const ok = kind === 'feed' ? "
        "__.readDocuments(__.getSelfLink(), o, done) :"
        "__.queryDocuments(__.getSelfLink(), {query: 'SELECT * FROM c WHERE c.n >= @n ORDER BY "
        "c.n', parameters: [{name: '@n', value: 0}]}, o, done); if (!ok) throw 1; }; next(); }";
    EXPECT_EQ(run(pages, R"(["feed"])").body, "[3,25,300]");
    EXPECT_EQ(run(pages, R"(["query"])").body, "[3,25,300]");
    EXPECT_EQ(run("function () { __.chain().filter((d) => d.n % 2 === 0).sortByDescending((d) => "
                  "d.n).pluck('n').value({pageSize: 5}); }")
                  .body.substr(0, 12),
              "[24,22,20,18");
    EXPECT_EQ(run("function () { __.response.setBody([__.spatial.distance({type: 'Point', "
                  "coordinates: [0, 0]}, {type: 'Point', coordinates: [0, 1]}) > 110000, "
                  "__.spatial.isValid({type: 'Point', coordinates: [0, 100]})]); }")
                  .body,
              "[true,false]");
}

TEST_F(ScriptsTest, ConcurrentRunsLoseNothing) {
    ASSERT_EQ(post_item(R"({"id":"count","pk":"a","n":0})").status, 201);
    ASSERT_EQ(create("sprocs", "add",
                     "function () { __.readDocument(__.getAltLink() + '/docs/count', (e, d) => { "
                     "if (e) throw e; d.n++; __.replaceDocument(d._self, d); }); }")
                  .status,
              201);
    constexpr int kThreads = 4;
    constexpr int kRuns = 20;
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < kRuns; ++i) {
                const int status =
                    server_.send("POST", kContainer + "/sprocs/add", {kKeyA}, "[]").status;
                EXPECT_TRUE(status == 200 || status == 449) << status;
                if (status == 200) ++done;
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_THAT(item("count").body, HasSubstr("\"n\":" + std::to_string(done.load()) + ","));
}

TEST(ScriptThroughput, CallsAreAcceptedWhileItLasts) {
    TestServer server(1'700'000'000, {});
    ASSERT_EQ(server.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
    ASSERT_EQ(server
                  .send("POST", "/dbs/d/colls", {{"x-ms-offer-throughput", "400"}},
                        R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})")
                  .status,
              201);
    const std::string body =
        "function () { let n = 0; while (n < 500 && __.createDocument(__.getSelfLink(), {pk: "
        "'a'})) ++n; "
        "__.response.setBody(n); }";
    ASSERT_EQ(server
                  .send("POST", kContainer + "/sprocs", {},
                        R"({"id":"s","body":)" + json_text(body) + "}")
                  .status,
              201);
    const Reply first = server.send("POST", kContainer + "/sprocs/s", {kKeyA}, "[]");
    EXPECT_EQ(first.status, 200) << first.body;
    const int made = std::stoi(first.body);
    EXPECT_GT(made, 10);
    EXPECT_LT(made, 500);
    const Reply second = server.send("POST", kContainer + "/sprocs/s", {kKeyA}, "[]");
    EXPECT_EQ(second.status, 429);
    EXPECT_NE(second.header("x-ms-retry-after-ms"), "");
    // Time passes: one more run is admitted, and gets something done.
    server.clock().advance_us(std::stoll(second.header("x-ms-retry-after-ms")) * 1000);
    const Reply third = server.send("POST", kContainer + "/sprocs/s", {kKeyA}, "[]");
    EXPECT_EQ(third.status, 200) << third.body;
    EXPECT_GE(std::stoi(third.body), 1);
}

TEST_F(ScriptsTest, Triggers) {
    const std::string pre = R"(,"triggerType":"Pre","triggerOperation":"Create")";
    const std::string post = R"(,"triggerType":"Post","triggerOperation":"All")";
    ASSERT_EQ(create("triggers", "stamp",
                     "function () { const r = getContext().getRequest(); const b = r.getBody(); "
                     "b.by = r.getOperationType(); r.setBody(b); }",
                     pre)
                  .status,
              201);
    ASSERT_EQ(
        create("triggers", "count",
               "function () { const c = getContext().getCollection(), b = "
               "getContext().getResponse().getBody() ?? {}; if (b.fail) throw new Error('told to');"
               "c.upsertDocument(c.getSelfLink(), {id: 'log', pk: 'a', last: b.id ?? 'deleted'}); "
               "console.log('seen'); }",
               post)
            .status,
        201);
    const std::pair<std::string, std::string> before{"x-ms-documentdb-pre-trigger-include",
                                                     "stamp"};
    const std::pair<std::string, std::string> after{"x-ms-documentdb-post-trigger-include",
                                                    "count"};
    const Reply made =
        post_item(R"({"id":"x","pk":"a","n":1.0})",
                  {before, after, {"x-ms-documentdb-script-enable-logging", "true"}});
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_THAT(made.body, HasSubstr(R"("by":"Create")"));
    EXPECT_EQ(made.header("x-ms-documentdb-script-log-results"), "seen");
    EXPECT_EQ(item("x").body, made.body);
    EXPECT_EQ("\"" + std::string(made.member("_etag")).substr(2, 36) + "\"", made.header("etag"));
    EXPECT_THAT(item("log").body, HasSubstr(R"("last":"x")"));
    // Without trigger headers nothing runs.
    EXPECT_THAT(post_item(R"({"id":"plain","pk":"a"})").body, Not(HasSubstr(R"("by":)")));
    const Reply failed = post_item(R"({"id":"y","pk":"a","fail":true})", {after});
    EXPECT_EQ(failed.status, 400);
    EXPECT_THAT(failed.body, HasSubstr("told to"));
    EXPECT_EQ(item("y").status, 404);
    EXPECT_EQ(post_item(R"({"id":"x","pk":"a"})", {after}).status, 409);
    EXPECT_EQ(server_.send("DELETE", kContainer + "/docs/x", {kKeyA, after}).status, 204);
    EXPECT_THAT(item("log").body, HasSubstr(R"("last":"deleted")"));
    EXPECT_EQ(server_
                  .send("PUT", kContainer + "/docs/plain", {kKeyA, after, {"if-match", "\"no\""}},
                        R"({"id":"plain","pk":"a"})")
                  .status,
              412);
    EXPECT_EQ(server_
                  .send("PATCH", kContainer + "/docs/plain", {kKeyA, after},
                        R"([{"op":"set","path":"/v","value":1}])")
                  .status,
              200);
    EXPECT_THAT(item("log").body, HasSubstr(R"("last":"plain")"));
    for (const auto& [name, value] : Headers{{before.first, "count"},
                                             {after.first, "stamp"},
                                             {before.first, "none"},
                                             {before.first, "stamp,count"}})
        EXPECT_EQ(post_item(R"({"id":"z","pk":"a"})", {{name, value}}).status, 400) << value;
    EXPECT_EQ(server_.send("DELETE", kContainer + "/docs/plain", {kKeyA, before}).status, 400)
        << "made for creates";
    EXPECT_EQ(server_.send("GET", kContainer + "/docs/plain", {kKeyA, before}).status, 400)
        << "a read";
    EXPECT_EQ(item("z").status, 404);
    // A delete has no body that could be replaced.
    ASSERT_EQ(create("triggers", "body", "function () { getContext().getRequest().setBody({}); }",
                     R"(,"triggerType":"Pre","triggerOperation":"All")")
                  .status,
              201);
    const Reply kept = server_.send("DELETE", kContainer + "/docs/plain",
                                    {kKeyA, {"x-ms-documentdb-pre-trigger-include", "body"}});
    EXPECT_EQ(kept.status, 400);
    EXPECT_THAT(kept.body, HasSubstr("cannot be changed"));
    EXPECT_EQ(item("plain").status, 200);
}

TEST_F(ScriptsTest, FunctionsInEveryClause) {
    for (int i = 0; i < 6; ++i)
        ASSERT_EQ(post_item(R"({"id":"i)" + std::to_string(i) + R"(","pk":"a","n":)" +
                            std::to_string(i) + R"(,"t":[1,2]})")
                      .status,
                  201);
    ASSERT_EQ(create("udfs", "twice",
                     "function (x) { return typeof x === 'number' ? x * 2 : undefined; }")
                  .status,
              201);
    ASSERT_EQ(create("udfs", "even", "(x) => x % 2 === 0").status, 201);
    ASSERT_EQ(create("udfs", "bad", "function () { throw new Error('broken'); }").status, 201);
    EXPECT_THAT(query("SELECT VALUE udf.twice(c.n) FROM c WHERE udf.even(c.n)").body,
                HasSubstr(R"("Documents":[0,4,8])"));
    EXPECT_THAT(query("SELECT VALUE SUM(udf.twice(c.n)) FROM c").body,
                HasSubstr(R"("Documents":[30])"));
    EXPECT_THAT(
        query("SELECT udf.even(c.n) AS e, COUNT(1) AS n FROM c GROUP BY udf.even(c.n)").body,
        HasSubstr(R"({"e":true,"n":3})"));
    EXPECT_THAT(query("SELECT VALUE udf.twice(t) FROM c JOIN t IN c.t WHERE c.n = 1").body,
                HasSubstr(R"("Documents":[2,4])"));
    EXPECT_THAT(query("SELECT VALUE udf.twice(21)").body, HasSubstr(R"("Documents":[42])"));
    EXPECT_THAT(query("SELECT VALUE udf.twice('x')").body, HasSubstr(R"("Documents":[])"));
    EXPECT_THAT(query("SELECT VALUE c.n FROM c WHERE c.n = udf.twice(2)").body,
                HasSubstr(R"("Documents":[4])"));
    EXPECT_THAT(query("SELECT VALUE udf.bad(c.n) FROM c").body, HasSubstr("broken"));
    EXPECT_EQ(query("SELECT VALUE udf.none(1)").status, 400);
    EXPECT_EQ(run("function () { __.queryDocuments(__.getSelfLink(), 'SELECT VALUE udf.twice(c.n) "
                  "FROM c WHERE c.n = 3', (e, r) => __.response.setBody(r)); }")
                  .body,
              "[6]");
}

TEST_F(ScriptsTest, TokensRunWhatTheyMay) {
    ASSERT_EQ(create("sprocs", "s", "function () {}").status, 201);
    ASSERT_EQ(create("sprocs", "other", "function () {}").status, 201);
    const auto token = [&](const std::string& id, const std::string& mode,
                           const std::string& resource) {
        const Reply made = server_.send("POST", "/dbs/d/users/u/permissions", {},
                                        R"({"id":")" + id + R"(","permissionMode":")" + mode +
                                            R"(","resource":")" + resource + "\"}");
        EXPECT_EQ(made.status, 201) << made.body;
        return made.member("_token");
    };
    const std::string all = token("all", "All", "dbs/d/colls/c");
    const std::string one = token("one", "All", "dbs/d/colls/c/sprocs/s");
    const std::string item_only = token("item", "All", "dbs/d/colls/c/docs/x");
    const auto execute = [&](const std::string& by, const std::string& id) {
        return server_.send_token(by, "POST", kContainer + "/sprocs/" + id, {kKeyA}, "[]").status;
    };
    EXPECT_EQ(execute(all, "s"), 200);
    EXPECT_EQ(execute(one, "s"), 200);
    EXPECT_EQ(execute(one, "other"), 403);
    EXPECT_EQ(execute(item_only, "s"), 403);
    EXPECT_EQ(server_.send_token(one, "GET", kContainer + "/docs/x", {kKeyA}).status, 403);
    EXPECT_EQ(
        server_
            .send_token(all, "POST", kContainer + "/sprocs", {}, R"({"id":"n","body":"() => 1"})")
            .status,
        403);
}

}  // namespace
}  // namespace orrery::rest
