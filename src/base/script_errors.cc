#include "base/script_errors.h"

#include <cmath>
#include <string>

#include "base/errors.h"

namespace orrery::errors {
namespace {

constexpr double kSubStatusMax = 65535;
/// They come back after seconds or minutes; asking costs little.
constexpr int64_t kStuckRetryMs = 1000;

Error with_status(int http_status, std::string message) {
    Error error = bad_request(std::move(message));
    error.http_status = http_status;
    return error;
}

}  // namespace

Error script_syntax(std::string_view what, uint32_t line, uint32_t column) {
    return bad_request(
        "Encountered exception while compiling Javascript. Exception = SyntaxError: " +
        std::string(what) + " at line " + std::to_string(line) + ", column " +
        std::to_string(column) + ".");
}

Error script_failed(std::string_view thrown, std::string_view stack, double number) {
    std::string text =
        "Encountered exception while executing Javascript. Exception = " + std::string(thrown);
    if (!stack.empty()) text += "\r\nStack trace: " + std::string(stack);
    Error error = bad_request(std::move(text));
    if (number >= 1 && number <= kSubStatusMax && std::floor(number) == number)
        error.sub_status = static_cast<int>(number);
    return error;
}

Error function_failed(std::string_view name, std::string_view thrown) {
    return bad_request("Encountered exception while executing function udf." + std::string(name) +
                       ". Exception = " + std::string(thrown));
}

Error script_timeout(int64_t limit_ms) {
    return with_status(408, "The script ran longer than " + std::to_string(limit_ms) +
                                " ms and was ended; nothing that it did was kept. Do less per run: "
                                "stop when a call of the collection returns false, and go on in "
                                "another run.");
}

Error script_memory(uint64_t limit_bytes) {
    return with_status(413, "The script used more memory than the " +
                                std::to_string(limit_bytes >> 20) +
                                " MB that a run may have and was ended; nothing that it did was "
                                "kept.");
}

Error script_answer_too_large(uint64_t limit_bytes) {
    return with_status(413, "The script's response is larger than the limit of " +
                                std::to_string(limit_bytes) +
                                " bytes. Return less, or in several runs.");
}

Error too_many_scripts(std::string_view what, uint32_t limit) {
    return forbidden("A container holds at most " + std::to_string(limit) + " " +
                     std::string(what) + ". Delete one that is not needed.");
}

Error scripts_busy() {
    return service_unavailable(
        "Too many scripts wait to be run. Try again when those that run have ended.");
}

Error scripts_stuck(uint64_t limit) {
    Error error = service_unavailable(
        std::to_string(limit) +
        " scripts ran beyond their time inside one call of a built-in function, which nothing can "
        "interrupt, and are still running. Until one of them has ended, no script is begun. Find "
        "the ones that were answered with 408 and give that call less to do.");
    error.retry_after_ms = kStuckRetryMs;
    return error;
}

}  // namespace orrery::errors
