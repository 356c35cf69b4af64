// Items: point operations, read feed, delete by partition key.
#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/handlers.h"
#include "json/document.h"
#include "json/item.h"
#include "json/parse.h"

namespace orrery::rest {
namespace {

using partition::ItemOperation;
using partition::OperationKind;
using partition::OperationResult;

/// Bodies are JSON; clients name them so or (PATCH from some SDKs) not at all.
Status check_content_type(const Call& call) {
    const auto header = call.headers[HeaderName::kContentType];
    const auto type = to_lower_ascii(header.substr(0, header.find(';')));
    if (type.empty() || type.ends_with("/json") || type.ends_with("+json")) return {};
    return Status(unsupported_media("The content type '" + std::string(header) +
                                    "' is not accepted here. Send JSON as 'application/json'."));
}

/// `body`: instead of the item; null: the item.
void answer_point(const CallPtr& call, OperationResult& result, std::string* body) {
    if (!result.status.ok()) return reply_failure(call, result.status.error());
    Answer answer;
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
    if (!document.ok()) return reply_failure(call, document.error());
    call->response().add_header("x-ms-item-lsn", static_cast<int64_t>(document->header.lsn));
    if (body != nullptr)
        call->response().body = std::move(*body);
    else if (is_read(*call) || !call->headers.prefers_minimal())
        partition::ItemWriter(*call->container()->settings)
            .append(call->response().body, *document, result.item.docref);
    reply_prepared(call, answer);
}

/// The triggers that the request names; null: none.
Result<std::unique_ptr<engine::Triggers>> triggers_of(const Call& call) {
    if (!names_triggers(call)) return std::unique_ptr<engine::Triggers>();
    auto triggers = std::make_unique<engine::Triggers>();
    TRY(triggers->before, named_trigger(call, HeaderName::kPreTriggerInclude));
    TRY(triggers->after, named_trigger(call, HeaderName::kPostTriggerInclude));
    triggers->body = std::string(call.request().body);
    triggers->values = script_values(call);
    TRY(triggers->logging, call.headers.boolean(HeaderName::kScriptEnableLogging));
    return triggers;
}

Status write_item(const CallPtr& call, engine::ItemWrite request) {
    TRY(request.triggers, triggers_of(*call));
    call->session.write(call, std::move(request), [call](engine::WriteAnswer& answer) {
        add_script_log(*call, answer.log);
        answer_point(call, answer.result, answer.body ? &*answer.body : nullptr);
    });
    return {};
}

Status write_new(const CallPtr& call) {
    TRY_STATUS(check_content_type(*call));
    TRY(auto key, point_key(*call));
    TRY_STATUS(check_range_id(*call, key.epk));
    TRY(const bool upsert, call->headers.boolean(HeaderName::kIsUpsert));
    engine::ItemWrite request;
    ItemOperation& operation = request.operation;
    operation.kind = upsert ? OperationKind::kUpsert : OperationKind::kCreate;
    TRY(operation.directive, indexing_directive(call->headers[HeaderName::kIndexingDirective]));
    // A create succeeds only if the item does not exist, whatever the conditions say.
    if (upsert && call->headers.has(HeaderName::kIfNoneMatch))
        return Status(if_none_match_on_write());
    if (upsert) operation.if_match = std::string(unquoted(call->headers[HeaderName::kIfMatch]));
    operation.body = std::string(call->request().body);
    request.epk = std::move(key.epk);
    return write_item(call, std::move(request));
}

Status read_item(const CallPtr& call, std::string epk, std::optional<uint64_t> number) {
    TRY_STATUS(refuse_triggers(*call));
    engine::ItemRead request{std::move(epk), call->route.ids[2], number,
                             unquoted(call->headers[HeaderName::kIfNoneMatch])};
    call->session.read(call, std::move(request),
                       [call](OperationResult& result) { answer_point(call, result, nullptr); });
    return {};
}

Status change_item(const CallPtr& call, std::string epk, std::optional<uint64_t> number) {
    const auto method = call->request().method;
    engine::ItemWrite request;
    ItemOperation& operation = request.operation;
    operation.id = call->route.ids[2];
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
        TRY(operation.patch,
            engine::read_patch(call->request().body, call->container()->settings->space));
    } else {
        operation.kind = OperationKind::kDelete;
    }
    request.epk = std::move(epk);
    request.number = number;
    return write_item(call, std::move(request));
}

Status one_item(const CallPtr& call) {
    const auto method = call->request().method;
    if (!is_read(*call) && method != "PUT" && method != "PATCH" && method != "DELETE")
        return Status(method_not_allowed(method, "an item"));
    TRY(auto key, point_key(*call));
    TRY_STATUS(check_range_id(*call, key.epk));
    const auto& container = *call->container();
    const bool by_rid =
        call->route.container() == container.rid_text && container.id != container.rid_text;
    const auto number = by_rid ? parse_item_rid(container.rid, call->route.ids[2]) : std::nullopt;
    return is_read(*call) ? read_item(call, std::move(key.epk), number)
                          : change_item(call, std::move(key.epk), number);
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

Status read_feed(const CallPtr& call) {
    TRY(auto scope, feed_scope(*call));
    engine::FeedRequest request;
    request.range = std::move(scope.range);
    request.limited_to = std::move(scope.epk);
    request.continuation = std::string(call->headers[HeaderName::kContinuation]);
    TRY(request.items_max, page_size(*call));
    call->session.read_feed(call, std::move(request), [call](Result<engine::FeedAnswer>& page) {
        if (!page.ok()) return reply_failure(call, page.error());
        Answer answer;
        answer.continuation = std::move(page->continuation);
        answer.item_count = page->items.size();
        reply(call, answer, items_body(*call->container(), page->items));
    });
    return {};
}

/// Refuses the call where the handler could not begin.
void answer_with(const CallPtr& call, Status (*handler)(const CallPtr&)) {
    if (const Status status = handler(call); !status.ok()) reply_error(call, status.error());
}

}  // namespace

void handle_items(const CallPtr& call) {
    const auto container = find_container(*call);
    if (!container.ok()) return reply_error(call, container.error());
    if (const Status status = check_container_headers(*call); !status.ok())
        return reply_error(call, status.error());
    if (!call->route.feed) return answer_with(call, one_item);
    const auto method = call->request().method;
    const bool many = method == "GET" || is_query(*call) || call->headers.has(HeaderName::kIsBatch);
    if (const Status status = many ? refuse_triggers(*call) : Status(); !status.ok())
        return reply_error(call, status.error());
    if (method == "GET") {
        if (call->headers.has(HeaderName::kAIm)) return handle_change_feed(call);
        return answer_with(call, read_feed);
    }
    if (method != "POST") return reply_error(call, method_not_allowed(method, "the item feed"));
    const auto plan = call->headers.boolean(HeaderName::kIsQueryPlan);
    const auto batch = call->headers.boolean(HeaderName::kIsBatch);
    if (!plan.ok()) return reply_error(call, plan.error());
    if (!batch.ok()) return reply_error(call, batch.error());
    if (*plan) return handle_query_plan(call);
    if (*batch) return handle_batch(call);
    if (is_query(*call)) return handle_item_query(call);
    answer_with(call, write_new);
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
    call->session.delete_partition_key(call, std::move(key->epk), [call](const Status& status) {
        if (!status.ok()) return reply_failure(call, status.error());
        reply(call, Answer{}, "");
    });
}

}  // namespace orrery::rest
