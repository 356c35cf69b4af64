// Scripts and their container: calls with their options and callbacks, and triggers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "script/script_test_support.h"

namespace orrery::script {
namespace {

using testing::HasSubstr;
using testing_support::body_of;
using testing_support::FakeCollection;
using testing_support::run;
using testing_support::short_limits;

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
                    HasSubstr("error: bad request"))
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
    EXPECT_EQ(result.status.error().details.number, 409);
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
