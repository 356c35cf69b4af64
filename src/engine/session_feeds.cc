// Feeds, queries, and what is done to a whole logical partition.
#include "base/errors.h"
#include "engine/engine.h"
#include "engine/light_query.h"
#include "engine/scripts.h"
#include "engine/session.h"
#include "json/parse.h"
#include "query/query.h"

namespace orrery::engine {

namespace {

/// A JSON array, or nothing at all.
Status check_arguments(std::string& arguments) {
    if (arguments.empty()) arguments = "[]";
    json::Arena arena;
    TRY(const auto value, json::parse(arguments, arena));
    if (value.is_array()) return {};
    return Status(errors::bad_request(
        "The body of a request that runs a stored procedure must be a JSON array with its "
        "parameters."));
}

}  // namespace

/// Answers a statement with a page or the error that there is none.
template <typename Page, typename Done>
void Session::deliver(Statement& statement, Result<Page>& page, const Done& done) {
    if (page.ok())
        statement.take_page(*page);
    else
        statement.refuse(page.error());
    done(page);
    statement.end_operation();
}

void Session::read_feed(const StatementPtr& statement, FeedRequest request, FeedDone done) const {
    on_worker([this, statement, request = std::move(request), done = std::move(done)]() mutable {
        const auto read = [&]() -> Result<FeedAnswer> {
            TRY_STATUS(
                check_many(*statement, Operation::kReadFeed, request.limited_to, request.range));
            request.terms = statement->terms_;
            request.bill = statement->bill.get();
            return engine().read_feed(*statement->container_, request);
        };
        auto page = read();
        deliver(*statement, page, done);
    });
}

void Session::read_changes(const StatementPtr& statement, ChangeFeedRequest request,
                           ChangesDone done) const {
    on_worker([this, statement, request = std::move(request), done = std::move(done)]() mutable {
        const auto read = [&]() -> Result<ChangeFeedAnswer> {
            TRY_STATUS(
                check_many(*statement, Operation::kReadChanges, request.limited_to, request.range));
            request.terms = statement->terms_;
            request.bill = statement->bill.get();
            return engine().read_changes(*statement->container_, request);
        };
        auto page = read();
        deliver(*statement, page, done);
    });
}

void Session::deliver_query(Statement& statement, const QueryRequest& request,
                            Result<QueryAnswer>& answer, const QueryDone& done) {
    if (answer.ok()) {
        Outcome& outcome = statement.outcome_;
        outcome.query = &*answer;
        outcome.query_parameters = &request.parameters;
        outcome.page_size = request.items_max;
        outcome.continued = !request.continuation.empty();
    }
    deliver(statement, answer, done);
}

void Session::query(const StatementPtr& statement, QueryRequest request, QueryDone done) const {
    request.terms = statement->terms_;
    request.bill = statement->bill.get();
    Status status = check_many(*statement, Operation::kQuery, request.limited_to, request.range);
    if (!status.ok()) {
        Result<QueryAnswer> refused(std::move(status));
        return deliver_query(*statement, request, refused, done);
    }
    const bool on_loop = !engine().workers().is_here();
    if (on_loop) {
        auto answer = query_in_memory(engine(), *statement->container_, request);
        if (answer) return deliver_query(*statement, request, *answer, done);
    }
    const auto shared = std::make_shared<QueryRequest>(std::move(request));
    if (!on_loop) return run_query(statement, shared, done);
    on_worker(
        [this, statement, shared, done = std::move(done)] { run_query(statement, shared, done); });
}

void Session::run_query(const StatementPtr& statement, const std::shared_ptr<QueryRequest>& request,
                        const QueryDone& done) const {
    const catalog::Container& container = *statement->container_;
    if (!engine().runs_functions(container, request->text)) {
        request->cancelled = [waiting = statement.get()] { return waiting->cancelled(); };
        auto answer = engine().query(container, *request);
        return deliver_query(*statement, *request, answer, done);
    }
    request->cancelled = [waiting = statement.get()] {
        return Scripts::given_up() || waiting->cancelled();
    };
    const auto refuse = [statement, request, done](Status status) {
        Result<QueryAnswer> refused(std::move(status));
        deliver_query(*statement, *request, refused, done);
    };
    Status posted = post_script(
        [this, statement, request, done] {
            auto answer = engine().query(*statement->container_, *request);
            if (!Scripts::given_up()) deliver_query(*statement, *request, answer, done);
        },
        [refuse](UnansweredRun& run) { refuse(std::move(run.status)); });
    if (!posted.ok()) refuse(std::move(posted));
}

void Session::plan_query(const StatementPtr& statement, const PlanRequest& request,
                         const std::function<void(Result<PlanAnswer>&)>& done) const {
    const auto plan = [&]() -> Result<PlanAnswer> {
        TRY_STATUS(authorize(*statement, Operation::kPlanQuery, std::nullopt));
        const catalog::Container& container = *statement->container_;
        const auto& settings = *container.settings;
        TRY(const auto compiled,
            query::compile(request.text, settings.indexing.computed, settings.space));
        TRY(const auto parameters, query::Parameters::bind(*compiled, request.parameters));
        PlanAnswer answer;
        answer.ranges = query::key_ranges(*compiled, parameters, settings.key);
        client_plan::PlanScope scope;
        scope.one_key_by_filter = answer.ranges.size() == 1 && answer.ranges[0].is_point();
        scope.one_key_by_request = request.one_key;
        scope.one_range = container.ranges->ranges.size() == 1;
        TRY(answer.plan, client_plan::make_plan(*compiled, parameters, scope));
        if (request.supported_features)
            TRY_STATUS(client_plan::check_features(answer.plan, *request.supported_features));
        return answer;
    };
    auto answer = plan();
    if (!answer.ok()) statement->refuse(answer.error());
    done(answer);
    statement->end_operation();
}

void Session::delete_partition_key(const StatementPtr& statement, std::string epk,
                                   std::function<void(const Status&)> done) const {
    Status allowed = authorize(*statement, Operation::kDeletePartitionKey, epk);
    if (!allowed.ok()) {
        statement->refuse(allowed.error());
        done(allowed);
        return statement->end_operation();
    }
    on_worker([this, statement, epk = std::move(epk), done = std::move(done)] {
        const catalog::Container& container = *statement->container_;
        const Status status = engine().delete_partition_key(container, epk);
        if (status.ok()) {
            const auto& range = container.ranges->of_epk(epk);
            // Background work of the service: the request itself costs a metadata write.
            statement->outcome_.charge = meter::metadata_write();
            statement->outcome_.touched = {range.id, range.partition->lsn()};
        } else {
            statement->refuse(status.error());
        }
        done(status);
        statement->end_operation();
    });
}

void Session::run_procedure(const StatementPtr& statement, ProcedureRequest request,
                            ProcedureDone done) const {
    const auto answer_with = [statement, done = std::move(done)](ProcedureAnswer& answer) {
        statement->take_run(answer.status, answer.charge, answer.touched);
        done(answer);
        statement->end_operation();
    };
    const auto refuse = [answer_with](Status status) {
        ProcedureAnswer answer;
        answer.status = std::move(status);
        answer_with(answer);
    };
    const auto prepare = [&]() -> Status {
        TRY_STATUS(authorize(*statement, Operation::kRunProcedure, request.epk, {},
                             request.procedure->rid()));
        return check_seen(*statement, statement->container_->ranges->of_epk(request.epk));
    };
    if (Status status = prepare(); !status.ok()) return refuse(std::move(status));
    request.container = statement->container_;
    request.terms = statement->terms_;
    request.bill = statement->bill.get();
    const auto shared = std::make_shared<ProcedureRequest>(std::move(request));
    Status posted = post_script(
        [this, shared, answer_with, refuse] {
            if (Status fine = check_arguments(shared->arguments); !fine.ok())
                return refuse(std::move(fine));
            ProcedureAnswer answer = engine().scripts().run(*shared);
            if (!Scripts::given_up()) answer_with(answer);
        },
        [answer_with](UnansweredRun& run) {
            ProcedureAnswer answer;
            answer.status = std::move(run.status);
            answer.log = std::move(run.log);
            answer.charge = run.charge;
            if (run.touched) answer.touched = std::move(*run.touched);
            answer_with(answer);
        });
    if (!posted.ok()) refuse(std::move(posted));
}

}  // namespace orrery::engine
