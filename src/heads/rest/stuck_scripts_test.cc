// Scripts that nothing can end, from end to end: their requests are answered in time, nothing of
// them is kept, others run meanwhile, and too many of them are told apart from a busy server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/scripts.h"
#include "heads/rest/scripts_test_support.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using testing_support::Headers;
using testing_support::kContainer;
using testing_support::kDocs;
using testing_support::kKeyA;
using testing_support::Reply;

/// One call of a built-in function that takes seconds.
const std::string kSlow = "BigInt('7'.repeat(100000));";

engine::ScriptOptions short_limits() {
    engine::ScriptOptions options;
    options.limits.time_ms = 300;
    options.limits.accept_ms = 300;
    options.limits.grace_ms = 50;
    options.stuck_max = 2;
    return options;
}

class StuckScriptsTest : public testing_support::ScriptContainerTest {
protected:
    StuckScriptsTest() : ScriptContainerTest(short_limits()) {
        create("sprocs", "good", "function () { __.response.setBody(1); }");
        create("sprocs", "stuck",
               "function () { console.log('so far'); __.createDocument(__.getSelfLink(), "
               "{id: 'x', pk: 'a'}); " +
                   kSlow + " }");
    }
    void create(const std::string& kind, const std::string& id, std::string_view body,
                const std::string& more = "") {
        again_while_slow([&] { return ScriptContainerTest::create(kind, id, body, more); }, 201);
    }
    /// For scripts that are fine: a machine that pauses could make one look slow.
    template <typename Send>
    Reply again_while_slow(const Send& send, int wanted) {
        Reply reply;
        for (int i = 0; i < 100; ++i) {
            reply = send();
            if (reply.status != 408) break;
        }
        EXPECT_EQ(reply.status, wanted) << reply.body;
        return reply;
    }
    Reply run(const std::string& id, Headers headers = {}) {
        headers.push_back(kKeyA);
        return server_.send("POST", kContainer + "/sprocs/" + id, std::move(headers), "[]");
    }
    Reply query(const std::string& text) {
        return server_.send("POST", kDocs, {kKeyA, {"content-type", "application/query+json"}},
                            R"({"query":")" + text + "\"}");
    }
    int status_of(const std::string& id) {
        return server_.send("GET", kDocs + "/" + id, {kKeyA}).status;
    }
    size_t stuck() { return server_.engine().scripts().stuck(); }
    void wait_until_all_are_back() {
        while (stuck() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
};

TEST_F(StuckScriptsTest, AProcedureIsAnsweredAndNothingIsKept) {
    const Reply reply = run("stuck", {{"x-ms-documentdb-script-enable-logging", "true"}});
    EXPECT_EQ(reply.status, 408) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("ran longer than 300 ms"));
    EXPECT_EQ(reply.header("x-ms-documentdb-script-log-results"), "so%20far");
    // It pays for what it did, as one that could be interrupted does.
    create("sprocs", "loop",
           "function () { __.createDocument(__.getSelfLink(), {id: 'x', pk: 'a'}); for (;;); }");
    const Reply loop = run("loop");
    EXPECT_EQ(loop.status, 408);
    EXPECT_EQ(reply.header("x-ms-request-charge"), loop.header("x-ms-request-charge"));
    EXPECT_EQ(reply.header("x-ms-session-token"), loop.header("x-ms-session-token"));
    EXPECT_NE(reply.header("x-ms-session-token"), "");
    EXPECT_EQ(reply.member("message").substr(0, 60), loop.member("message").substr(0, 60));
    EXPECT_EQ(status_of("x"), 404);
    wait_until_all_are_back();
    EXPECT_EQ(status_of("x"), 404);
}

TEST_F(StuckScriptsTest, OthersRunWhileOneIsStuck) {
    bool beside = false;
    // Attempts in which it had come back before the other ended do not count.
    for (int i = 0; i < 50 && !beside; ++i) {
        EXPECT_EQ(run("stuck").status, 408);
        EXPECT_EQ(again_while_slow([&] { return run("good"); }, 200).body, "1");
        beside = stuck() == 1;
        wait_until_all_are_back();
    }
    EXPECT_TRUE(beside);
    EXPECT_EQ(again_while_slow([&] { return run("good"); }, 200).body, "1");
}

