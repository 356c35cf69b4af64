// Transactional batch and bulk in the JSON wire form.
#include <atomic>
#include <map>
#include <memory>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/handlers.h"
#include "json/document.h"
#include "json/write.h"
#include "partition/client_item.h"

namespace orrery::rest {
namespace {

using partition::ItemOperation;
using partition::OperationKind;

constexpr std::string_view kHybridRowFirstByte = "\x81";

/// One operation of the body, with what its answer needs.
struct BatchItem {
    ItemOperation operation;
    std::string partition_key;  ///< bulk: JSON array text; empty otherwise
    bool minimal = false;
};

/// Create and upsert take the id from the body, so `id` beside it grants nothing.
Status authorize_operation(const Call& call, const ItemOperation& operation, std::string_view epk) {
    auto access = engine::Access::kItemWrite;
    if (operation.kind == OperationKind::kRead) access = engine::Access::kItemRead;
    if (operation.kind == OperationKind::kCreate || operation.kind == OperationKind::kUpsert)
        access = engine::Access::kItemCreate;
    return authorize(call.principal, access, {call.container.get(), epk, operation.id});
}

/// Where in the batch a refusal belongs.
std::string at(size_t index) {
    return "Batch operation " + std::to_string(index) + ": ";
}

Result<std::string> text_member(const json::Value& entry, std::string_view name, size_t index) {
    const json::Value value = entry.member(name);
    if (value.is_undefined() || value.is_null()) return std::string();
    if (!value.is_string())
        return errors::bad_request(at(index) + "'" + std::string(name) + "' must be a string.");
    return std::string(value.as_string());
}

Result<BatchItem> read_operation(const json::Value& entry, size_t index,
                                 index::GeometrySpace space) {
    if (!entry.is_object()) return errors::bad_request(at(index) + "must be an object.");
    BatchItem item;
    TRY(const auto type, text_member(entry, "operationType", index));
    TRY(item.operation.id, text_member(entry, "id", index));
    TRY(item.partition_key, text_member(entry, "partitionKey", index));
    TRY(const auto if_match, text_member(entry, "ifMatch", index));
    TRY(const auto if_none_match, text_member(entry, "ifNoneMatch", index));
    item.operation.if_match = std::string(unquoted(if_match));
    item.operation.if_none_match = std::string(unquoted(if_none_match));
    TRY(const auto directive, text_member(entry, "indexingDirective", index));
    TRY(item.operation.directive, indexing_directive(directive));
    for (const std::string_view name : {"timeToLiveInSeconds", "preTriggers", "postTriggers"})
        if (const json::Value value = entry.member(name); !value.is_undefined() && !value.is_null())
            return errors::not_supported(
                "The member '" + std::string(name) + "' of a batch operation", "Leave it out.");
    const json::Value minimal = entry.member("minimalReturnPreference");
    item.minimal = minimal.is_bool() && minimal.as_bool();
    const json::Value body = entry.member("resourceBody");
    const auto take_body = [&]() -> Status {
        if (!body.is_object())
            return Status(errors::bad_request(at(index) + "'resourceBody' must be an object."));
        item.operation.body = json::to_text(body);
        return {};
    };
    if (equals_ignore_case(type, "Create")) {
        item.operation.kind = OperationKind::kCreate;
        TRY_STATUS(take_body());
    } else if (equals_ignore_case(type, "Upsert")) {
        item.operation.kind = OperationKind::kUpsert;
        TRY_STATUS(take_body());
    } else if (equals_ignore_case(type, "Replace")) {
        item.operation.kind = OperationKind::kReplace;
        TRY_STATUS(take_body());
    } else if (equals_ignore_case(type, "Patch")) {
        item.operation.kind = OperationKind::kPatch;
        TRY_STATUS(take_body());
        TRY(item.operation.patch, read_patch(item.operation.body, space));
        item.operation.body.clear();
    } else if (equals_ignore_case(type, "Delete")) {
        item.operation.kind = OperationKind::kDelete;
    } else if (equals_ignore_case(type, "Read")) {
        item.operation.kind = OperationKind::kRead;
    } else {
        return errors::bad_request(at(index) + "'operationType' is '" + type +
                                   "'; expected Create, Upsert, Read, Delete, Replace or Patch.");
    }
    if (!if_none_match.empty() && item.operation.kind != OperationKind::kRead &&
        item.operation.kind != OperationKind::kCreate)
        return if_none_match_on_write();
    const bool needs_id = item.operation.kind == OperationKind::kReplace ||
                          item.operation.kind == OperationKind::kPatch ||
                          item.operation.kind == OperationKind::kDelete ||
                          item.operation.kind == OperationKind::kRead;
    if (needs_id && item.operation.id.empty())
        return errors::bad_request(at(index) + "'id' is required for " + type + ".");
    return item;
}

Result<std::vector<BatchItem>> read_operations(const json::Value& body,
                                               index::GeometrySpace space) {
    if (!body.is_array())
        return errors::bad_request("A batch body must be a JSON array of operations.");
    if (body.elements().empty())
        return errors::bad_request("A batch needs at least one operation.");
    if (body.elements().size() > limits::kBatchOperationsMax)
        return errors::bad_request("Batch request has more operations than what is supported: " +
                                   std::to_string(body.elements().size()) + ", at most 100.");
    std::vector<BatchItem> items;
    items.reserve(body.elements().size());
    for (size_t i = 0; i < body.elements().size(); ++i) {
        TRY(auto item, read_operation(body.elements()[i], i, space));
        items.push_back(std::move(item));
    }
    return items;
}

void append_result(std::string& out, const Call& call, const partition::OperationResult& result,
                   meter::Charge charge, bool minimal) {
    int status = 200;
    int sub_status = 0;
    int64_t retry_after = 0;
    if (!result.status.ok()) {
        status = result.status.error().http_status;
        sub_status = result.status.error().sub_status;
        retry_after = result.status.error().retry_after_ms;
    } else if (result.not_modified) {
        status = 304;
    } else if (!result.has_item) {
        status = 204;
    } else if (result.created) {
        status = 201;
    }
    out += "{\"statusCode\":" + std::to_string(status) +
           ",\"subStatusCode\":" + std::to_string(sub_status) +
           ",\"requestCharge\":" + meter::ru_text(charge);
    if (retry_after > 0) out += ",\"retryAfterMilliseconds\":" + std::to_string(retry_after);
    if (!result.etag.empty()) {
        out += ",\"eTag\":";
        json::write_string(out, "\"" + result.etag + "\"");
    }
    if (result.status.ok() && result.has_item && !minimal)
        out +=
            ",\"resourceBody\":" + partition::client_item(*call.container->settings, result.item);
    if (!result.status.ok()) {
        out += ",\"message\":";
        json::write_string(out, result.status.error().message);
    }
    out += "}";
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

void run_atomic(const CallPtr& call, std::vector<BatchItem> items, std::string epk) {
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
    const auto answered = [call, minimal](engine::TransactionAnswer outcome) {
        Answer answer;
        answer.charge = outcome.total;
        answer.touched = outcome.touched;
        answer.operations = outcome.result.results;
        if (call->bill && !outcome.refused) explain_operations(*call, outcome.result.results);
        if (const Status& first = outcome.result.results.front().status;
            !first.ok() && (outcome.refused ||
                            first.error().sub_status == errors::sub_status::kBatchResponseTooLarge))
            return reply_error(call, first.error(), answer);
        bool failed = false;
        std::string body = "[";
        for (size_t i = 0; i < outcome.result.results.size(); ++i) {
            if (i > 0) body.push_back(',');
            const auto& result = outcome.result.results[i];
            failed = failed || !result.status.ok();
            append_result(body, *call, result, outcome.charges[i], (*minimal)[i]);
        }
        body.push_back(']');
        answer.status = failed ? 207 : 200;
        reply(call, answer, std::move(body));
    };
    call->engine.execute(call->container, std::move(transaction), call->terms, answered);
}

/// Bulk: independent operations, answered together when the last one is done.
struct BulkRun {
    CallPtr call;
    std::vector<BatchItem> items;
    std::vector<partition::OperationResult> results;
    std::vector<meter::Charge> charges;
    std::vector<engine::Touched> touched;
    std::atomic<size_t> pending;
};

void finish_bulk(const std::shared_ptr<BulkRun>& run) {
    Answer answer;
    answer.operations = run->results;
    if (run->call->bill) explain_operations(*run->call, run->results);
    bool failed = false;
    std::string body = "[";
    for (size_t i = 0; i < run->results.size(); ++i) {
        if (i > 0) body.push_back(',');
        if (is_read_beyond(run->results[i], body.size()))
            run->results[i].status = Status(errors::batch_response_too_large());
        failed = failed || !run->results[i].status.ok();
        answer.charge += run->charges[i];
        if (!answer.touched || run->touched[i].lsn > answer.touched->lsn)
            answer.touched = run->touched[i];
        append_result(body, *run->call, run->results[i], run->charges[i], run->items[i].minimal);
    }
    body.push_back(']');
    answer.status = failed ? 207 : 200;
    if (answer.touched && answer.touched->range_id.empty()) answer.touched.reset();
    reply(run->call, answer, std::move(body));
}

void finish_one(const std::shared_ptr<BulkRun>& run) {
    if (run->pending.fetch_sub(1) == 1) finish_bulk(run);
}

/// The key of one bulk operation, checked against the range the client sent the request to.
Result<std::string> bulk_epk(const Call& call, const BatchItem& item,
                             const catalog::PartitionRange* served) {
    const auto& container = *call.container;
    if (item.partition_key.empty()) return errors::missing_partition_key();
    json::Arena arena;
    TRY(auto components, partition::parse_partition_key_header(item.partition_key, arena));
    if (components.empty() && container.settings->key.system_key)
        components.push_back(json::Value());
    if (components.size() != container.settings->key.paths.size())
        return errors::bad_request(
            "The operation's partition key has another number of values than the container's.");
    TRY(auto epk, partition::effective_partition_key(container.settings->key, components));
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

void run_bulk(const CallPtr& call, std::vector<BatchItem> items,
              const catalog::PartitionRange* served) {
    auto run = std::make_shared<BulkRun>();
    run->call = call;
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
            run->charges[i] = meter::failure(epk.error().http_status, epk.error().sub_status);
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
    if (call->request().body.starts_with(kHybridRowFirstByte))
        return Status(
            errors::not_supported("The binary (HybridRow) batch format of the .NET SDK",
                                  "Use single operations, or an SDK that sends batches as JSON."));
    if (call->request().body.size() > limits::kRequestBodyBytesMax)
        return Status(errors::entity_too_large(limits::kRequestBodyBytesMax));
    TRY(const bool atomic, call->headers.boolean(HeaderName::kBatchAtomic));
    TRY(const bool go_on, call->headers.boolean(HeaderName::kBatchContinueOnError));
    TRY(const auto body, parse_body(*call));
    TRY(auto items, read_operations(body->value, call->container->settings->space));
    if (call->headers.prefers_minimal())
        for (auto& item : items) item.minimal = item.operation.kind != OperationKind::kRead;
    if (atomic) {
        if (go_on)
            return Status(errors::bad_request(
                "A batch cannot be atomic and continue on error at the same time."));
        TRY(auto key, point_key(*call));
        TRY_STATUS(check_range_id(*call, key.epk));
        for (const auto& item : items)
            TRY_STATUS(authorize_operation(*call, item.operation, key.epk));
        TRY_STATUS(check_session(*call, call->container->ranges->of_epk(key.epk)));
        run_atomic(call, std::move(items), std::move(key.epk));
        return {};
    }
    if (!go_on)
        return Status(errors::not_supported(
            "A non-atomic batch that stops at the first error",
            "Set x-ms-cosmos-batch-continue-on-error or x-ms-cosmos-batch-atomic."));
    TRY(const auto scope, feed_scope(*call));
    run_bulk(call, std::move(items), scope.served);
    return {};
}

}  // namespace

void handle_batch(const CallPtr& call) {
    if (const Status status = batch(call); !status.ok()) reply_error(call, status.error());
}

}  // namespace orrery::rest
