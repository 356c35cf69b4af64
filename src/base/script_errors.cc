#include "base/script_errors.h"

#include <cmath>
#include <string>
#include <utility>

namespace orrery::errors {
namespace {

constexpr double kNumberMax = 65535;
/// Stuck scripts return after seconds or minutes, so clients may try again soon.
constexpr int64_t kStuckRetryMs = 1000;

Error limited(Code code, uint64_t limit, std::string message) {
    Error error{code, std::move(message), {}};
    error.details.limit = limit;
    return error;
}

Error wrong_trigger(Code code, std::string_view name, const std::string& kind) {
    Error error{
        code,
        "The trigger '" + std::string(name) + "' is a " + kind + "-trigger. Name it as one.",
        {}};
    error.details.subject = name;
    return error;
}

}  // namespace

Error script_syntax(std::string_view what, uint32_t line, uint32_t column) {
    return {Code::kScriptSyntax,
            "Encountered exception while compiling Javascript. Exception = SyntaxError: " +
                std::string(what) + " at line " + std::to_string(line) + ", column " +
                std::to_string(column) + ".",
            {}};
}

Error script_failed(std::string_view thrown, std::string_view stack, double number) {
    std::string text =
        "Encountered exception while executing Javascript. Exception = " + std::string(thrown);
    if (!stack.empty()) text += "\r\nStack trace: " + std::string(stack);
    Error error{Code::kScriptFailed, std::move(text), {}};
    if (number >= 1 && number <= kNumberMax && std::floor(number) == number)
        error.details.number = static_cast<int>(number);
    return error;
}

Error function_failed(std::string_view name, std::string_view thrown) {
    Error error{Code::kFunctionFailed,
                "Encountered exception while executing function udf." + std::string(name) +
                    ". Exception = " + std::string(thrown),
                {}};
    error.details.subject = name;
    return error;
}

Error trigger_runs_before(std::string_view name) {
    return wrong_trigger(Code::kTriggerRunsBefore, name, "pre");
}

Error trigger_runs_after(std::string_view name) {
    return wrong_trigger(Code::kTriggerRunsAfter, name, "post");
}

Error script_timeout(int64_t limit_ms) {
    return limited(Code::kScriptTimeout, static_cast<uint64_t>(limit_ms),
                   "The script ran longer than " + std::to_string(limit_ms) +
                       " ms and was ended; nothing that it did was kept. Do less per run: "
                       "stop when a call of the collection returns false, and go on in "
                       "another run.");
}

Error script_memory(uint64_t limit_bytes) {
    return limited(Code::kScriptMemory, limit_bytes,
                   "The script used more memory than the " + std::to_string(limit_bytes >> 20) +
                       " MB that a run may have and was ended; nothing that it did was "
                       "kept.");
}

Error script_answer_too_large(uint64_t limit_bytes) {
    return limited(Code::kScriptAnswerTooLarge, limit_bytes,
                   "The script's response is larger than the limit of " +
                       std::to_string(limit_bytes) + " bytes. Return less, or in several runs.");
}

Error too_many_scripts(std::string_view what, uint32_t limit) {
    return limited(Code::kTooManyScripts, limit,
                   "A container holds at most " + std::to_string(limit) + " " + std::string(what) +
                       ". Delete one that is not needed.");
}

Error scripts_busy() {
    return {Code::kScriptsBusy,
            "Too many scripts wait to be run. Try again when those that run have ended.",
            {}};
}

Error scripts_stuck(uint64_t limit) {
    Error error = limited(Code::kScriptsStuck, limit,
                          std::to_string(limit) +
                              " scripts ran beyond their time inside one call of a built-in "
                              "function, which nothing can "
                              "interrupt, and are still running. Until one of them has ended, no "
                              "script is begun. Find "
                              "the ones that ran out of time and give that call less to do.");
    error.details.retry_after_ms = kStuckRetryMs;
    return error;
}

}  // namespace orrery::errors
