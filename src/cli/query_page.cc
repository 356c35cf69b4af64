#include "cli/query_page.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/errors.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

constexpr json::ParseOptions kAnswerOptions{.depth_max = 256, .refuse_duplicate_names = false};
constexpr int kCrossPartitionNotServable = 1004;

/// Whether the text uses the parameter, as a whole word.
bool mentions(std::string_view text, std::string_view parameter) {
    for (size_t at = text.find(parameter); at != std::string_view::npos;
         at = text.find(parameter, at + 1)) {
        const size_t end = at + parameter.size();
        const char after = end < text.size() ? text[end] : ' ';
        if (!(after == '_' || (after >= '0' && after <= '9') || (after >= 'A' && after <= 'Z') ||
              (after >= 'a' && after <= 'z')))
            return true;
    }
    return false;
}

std::string decoded(std::string_view header) {
    auto text = percent_decode(header);
    return text.has_value() ? std::move(*text) : std::string(header);
}

}  // namespace

QueryCursor::QueryCursor(AccountClient& client, ContainerName container, const QueryText& query,
                         QueryOptions options)
    : client_(client), container_(std::move(container)), options_(options) {
    body_ = R"({"query":)";
    json::write_string(body_, query.text);
    body_ += R"(,"parameters":[)";
    bool first = true;
    for (const auto& [name, value] : query.parameters) {
        if (!mentions(query.text, name)) continue;
        if (!first) body_ += ',';
        first = false;
        body_ += R"({"name":)";
        json::write_string(body_, name);
        body_ += R"(,"value":)" + value + "}";
    }
    body_ += "]}";
}

Result<HttpAnswer> QueryCursor::request() {
    Headers headers = {{"content-type", "application/query+json"},
                       {"x-ms-documentdb-isquery", "true"},
                       {"x-ms-documentdb-query-enablecrosspartition", "true"},
                       {"x-ms-max-item-count", std::to_string(options_.page_items)}};
    if (!continuation_.empty()) headers.emplace_back("x-ms-continuation", continuation_);
    if (!range_id_.empty()) headers.emplace_back("x-ms-documentdb-partitionkeyrangeid", range_id_);
    if (options_.metrics) headers.emplace_back("x-ms-documentdb-populatequerymetrics", "true");
    if (options_.plan) headers.emplace_back("x-orrery-explain", "true");
    if (options_.charge_explanation) headers.emplace_back("x-orrery-explain-charge", "true");
    return client_.send({.method = "POST",
                         .resource = item_feed(container_.database, container_.container),
                         .headers = std::move(headers),
                         .body = body_});
}

Result<QueryPage> QueryCursor::next(std::vector<QueryProblem>* problems) {
    const SystemClock clock;
    const int64_t begun_us = clock.monotonic_us();
    TRY(auto answer, request());
    if (answer.status == 400 && answer.sub_status() == kCrossPartitionNotServable &&
        range_id_.empty()) {
        TRY(const auto ranges, read_ranges(client_, container_));
        if (ranges.size() > 1)
            return errors::bad_request(
                fmt::format("{} has {} physical partitions, and this account's gateway does not "
                            "merge such a query over them (ORDER BY, "
                            "GROUP BY, DISTINCT, aggregates). Name one partition key value in the "
                            "WHERE clause, or use an SDK.",
                            container_.text(), ranges.size()));
        range_id_ = ranges.front().id;
        TRY(answer, request());
    }
    if (answer.status >= 400) {
        if (problems != nullptr) *problems = query_problems(answer.body);
        return answer_error(answer);
    }
    QueryPage page;
    page.elapsed_us = clock.monotonic_us() - begun_us;
    page.arena = std::make_unique<json::Arena>();
    TRY(const auto parsed, json::parse(answer.body, *page.arena, kAnswerOptions));
    const json::Value rows = parsed.member("Documents");
    if (rows.is_array()) page.rows.assign(rows.elements().begin(), rows.elements().end());
    page.charge = answer.charge();
    page.metrics = answer.header("x-ms-documentdb-query-metrics");
    page.plan = decoded(answer.header("x-orrery-explain"));
    page.charge_explanation = decoded(answer.header("x-orrery-charge-explanation"));
    continuation_ = page.continuation = answer.header("x-ms-continuation");
    at_end_ = continuation_.empty();
    return page;
}

}  // namespace orrery::cli
