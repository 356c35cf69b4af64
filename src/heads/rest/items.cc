// Items: point operations, read feed, delete by partition key.
#include "base/encoding.h"
#include "base/errors.h"
#include "engine/scripts.h"
#include "heads/rest/handlers.h"
#include "json/document.h"
#include "json/item.h"
#include "json/parse.h"
#include "partition/client_item.h"

namespace orrery::rest {
namespace {

using engine::Access;
using partition::ItemOperation;
using partition::OperationKind;

/// Bodies are JSON; clients name them so or (PATCH from some SDKs) not at all.
Status check_content_type(const Call& call) {
    const auto header = call.headers[HeaderName::kContentType];
    const auto type = to_lower_ascii(header.substr(0, header.find(';')));
    if (type.empty() || type.ends_with("/json") || type.ends_with("+json")) return {};
    return Status(unsupported_media("The content type '" + std::string(header) +
                                    "' is not accepted here. Send JSON as 'application/json'."));
}

/// `body`: instead of the item; null: the item.
void send_point(const CallPtr& call, partition::OperationResult& result, meter::Charge charge,
                engine::Touched touched, std::string* body) {
    Answer answer;
    answer.charge = charge;
    answer.touched = std::move(touched);
    answer.operations = {&result, 1};
    if (!result.status.ok()) return reply_error(call, result.status.error(), answer);
    answer.etag = std::move(result.etag);
    if (result.not_modified) {
        answer.status = 304;
        return reply_prepared(call, answer);
    }
    if (!result.has_item) {
        answer.status = 204;
        return reply_prepared(call, answer);
    }
    answer.status = result.created ? 201 : 200;
    const auto document = json::decode_document(*result.item.document);
    if (!document.ok()) return reply_error(call, document.error(), answer);
    call->response().add_header("x-ms-item-lsn", static_cast<int64_t>(document->header.lsn));
    if (body != nullptr)
        call->response().body = std::move(*body);
    else if (is_read(*call) || !call->headers.prefers_minimal())
        partition::ItemWriter(*call->container->settings)
            .append(call->response().body, result.item);
    reply_prepared(call, answer);
}

void answer_point(const CallPtr& call, partition::OperationResult& result, meter::Charge charge,
                  engine::Touched touched) {
    if (call->bill) (void)call->engine.price(result, call->terms, call->bill.get());
    send_point(call, result, charge, std::move(touched), nullptr);
}

/// Builds the answer on the connection's loop: the committer, whose thread brings the outcome of a
/// write, has others waiting.
class PointAnswered final : public net::LoopTask {
public:
    PointAnswered(CallPtr call, engine::TransactionAnswer outcome)
        : call_(std::move(call)), outcome_(std::move(outcome)) {}
    void run() override {
        answer_point(call_, outcome_.result.results.front(), outcome_.total,
                     std::move(outcome_.touched));
    }

private:
    const CallPtr call_;
    engine::TransactionAnswer outcome_;
};

/// A write with what is to run before and after it.
Status execute_triggered(const CallPtr& call, std::string epk, ItemOperation operation) {
    auto write = std::make_shared<engine::TriggeredWrite>();
    TRY(auto triggers, named_triggers(*call, operation.kind));
    write->before = std::move(triggers.before);
    write->after = std::move(triggers.after);
    write->container = call->container;
    write->epk = std::move(epk);
    // What the scripts see of the body must be JSON before it is theirs.
    if (operation.kind != OperationKind::kDelete) {
        json::Arena arena;
        TRY_STATUS(json::parse(call->request().body, arena).status().clone());
        write->body_text = std::string(call->request().body);
    }
    write->operation = std::move(operation);
    TRY(write->logging, call->headers.boolean(HeaderName::kScriptEnableLogging));
    write->values = script_values(*call);
    write->terms = call->terms;
    write->bill = call->bill.get();
    on_script_thread(call, [call, write]() -> Status {
        engine::TriggeredAnswer answer = call->engine.scripts().write(*write);
        if (engine::Scripts::given_up()) return {};
        add_script_log(*call, answer.log);
        if (!answer.result.status.ok() && answer.charge.units == 0)
            return std::move(answer.result.status);
        send_point(call, answer.result, answer.charge, std::move(answer.touched),
                   answer.body ? &*answer.body : nullptr);
        return {};
    });
    return {};
}

void execute_point(const CallPtr& call, std::string epk, ItemOperation operation) {
    if (operation.kind != OperationKind::kRead && names_triggers(*call)) {
        const Status status = execute_triggered(call, std::move(epk), std::move(operation));
        if (!status.ok()) reply_error(call, status.error());
        return;
    }
    partition::Transaction transaction;
    transaction.epk = std::move(epk);
    transaction.operations.push_back(std::move(operation));
    call->engine.execute(
        call->container, std::move(transaction), call->terms,
        [call](engine::TransactionAnswer outcome) {
            call->exchange->run_on_loop(std::make_unique<PointAnswered>(call, std::move(outcome)));
        });
}

Status authorize_item(const Call& call, Access access, std::string_view epk, std::string_view id) {
    return authorize(call.principal, access, {call.container.get(), epk, id});
}

/// The id of the item that the path names by its rid (`_self` links). Reads the store.
Result<std::string> id_of_rid(const Call& call, std::string_view epk, uint64_t item_number) {
    TRY(const auto routed, call.engine.route(*call.container));
    const auto& container = *routed.container;
    const storage::Docref docref(partition::docref_prefix(container.settings->key, epk),
                                 item_number);
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

void write_new(const CallPtr& call) {
    const auto prepare = [&]() -> Status {
        TRY_STATUS(check_content_type(*call));
        TRY(auto key, point_key(*call));
        TRY_STATUS(check_range_id(*call, key.epk));
        TRY(const bool upsert, call->headers.boolean(HeaderName::kIsUpsert));
        ItemOperation operation;
        operation.kind = upsert ? OperationKind::kUpsert : OperationKind::kCreate;
        TRY(operation.directive, indexing_directive(call->headers[HeaderName::kIndexingDirective]));
        // A create succeeds only where nothing is, whatever the conditions say.
        if (upsert && call->headers.has(HeaderName::kIfNoneMatch))
            return Status(if_none_match_on_write());
        if (upsert) operation.if_match = std::string(unquoted(call->headers[HeaderName::kIfMatch]));
        operation.body = std::string(call->request().body);
        TRY_STATUS(
            authorize(call->principal, Access::kItemCreate, {call->container.get(), key.epk, {}}));
        execute_point(call, std::move(key.epk), std::move(operation));
        return {};
    };
    if (const Status status = prepare(); !status.ok()) reply_error(call, status.error());
}

Status point_operation(const CallPtr& call, std::string epk, std::string id) {
    const auto method = call->request().method;
    const bool read = method == "GET" || method == "HEAD";
    TRY_STATUS(authorize_item(*call, read ? Access::kItemRead : Access::kItemWrite, epk, id));
    TRY_STATUS(check_session(*call, call->container->ranges->of_epk(epk)));
    if (read) {
        TRY_STATUS(refuse_triggers(*call));
        const auto if_none_match = unquoted(call->headers[HeaderName::kIfNoneMatch]);
        if (auto cached =
                call->engine.read_cached(*call->container, epk, id, if_none_match, call->terms)) {
            answer_point(call, cached->result, cached->charge, std::move(cached->touched));
            return {};
        }
        ItemOperation operation;
        operation.kind = OperationKind::kRead;
        operation.id = std::move(id);
        operation.if_none_match = std::string(if_none_match);
        execute_point(call, std::move(epk), std::move(operation));
        return {};
    }
    ItemOperation operation;
    operation.id = std::move(id);
    operation.if_match = std::string(unquoted(call->headers[HeaderName::kIfMatch]));
    if (call->headers.has(HeaderName::kIfNoneMatch)) return Status(if_none_match_on_write());
    TRY(operation.directive, indexing_directive(call->headers[HeaderName::kIndexingDirective]));
    if (method == "PUT") {
        TRY_STATUS(check_content_type(*call));
        operation.kind = OperationKind::kReplace;
        operation.body = std::string(call->request().body);
    } else if (method == "PATCH") {
        TRY_STATUS(check_content_type(*call));
        operation.kind = OperationKind::kPatch;
        TRY(operation.patch, read_patch(call->request().body, call->container->settings->space));
    } else {
        operation.kind = OperationKind::kDelete;
    }
    execute_point(call, std::move(epk), std::move(operation));
    return {};
}

void one_item(const CallPtr& call) {
    const auto method = call->request().method;
    if (method != "GET" && method != "HEAD" && method != "PUT" && method != "PATCH" &&
        method != "DELETE")
        return reply_error(call, method_not_allowed(method, "an item"));
    auto key = point_key(*call);
    if (!key.ok()) return reply_error(call, key.error());
    if (const Status status = check_range_id(*call, key->epk); !status.ok())
        return reply_error(call, status.error());
    const auto& container = *call->container;
    std::string id = call->route.ids[2];
    const bool by_rid =
        call->route.container() == container.rid_text && container.id != container.rid_text;
    const auto number = by_rid ? parse_item_rid(container.rid, id) : std::nullopt;
    if (number) {
        return on_worker(call, [call, epk = key->epk, number = *number]() -> Status {
            TRY(auto name, id_of_rid(*call, epk, number));
            return point_operation(call, epk, std::move(name));
        });
    }
    if (const Status status = point_operation(call, std::move(key->epk), std::move(id));
        !status.ok())
        reply_error(call, status.error());
}

/// feed_body() without a text of its own for each item.
std::string items_body(const catalog::Container& container,
                       const std::vector<partition::StoredItem>& items) {
    constexpr size_t kAroundItem = 256;
    size_t size = kAroundItem;
    for (const auto& item : items) size += item.document->size() + kAroundItem;
    std::string body;
    body.reserve(size);
    body += "{\"_rid\":\"" + container.rid_text + "\",\"Documents\":[";
    partition::ItemWriter writer(*container.settings);
    for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0) body.push_back(',');
        writer.append(body, items[i]);
    }
    body += "],\"_count\":" + std::to_string(items.size()) + "}";
    return body;
}

void read_feed(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY(const auto scope, feed_scope(*call));
        std::optional<std::string_view> epk;
        if (scope.epk) epk = *scope.epk;
        TRY_STATUS(authorize(call->principal, Access::kFeedRead, {call->container.get(), epk, {}}));
        for (const auto* range : call->container->ranges->overlapping(scope.range))
            TRY_STATUS(check_session(*call, *range));
        engine::FeedRequest request;
        request.range = scope.range;
        request.continuation = std::string(call->headers[HeaderName::kContinuation]);
        TRY(request.items_max, page_size(*call));
        request.terms = call->terms;
        request.bill = call->bill.get();
        TRY(const auto page, call->engine.read_feed(*call->container, request));
        Answer answer;
        answer.charge = page.charge;
        answer.range_charges = page.range_charges;
        answer.touched = page.touched;
        answer.continuation = page.continuation;
        answer.item_count = page.items.size();
        reply(call, answer, items_body(*call->container, page.items));
        return {};
    });
}

}  // namespace

