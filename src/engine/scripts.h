#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/worker_pool.h"
#include "engine/engine.h"
#include "script/script.h"

namespace orrery::engine {

struct ProcedureRequest {
    catalog::ContainerPtr container;
    catalog::ScriptPtr procedure;
    std::string epk;            ///< binary, full key
    std::string arguments;      ///< JSON array text
    std::string values = "{}";  ///< JSON object: what the script may read of the request, by name
    bool logging = false;
    RequestTerms terms;
    meter::Bill* bill = nullptr;  ///< itemises the charge
};
struct ProcedureAnswer {
    Status status;
    std::optional<std::string> body;  ///< JSON text; none: the script set none
    std::string log;
    meter::Charge charge;
    Touched touched;
};

/// A write of one item with what runs before and after it.
struct TriggeredWrite {
    catalog::ContainerPtr container;
    std::string epk;
    partition::ItemOperation operation;
    std::string body_text;      ///< of the request, as sent; for a patch, its operations
    catalog::ScriptPtr before;  ///< may be null
    catalog::ScriptPtr after;   ///< may be null
    std::string values = "{}";  ///< JSON object: what the script may read of the request, by name
    bool logging = false;
    RequestTerms terms;
    meter::Bill* bill = nullptr;
};
struct TriggeredAnswer {
    partition::OperationResult result;
    std::optional<std::string> body;  ///< what a post-trigger made the answer's body
    std::string log;
    meter::Charge charge;
    Touched touched;
};

/// Runs stored procedures and triggers: each is one transaction on one logical partition, kept as a
/// whole or not at all. Internally thread-safe.
class Scripts {
public:
    explicit Scripts(const Engine& engine);

    /// Runs `task` on a thread for scripts. 503: too many are waiting.
    Status post(std::function<void()> task);
    /// Ends what runs and the threads; what is queued is dropped.
    void stop();

    // On a script thread.

    /// 400 with line and column when the text cannot be compiled, 413 when it is too long.
    static Status check(std::string_view text);
    ProcedureAnswer run(const ProcedureRequest& request) const;
    TriggeredAnswer write(const TriggeredWrite& request) const;

private:
    const Engine& engine_;
    std::atomic<size_t> waiting_{0};
    std::atomic<bool> stopping_{false};
    std::optional<script::EndRuns> end_runs_;  // from stop() on
    WorkerPool threads_;                       // last: its tasks use the others
};

/// The trigger of that name, which must run at that time and be made for that operation; else 400.
Result<catalog::ScriptPtr> find_trigger(const catalog::Catalog& catalog,
                                        const catalog::Container& container, std::string_view name,
                                        bool after, partition::OperationKind operation);

}  // namespace orrery::engine
