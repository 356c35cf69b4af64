// Queries over items and over metadata, patch conditions.
#include "query/query.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/limits.h"
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
    return QueryBody{std::string(text.as_string()), body.member("parameters")};
}

namespace {

using engine::Access;

/// Bodies that a loop thread may parse.
constexpr size_t kLightBodyBytes = 8 << 10;

enum class RunsOn : uint8_t { kLoop, kWorker, kScriptThread };

/// False: it must be done elsewhere, after a loop on a worker, after a worker on a script thread.
Result<bool> run_item_query(const CallPtr& call, RunsOn here) {
    TRY(const auto scope, feed_scope(*call));
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
    request.range = scope.range;
    // Together with other headers the key may leave less than itself, or nothing.
    if (scope.full_key &&
        (scope.epk->empty() || scope.range == partition::range_of_key(*scope.epk)))
        request.full_epk = scope.epk;
    request.over_container = scope.served == nullptr && scope.range == partition::EpkRange();
    request.continuation = std::string(call->headers[HeaderName::kContinuation]);
    TRY(request.items_max, page_size(*call));
    request.front = feed_front(call->container->rid_text, "Documents");
    TRY(request.token_bytes_max, token_limit(call->headers));
    request.cancelled = [&call, here] {
        if (here == RunsOn::kScriptThread && engine::Scripts::given_up()) return true;
        return call->exchange->cancelled();
    };
    request.terms = call->terms;
    request.bill = call->bill.get();
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
    answer.item_count = found.page.rows.size();
    answer.query = &found;
    answer.query_parameters = &request.parameters;
    answer.page_size = request.items_max;
    answer.continued = !request.continuation.empty();
    TRY_STATUS(add_query_reports(call, found));
    reply(call, answer, found.page.rows.take_text(feed_back(found.page.rows.size())));
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

void reply_resource_query(const CallPtr& call, std::string_view parent_rid,
                          std::string_view array_name,
                          const std::vector<QueriedResource>& resources) {
    const auto run = [&]() -> Status {
        TRY(const auto body, parse_body(*call));
        TRY(const auto parsed, query_of(body->value));
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