void handle_items(const CallPtr& call) {
    const auto container = find_container(*call);
    if (!container.ok()) return reply_error(call, container.error());
    if (const Status status = check_container_headers(*call); !status.ok())
        return reply_error(call, status.error());
    if (!call->route.feed) return one_item(call);
    const auto method = call->request().method;
    const bool many = method == "GET" || is_query(*call) || call->headers.has(HeaderName::kIsBatch);
    if (const Status status = many ? refuse_triggers(*call) : Status(); !status.ok())
        return reply_error(call, status.error());
    if (method == "GET") {
        if (call->headers.has(HeaderName::kAIm)) return handle_change_feed(call);
        return read_feed(call);
    }
    if (method != "POST") return reply_error(call, method_not_allowed(method, "the item feed"));
    const auto plan = call->headers.boolean(HeaderName::kIsQueryPlan);
    const auto batch = call->headers.boolean(HeaderName::kIsBatch);
    if (!plan.ok()) return reply_error(call, plan.error());
    if (!batch.ok()) return reply_error(call, batch.error());
    if (*plan) return handle_query_plan(call);
    if (*batch) return handle_batch(call);
    if (is_query(*call)) return handle_item_query(call);
    write_new(call);
}

void handle_partition_key_delete(const CallPtr& call) {
    const auto container = find_container(*call);
    if (!container.ok()) return reply_error(call, container.error());
    if (call->request().method != "POST")
        return reply_error(call, method_not_allowed(call->request().method, "partitionkeydelete"));
    if (const Status status = check_container_headers(*call); !status.ok())
        return reply_error(call, status.error());
    auto key = point_key(*call);
    if (!key.ok()) return reply_error(call, key.error());
    if (const Status allowed = authorize_item(*call, Access::kItemWrite, key->epk, {});
        !allowed.ok())
        return reply_error(call, allowed.error());
    on_worker(call, [call, epk = key->epk]() -> Status {
        TRY_STATUS(call->engine.delete_partition_key(*call->container, epk));
        const auto& range = call->container->ranges->of_epk(epk);
        Answer answer;
        // Background work of the service: the request itself costs a metadata write.
        answer.charge = meter::metadata_write();
        answer.touched = engine::Touched{range.id, range.partition->lsn()};
        reply(call, answer, "");
        return {};
    });
}

}  // namespace orrery::rest
