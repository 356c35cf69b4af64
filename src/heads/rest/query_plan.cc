// Query plans, for SDKs that send a query to each partition key range and merge the answers.
#include <fmt/format.h>

#include "base/encoding.h"
#include "heads/rest/handlers.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using client_plan::QueryPlan;

std::string quoted(std::string_view text) {
    std::string out;
    json::write_string(out, text);
    return out;
}

/// The JSON texts `items` as an array.
std::string array_of(const std::vector<std::string>& items) {
    return fmt::format("[{}]", fmt::join(items, ","));
}

std::vector<std::string> all_quoted(const std::vector<std::string>& texts) {
    std::vector<std::string> out;
    for (const auto& text : texts) out.push_back(quoted(text));
    return out;
}

std::string number_or_null(const std::optional<uint64_t>& number) {
    return number ? std::to_string(*number) : "null";
}

std::string_view distinct_name(client_plan::DistinctType type) {
    switch (type) {
        case client_plan::DistinctType::kNone:
            return "None";
        case client_plan::DistinctType::kInOrder:
            return "Ordered";
        case client_plan::DistinctType::kAnyOrder:
            return "Unordered";
    }
    return "";
}

/// Clients test members for `=== false` and read lengths: every member is always there.
std::string plan_json(const QueryPlan& plan) {
    std::vector<std::string> directions, aliases, types, aggregates;
    for (const bool descending : plan.order_by_descending)
        directions.emplace_back(descending ? "\"Descending\"" : "\"Ascending\"");
    for (const auto& alias : plan.group_by_aliases) {
        aliases.push_back(quoted(alias.name));
        types.push_back(
            aliases.back() + ":" +
            (alias.aggregate ? quoted(client_plan::aggregate_name(*alias.aggregate)) : "null"));
    }
    for (const auto kind : plan.aggregates)
        aggregates.push_back(quoted(client_plan::aggregate_name(kind)));
    return fmt::format(
        R"({{"distinctType":"{}","top":{},"offset":{},"limit":{},"orderBy":{},"orderByExpressions":{},)"
        R"("groupByExpressions":{},"groupByAliases":{},"aggregates":{},"groupByAliasToAggregateType":{{{}}},)"
        R"("rewrittenQuery":{},"hasSelectValue":{},"hasNonStreamingOrderBy":{},"dCountInfo":{}}})",
        distinct_name(plan.distinct), number_or_null(plan.top), number_or_null(plan.offset),
        number_or_null(plan.limit), array_of(directions),
        array_of(all_quoted(plan.order_by_expressions)),
        array_of(all_quoted(plan.group_by_expressions)), array_of(aliases), array_of(aggregates),
        fmt::join(types, ","), quoted(plan.rewritten_query), plan.has_select_value,
        plan.has_non_streaming_order_by,
        plan.dcount_alias ? fmt::format(R"({{"dCountAlias":{}}})", quoted(*plan.dcount_alias))
                          : "null");
}

std::string hybrid_json(const client_plan::HybridPlan& plan) {
    std::vector<std::string> components, weights;
    for (const QueryPlan& component : plan.components) components.push_back(plan_json(component));
    for (const double weight : plan.weights) {
        weights.emplace_back();
        json::write_number(weights.back(), weight);
    }
    return fmt::format(
        R"({{"globalStatisticsQuery":{},"componentQueryInfos":{},"componentWithoutPayloadQueryInfos":[],)"
        R"("projectionQueryInfo":null,"componentWeights":{},"skip":{},"take":{},"requiresGlobalStatistics":{}}})",
        quoted(plan.statistics_query), array_of(components), array_of(weights),
        number_or_null(plan.skip), number_or_null(plan.take), plan.needs_statistics);
}

std::string ranges_json(const std::vector<query::KeyRange>& ranges) {
    std::vector<std::string> out;
    for (const auto& range : ranges)
        out.push_back(fmt::format(
            R"({{"min":"{}","max":"{}","isMinInclusive":true,"isMaxInclusive":{}}})",
            hex_encode_upper(range.min), hex_encode_upper(range.max), range.max_inclusive));
    return array_of(out);
}

std::string answer_json(const engine::PlanAnswer& answer) {
    const QueryPlan& plan = answer.plan;
    return fmt::format(
        R"({{"partitionedQueryExecutionInfoVersion":2,"queryInfo":{},"queryRanges":{},"hybridSearchQueryInfo":{}}})",
        plan.hybrid ? "null" : plan_json(plan), ranges_json(answer.ranges),
        plan.hybrid ? hybrid_json(*plan.hybrid) : "null");
}

/// Errors of the text are worded as for a query, after this introduction.
ErrorAnswer plan_error(const Error& error) {
    ErrorAnswer out = answer_to(error);
    if (out.status != 400) return out;
    if (out.form == BodyForm::kNested)
        out.message = fmt::format(R"({{"Errors":[{}]}})", quoted(out.message));
    out.message = "Gateway Failed to Retrieve Query Plan: Message: " + out.message;
    out.form = BodyForm::kGateway;
    return out;
}

}  // namespace

void handle_query_plan(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        const auto ask = [&]() -> Status {
            TRY(call->body, parse_body(*call));
            TRY(auto parsed, query_of(call->body->value));
            TRY(const auto asked, feed_scope(*call));
            engine::PlanRequest request{std::move(parsed.text), parsed.parameters, asked.full_key,
                                        std::nullopt};
            if (call->headers.has(HeaderName::kSupportedQueryFeatures))
                request.supported_features = call->headers[HeaderName::kSupportedQueryFeatures];
            call->session.plan_query(call, request, [&](Result<engine::PlanAnswer>& answer) {
                if (!answer.ok()) return reply_failure(call, plan_error(answer.error()));
                reply(call, Answer{}, answer_json(*answer));
            });
            return {};
        };
        if (const Status asked = ask(); !asked.ok()) {
            call->refuse(asked.error());
            reply_failure(call, plan_error(asked.error()));
        }
        return {};
    });
}

}  // namespace orrery::rest
