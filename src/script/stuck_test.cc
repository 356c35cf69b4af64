// Runs that nothing can interrupt: they are given up, and answered for, by the watchdog.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "base/ended_test_support.h"
#include "script/detail/custody.h"
#include "script/script.h"

namespace orrery::script {
namespace {

using detail::Custody;
using testing::HasSubstr;

/// One call of a built-in function that takes seconds: the digits' number squared.
constexpr std::string_view kSlow = "BigInt('7'.repeat(100000));";

Limits short_limits() {
    Limits limits;
    limits.time_ms = 100;
    limits.grace_ms = 20;
    return limits;
}

RunRequest request_of(std::string_view text, Collection* collection = nullptr) {
    RunRequest request;
    request.name = "test";
    request.text = text;
    request.context = R"({"self":"dbs/D==/colls/C=","alt":"dbs/d/colls/c"})";
    request.logging = true;
    request.collection = collection;
    return request;
}

class CountingCollection final : public Collection {
public:
    std::optional<std::string> call(std::string_view, std::string_view) override {
        ++calls;
        return R"({"resource":{"id":"r"},"options":{"statusCode":200}})";
    }
    int calls = 0;
};

/// What a handler was told, and that it came while the run was stuck.
struct Told {
    Ended how = Ended::kOk;
    std::string message;
    std::string log;
};

/// Runs `work` on a thread of its own whose runtime has a handler, and says what that was told;
/// nothing if it was not called.
template <typename Work>
std::optional<Told> told_about(const Work& work) {
    std::optional<Told> told;
    std::thread thread([&] {
        Runtime& runtime = Runtime::of_this_thread();
        runtime.on_stuck([&](const Status& status, std::string_view log) {
            EXPECT_FALSE(told);
            told = Told{ended(status), status.error().message, std::string(log)};
        });
        work(runtime);
        EXPECT_EQ(runtime.given_up(), told.has_value());
        runtime.on_stuck(nullptr);
    });
    thread.join();
    return told;
}

TEST(Custody, TheThreadComesAndGoes) {
    Custody custody;
    EXPECT_EQ(custody.visit(), 0u);
    ASSERT_TRUE(custody.enter());
    const uint64_t first = custody.visit();
    EXPECT_NE(first, 0u);
    EXPECT_TRUE(custody.leave());
    EXPECT_EQ(custody.visit(), 0u);
    EXPECT_FALSE(custody.take(first));
    ASSERT_TRUE(custody.enter());
    // Another visit: who has waited for the first has waited for nothing.
    EXPECT_NE(custody.visit(), first);
    EXPECT_FALSE(custody.take(first));
    EXPECT_TRUE(custody.leave());
    EXPECT_FALSE(custody.given_up());
}

TEST(Custody, WhoIsTakenWaitsAndIsGivenUpForGood) {
    Custody custody;
    ASSERT_TRUE(custody.enter());
    ASSERT_TRUE(custody.take(custody.visit()));
    EXPECT_FALSE(custody.take(custody.visit()));
    int shared = 0;
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        shared = 1;
        custody.give_up();
    });
    EXPECT_FALSE(custody.leave());
    EXPECT_EQ(shared, 1);
    EXPECT_TRUE(custody.given_up());
    EXPECT_FALSE(custody.enter());
    other.join();
}

TEST(Custody, ExactlyOneOfTwoHasIt) {
    for (int i = 0; i < 2000; ++i) {
        Custody custody;
        int64_t shared = 0;  // touched by whoever has it
        ASSERT_TRUE(custody.enter());
        const uint64_t visit = custody.visit();
        bool taken = false;
        std::thread other([&] {
            taken = custody.take(visit);
            if (!taken) return;
            ++shared;
            custody.give_up();
        });
        const bool left = custody.leave();
        if (left) ++shared;
        other.join();
        EXPECT_NE(left, taken);
        EXPECT_EQ(shared, 1);
    }
}

TEST(Stuck, AProcedureIsAnsweredForAndLeavesNothing) {
    CountingCollection collection;
    const auto told = told_about([&](Runtime& runtime) {
        const std::string text = "function () { console.log('so far'); " + std::string(kSlow) +
                                 " __.createDocument(__.getSelfLink(), {}); }";
        const RunResult result = runtime.run(request_of(text, &collection), short_limits());
        ASSERT_FALSE(result.status.ok());
        EXPECT_EQ(ended(result.status.error()), Ended::kTimeout);
        // Nothing more is done on this thread.
        EXPECT_EQ(ended(runtime.run(request_of("function () {}"), {}).status.error()),
                  Ended::kTimeout);
        EXPECT_EQ(ended(runtime.check("function () {}").error()), Ended::kTimeout);
        const auto functions = Functions::create({});
        EXPECT_EQ(ended(functions->add("f", "function () {}").error()), Ended::kTimeout);
    });
    ASSERT_TRUE(told);
    EXPECT_EQ(told->how, Ended::kTimeout);
    EXPECT_THAT(told->message, HasSubstr("100 ms"));
    EXPECT_EQ(told->log, "so far");
    EXPECT_EQ(collection.calls, 0);
}

