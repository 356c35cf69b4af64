// Stored procedures, triggers and user-defined functions: their resources, and running them.
#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/bodies/resource_bodies.h"
#include "heads/rest/bodies/resource_json.h"
#include "heads/rest/handlers.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using catalog::Catalog;
using catalog::ChildType;
using engine::Operation;

/// Clients take a limited number of bytes for all headers of an answer together.
constexpr size_t kLogHeaderBytesMax = 12 << 10;

ChildType type_of(const Call& call) {
    switch (call.route.type) {
        case ResourceType::kTrigger:
            return ChildType::kTrigger;
        case ResourceType::kUdf:
            return ChildType::kUdf;
        default:
            return ChildType::kProcedure;
    }
}

std::string_view array_name(ChildType type) {
    switch (type) {
        case ChildType::kTrigger:
            return "Triggers";
        case ChildType::kUdf:
            return "UserDefinedFunctions";
        default:
            return "StoredProcedures";
    }
}

/// An answer about a container's scripts names its first range.
Answer plain(Call& call, int status, const std::string& etag = {}) {
    Answer answer;
    answer.status = status;
    answer.etag = etag;
    call.touch_container();
    return answer;
}

Result<catalog::ScriptPtr> find_script(const Call& call) {
    return call.session.find_script(call, type_of(call), call.route.last_id());
}

/// The body must hold valid JavaScript; read_script_body() reports other errors of the body.
Status check_text(const Call& call, const json::Value& body) {
    const json::Value text = body.is_object() ? body.member("body") : json::Value();
    return text.is_string() ? call.session.check_script(text.as_string()) : Status();
}

Status create_script(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kCreateScript));
    TRY(const auto body, parse_body(*call));
    TRY_STATUS(check_text(*call, body->value));
    TRY(const bool upsert, call->headers.boolean(HeaderName::kIsUpsert));
    TRY(auto wanted, read_script_body(body->value, type_of(*call)));
    TRY(const auto change,
        catalog->create_script(call->container()->rid, type_of(*call), std::move(wanted),
                               upsert ? Catalog::Upsert::kYes : Catalog::Upsert::kNo));
    reply(call, plain(*call, change.created ? 201 : 200, change.script->version.etag),
          script_json(*change.script));
    return {};
}

Status list_scripts(const CallPtr& call) {
    TRY(const auto* catalog, call->session.look_up(*call, Operation::kReadScripts));
    const ChildType type = type_of(*call);
    const engine::ListingScope listing{call->container()->rid_text, array_name(type)};
    TRY(const auto page, page_request(*call, listing));
    const auto listed = catalog->list_scripts(call->container()->rid, type, page);
    std::vector<std::string> texts;
    for (const auto& script : listed.items) texts.push_back(script_json(*script));
    Answer answer = plain(*call, 200);
    answer.continuation = call->session.seal_listing(listing, listed.continuation);
    answer.item_count = texts.size();
    reply(call, answer, feed_body(listing.parent_rid, listing.kind, texts));
    return {};
}

Status query_scripts(const CallPtr& call) {
    TRY(const auto* catalog, call->session.look_up(*call, Operation::kReadScripts));
    const ChildType type = type_of(*call);
    catalog::ListingRequest all;
    all.items_max = limits::kPageItemsMax;
    std::vector<engine::QueriedResource> resources;
    for (const auto& script : catalog->list_scripts(call->container()->rid, type, all).items)
        resources.push_back({script_json(*script), {}});
    return reply_resource_query(call, call->container()->rid_text, array_name(type), resources);
}

Status read_script(const CallPtr& call) {
    TRY_STATUS(call->session.allow(*call, Operation::kReadScripts));
    TRY(const auto script, find_script(*call));
    if (unquoted(call->headers[HeaderName::kIfNoneMatch]) == script->version.etag) {
        call->set_not_modified();
        reply(call, plain(*call, 304, script->version.etag), "");
        return {};
    }
    reply(call, plain(*call, 200, script->version.etag), script_json(*script));
    return {};
}

Status replace_script(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kReplaceScript));
    TRY(const auto script, find_script(*call));
    TRY(const auto body, parse_body(*call));
    TRY_STATUS(check_text(*call, body->value));
    TRY(auto wanted, read_script_body(body->value, type_of(*call)));
    TRY(const auto replaced,
        catalog->replace_script(call->container()->rid, type_of(*call), script->id,
                                std::move(wanted), unquoted(call->headers[HeaderName::kIfMatch])));
    reply(call, plain(*call, 200, replaced->version.etag), script_json(*replaced));
    return {};
}

