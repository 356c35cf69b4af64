// Stored procedures, triggers and user-defined functions: their resources, and running them.
#include "engine/scripts.h"

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
using engine::Access;

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

Answer plain(const Call& call, int status, meter::Charge charge, const std::string& etag = {}) {
    Answer answer;
    answer.status = status;
    answer.charge = charge;
    answer.etag = etag;
    const auto& range = call.container->ranges->ranges.front();
    answer.touched = engine::Touched{range.id, range.partition->lsn()};
    return answer;
}

Result<catalog::ScriptPtr> find_script(const Call& call) {
    auto script =
        call.engine.catalog().find_script(call.container->rid, type_of(call), call.route.last_id());
    if (script != nullptr) return script;
    return errors::resource_not_found("The script '" + call.route.last_id() + "' does not exist.");
}

/// The body's JavaScript must be some; what else is wrong with the body read_script_body() words.
Status check_text(const Call& call, const json::Value& body) {
    const json::Value text = body.is_object() ? body.member("body") : json::Value();
    return text.is_string() ? call.engine.scripts().check(text.as_string()) : Status();
}

Status create_script(const CallPtr& call) {
    TRY(const auto body, parse_body(*call));
    TRY_STATUS(check_text(*call, body->value));
    TRY(const bool upsert, call->headers.boolean(HeaderName::kIsUpsert));
    TRY(auto wanted, read_script_body(body->value, type_of(*call)));
    TRY(const auto change, call->engine.catalog().create_script(
                               call->container->rid, type_of(*call), std::move(wanted),
                               upsert ? Catalog::Upsert::kYes : Catalog::Upsert::kNo));
    reply(call,
          plain(*call, change.created ? 201 : 200, meter::script_write(),
                change.script->version.etag),
          script_json(*change.script));
    return {};
}

Status list_scripts(const CallPtr& call) {
    const ChildType type = type_of(*call);
    const engine::ListingScope listing{call->container->rid_text, array_name(type)};
    TRY(const auto page, page_request(*call, listing));
    const auto listed = call->engine.catalog().list_scripts(call->container->rid, type, page);
    std::vector<std::string> texts;
    for (const auto& script : listed.items) texts.push_back(script_json(*script));
    Answer answer = plain(*call, 200, meter::metadata_read());
    answer.continuation = call->engine.seal_listing(listing, listed.continuation);
    answer.item_count = texts.size();
    reply(call, answer, feed_body(listing.parent_rid, listing.kind, texts));
    return {};
}

Status query_scripts(const CallPtr& call) {
    const ChildType type = type_of(*call);
    catalog::ListingRequest all;
    all.items_max = limits::kPageItemsMax;
    std::vector<QueriedResource> resources;
    for (const auto& script :
         call->engine.catalog().list_scripts(call->container->rid, type, all).items)
        resources.push_back({script_json(*script), {}});
    reply_resource_query(call, call->container->rid_text, array_name(type), resources);
    return {};
}

Status read_script(const CallPtr& call) {
    TRY(const auto script, find_script(*call));
    if (unquoted(call->headers[HeaderName::kIfNoneMatch]) == script->version.etag) {
        reply(call, plain(*call, 304, meter::metadata_read(), script->version.etag), "");
        return {};
    }
    reply(call, plain(*call, 200, meter::metadata_read(), script->version.etag),
          script_json(*script));
    return {};
}

Status replace_script(const CallPtr& call) {
    TRY(const auto script, find_script(*call));
    TRY(const auto body, parse_body(*call));
    TRY_STATUS(check_text(*call, body->value));
    TRY(auto wanted, read_script_body(body->value, type_of(*call)));
    TRY(const auto replaced, call->engine.catalog().replace_script(
                                 call->container->rid, type_of(*call), script->id,
                                 std::move(wanted), unquoted(call->headers[HeaderName::kIfMatch])));
    reply(call, plain(*call, 200, meter::script_write(), replaced->version.etag),
          script_json(*replaced));
    return {};
}

