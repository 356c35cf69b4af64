#include "engine/scripts.h"

#include <algorithm>
#include <future>
#include <thread>
#include <unordered_map>

#include "base/errors.h"
#include "base/log.h"
#include "base/script_errors.h"
#include "engine/script_collection.h"
#include "json/document.h"
#include "json/write.h"
#include "partition/client_item.h"

namespace orrery::engine {
namespace {

using partition::OperationKind;
using partition::StepTransaction;

constexpr size_t kThreadsMin = 2;
constexpr size_t kWaitingMax = 1000;
/// How often other writers may invalidate a run before the client is told.
constexpr int kAttemptsMax = 16;

std::string_view operation_name(OperationKind kind) {
    switch (kind) {
        case OperationKind::kCreate:
            return "Create";
        case OperationKind::kUpsert:
            return "Upsert";
        case OperationKind::kDelete:
            return "Delete";
        default:
            return "Replace";
    }
}

/// What the script's context is made of, but for the body members.
std::string context_of(const catalog::Container& container, std::string_view operation,
                       const std::string& values) {
    std::string self = container.self();
    self.pop_back();
    std::string out = "{\"self\":";
    json::write_string(out, self);
    out += ",\"alt\":";
    json::write_string(out, container.alt_path);
    out += ",\"operation\":\"" + std::string(operation) + "\",\"values\":" + values;
    return out;
}

/// Replaces provisional etags in a script's answer by the final ones.
void finalise_etags(std::string& body,
                    const std::vector<std::pair<std::string, std::string>>& etags) {
    if (etags.empty()) return;
    // Provisional etags end alike: with the number of a commit that is yet to come.
    constexpr size_t kNonceLength = 18;
    const std::string ending = etags.front().first.substr(kNonceLength);
    std::unordered_map<std::string_view, std::string_view> finals(etags.begin(), etags.end());
    for (size_t at = body.find(ending); at != std::string::npos; at = body.find(ending, at + 1)) {
        if (at < kNonceLength) continue;
        const auto found = finals.find(
            std::string_view(body).substr(at - kNonceLength, kNonceLength + ending.size()));
        if (found == finals.end() || found->second.size() != found->first.size()) continue;
        body.replace(at - kNonceLength, found->second.size(), found->second);
    }
}

StepTransaction::Ending commit(StepTransaction& steps) {
    std::promise<StepTransaction::Ending> promise;
    auto ended = promise.get_future();
    steps.commit(
        [&promise](StepTransaction::Ending ending) { promise.set_value(std::move(ending)); });
    return ended.get();
}

/// What a stuck run has done so far, reported by the code that runs on its thread. Lives on its
/// stack.
class WhileStuck {
public:
    explicit WhileStuck(std::function<void(UnansweredRun&)> tell)
        : tell_(std::move(tell)), outer_(current) {
        current = this;
    }
    ~WhileStuck() { current = outer_; }
    WhileStuck(const WhileStuck&) = delete;
    WhileStuck& operator=(const WhileStuck&) = delete;

    void tell(UnansweredRun& run) const {
        if (tell_) tell_(run);
    }
    /// Of the calling thread.
    static const WhileStuck* const* place() { return &current; }

private:
    static thread_local const WhileStuck* current;
    const std::function<void(UnansweredRun&)> tell_;
    const WhileStuck* const outer_;
};
thread_local const WhileStuck* WhileStuck::current = nullptr;

/// Repeats a transaction until nothing that it read has changed before its commit.
/// `attempt(collection, steps)`: the work; an error ends the transaction without a trace.
/// `committed(ending)`: it is durable.
struct Transactional {
    const Engine& engine;
    const catalog::ContainerPtr& container;
    const std::string& epk;
    const RequestTerms& terms;
    meter::Bill* bill;
    ScriptBudget budget = ScriptBudget(engine, terms);
    Touched touched = {};