TEST(Stuck, WhatTheScriptCatchesOrReturnsChangesNothing) {
    for (const std::string& body :
         {"try { " + std::string(kSlow) + " } finally { __.createDocument(__.getSelfLink(), {}); }",
          "return " + std::string(kSlow)}) {
        CountingCollection collection;
        const auto told = told_about([&](Runtime& runtime) {
            const std::string text = "function () { " + body + " }";
            EXPECT_EQ(ended(runtime.run(request_of(text, &collection), short_limits()).status),
                      Ended::kTimeout);
        });
        EXPECT_TRUE(told) << body;
        EXPECT_EQ(collection.calls, 0) << body;
    }
}

TEST(Stuck, AFunctionOfAQueryIsGivenUp) {
    const auto told = told_about([](Runtime&) {
        const auto functions = Functions::create(short_limits());
        const auto slow =
            functions->add("slow", "function () { return typeof " + std::string(kSlow) + " }");
        const auto fast = functions->add("fast", "function (x) { return x; }");
        ASSERT_TRUE(slow.ok() && fast.ok());
        json::Arena arena;
        const auto result = functions->call(*slow, {}, arena);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(ended(result.error()), Ended::kTimeout);
        EXPECT_EQ(ended(functions->call(*fast, {}, arena).error()), Ended::kTimeout);
    });
    ASSERT_TRUE(told);
    EXPECT_EQ(told->how, Ended::kTimeout);
}

/// Asks for a function as a query would, in the middle of a procedure.
class QueryingCollection final : public Collection {
public:
    std::optional<std::string> call(std::string_view, std::string_view) override {
        const auto functions = Functions::create({});
        const auto slow = functions->add("slow", "function () { " + std::string(kSlow) + " }");
        json::Arena arena;
        status = functions->call(*slow, {}, arena).status().clone();
        return R"({"resource":{},"options":{"statusCode":200}})";
    }
    Status status;
};

TEST(Stuck, AFunctionInsideAProcedureEndsBoth) {
    QueryingCollection collection;
    const auto told = told_about([&](Runtime& runtime) {
        const RunResult result = runtime.run(
            request_of("function () { __.queryDocuments(__.getSelfLink(), 'q', () => {}); "
                       "__.response.setBody(1); }",
                       &collection),
            short_limits());
        ASSERT_FALSE(result.status.ok());
        EXPECT_EQ(ended(result.status.error()), Ended::kTimeout);
        EXPECT_FALSE(result.response_body);
    });
    ASSERT_TRUE(told);
    EXPECT_EQ(told->how, Ended::kTimeout);
    EXPECT_FALSE(collection.status.ok());
}

TEST(Stuck, WhatCanBeInterruptedIsNotGivenUp) {
    Limits limits = short_limits();
    limits.grace_ms = 60'000;  // however slow the machine is
    for (std::string_view body :
         {"for (;;);", "for (;;) console.log('x');",
          "for (;;) { try { __.queryDocuments(__.getSelfLink(), 'q'); } catch {} }"}) {
        CountingCollection collection;
        const auto told = told_about([&](Runtime& runtime) {
            const std::string text = "function () { " + std::string(body) + " }";
            EXPECT_EQ(ended(runtime.run(request_of(text, &collection), limits).status.error()),
                      Ended::kTimeout);
            // The thread is as good as before.
            EXPECT_TRUE(runtime.run(request_of("function () {}"), {}).status.ok());
        });
        EXPECT_FALSE(told) << body;
    }
}

/// Takes its time where the server works, which is not the script's doing.
class SlowCollection final : public Collection {
public:
    std::optional<std::string> call(std::string_view, std::string_view) override {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        return R"({"resource":{},"options":{"statusCode":200}})";
    }
};

TEST(Stuck, TheServersOwnWorkIsNotGivenUp) {
    SlowCollection collection;
    Limits limits = short_limits();
    limits.accept_ms = 60'000;
    const auto told = told_about([&](Runtime& runtime) {
        const RunResult result = runtime.run(
            request_of("function () { __.createDocument(__.getSelfLink(), {}); }", &collection),
            limits);
        EXPECT_EQ(ended(result.status.error()), Ended::kTimeout);
    });
    EXPECT_FALSE(told);
}

TEST(Stuck, AServerThatStopsGivesUpAtOnce) {
    std::optional<EndRuns> ending;
    const auto told = told_about([&](Runtime& runtime) {
        std::thread stop([&] { ending.emplace(50); });
        Limits limits;
        limits.time_ms = 600'000;
        limits.grace_ms = 20;
        EXPECT_FALSE(runtime.run(request_of("function () { " + std::string(kSlow) + " }"), limits)
                         .status.ok());
        stop.join();
    });
    ending.reset();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->how, Ended::kUnavailable);
    EXPECT_THAT(told->message, HasSubstr("stopping"));
}

TEST(Stuck, WithoutAHandlerItIsWaitedFor) {
    std::thread([] {
        Runtime& runtime = Runtime::of_this_thread();
        const std::string text = "function () { " + std::string(kSlow) + " }";
        EXPECT_EQ(ended(runtime.run(request_of(text), short_limits()).status.error()),
                  Ended::kTimeout);
        EXPECT_FALSE(runtime.given_up());
        EXPECT_TRUE(runtime.run(request_of("function () {}"), {}).status.ok());
    }).join();
}

}  // namespace
}  // namespace orrery::script
