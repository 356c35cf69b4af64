// Several operations in one statement: all or nothing, or each for itself.
#include <atomic>
#include <charconv>
#include <map>
#include <memory>
#include <span>

#include "base/errors.h"
#include "engine/engine.h"
#include "engine/session.h"

namespace orrery::engine {
namespace {

using partition::OperationResult;

uint32_t range_number(std::string_view id) {
    uint32_t number = RequestRecord::kNoRange;
    std::from_chars(id.data(), id.data() + id.size(), number);
    return number;
}

/// The charges by physical partition. What was refused for want of throughput is told, nobody pays
/// it.
std::vector<RangeCharge> charges_by_range(std::span<const OperationResult> results,
                                          std::span<const OperationPlace> places) {
    std::map<uint32_t, meter::Charge> sums;
    for (size_t i = 0; i < places.size(); ++i) {
        const Status& status = results[i].status;
        const bool paid = status.ok() || !errors::is_rate_limit(status.error().code);
        if (places[i].range != RequestRecord::kNoRange)
            sums[places[i].range] += paid ? places[i].charge : meter::Charge();
    }
    std::vector<RangeCharge> charges;
    for (const auto& [range, charge] : sums) charges.push_back({range, charge});
    return charges;
}

/// Operations on one logical partition, one after the other.
struct Chain {
    std::string epk;
    std::vector<size_t> indexes;
    size_t next = 0;
};

}  // namespace

void Session::batch(const StatementPtr& statement, partition::Transaction transaction,
                    BatchDone done) const {
    const auto& range = statement->container_->ranges->of_epk(transaction.epk);
    Status status;
    for (const auto& operation : transaction.operations)
        if (status.ok()) status = authorize(*statement, operation, transaction.epk);
    if (status.ok()) status = check_seen(*statement, range);
    if (!status.ok()) {
        statement->refuse(status.error());
        TransactionAnswer answer;
        answer.refused = true;
        answer.result.results.emplace_back().status = std::move(status);
        done(answer);
        return statement->end_operation();
    }
    transaction.is_batch = true;
    engine().execute(statement->container_, std::move(transaction), statement->terms_,
                     [statement, done = std::move(done)](TransactionAnswer answer) {
                         if (!answer.refused) statement->itemise(answer.result.results);
                         Outcome& outcome = statement->outcome_;
                         outcome.charge = answer.total;
                         outcome.touched = answer.touched;
                         outcome.operations = answer.result.results;
                         const Status& first = answer.result.results.front().status;
                         if (answer.refused) statement->fail(first.error());
                         done(answer);
                         statement->end_operation();
                     });
}

/// A bulk under way: it is answered when the last operation is done.
struct Session::BulkRun : std::enable_shared_from_this<BulkRun> {
    BulkRun(const Session& the_session, StatementPtr the_statement,
            std::vector<BulkOperation> the_operations, BulkDone the_completion)
        : session(the_session),
          statement(std::move(the_statement)),
          operations(std::move(the_operations)),
          completion(std::move(the_completion)),
          touched(operations.size()),
          pending(operations.size() + 1) {  // one for start(), so that no early end is seen
        answer.results.resize(operations.size());
        answer.charges.resize(operations.size());
    }

    void start();
    void go_on(const std::shared_ptr<Chain>& chain);
    void finish_one() {
        if (pending.fetch_sub(1) == 1) finish();
    }
    void finish();

    const Session& session;
    const StatementPtr statement;
    std::vector<BulkOperation> operations;
    const BulkDone completion;
    BulkAnswer answer;
    std::vector<Touched> touched;
    std::atomic<size_t> pending;
};

void Session::BulkRun::start() {
    std::map<std::string, std::shared_ptr<Chain>> chains;
    for (size_t i = 0; i < operations.size(); ++i) {
        BulkOperation& one = operations[i];
        Status status = std::move(one.refused);
        if (status.ok()) status = session.authorize(*statement, one.operation, one.epk);
        if (!status.ok()) {
            answer.charges[i] = meter::failure(status.error().code);
            answer.results[i].status = std::move(status);
            finish_one();
            continue;
        }
        auto& chain = chains[one.epk];
        if (chain == nullptr) chain = std::make_shared<Chain>();
        chain->epk = one.epk;
        chain->indexes.push_back(i);
    }
    for (const auto& [epk, chain] : chains) go_on(chain);
    finish_one();
}

void Session::BulkRun::go_on(const std::shared_ptr<Chain>& chain) {
    if (chain->next == chain->indexes.size()) return;
    const size_t index = chain->indexes[chain->next++];
    partition::Transaction transaction;
    transaction.epk = chain->epk;
    transaction.operations.push_back(std::move(operations[index].operation));
    session.engine().execute(statement->container_, std::move(transaction), statement->terms_,
                             [self = shared_from_this(), chain, index](TransactionAnswer outcome) {
                                 self->answer.results[index] =
                                     std::move(outcome.result.results.front());
                                 self->answer.charges[index] = outcome.total;
                                 self->touched[index] = std::move(outcome.touched);
                                 self->go_on(chain);
                                 self->finish_one();
                             });
}

void Session::BulkRun::finish() {
    std::vector<OperationPlace> places(operations.size());
    Outcome& outcome = statement->outcome_;
    for (size_t i = 0; i < places.size(); ++i) {
        places[i] = {range_number(touched[i].range_id), operations[i].partition_key,
                     answer.charges[i]};
        outcome.charge += answer.charges[i];
        if (i == 0 || touched[i].lsn > outcome.touched.lsn) outcome.touched = touched[i];
    }
    const auto charges = charges_by_range(answer.results, places);
    outcome.operations = answer.results;
    outcome.places = places;
    outcome.range_charges = charges;
    statement->itemise(answer.results);
    completion(answer);
    statement->end_operation();
}

void Session::bulk(const StatementPtr& statement, std::vector<BulkOperation> operations,
                   BulkDone done) const {
    std::make_shared<BulkRun>(*this, statement, std::move(operations), std::move(done))->start();
}

}  // namespace orrery::engine