    template <typename Attempt, typename Committed>
    Status run(const Attempt& attempt, const Committed& committed) {
        if (container->materialized_view() != nullptr)
            return Status(errors::forbidden(
                "'" + container->id +
                "' is a materialized view, which clients only read: scripts do not run on it."));
        bool admitted = false;
        for (int i = 0; i < kAttemptsMax; ++i) {
            TRY(const Engine::Routed routed, engine.route(*container));
            const auto& range = routed.container->ranges->of_epk(epk);
            touched = {range.id, range.partition->lsn()};
            if (!admitted) TRY_STATUS(engine.admit(range, terms));
            admitted = true;
            if (bill != nullptr) *bill = meter::Bill();
            budget.restart(range);
            const auto steps = range.partition->begin_steps(epk, routed.view);
            if (steps == nullptr) continue;  // it has moved
            ScriptCollection collection({engine, routed, range, epk, *steps, budget, bill});
            TRY_STATUS(attempt(*routed.container, collection));
            StepTransaction::Ending ending = commit(*steps);
            touched = {std::to_string(ending.range_number), ending.lsn};
            if (ending.stale) continue;
            if (!ending.committed) return std::move(ending.status);
            committed(ending);
            return {};
        }
        return Status(errors::retry_with());
    }
};

}  // namespace

Scripts::Scripts(const Engine& engine, const ScriptOptions& options)
    : engine_(engine),
      options_(options),
      threads_("script", std::max<size_t>(kThreadsMin, std::thread::hardware_concurrency())) {}

Status Scripts::post(std::function<void()> task, std::function<void(UnansweredRun)> answer) {
    if (stuck() >= options_.stuck_max) return Status(errors::scripts_stuck(options_.stuck_max));
    if (waiting_.fetch_add(1) >= kWaitingMax) {
        --waiting_;
        return Status(errors::scripts_busy());
    }
    threads_.post([this, task = std::move(task), answer = std::move(answer)] {
        ++running_;
        --waiting_;
        if (!stopping_) run_task(task, answer);
        --running_;
    });
    return {};
}

void Scripts::run_task(const std::function<void()>& task,
                       const std::function<void(UnansweredRun)>& answer) {
    // Scripts that waited while others got stuck must not get stuck too.
    if (stuck() >= options_.stuck_max) {
        UnansweredRun refused;
        refused.status = Status(errors::scripts_stuck(options_.stuck_max));
        return answer(std::move(refused));
    }
    script::Runtime& runtime = script::Runtime::of_this_thread();
    ReplaceablePool::Seat& seat = ReplaceablePool::this_seat();
    const WhileStuck* const* const place = WhileStuck::place();
    runtime.on_stuck([&](Status status, std::string_view log) {
        // Replace the thread before answering, so that the client's next script finds a thread.
        ++answering_;
        threads_.give_up(seat);
        log::warning("a script could not be ended and is left alone; " + std::to_string(stuck()) +
                     " of " + std::to_string(options_.stuck_max) +
                     " that may be so before scripts are refused");
        UnansweredRun run;
        run.status = std::move(status);
        run.log = log;
        if (*place != nullptr) (*place)->tell(run);
        answer(std::move(run));
        --answering_;
        answering_.notify_all();
    });
    task();
    runtime.on_stuck(nullptr);
}

void Scripts::end_runs_in(int64_t ms) {
    end_runs_.emplace(ms);
}

void Scripts::stop() {
    stopping_ = true;
    // This ends the runs of all engines in the process, so an engine without runs must not do it.
    std::optional<script::EndRuns> now;
    if (running_ > 0) now.emplace();
    threads_.stop();
    // The receiver of this news may destroy what an answer still needs.
    for (size_t n = answering_; n > 0; n = answering_) answering_.wait(n);
    end_runs_.reset();
}

Status Scripts::check(std::string_view text) const {
    if (text.size() > script::kTextBytesMax)
        return Status(errors::entity_too_large(script::kTextBytesMax));
    return script::Runtime::of_this_thread().check(text, options_.limits);
}

ProcedureAnswer Scripts::run(const ProcedureRequest& request) const {
    ProcedureAnswer answer;
    Transactional transaction{.engine = engine_,
                              .container = request.container,
                              .epk = request.epk,
                              .terms = request.terms,
                              .bill = request.bill};
    const WhileStuck told([&](UnansweredRun& run) {
        run.charge = transaction.budget.charge();
        run.touched = transaction.touched;
    });
    const auto attempt = [&](const catalog::Container& container,
                             ScriptCollection& collection) -> Status {
        transaction.budget.add(meter::stored_procedure_run(engine_.pricing(request.bill)));
        script::RunRequest run;
        run.kind = script::Kind::kProcedure;
        run.name = request.procedure->id;
        run.text = request.procedure->body;
        run.arguments = request.arguments;
        run.context = context_of(container, "Execute", request.values) +
                      ",\"body\":" + (request.arguments.empty() ? "[]" : request.arguments) + "}";
        run.logging = request.logging;
        run.collection = &collection;
        script::RunResult result = script::Runtime::of_this_thread().run(run, options_.limits);
        answer.log = std::move(result.log);
        answer.body = std::move(result.response_body);
        return std::move(result.status);
    };
    answer.status = transaction.run(attempt, [&](const StepTransaction::Ending& ending) {
        if (answer.body) finalise_etags(*answer.body, ending.etags);
    });
    answer.charge = transaction.budget.charge();
    answer.touched = transaction.touched;
    return answer;
}

TriggeredAnswer Scripts::write(const TriggeredWrite& request) const {
    TriggeredAnswer answer;
    Transactional transaction{.engine = engine_,
                              .container = request.container,
                              .epk = request.epk,
                              .terms = request.terms,
                              .bill = request.bill};
    const WhileStuck told([&](UnansweredRun& run) {
        run.log.insert(0, answer.log);
        run.charge = transaction.budget.charge();
        run.touched = transaction.touched;
    });
    const bool has_body = !request.body_text.empty();
    // A patch is what its operations make of the item, and a delete has nothing to write.
    const bool fixed_body = request.operation.kind == OperationKind::kPatch ||
                            request.operation.kind == OperationKind::kDelete;
    const auto run_trigger = [&](const catalog::Script& trigger, std::string context,
                                 ScriptCollection& collection) {
        transaction.budget.add(meter::trigger_run(engine_.pricing(request.bill)));
        script::RunRequest run;
        run.kind = trigger.runs_after ? script::Kind::kPostTrigger : script::Kind::kPreTrigger;
        run.name = trigger.id;
        run.text = trigger.body;
        run.context = std::move(context);
        run.logging = request.logging;
        run.collection = &collection;
        script::RunResult result = script::Runtime::of_this_thread().run(run, options_.limits);
        answer.log += result.log;
        return result;
    };
    const auto attempt = [&](const catalog::Container& container,
                             ScriptCollection& collection) -> Status {
        partition::ItemOperation operation = request.operation;
        std::string body = request.body_text;
        const std::string context =
            context_of(container, operation_name(operation.kind), request.values) +
            (fixed_body ? ",\"fixedBody\":true" : "");
        answer.log.clear();
        answer.body.reset();
        if (request.before != nullptr) {
            script::RunResult ran = run_trigger(
                *request.before, context + (has_body ? ",\"body\":" + body : "") + "}", collection);
            if (!ran.status.ok()) return std::move(ran.status);
            if (ran.request_body) {
                body = std::move(*ran.request_body);
                operation.body = body;
            }
        }
        answer.result = collection.run(std::move(operation));
        if (!answer.result.status.ok()) return answer.result.status.clone();
        if (request.after == nullptr) return {};
        std::string after = context + (has_body ? ",\"body\":" + body : "");
        if (answer.result.has_item)
            after +=
                ",\"response\":" + partition::client_item(*container.settings, answer.result.item);
        after +=
            R"(,"quota":"documentSize=10240;documentsSize=10485760;","usage":"documentsSize=)" +
            std::to_string(container.ranges->of_epk(request.epk).partition->bytes() >> 10) + ";\"}";
        script::RunResult ran = run_trigger(*request.after, std::move(after), collection);
        if (!ran.status.ok()) return std::move(ran.status);
        answer.body = std::move(ran.response_body);
        return {};
    };
    const auto committed = [&](const StepTransaction::Ending& ending) {
        if (answer.body) finalise_etags(*answer.body, ending.etags);
        if (!answer.result.has_item) return;
        if (const auto document = json::decode_document(*answer.result.item.document);
            document.ok())
            answer.result.etag = json::etag_text(document->header.etag_nonce, document->header.lsn);
    };
    answer.result.status = transaction.run(attempt, committed);
    if (!answer.result.status.ok()) {
        answer.result.has_item = false;
        answer.body.reset();
    }
    answer.charge = transaction.budget.charge();
    answer.touched = transaction.touched;
    return answer;
}

