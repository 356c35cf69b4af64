// What tests of scripts share: a collection that answers from a list, and short ways to run a text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ended_test_support.h"
#include "script/script.h"

namespace orrery::script::testing_support {

inline constexpr std::string_view kContext =
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

inline RunResult run(std::string_view text, std::string arguments = "[]",
                     Collection* collection = nullptr, Kind kind = Kind::kProcedure,
                     const Limits& limits = {}, std::string context = std::string(kContext)) {
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

/// "bad request" and the like, then its text.
inline std::string said(const Error& error) {
    return testing::PrintToString(ended(error)) + " " + error.message;
}

inline std::string body_of(std::string_view text, std::string arguments = "[]",
                           Collection* collection = nullptr) {
    const RunResult result = run(text, std::move(arguments), collection);
    if (!result.status.ok()) return "error: " + said(result.status.error());
    return result.response_body.value_or("(none)");
}

/// The expression's value as JSON.
inline std::string value_of(std::string_view expression) {
    return body_of("function () { getContext().getResponse().setBody(" + std::string(expression) +
                   "); }");
}

inline Limits short_limits() {
    Limits limits;
    limits.time_ms = 300;
    limits.accept_ms = 200;
    return limits;
}

}  // namespace orrery::script::testing_support
