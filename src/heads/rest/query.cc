// Queries over items and over metadata, patch conditions.
#include "query/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/limits.h"
#include "catalog/names.h"
#include "engine/light_query.h"
#include "engine/scripts.h"
#include "heads/rest/handlers.h"
#include "heads/rest/query_reports.h"
#include "json/parse.h"
#include "json/patch.h"
#include "json/write.h"

namespace orrery::rest {
Result<QueryBody> query_of(const json::Value& body) {
    const json::Value text = body.member("query");
    if (!text.is_string())
        return errors::bad_request(
            R"(A query body must be {"query":"…","parameters":[{"name":"@x","value":…}]}.)");
    for (const json::Member& member : body.members())
        if (member.name != "query" && member.name != "parameters" && !member.value.is_null())
            return errors::bad_request(
                fmt::format("A query body has no member '{}'. It has 'query' and 'parameters'.",
                            catalog::excerpt(member.name)));
    return QueryBody{std::string(text.as_string()), body.member("parameters")};
}

namespace {

using engine::Access;

/// Bodies that a loop thread may parse.
constexpr size_t kLightBodyBytes = 8 << 10;

enum class RunsOn : uint8_t { kLoop, kWorker, kScriptThread };

/// False: it must be done elsewhere, after a loop on a worker, after a worker on a script thread.
Result<bool> run_item_query(const CallPtr& call, RunsOn here) {
    TRY(auto scope, feed_scope(*call));
    std::optional<std::string_view> epk;
    if (scope.epk) epk = *scope.epk;
    TRY_STATUS(authorize(call->principal, Access::kFeedRead, {call->container.get(), epk, {}}));
    for (const auto* range : call->container->ranges->overlapping(scope.range))
        TRY_STATUS(check_session(*call, *range));
    TRY(const auto body, parse_body(*call));
    TRY(auto parsed, query_of(body->value));
    engine::QueryRequest request;
    request.text = std::move(parsed.text);
    request.parameters = parsed.parameters;
    request.over_container = scope.is_container();
    // Together with other headers the key may leave less than itself, or nothing.
    if (scope.full_key &&
        (scope.epk->empty() || (scope.range.is_of_key() && scope.range.min == *scope.epk)))
        request.full_epk = std::move(scope.epk);
    request.range = std::move(scope.range);
    request.continuation = std::string(call->headers[HeaderName::kContinuation]);
    TRY(request.items_max, page_size(*call));
    engine::RowTexts rows(feed_front(call->container->rid_text, "Documents"));
    request.rows = &rows;
    TRY(request.token_bytes_max, token_limit(call->headers));
    request.cancelled = [&call, here] {
        if (here == RunsOn::kScriptThread && engine::Scripts::given_up()) return true;
        return call->exchange->cancelled();
    };
    request.terms = call->terms;
    request.bill = call->bill.get();
    TRY(request.explain, call->headers.boolean(HeaderName::kExplain));
    engine::QueryAnswer found;
    if (here == RunsOn::kWorker && call->engine.runs_functions(*call->container, request.text))
        return false;
    if (here == RunsOn::kLoop) {
        auto answered = engine::query_in_memory(call->engine, *call->container, request);
        if (!answered) return false;
        TRY(found, std::move(*answered));
    } else {
        TRY(found, call->engine.query(*call->container, request));
    }
    Answer answer;
    answer.charge = found.charge;
    answer.range_charges = found.range_charges;
    answer.touched = found.touched;
    answer.continuation = found.continuation;
    answer.item_count = found.page.row_count;
    answer.query = &found;
    answer.query_parameters = &request.parameters;
    answer.page_size = request.items_max;
    answer.continued = !request.continuation.empty();
    TRY_STATUS(add_query_reports(call, found));
    reply(call, answer, rows.take_text(feed_back(rows.size())));
    return true;
}

}  // namespace

void handle_item_query(const CallPtr& call) {
    if (call->request().body.size() <= kLightBodyBytes &&
        call->headers[HeaderName::kContinuation].empty()) {
        const Result<bool> done = run_item_query(call, RunsOn::kLoop);
        if (!done.ok()) return reply_error(call, done.error());
        if (*done) return;
    }
    on_worker(call, [call]() -> Status {
        TRY(const bool done, run_item_query(call, RunsOn::kWorker));
        if (!done)
            on_script_thread(call, [call]() -> Status {
                TRY_STATUS(run_item_query(call, RunsOn::kScriptThread).status().clone());
                return {};
            });
        return {};
    });
}

namespace {

/// Rows of a query over resources are made anew for every page. Its token says how many of them are
/// out.
Result<uint64_t> rows_out(const Call& call, const engine::ListingScope& listing) {
    TRY(const std::string position,
        call.engine.open_listing(listing, call.headers[HeaderName::kContinuation]));
    uint64_t rows = 0;
    std::from_chars(position.data(), position.data() + position.size(), rows);
    return rows;
}

/// What a token of the query is good for: its text and its parameters.
std::string identity_of(const QueryBody& query) {
    std::string out;
    append_bytes(out, query.text);
    if (query.parameters.is_array()) out += json::to_text(query.parameters);
    return out;
}

}  // namespace

void reply_resource_query(const CallPtr& call, std::string_view parent_rid,
                          std::string_view array_name,
                          const std::vector<QueriedResource>& resources) {
    const auto run = [&]() -> Status {
        TRY(const auto body, parse_body(*call));
        TRY(const auto parsed, query_of(body->value));
        TRY(const uint32_t rows_max, page_size(*call));
        const std::string identity = identity_of(parsed);
        const engine::ListingScope listing{parent_rid, array_name, identity};
        TRY(const uint64_t out, rows_out(*call, listing));
        TRY(const auto compiled, query::compile(parsed.text));
        TRY_STATUS(compiled->check_runnable());
        TRY(const auto parameters, query::Parameters::bind(*compiled, parsed.parameters));
        query::QueryRun query(*compiled, parameters);
        std::vector<std::string> texts;
        json::Arena arena;
        std::vector<json::Value> rows;
        const auto take = [&] {
            for (const auto& row : rows) texts.push_back(json::to_text(row));
            rows.clear();
        };
        for (const auto& resource : resources) {
            const auto forms =
                resource.forms.empty() ? std::vector<std::string>{resource.json} : resource.forms;
            for (const auto& form : forms) {
                TRY(const auto value, json::parse(form, arena));
                TRY(const bool matches, query::matches(*compiled, parameters, value, arena));
                if (!matches) continue;
                TRY_STATUS(query.feed(value, arena, rows));
                take();
                break;
            }
        }
        TRY_STATUS(query.finish(arena, rows));
        take();
        Answer answer;
        texts.erase(texts.begin(),
                    texts.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(out, texts.size())));
        if (texts.size() > rows_max) {
            texts.resize(rows_max);
            answer.continuation =
                call->engine.seal_listing(listing, std::to_string(out + rows_max));
        }
        answer.charge = meter::metadata_read();
        answer.item_count = texts.size();
        reply(call, answer, feed_body(parent_rid, array_name, texts));
        return {};
    };
    if (const Status status = run(); !status.ok()) reply_error(call, status.error());
}

Result<std::shared_ptr<const partition::PatchProgram>> read_patch(std::string_view body,
                                                                  index::GeometrySpace space) {
    auto program = std::make_shared<partition::PatchProgram>();
    TRY(const auto value, json::parse(body, program->arena));
    TRY(program->patch, json::parse_patch(value, program->arena));
    if (!program->patch.condition.empty()) {
        TRY(const auto compiled, query::compile_condition(program->patch.condition, space));
        TRY(auto parameters, query::Parameters::bind(*compiled, json::Value()));
        program->condition = [compiled, parameters](const json::Value& item) -> Result<bool> {
            json::Arena arena;
            return query::matches(*compiled, parameters, item, arena);
        };
    }
    return std::shared_ptr<const partition::PatchProgram>(std::move(program));
}

}  // namespace orrery::rest