Status delete_script(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kDeleteScript));
    TRY(const auto script, find_script(*call));
    TRY_STATUS(catalog->delete_script(call->container()->rid, type_of(*call), script->id,
                                      unquoted(call->headers[HeaderName::kIfMatch])));
    reply(call, plain(*call, 204), "");
    return {};
}

Status run_procedure(const CallPtr& call) {
    TRY_STATUS(check_container_headers(*call));
    TRY_STATUS(refuse_triggers(*call));
    engine::ProcedureRequest request;
    TRY(request.procedure, find_script(*call));
    TRY(auto key, point_key(*call));
    TRY_STATUS(check_range_id(*call, key.epk));
    request.epk = std::move(key.epk);
    request.arguments = std::string(call->request().body);
    TRY(request.logging, call->headers.boolean(HeaderName::kScriptEnableLogging));
    request.values = script_values(*call);
    call->session.run_procedure(call, std::move(request), [call](engine::ProcedureAnswer& answer) {
        add_script_log(*call, answer.log);
        if (!answer.status.ok()) return reply_failure(call, answer.status.error());
        reply(call, Answer{}, std::move(answer.body).value_or(""));
    });
    return {};
}

using Handler = Status (*)(const CallPtr&);

/// The handler of a request; null: there is none. Queries have a body, as creates have.
Handler handler_of(const Call& call) {
    const auto method = call.request().method;
    if (call.route.feed) {
        if (method == "GET") return list_scripts;
        if (method == "POST") return is_query(call) ? query_scripts : create_script;
        return nullptr;
    }
    if (is_read(call)) return read_script;
    if (method == "PUT") return replace_script;
    if (method == "DELETE") return delete_script;
    if (method == "POST" && call.route.type == ResourceType::kProcedure) return run_procedure;
    return nullptr;
}

}  // namespace

void handle_scripts(const CallPtr& call) {
    const auto container = find_container(*call);
    if (!container.ok()) return reply_error(call, container.error());
    const Handler handler = handler_of(*call);
    if (handler == nullptr)
        return reply_error(call, method_not_allowed(call->request().method, "scripts"));
    if (handler == run_procedure) {
        if (const Status status = handler(call); !status.ok()) reply_error(call, status.error());
        return;
    }
    // JavaScript is checked before it is stored.
    if (handler == create_script || handler == replace_script)
        return call->session.on_script_thread(
            [call, handler] { return handler(call); },
            [call](const Status& status) { reply_error(call, status.error()); });
    on_worker(call, [call, handler] { return handler(call); });
}

bool names_triggers(const Call& call) {
    return !call.headers[HeaderName::kPreTriggerInclude].empty() ||
           !call.headers[HeaderName::kPostTriggerInclude].empty();
}

Status refuse_triggers(const Call& call) {
    if (!names_triggers(call)) return {};
    return Status(
        errors::bad_request("Triggers run with a write of one item. Remove the headers that name "
                            "them from this request."));
}

Result<std::string> named_trigger(const Call& call, HeaderName header) {
    const std::string_view names = call.headers[header];
    if (names.find(',') != std::string_view::npos)
        return bad_header(header_text(header), names,
                          "the name of one trigger: a write runs at most one of each kind");
    return percent_decode(names).value_or(std::string(names));
}

std::string script_values(const Call& call) {
    std::string out = "{";
    for (const net::HttpHeader& header : call.request().headers) {
        const std::string name = to_lower_ascii(header.name);
        if (name == "authorization") continue;
        std::string value;
        json::write_string(value, header.value);
        json::Arena arena;
        if (!json::parse(value, arena).ok()) continue;  // bytes that are no text
        if (out.size() > 1) out += ',';
        json::write_string(out, name);
        out += ':' + value;
    }
    return out + "}";
}

void add_script_log(const Call& call, std::string_view log) {
    const auto wanted = call.headers.boolean(HeaderName::kScriptEnableLogging);
    if (!wanted.ok() || !*wanted) return;
    std::string text;
    for (size_t at = 0; at < log.size();) {
        // Cut at a character border, so that clients can decode the text.
        size_t next = at + 1;
        while (next < log.size() && (static_cast<unsigned char>(log[next]) & 0xC0) == 0x80) ++next;
        const std::string character = percent_encode(log.substr(at, next - at));
        if (text.size() + character.size() > kLogHeaderBytesMax) break;
        text += character;
        at = next;
    }
    call.response().add_header("x-ms-documentdb-script-log-results", text);
}

}  // namespace orrery::rest
