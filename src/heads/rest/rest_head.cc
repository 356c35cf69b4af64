#include "heads/rest/rest_head.h"

#include "base/encoding.h"
#include "base/errors.h"
#include "base/random.h"
#include "heads/rest/authentication.h"
#include "heads/rest/handlers.h"

namespace orrery::rest {
namespace {

constexpr size_t kActivityIdBytesMax = 64;

/// The client's id when it is one that can be echoed safely, else a new GUID.
std::string activity_id_of(const RequestHeaders& headers) {
    const auto given = headers[HeaderName::kActivityId];
    if (given.empty() || given.size() > kActivityIdBytesMax) return random_guid();
    for (const char c : given) {
        const bool safe = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '{' || c == '}';
        if (!safe) return random_guid();
    }
    return std::string(given);
}

bool is_browser(const net::HttpRequest& request, const RequestHeaders& headers) {
    return request.method == "GET" && !headers.has(HeaderName::kAuthorization) &&
           headers[HeaderName::kAccept].find("text/html") != std::string_view::npos;
}

/// True for resources that the account's metadata budget pays for.
bool is_metadata(const Call& call) {
    switch (call.route.type) {
        case ResourceType::kItem:
        case ResourceType::kPartitionKeyDelete:
        case ResourceType::kAccount:
        case ResourceType::kAddress:
        case ResourceType::kOwn:
        case ResourceType::kPublic:
            return false;
        case ResourceType::kProcedure:
            return call.route.feed || call.request().method != "POST";
        default:
            return true;
    }
}

engine::MetadataKind metadata_kind(const Call& call) {
    using engine::MetadataKind;
    if (is_read(call) || is_query(call)) return MetadataKind::kRead;
    if (call.route.type == ResourceType::kOffer) return MetadataKind::kThroughput;
    return call.request().method == "POST" ? MetadataKind::kCreate : MetadataKind::kOther;
}

/// Attachments are retired: none exist, so feeds are empty and every name is unknown.
void answer_attachments(const CallPtr& call) {
    const auto container = find_container(*call);
    if (!container.ok()) return reply_error(call, container.error());
    if (!call->route.feed || call->request().method != "GET")
        return reply_error(call, errors::resource_not_found("Attachments are retired."));
    if (const auto allowed = call->session.look_up(*call, engine::Operation::kReadContainer);
        !allowed.ok())
        return reply_error(call, allowed.error());
    Answer answer;
    answer.item_count = 0;
    reply(call, answer, feed_body((*container)->rid_text, "Attachments", {}));
}

void dispatch(const CallPtr& call) {
    switch (call->route.type) {
        case ResourceType::kAccount:
            return handle_account(call);
        case ResourceType::kDatabase:
            return handle_databases(call);
        case ResourceType::kContainer:
            return handle_containers(call);
        case ResourceType::kItem:
            return handle_items(call);
        case ResourceType::kRange:
            return handle_ranges(call);
        case ResourceType::kOffer:
            return handle_offers(call);
        case ResourceType::kUser:
            return handle_users(call);
        case ResourceType::kPermission:
            return handle_permissions(call);
        case ResourceType::kConflict:
            return handle_conflicts(call);
        case ResourceType::kPartitionKeyDelete:
            return handle_partition_key_delete(call);
        case ResourceType::kProcedure:
        case ResourceType::kTrigger:
        case ResourceType::kUdf:
            return handle_scripts(call);
        case ResourceType::kAttachment:
            return answer_attachments(call);
        case ResourceType::kEncryptionKey:
            return handle_encryption_keys(call);
        case ResourceType::kAddress:
            return reply_error(
                call, errors::not_supported(
                          "Direct (TCP) connection mode",
                          "Select gateway mode in the client: ConnectionMode.Gateway in .NET, "
                          ".gatewayMode() in Java."));
        case ResourceType::kOwn:
            if (call->pages != nullptr) return handle_own(call);
            break;
        case ResourceType::kPublic:
            break;
    }
    reply_error(call, errors::resource_not_found("The path names no resource."));
}

}  // namespace

RestHead::RestHead(const engine::Door& door, Options options)
    : door_(door), options_(std::move(options)) {}

void RestHead::handle(std::unique_ptr<net::HttpExchange> exchange) {
    auto call = std::make_shared<Call>(door_, std::move(exchange));
    call->pages = options_.pages;
    call->lab = options_.lab;
    call->activity_id = activity_id_of(call->headers);
    auto route = parse_route(call->request().target);
    if (!route.ok()) return reply_error(call, route.error());
    call->route = std::move(route).value();
    call->operation = operation_of(*call);
    if (call->route.type == ResourceType::kPublic && call->route.path == "/metrics" &&
        call->pages != nullptr)
        return handle_prometheus(call, options_.open_metrics);
    if (call->route.type == ResourceType::kPublic)
        return handle_public(std::move(call->exchange), call->route.path);
    if (call->route.type == ResourceType::kAccount && is_browser(call->request(), call->headers)) {
        call->response().status = 302;
        call->response().add_header("Location", "/_explorer/");
        return net::HttpExchange::send(std::move(call->exchange));
    }
    // Direct-mode clients sign these requests in a way of their own; the answer is the same for
    // all.
    if (call->route.type == ResourceType::kAddress) return dispatch(call);
    if (const Status status =
            authenticate(call->session, call->request().method, call->route, call->headers);
        !status.ok())
        return reply_error(call, status.error());
    if (const Status status = check_headers(*call); !status.ok())
        return reply_error(call, status.error());
    if (const Status status = read_terms(*call); !status.ok())
        return reply_error(call, status.error());
    if (is_metadata(*call))
        if (const Status status = call->session.admit_metadata(*call, metadata_kind(*call));
            !status.ok())
            return reply_error(call, status.error());
    dispatch(call);
}

void RestHead::handle_public(std::unique_ptr<net::HttpExchange> exchange,
                             const std::string& path) const {
    auto& response = exchange->response;
    if (exchange->request.method != "GET" && exchange->request.method != "HEAD") {
        response.status = 405;
        response.body =
            error_body(method_not_allowed(exchange->request.method, path), random_guid(), path);
        response.add_header("Content-Type", "application/json");
    } else if (path == "/alive" || path == "/ready" || path == "/status") {
        // The listener opens only when the server is ready, so an answer means ready.
        response.add_header("Content-Type", "application/json");
        response.body = R"({"status":"ready"})";
        if (const Status health = door_.health(); !health.ok() && path != "/alive") {
            response.status = 503;
            response.body = error_body(health.error(), random_guid(), path);
        }
    } else if (path == "/_explorer/emulator.pem" && !options_.authority_pem.empty()) {
        response.add_header("Content-Type", "application/x-pem-file");
        response.body = options_.authority_pem;
    } else {
        response.status = 404;
        response.body = error_body(errors::resource_not_found("There is nothing at this path."),
                                   random_guid(), path);
        response.add_header("Content-Type", "application/json");
    }
    net::HttpExchange::send(std::move(exchange));
}

void RestHead::refuse(int status, std::string_view why, net::HttpResponse& response) {
    ErrorAnswer error;
    error.status = status;
    error.message = why;
    response.status = status;
    response.add_header("Content-Type", "application/json");
    const std::string activity_id = random_guid();
    response.add_header("x-ms-activity-id", activity_id);
    response.add_header("x-ms-request-charge", "0");
    response.body = error_body(error, activity_id, "");
}

}  // namespace orrery::rest
