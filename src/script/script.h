#pragma once

#include <cstdint>
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
    /// 400 with what was thrown (and its number as sub-status), 408, 413 or 503.
    Status status;
    std::optional<std::string> request_body;   ///< set by a pre-trigger; JSON text
    std::optional<std::string> response_body;  ///< set by the script; JSON text
    std::string log;                           ///< also of a run that failed
};

/// One JavaScript engine, bound to one thread: of_this_thread() makes it on first use, it lives as
/// long as the thread. Each run has a world of its own: nothing is left of it for the next.
class Runtime {
public:
    static Runtime& of_this_thread();
    virtual ~Runtime() = default;

    virtual RunResult run(const RunRequest& request, const Limits& limits) = 0;
    /// 400 with line and column when the text is no function.
    virtual Status check(std::string_view text) = 0;
};

/// While one exists, every run in this process ends with 503 as soon as it can be interrupted: a
/// server that stops does not wait for its scripts.
class EndRuns {
public:
    EndRuns();
    ~EndRuns();
    EndRuns(const EndRuns&) = delete;
    EndRuns& operator=(const EndRuns&) = delete;
};

/// User-defined functions of one page of a query: a world of their own on this thread. Used and
/// destroyed on the thread that made it.
class Functions {
public:
    static std::unique_ptr<Functions> create(const Limits& limits);
    virtual ~Functions() = default;

    /// The number to call it by; 400 when it cannot be compiled.
    virtual Result<size_t> add(std::string_view name, std::string_view text) = 0;
    /// The result lives in `arena`; what JSON cannot express is undefined.
    virtual Result<json::Value> call(size_t function, std::span<const json::Value> arguments,
                                     json::Arena& arena) = 0;
};

}  // namespace orrery::script
