#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "base/replaceable_pool.h"
#include "base/status.h"
#include "engine/engine.h"
#include "script/script.h"

namespace orrery::engine {

/// How a request with scripts ended whose task could not answer it.
struct UnansweredRun {
    Status status;
    std::string log;
    meter::Charge charge;  ///< none: nothing was done
    std::optional<Touched> touched;
};

/// Runs stored procedures and triggers: each is one transaction on one logical partition, kept as a
/// whole or not at all. Internally thread-safe.
class Scripts {
public:
    Scripts(const Engine& engine, const ScriptOptions& options);

    /// Runs `task` on a thread for scripts. `answer` is called instead of it, or while it is stuck
    /// in a script that nothing can end: then on another thread, and the task must not answer when
    /// it goes on (given_up()). Unavailable: too many are waiting, or stuck.
    Status post(std::function<void()> task, std::function<void(UnansweredRun)> answer);
    /// What still runs then is ended: the server is about to stop.
    void end_runs_in(int64_t ms);
    /// Ends what runs and the threads, but for those that are stuck; what is queued is dropped.
    void stop();
    /// Threads that are stuck. They use the engine until they come back; its destructor waits.
    size_t stuck() const { return threads_.given_up(); }

    // On a script thread.

    /// The calling thread's task was stuck and its request has been answered.
    static bool given_up() { return script::Runtime::of_this_thread().given_up(); }
    /// kScriptSyntax with line and column when the text cannot be compiled, kEntityTooLarge when it
    /// is too long.
    Status check(std::string_view text) const;
    ProcedureAnswer run(const ProcedureRequest& request) const;
    TriggeredAnswer write(const TriggeredWrite& request) const;

private:
    void run_task(const std::function<void()>& task,
                  const std::function<void(UnansweredRun)>& answer);

    const Engine& engine_;
    const ScriptOptions options_;
    std::atomic<size_t> waiting_{0};
    std::atomic<size_t> running_{0};
    std::atomic<size_t> answering_{0};  // for runs that are stuck
    std::atomic<bool> stopping_{false};
    std::optional<script::EndRuns> end_runs_;  // from end_runs_in() to the end of stop()
    ReplaceablePool threads_;                  // last: its tasks use the others
};

/// The trigger of that name, which must run at that time and be made for that operation; else 400.
Result<catalog::ScriptPtr> find_trigger(const catalog::Catalog& catalog,
                                        const catalog::Container& container, std::string_view name,
                                        bool after, partition::OperationKind operation);

}  // namespace orrery::engine