Status delete_script(const CallPtr& call) {
    TRY(const auto script, find_script(*call));
    TRY_STATUS(call->engine.catalog().delete_script(call->container->rid, type_of(*call),
                                                    script->id,
                                                    unquoted(call->headers[HeaderName::kIfMatch])));
    reply(call, plain(*call, 204, meter::metadata_write()), "");
    return {};
}

/// A JSON array, or nothing at all.
Result<std::string> arguments_of(const Call& call) {
    const std::string_view body = call.request().body;
    if (body.empty()) return std::string("[]");
    json::Arena arena;
    TRY(const auto value, json::parse(body, arena));
    if (!value.is_array())
        return errors::bad_request(
            "The body of a request that runs a stored procedure must be a JSON array with its "
            "parameters.");
    return std::string(body);
}

Status run_procedure(const CallPtr& call) {
    TRY_STATUS(check_container_headers(*call));
    TRY_STATUS(refuse_triggers(*call));
    TRY(const auto script, find_script(*call));
    TRY(auto key, point_key(*call));
    TRY_STATUS(check_range_id(*call, key.epk));
    engine::AccessTarget target{call->container.get(), key.epk, {}};
    const std::string rid = script->rid();
    target.script_rid = rid;
    TRY_STATUS(authorize(call->principal, Access::kScriptRun, target));
    TRY_STATUS(check_session(*call, call->container->ranges->of_epk(key.epk)));
    engine::ProcedureRequest request;
    request.container = call->container;
    request.procedure = script;
    request.epk = std::move(key.epk);
    TRY(request.arguments, arguments_of(*call));
    TRY(request.logging, call->headers.boolean(HeaderName::kScriptEnableLogging));
    request.values = script_values(*call);
    request.terms = call->terms;
    request.bill = call->bill.get();
    engine::ProcedureAnswer outcome = call->engine.scripts().run(request);
    if (engine::Scripts::given_up()) return {};
    add_script_log(*call, outcome.log);
    Answer answer;
    answer.charge = outcome.charge;
    answer.touched = outcome.touched;
    if (!outcome.status.ok()) {
        if (outcome.charge.units == 0) return std::move(outcome.status);
        reply_error(call, outcome.status.error(), answer);
        return {};
    }
    reply(call, answer, std::move(outcome.body).value_or(""));
    return {};
}

using Handler = Status (*)(const CallPtr&);

/// What a request asks for; null: nothing that there is. Queries carry a body, as creates do.
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
    const bool runs = handler == run_procedure;
    if (!runs) {
        const bool reads =
            handler == list_scripts || handler == query_scripts || handler == read_script;
        const Status allowed =
            authorize(call->principal, reads ? Access::kFeedRead : Access::kMetadataWrite,
                      {*container, std::nullopt, {}});
        if (!allowed.ok()) return reply_error(call, allowed.error());
    }
    if (runs || handler == create_script || handler == replace_script)
        return on_script_thread(call, [call, handler] { return handler(call); });
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

Result<NamedTriggers> named_triggers(const Call& call, partition::OperationKind operation) {
    NamedTriggers found;
    for (const bool after : {false, true}) {
        const HeaderName header =
            after ? HeaderName::kPostTriggerInclude : HeaderName::kPreTriggerInclude;
        const std::string_view names = call.headers[header];
        if (names.empty()) continue;
        if (names.find(',') != std::string_view::npos)
            return bad_header(header_text(header), names,
                              "the name of one trigger: a write runs at most one of each kind");
        TRY(auto trigger, engine::find_trigger(call.engine.catalog(), *call.container,
                                               percent_decode(names).value_or(std::string(names)),
                                               after, operation));
        (after ? found.after : found.before) = std::move(trigger);
    }
    return found;
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
        // Whole characters only: clients decode the rest or nothing.
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
