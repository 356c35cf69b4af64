// Transactional batch and bulk.
#include <atomic>
#include <charconv>
#include <map>
#include <memory>

#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/batch_form.h"
#include "heads/rest/handlers.h"
#include "json/document.h"

namespace orrery::rest {
namespace {

using partition::ItemOperation;
using partition::OperationKind;

/// Create and upsert take the id from the body, so `id` beside it grants nothing.
Status authorize_operation(const Call& call, const ItemOperation& operation, std::string_view epk) {
    auto access = engine::Access::kItemWrite;
    if (operation.kind == OperationKind::kRead) access = engine::Access::kItemRead;
    if (operation.kind == OperationKind::kCreate || operation.kind == OperationKind::kUpsert)
        access = engine::Access::kItemCreate;
    return authorize(call.principal, access, {call.container.get(), epk, operation.id});
}

/// True for a read of a bulk request whose item does not fit into the answer any more. Writes are
/// always answered in full: they have happened.
bool is_read_beyond(const partition::OperationResult& result, size_t answer_bytes) {
    return result.work.kind == OperationKind::kRead && result.status.ok() && result.has_item &&
           answer_bytes + result.item.document->size() > limits::kResponsePageBytesMax;
}

/// Line by line per operation: what priced them once prices them again.
void explain_operations(const Call& call, const std::vector<partition::OperationResult>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
        call.bill->set_scope("operation " + std::to_string(i));
        (void)call.engine.price(results[i], call.terms, call.bill.get());
    }
}

void send(const CallPtr& call, Answer& answer, BatchAnswer& body) {
    answer.status = body.status();
    answer.content_type = body.content_type();
    reply(call, answer, body.take());
}

void run_atomic(const CallPtr& call, BatchForm form, std::vector<BatchItem> items,
                std::string epk) {
    partition::Transaction transaction;
    transaction.epk = std::move(epk);
    transaction.is_batch = true;
    transaction.answer_bytes_max = limits::kResponsePageBytesMax;
    auto minimal = std::make_shared<std::vector<bool>>();
    for (auto& item : items) {
        minimal->push_back(item.minimal);
        item.operation.wants_item = !item.minimal;
        transaction.operations.push_back(std::move(item.operation));
    }
    const auto answered = [call, form, minimal](engine::TransactionAnswer outcome) {
        Answer answer;
        answer.charge = outcome.total;
        answer.touched = outcome.touched;
        answer.operations = outcome.result.results;
        if (call->bill && !outcome.refused) explain_operations(*call, outcome.result.results);
        if (const Status& first = outcome.result.results.front().status;
            !first.ok() && (outcome.refused || first.error().code == Code::kBatchResponseTooLarge))
            return reply_error(call, first.error(), answer);
        BatchAnswer body(*call, form);
        for (size_t i = 0; i < outcome.result.results.size(); ++i)
            body.add(outcome.result.results[i], outcome.charges[i], (*minimal)[i]);
        send(call, answer, body);
    };
    call->engine.execute(call->container, std::move(transaction), call->terms, answered);
}

/// Bulk: independent operations, answered together when the last one is done.
struct BulkRun {
    CallPtr call;
    BatchForm form;
    std::vector<BatchItem> items;
    std::vector<partition::OperationResult> results;
    std::vector<meter::Charge> charges;
    std::vector<engine::Touched> touched;
    std::atomic<size_t> pending;
};

/// Where each operation went and what it took there.
std::vector<OperationPlace> places_of(const BulkRun& run) {
    std::vector<OperationPlace> places(run.results.size());
    for (size_t i = 0; i < places.size(); ++i) {
        const std::string& id = run.touched[i].range_id;
        std::from_chars(id.data(), id.data() + id.size(), places[i].range);
        places[i].partition_key = run.items[i].partition_key;
        places[i].charge = run.charges[i];
    }
    return places;
}

/// The charges by physical partition. 429s are told, nobody pays them.
std::vector<engine::RangeCharge> charges_by_range(const BulkRun& run,
                                                  std::span<const OperationPlace> places) {
    std::map<uint32_t, meter::Charge> sums;
    for (size_t i = 0; i < places.size(); ++i) {
        const Status& status = run.results[i].status;
        const bool paid = status.ok() || !errors::is_rate_limit(status.error().code);
        if (places[i].range != engine::RequestRecord::kNoRange)
            sums[places[i].range] += paid ? places[i].charge : meter::Charge();
    }
    std::vector<engine::RangeCharge> charges;
    for (const auto& [range, charge] : sums) charges.push_back({range, charge});
    return charges;
}

void finish_bulk(const std::shared_ptr<BulkRun>& run) {
    Answer answer;
    answer.operations = run->results;
    const auto places = places_of(*run);
    answer.places = places;
    answer.range_charges = charges_by_range(*run, places);
    if (run->call->bill) explain_operations(*run->call, run->results);
    BatchAnswer body(*run->call, run->form);
    for (size_t i = 0; i < run->results.size(); ++i) {
        if (is_read_beyond(run->results[i], body.bytes()))
            run->results[i].status = Status(errors::batch_response_too_large());
        answer.charge += run->charges[i];
        if (!answer.touched || run->touched[i].lsn > answer.touched->lsn)
            answer.touched = run->touched[i];
        body.add(run->results[i], run->charges[i], run->items[i].minimal);
    }
    if (answer.touched && answer.touched->range_id.empty()) answer.touched.reset();
    send(run->call, answer, body);
}

void finish_one(const std::shared_ptr<BulkRun>& run) {
    if (run->pending.fetch_sub(1) == 1) finish_bulk(run);
}

/// The key of the operation's own, as an EPK.
Result<std::string> epk_of(const catalog::Container& container, const BatchItem& item) {
    json::Arena arena;
    TRY(auto components, partition::parse_partition_key_header(item.partition_key, arena));
    if (components.empty() && container.settings->key.system_key)
        components.push_back(json::Value());
    if (components.size() != container.settings->key.paths.size())
        return errors::bad_request(
            "The operation's partition key has another number of values than the container's.");
    return partition::effective_partition_key(container.settings->key, components);
}

/// The key of one bulk operation, checked against the range the client sent the request to.
Result<std::string> bulk_epk(const Call& call, const BatchItem& item,
                             const catalog::PartitionRange* served) {
    const auto& container = *call.container;
    TRY_STATUS(item.refused.clone());
    if (item.partition_key.empty()) return errors::missing_partition_key();
    TRY(auto epk, epk_of(container, item));
    if (served != nullptr && &container.ranges->of_epk(epk) != served)
        return errors::range_gone(served->id);
    TRY_STATUS(authorize_operation(call, item.operation, epk));
    return epk;
}

/// Operations on one logical partition run in their order, one after the other; different ones
/// side by side.
struct BulkChain {
    std::string epk;
    std::vector<size_t> indexes;
    size_t next = 0;
};

void run_chain(const std::shared_ptr<BulkRun>& run, const std::shared_ptr<BulkChain>& chain) {
    if (chain->next == chain->indexes.size()) return;
    const size_t index = chain->indexes[chain->next++];
    partition::Transaction transaction;
    transaction.epk = chain->epk;
    transaction.operations.push_back(std::move(run->items[index].operation));
    run->call->engine.execute(run->call->container, std::move(transaction), run->call->terms,
                              [run, chain, index](engine::TransactionAnswer outcome) {
                                  run->results[index] = std::move(outcome.result.results.front());
                                  run->charges[index] = outcome.total;
                                  run->touched[index] = outcome.touched;
                                  run_chain(run, chain);
                                  finish_one(run);
                              });
}

void run_bulk(const CallPtr& call, BatchForm form, std::vector<BatchItem> items,
              const catalog::PartitionRange* served) {
    auto run = std::make_shared<BulkRun>();
    run->call = call;
    run->form = form;
    run->items = std::move(items);
    const size_t count = run->items.size();
    run->results.resize(count);
    run->charges.resize(count);
    run->touched.resize(count);
    run->pending = count + 1;  // one for this function, so that no early end is seen
    std::map<std::string, std::shared_ptr<BulkChain>> chains;
    for (size_t i = 0; i < count; ++i) {
        auto epk = bulk_epk(*call, run->items[i], served);
        if (!epk.ok()) {
            run->charges[i] = meter::failure(epk.error().code);
            run->results[i].status = std::move(epk).take_status();
            finish_one(run);
            continue;
        }
        auto& chain = chains[*epk];
        if (chain == nullptr) chain = std::make_shared<BulkChain>();
        chain->epk = *epk;
        chain->indexes.push_back(i);
    }
    for (const auto& [epk, chain] : chains) run_chain(run, chain);
    finish_one(run);
}

Status batch(const CallPtr& call) {
    if (call->request().body.size() > limits::kRequestBodyBytesMax)
        return Status(errors::entity_too_large(limits::kRequestBodyBytesMax));
    TRY(const bool atomic, call->headers.boolean(HeaderName::kBatchAtomic));
    TRY(const bool go_on, call->headers.boolean(HeaderName::kBatchContinueOnError));
    const BatchForm form = batch_form(call->request().body);
    TRY(auto items, read_batch(*call, form));
    if (call->headers.prefers_minimal())
        for (auto& item : items) item.minimal = item.operation.kind != OperationKind::kRead;
    if (atomic) {
        if (go_on)
            return Status(errors::bad_request(
                "A batch cannot be atomic and continue on error at the same time."));
        TRY(auto key, point_key(*call));
        TRY_STATUS(check_range_id(*call, key.epk));
        for (const auto& item : items) {
            TRY_STATUS(item.refused.clone());
            TRY_STATUS(authorize_operation(*call, item.operation, key.epk));
            if (item.partition_key.empty()) continue;
            TRY(const std::string own, epk_of(*call->container, item));
            if (own != key.epk)
                return Status(errors::bad_request(
                    "An operation of an atomic batch names another partition key than the batch."));
        }
        TRY_STATUS(check_session(*call, call->container->ranges->of_epk(key.epk)));
        run_atomic(call, form, std::move(items), std::move(key.epk));
        return {};
    }
    if (!go_on)
        return Status(errors::not_supported(
            "A non-atomic batch that stops at the first error",
            "Set x-ms-cosmos-batch-continue-on-error or x-ms-cosmos-batch-atomic."));
    TRY(const auto scope, feed_scope(*call));
    run_bulk(call, form, std::move(items), scope.served);
    return {};
}

}  // namespace

void handle_batch(const CallPtr& call) {
    if (const Status status = batch(call); !status.ok()) reply_error(call, status.error());
}

}  // namespace orrery::rest
