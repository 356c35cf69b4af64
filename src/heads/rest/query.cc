// Queries over items and over metadata.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/handlers.h"
#include "heads/rest/query_reports.h"
#include "json/parse.h"
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

/// Bodies that a loop thread may parse.
constexpr size_t kLightBodyBytes = 8 << 10;

void reply_query(const CallPtr& call, Result<engine::QueryAnswer>& found) {
    if (!found.ok()) return reply_failure(call, found.error());
    if (const Status status = add_query_reports(call, *found); !status.ok())
        return reply_error(call, status.error());
    Answer answer;
    answer.continuation = std::move(found->continuation);
    answer.item_count = call->rows->size();
    reply(call, answer, call->rows->take_text(feed_back(*answer.item_count)));
}

Status run_item_query(const CallPtr& call) {
    TRY(auto scope, feed_scope(*call));
    TRY(call->body, parse_body(*call));
    TRY(auto parsed, query_of(call->body->value));
    engine::QueryRequest request;
    request.text = std::move(parsed.text);
    request.parameters = parsed.parameters;
    request.over_container = scope.is_container();
    // Together with other headers the scope may be smaller than the key, or empty.
    if (scope.full_key &&
        (scope.epk->empty() || (scope.range.is_of_key() && scope.range.min == *scope.epk)))
        request.full_epk = scope.epk;
    request.limited_to = std::move(scope.epk);
    request.range = std::move(scope.range);
    request.continuation = std::string(call->headers[HeaderName::kContinuation]);
    TRY(request.items_max, page_size(*call));
    request.rows = &call->rows.emplace(feed_front(call->container()->rid_text, "Documents"));
    TRY(request.token_bytes_max, token_limit(call->headers));
    TRY(request.explain, call->headers.boolean(HeaderName::kExplain));
    call->session.query(call, std::move(request),
                        [call](Result<engine::QueryAnswer>& found) { reply_query(call, found); });
    return {};
}

}  // namespace

void handle_item_query(const CallPtr& call) {
    if (call->request().body.size() > kLightBodyBytes)
        return on_worker(call, [call] { return run_item_query(call); });
    if (const Status status = run_item_query(call); !status.ok()) reply_error(call, status.error());
}

namespace {

/// Rows of a query over resources are made anew for every page. Its token says how many of them are
/// out.
Result<uint64_t> rows_out(const Call& call, const engine::ListingScope& listing) {
    TRY(const std::string position,
        call.session.open_listing(listing, call.headers[HeaderName::kContinuation]));
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

Status reply_resource_query(const CallPtr& call, std::string_view parent_rid,
                            std::string_view array_name,
                            const std::vector<engine::QueriedResource>& resources) {
    TRY(const auto body, parse_body(*call));
    TRY(const auto parsed, query_of(body->value));
    TRY(const uint32_t rows_max, page_size(*call));
    const std::string identity = identity_of(parsed);
    const engine::ListingScope listing{parent_rid, array_name, identity};
    TRY(const uint64_t out, rows_out(*call, listing));
    TRY(auto texts, engine::query_resources(parsed.text, parsed.parameters, resources));
    Answer answer;
    texts.erase(texts.begin(),
                texts.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(out, texts.size())));
    if (texts.size() > rows_max) {
        texts.resize(rows_max);
        answer.continuation = call->session.seal_listing(listing, std::to_string(out + rows_max));
    }
    answer.item_count = texts.size();
    reply(call, answer, feed_body(parent_rid, array_name, texts));
    return {};
}

}  // namespace orrery::rest
