#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"

/// JavaScript inside the server: stored procedures, triggers, user-defined functions. The only user
/// of SpiderMonkey; knows nothing of partitions.
namespace orrery::script {

/// What a run may use up. Each has tests at and above it.
struct Limits {
    int64_t time_ms = 5000;              ///< then the run is over
    int64_t grace_ms = 250;              ///< then one that does not end is given up
    int64_t accept_ms = 4000;            ///< then calls of the collection are no longer accepted
    uint32_t heap_bytes = 64U << 20;     ///< of objects
    size_t memory_bytes = 160ULL << 20;  ///< of objects, strings and buffers
    size_t log_bytes = 8 << 10;          ///< of console.log
    size_t answer_bytes = 4U << 20;      ///< of the response's body
};
inline constexpr size_t kTextBytesMax = 1 << 20;  ///< of a script

enum class Kind : uint8_t { kProcedure, kPreTrigger, kPostTrigger };

/// What a script asks of its container. Called on the script's thread, one call at a time.
class Collection {
public:
    virtual ~Collection() = default;
    /// `operation`: create, upsert, replace, delete, read, feed, query, evaluate. `arguments` and
    /// the answer are JSON objects; the answer has `resource` and `options`, or `error`:
    /// {number, body}. Nullopt: not accepted, the request has used up what it may.
    virtual std::optional<std::string> call(std::string_view operation,
                                            std::string_view arguments) = 0;
};

struct RunRequest {
    Kind kind = Kind::kProcedure;
    std::string_view name;
    std::string_view text;
    std::string arguments;  ///< procedures: a JSON array
    /// JSON object, what the script's context is made of: `self` and `alt`, the collection's links;
    /// `operation`; `body` of the request; `response`: its body; `values`: of the request, by
    /// header; `quota` and `usage`.
    std::string context;
    bool logging = false;
    Collection* collection = nullptr;  ///< borrowed
};

/// How a run ended. What it did to its collection is for the caller to keep or to undo.
struct RunResult {
    /// What was thrown (and its number), or that time or memory was used up, or that the server
    /// stops.
    Status status;
    std::optional<std::string> request_body;   ///< set by a pre-trigger; JSON text
    std::optional<std::string> response_body;  ///< set by the script; JSON text
    std::string log;                           ///< also of a run that failed
};

/// Answers for a run that goes on beyond its limit and its grace, because it is inside one step of
/// the language that nothing can interrupt. `status`: how it has ended (time, server stops); `log`:
/// as far as it came. Called on another thread, once; the run's own thread is inside JavaScript
/// meanwhile, or waits, so that what it has on its stack may be read.
using StuckHandler = std::function<void(Status status, std::string_view log)>;

/// One JavaScript engine, bound to one thread: of_this_thread() makes it on first use, it lives as
/// long as the thread. Each run has a world of its own: nothing is left of it for the next.
class Runtime {
public:
    static Runtime& of_this_thread();
    virtual ~Runtime() = default;

    virtual RunResult run(const RunRequest& request, const Limits& limits) = 0;
    /// Code::kScriptSyntax with line and column when the text is no function.
    virtual Status check(std::string_view text, const Limits& limits = {}) = 0;

    /// For all that runs on this thread from now on. Empty: the server waits for a stuck run.
    virtual void on_stuck(StuckHandler handler) = 0;
    /// The handler was called. What was stuck ends with an error when it comes back, and so does
    /// everything that is begun on this thread afterwards.
    virtual bool given_up() const = 0;
};

/// While one exists and `after_ms` have passed since it was made, every run in this process ends
/// with Code::kServiceUnavailable as soon as it can be interrupted, and one that cannot is given
/// up: a server that stops does not wait for its scripts.
class EndRuns {
public:
    explicit EndRuns(int64_t after_ms = 0);
    ~EndRuns();
    EndRuns(const EndRuns&) = delete;
    EndRuns& operator=(const EndRuns&) = delete;

private:
    const int64_t at_us_;
};

/// User-defined functions of one page of a query: a world of their own on this thread. Used and
/// destroyed on the thread that made it.
class Functions {
public:
    static std::unique_ptr<Functions> create(const Limits& limits);
    virtual ~Functions() = default;

    /// The number to call it by; Code::kScriptSyntax when it cannot be compiled.
    virtual Result<size_t> add(std::string_view name, std::string_view text) = 0;
    /// The result lives in `arena`; what JSON cannot express is undefined.
    virtual Result<json::Value> call(size_t function, std::span<const json::Value> arguments,
                                     json::Arena& arena) = 0;
};

}  // namespace orrery::script