TEST_F(StuckScriptsTest, NoMoreAreBegunThanMayBeStuck) {
    Reply refused;
    // Attempts in which the first had come back before the last was sent do not count.
    for (int i = 0; i < 50 && refused.status != 503; ++i) {
        for (int n = 0; n < 2; ++n) (void)run("stuck");
        refused = run("good");
    }
    ASSERT_EQ(refused.status, 503) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("2 scripts ran beyond their time"));
    EXPECT_EQ(refused.header("x-ms-retry-after-ms"), "1000");
    // What is no script goes on.
    EXPECT_EQ(server_.send("POST", kDocs, {kKeyA}, R"({"id":"1","pk":"a"})").status, 201);
    wait_until_all_are_back();
    EXPECT_EQ(again_while_slow([&] { return run("good"); }, 200).body, "1");
    EXPECT_EQ(status_of("x"), 404);
}

TEST_F(StuckScriptsTest, AWriteWithATriggerIsNotMade) {
    const auto write = [&](const std::string& header, const std::string& trigger) {
        return server_.send("POST", kDocs, {kKeyA, {header, trigger}}, R"({"id":"t","pk":"a"})");
    };
    const std::string pre = "x-ms-documentdb-pre-trigger-include";
    const std::string post = "x-ms-documentdb-post-trigger-include";
    create("triggers", "before", "function () { " + kSlow + " }",
           R"(,"triggerType":"Pre","triggerOperation":"All")");
    create("triggers", "after", "function () { " + kSlow + " }",
           R"(,"triggerType":"Post","triggerOperation":"All")");
    create("triggers", "fine", "function () {}",
           R"(,"triggerType":"Pre","triggerOperation":"All")");
    const Reply before = write(pre, "before");
    EXPECT_EQ(before.status, 408) << before.body;
    const Reply after = write(post, "after");
    EXPECT_EQ(after.status, 408) << after.body;
    EXPECT_NE(after.header("x-ms-request-charge"), "");
    EXPECT_EQ(status_of("t"), 404);
    wait_until_all_are_back();
    EXPECT_EQ(status_of("t"), 404);
    again_while_slow([&] { return write(pre, "fine"); }, 201);
}

TEST_F(StuckScriptsTest, AQueryWithAFunctionIsAnswered) {
    for (const char* id : {"1", "2", "3"})
        EXPECT_EQ(
            server_.send("POST", kDocs, {kKeyA}, R"({"id":")" + std::string(id) + R"(","pk":"a"})")
                .status,
            201);
    create("udfs", "slow", "function (x) { if (x === '2') { " + kSlow + " } return x; }");
    create("udfs", "fast", "function (x) { return x + '!'; }");
    const Reply slow = query("SELECT VALUE udf.slow(c.id) FROM c");
    EXPECT_EQ(slow.status, 408) << slow.body;
    EXPECT_THAT(slow.body, HasSubstr("ran longer than 300 ms"));
    const auto fast = [&] { return query("SELECT VALUE udf.fast(c.id) FROM c WHERE c.id = '1'"); };
    EXPECT_THAT(again_while_slow(fast, 200).body, HasSubstr("1!"));
    wait_until_all_are_back();
    EXPECT_THAT(again_while_slow(fast, 200).body, HasSubstr("1!"));
    // The same inside a procedure.
    create("sprocs", "queries",
           "function () { __.queryDocuments(__.getSelfLink(), 'SELECT VALUE udf.slow(c.id) FROM "
           "c', (e, r) => __.response.setBody(1)); }");
    EXPECT_EQ(run("queries").status, 408);
    wait_until_all_are_back();
}

TEST_F(StuckScriptsTest, AnEngineEndsAfterItsStuckScripts) {
    EXPECT_EQ(run("stuck").status, 408);
    // The fixture's server is destroyed while, most likely, the thread still uses it.
}

}  // namespace
}  // namespace orrery::rest