Result<catalog::ScriptPtr> find_trigger(const catalog::Catalog& catalog,
                                        const catalog::Container& container, std::string_view name,
                                        bool after, OperationKind operation) {
    using catalog::TriggerOperation;
    const std::string quoted = "The trigger '" + std::string(name) + "'";
    auto trigger = catalog.find_script(container.rid, catalog::ChildType::kTrigger, name);
    if (trigger == nullptr)
        return errors::bad_request(quoted + " does not exist in this container.");
    if (trigger->runs_after != after)
        return after ? errors::trigger_runs_before(name) : errors::trigger_runs_after(name);
    const TriggerOperation made_for = trigger->operation;
    bool fits = made_for == TriggerOperation::kAll;
    switch (operation) {
        case OperationKind::kCreate:
            fits = fits || made_for == TriggerOperation::kCreate;
            break;
        case OperationKind::kUpsert:
            fits = fits || made_for != TriggerOperation::kDelete;
            break;
        case OperationKind::kDelete:
            fits = fits || made_for == TriggerOperation::kDelete;
            break;
        case OperationKind::kReplace:
        case OperationKind::kPatch:
            fits = fits || made_for == TriggerOperation::kReplace ||
                   made_for == TriggerOperation::kUpdate;
            break;
        case OperationKind::kRead:
            fits = false;
            break;
    }
    if (!fits)
        return errors::bad_request(quoted + " is for the operation " +
                                   std::string(catalog::trigger_operation_name(made_for)) +
                                   " and cannot be run with another one.");
    return trigger;
}

}  // namespace orrery::engine
