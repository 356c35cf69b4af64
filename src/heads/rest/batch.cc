// Transactional batch and bulk.
#include <memory>

#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/batch_form.h"
#include "heads/rest/handlers.h"
#include "json/document.h"

namespace orrery::rest {
namespace {

using partition::OperationKind;

/// True for a read of a bulk request whose item does not fit into the answer any more. Writes are
/// always answered in full: they have happened.
bool is_read_beyond(const partition::OperationResult& result, size_t answer_bytes) {
    return result.work.kind == OperationKind::kRead && result.status.ok() && result.has_item &&
           answer_bytes + result.item.document->size() > limits::kResponsePageBytesMax;
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
    transaction.answer_bytes_max = limits::kResponsePageBytesMax;
    auto minimal = std::make_shared<std::vector<bool>>();
    for (auto& item : items) {
        minimal->push_back(item.minimal);
        item.operation.wants_item = !item.minimal;
        transaction.operations.push_back(std::move(item.operation));
    }
    call->session.batch(
        call, std::move(transaction), [call, form, minimal](engine::TransactionAnswer& outcome) {
            if (const Status& first = outcome.result.results.front().status;
                !first.ok() &&
                (outcome.refused || first.error().code == Code::kBatchResponseTooLarge))
                return reply_failure(call, first.error());
            Answer answer;
            BatchAnswer body(*call, form);
            for (size_t i = 0; i < outcome.result.results.size(); ++i)
                body.add(outcome.result.results[i], outcome.charges[i], (*minimal)[i]);
            send(call, answer, body);
        });
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
    const auto& container = *call.container();
    TRY_STATUS(item.refused.clone());
    if (item.partition_key.empty()) return errors::missing_partition_key();
    TRY(auto epk, epk_of(container, item));
    if (served != nullptr && &container.ranges->of_epk(epk) != served)
        return errors::range_gone(served->id);
    return epk;
}

void run_bulk(const CallPtr& call, BatchForm form, std::vector<BatchItem> items,
              const catalog::PartitionRange* served) {
    std::vector<engine::BulkOperation> operations(items.size());
    auto minimal = std::make_shared<std::vector<bool>>();
    for (size_t i = 0; i < items.size(); ++i) {
        auto epk = bulk_epk(*call, items[i], served);
        if (epk.ok())
            operations[i].epk = std::move(*epk);
        else
            operations[i].refused = std::move(epk).take_status();
        operations[i].operation = std::move(items[i].operation);
        operations[i].partition_key = std::move(items[i].partition_key);
        minimal->push_back(items[i].minimal);
    }
    call->session.bulk(
        call, std::move(operations), [call, form, minimal](engine::BulkAnswer& outcome) {
            Answer answer;
            BatchAnswer body(*call, form);
            for (size_t i = 0; i < outcome.results.size(); ++i) {
                if (is_read_beyond(outcome.results[i], body.bytes()))
                    outcome.results[i].status = Status(errors::batch_response_too_large());
                body.add(outcome.results[i], outcome.charges[i], (*minimal)[i]);
            }
            send(call, answer, body);
        });
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
            if (item.partition_key.empty()) continue;
            TRY(const std::string own, epk_of(*call->container(), item));
            if (own != key.epk)
                return Status(errors::bad_request(
                    "An operation of an atomic batch names another partition key than the batch."));
        }
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
