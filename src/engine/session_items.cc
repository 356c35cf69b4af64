// Operations on single items.
#include "base/errors.h"
#include "engine/engine.h"
#include "engine/scripts.h"
#include "engine/session.h"
#include "json/document.h"
#include "json/item.h"
#include "json/parse.h"

namespace orrery::engine {
namespace {

using partition::ItemOperation;
using partition::OperationKind;
using partition::OperationResult;

/// Calls the completion of a read or write where its connection is served: the committer, whose
/// thread brings the outcome, has others waiting.
template <typename Answer, typename Done>
class Answered final : public Task {
public:
    Answered(StatementPtr the_statement, Answer the_answer, Done the_completion,
             void (*deliver)(Answered&))
        : statement(std::move(the_statement)),
          answer(std::move(the_answer)),
          done(std::move(the_completion)),
          deliver_(deliver) {}
    void run() override { deliver_(*this); }

    const StatementPtr statement;
    Answer answer;
    const Done done;

private:
    void (*const deliver_)(Answered&);
};

}  // namespace

bool Session::read_at_once(Statement& statement, const ItemRead& request,
                           OperationResult& result) const {
    const auto& container = *statement.container_;
    Status status = authorize(statement, Operation::kReadItem, request.epk, request.id);
    if (status.ok()) status = check_seen(statement, container.ranges->of_epk(request.epk));
    if (!status.ok()) {
        statement.refuse(status.error());
        result.status = std::move(status);
        return true;
    }
    auto cached = engine().read_cached(container, request.epk, request.id, request.if_none_match,
                                       statement.terms_);
    if (!cached) return false;
    result = std::move(cached->result);
    statement.take(result, cached->charge, std::move(cached->touched));
    return true;
}

void Session::read_elsewhere(const StatementPtr& statement, ItemRead request, ReadDone done) const {
    if (!request.number) return execute_read(statement, std::move(request), std::move(done));
    on_worker([this, statement, request = std::move(request), done = std::move(done)]() mutable {
        OperationResult result;
        auto id = id_of(*statement, request.epk, *request.number);
        request.number.reset();
        if (id.ok()) {
            request.id = std::move(*id);
            if (!read_at_once(*statement, request, result))
                return execute_read(statement, std::move(request), std::move(done));
        } else {
            statement->refuse(id.error());
            result.status = std::move(id).take_status();
        }
        done(result);
        statement->end_operation();
    });
}

void Session::execute_read(const StatementPtr& statement, ItemRead request, ReadDone done) const {
    partition::Transaction transaction;
    transaction.epk = std::move(request.epk);
    ItemOperation operation;
    operation.kind = OperationKind::kRead;
    operation.id = std::move(request.id);
    operation.if_none_match = std::string(request.if_none_match);
    transaction.operations.push_back(std::move(operation));
    using Read = Answered<TransactionAnswer, ReadDone>;
    engine().execute(statement->container_, std::move(transaction), statement->terms_,
                     [statement, done = std::move(done)](TransactionAnswer answer) mutable {
                         statement->run_on_loop(std::make_unique<Read>(
                             statement, std::move(answer), std::move(done), [](Read& read) {
                                 OperationResult& result = read.answer.result.results.front();
                                 read.statement->take(result, read.answer.total,
                                                      std::move(read.answer.touched));
                                 read.done(result);
                                 read.statement->end_operation();
                             }));
                     });
}

Result<std::string> Session::id_of(const Statement& statement, std::string_view epk,
                                   uint64_t number) const {
    TRY(const auto routed, engine().route(*statement.container_));
    const auto& container = *routed.container;
    const storage::Docref docref(partition::docref_prefix(container.settings->key, epk), number);
    const auto partition_id = container.ranges->of_epk(epk).partition->identity().id;
    TRY(const auto bytes,
        routed.view->get(storage::Family::kItems, storage::keys::item(partition_id, docref)));
    if (!bytes) return errors::not_found();
    TRY(const auto document, json::decode_document(*bytes));
    if (document.header.epk != epk) return errors::not_found();
    json::Arena arena;
    TRY(const std::string_view id, document.id(arena));
    return std::string(id);
}

void Session::write(const StatementPtr& statement, ItemWrite request, WriteDone done) const {
    if (!request.number) return execute_write(statement, std::move(request), std::move(done));
    const auto shared = std::make_shared<ItemWrite>(std::move(request));
    on_worker([this, statement, shared, done = std::move(done)]() mutable {
        auto id = id_of(*statement, shared->epk, *shared->number);
        if (id.ok()) {
            shared->operation.id = std::move(*id);
            return execute_write(statement, std::move(*shared), std::move(done));
        }
        statement->refuse(id.error());
        WriteAnswer answer;
        answer.result.status = std::move(id).take_status();
        done(answer);
        statement->end_operation();
    });
}

void Session::execute_write(const StatementPtr& statement, ItemWrite request,
                            WriteDone done) const {
    const auto& range = statement->container_->ranges->of_epk(request.epk);
    Status status = authorize(*statement, request.operation, request.epk);
    // A writer of a new item has seen no version of it.
    const bool names_item = request.operation.kind != OperationKind::kCreate &&
                            request.operation.kind != OperationKind::kUpsert;
    if (status.ok() && names_item) status = check_seen(*statement, range);
    if (status.ok() && request.triggers != nullptr) {
        status = write_with_triggers(statement, request, done);
        if (status.ok()) return;
    }
    if (!status.ok()) {
        statement->refuse(status.error());
        WriteAnswer answer;
        answer.result.status = std::move(status);
        done(answer);
        return statement->end_operation();
    }
    partition::Transaction transaction;
    transaction.epk = std::move(request.epk);
    transaction.operations.push_back(std::move(request.operation));
    using Written = Answered<TransactionAnswer, WriteDone>;
    engine().execute(statement->container_, std::move(transaction), statement->terms_,
                     [statement, done = std::move(done)](TransactionAnswer answer) mutable {
                         statement->run_on_loop(std::make_unique<Written>(
                             statement, std::move(answer), std::move(done), [](Written& written) {
                                 WriteAnswer given;
                                 given.result = std::move(written.answer.result.results.front());
                                 written.statement->take(given.result, written.answer.total,
                                                         std::move(written.answer.touched));
                                 written.done(given);
                                 written.statement->end_operation();
                             }));
                     });
}

Status Session::write_with_triggers(const StatementPtr& statement, ItemWrite& request,
                                    const WriteDone& done) const {
    const catalog::Container& container = *statement->container_;
    const auto write = std::make_shared<TriggeredWrite>();
    Triggers& named = *request.triggers;
    const OperationKind kind = request.operation.kind;
    const auto find = [&](const std::string& name, bool after) -> Result<catalog::ScriptPtr> {
        if (name.empty()) return catalog::ScriptPtr();
        return find_trigger(engine().catalog(), container, name, after, kind);
    };
    TRY(write->before, find(named.before, false));
    TRY(write->after, find(named.after, true));
    // The body must be valid JSON before scripts see it.
    if (kind != OperationKind::kDelete) {
        json::Arena arena;
        TRY_STATUS(json::parse(named.body, arena).status().clone());
        write->body_text = std::move(named.body);
    }
    write->container = statement->container_;
    write->epk = std::move(request.epk);
    write->operation = std::move(request.operation);
    write->values = std::move(named.values);
    write->logging = named.logging;
    write->terms = statement->terms_;
    write->bill = statement->bill.get();
    const auto answer_with = [statement, done](TriggeredAnswer& ended) {
        statement->take_run(ended.result.status, ended.charge, std::move(ended.touched));
        WriteAnswer answer{std::move(ended.result), std::move(ended.body), std::move(ended.log)};
        statement->outcome_.operations = {&answer.result, 1};
        done(answer);
        statement->end_operation();
    };
    return post_script(
        [this, write, answer_with] {
            TriggeredAnswer ended = engine().scripts().write(*write);
            if (!Scripts::given_up()) answer_with(ended);
        },
        [answer_with](UnansweredRun& run) {
            TriggeredAnswer ended;
            ended.result.status = std::move(run.status);
            ended.log = std::move(run.log);
            ended.charge = run.charge;
            if (run.touched) ended.touched = std::move(*run.touched);
            answer_with(ended);
        });
}

}  // namespace orrery::engine
