#pragma once

#include <js/experimental/JSStencil.h>
#include <jsapi.h>

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_map.h>

#include "script/detail/allocation_guard.h"
#include "script/detail/job_queue.h"
#include "script/detail/watchdog.h"
#include "script/script.h"

namespace orrery::script::detail {

/// A compiled text. A function expression is the value of its script; otherwise the first function
/// that the text declares is the one to call.
struct Program {
    RefPtr<JS::Stencil> stencil;
    bool is_expression = false;
};

/// Why the engine was told to stop.
enum class Ending : uint8_t { kNone, kTime, kMemory, kAborted, kServerStops };

/// What limits the scripts that run on a runtime at one moment. Owned by the runtime's thread.
struct Watch {
    int64_t time_ms = 0;
    int64_t deadline_us = 0;
    int64_t grace_us = 0;
    size_t memory_bytes = 0;
    Ending ending = Ending::kNone;
};

/// The one kind of runtime. Owned by its thread; the watchdog only requests interrupts.
class RuntimeImpl final : public Runtime {
public:
    RuntimeImpl();
    ~RuntimeImpl() override;

    RunResult run(const RunRequest& request, const Limits& limits) override;
    Status check(std::string_view text, const Limits& limits) override;
    void on_stuck(StuckHandler handler) override;
    bool given_up() const override { return watched_.custody.given_up(); }

    JSContext* context() const { return cx_; }
    /// A world with the language and nothing else. Null: an exception is pending.
    JSObject* new_global();
    /// Null: an exception is pending; `status` says what is wrong with the text, if that is it.
    /// `file`: its name in stack traces.
    const Program* program(std::string_view text, Status& status, const char* file = "script");
    /// Runs a program in the current realm; `function` is undefined where the text declares some.
    bool load(const Program& program, JS::MutableHandleValue function);

    /// The limits in force from now on; the ones before come back with end_watch().
    Watch begin_watch(const Limits& limits);
    void end_watch(const Watch& before);
    Watch& watch() { return watch_; }
    /// The thread enters it before it touches what a script could hold up, and leaves it for
    /// everything else.
    Custody& custody() { return watched_.custody; }
    /// Frees what ended runs left, when that is worth the effort.
    void collect_garbage();
    /// The pending exception for people, with its line; clears it.
    std::string take_exception();
    /// The limit that a run was ended by; fine if by none.
    Status ended_by(const Limits& limits) const;

private:
    struct Run;
    friend struct Run;

    static bool interrupted(JSContext* cx);
    static bool native_call(JSContext* cx, unsigned argc, JS::Value* vp);
    bool may_go_on();
    size_t memory_used();
    bool carry_out(Run& run, const RunRequest& request, JS::MutableHandleObject driver,
                   RunResult& result);
    bool load_context(const RunRequest& request, JS::MutableHandleObject driver);
    bool run_prelude(std::string_view text, JS::HandleValueArray arguments,
                     JS::MutableHandleValue result);
    Status failure(Run& run, JS::HandleObject driver, const Limits& limits);
    Status compile(std::string_view text, const char* file, Program& program);
    void tell_stuck(const StuckHandler& handler) const;

    JSContext* cx_ = nullptr;
    std::unique_ptr<JobQueue> jobs_;
    std::unique_ptr<JS::PersistentRootedObject> base_;         // a realm of the runtime's own
    std::unique_ptr<JS::PersistentRootedObject> memory_info_;  // in it
    Watch watch_;
    Watched watched_;
    Run* run_ = nullptr;  // the one that runs

    struct Cached {
        std::string text;
        Program program;
    };
    std::list<Cached> cache_;  // most recently used first
    size_t cached_bytes_ = 0;
    absl::flat_hash_map<std::string_view, std::list<Cached>::iterator> cached_;
};

RuntimeImpl& runtime_of_this_thread();

// Values on their way in and out. False: an exception is pending.
bool to_utf8(JSContext* cx, JS::HandleString string, std::string& out);
JSString* from_utf8(JSContext* cx, std::string_view text);
bool to_js(JSContext* cx, const json::Value& value, JS::MutableHandleValue out);
bool from_js(JSContext* cx, JS::HandleValue value, json::Arena& arena, json::Value& out);

}  // namespace orrery::script::detail
