#include <algorithm>

#include "base/errors.h"
#include "client_plan/client_plan.h"

namespace orrery::client_plan {

using namespace query;

std::string_view aggregate_name(AggregateKind kind) {
    switch (kind) {
        case AggregateKind::kCount:
            return "Count";
        case AggregateKind::kSum:
            return "Sum";
        case AggregateKind::kAverage:
            return "Average";
        case AggregateKind::kMin:
            return "Min";
        case AggregateKind::kMax:
            return "Max";
        case AggregateKind::kCountIf:
            return "CountIf";
        case AggregateKind::kMakeList:
            return "MakeList";
        case AggregateKind::kMakeSet:
            return "MakeSet";
    }
    return "";
}

std::vector<std::string_view> required_features(const QueryPlan& plan) {
    if (plan.hybrid != nullptr) {
        std::vector<std::string_view> names = {"HybridSearch"};
        if (!plan.hybrid->weights.empty()) names.push_back("WeightedRankFusion");
        return names;
    }
    std::vector<AggregateKind> kinds = plan.aggregates;
    for (const PlanAlias& alias : plan.group_by_aliases)
        if (alias.aggregate) kinds.push_back(*alias.aggregate);
    const auto has = [&](AggregateKind kind) {
        return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    };
    const bool grouped = !plan.group_by_expressions.empty();
    const std::pair<bool, std::string_view> needs[] = {
        {!plan.aggregates.empty(), "Aggregate"},
        {plan.distinct != DistinctType::kNone, "Distinct"},
        {grouped, "GroupBy"},
        {kinds.size() > 1, "MultipleAggregates"},
        {plan.order_by_expressions.size() > 1, "MultipleOrderBy"},
        {plan.offset.has_value() || plan.limit.has_value(), "OffsetAndLimit"},
        {plan.order_by_expressions.size() == 1, "OrderBy"},
        {plan.top.has_value(), "Top"},
        {!grouped && !plan.group_by_aliases.empty(), "NonValueAggregate"},
        {plan.dcount_alias.has_value(), "DCount"},
        {plan.has_non_streaming_order_by, "NonStreamingOrderBy"},
        {has(AggregateKind::kMakeList) || has(AggregateKind::kMakeSet), "ListAndSetAggregate"},
        {has(AggregateKind::kCountIf), "CountIf"},
    };
    std::vector<std::string_view> out;
    for (const auto& [needed, name] : needs)
        if (needed) out.push_back(name);
    return out;
}

Status check_features(const QueryPlan& plan, std::string_view supported) {
    std::vector<std::string_view> known;
    while (!supported.empty()) {
        const size_t comma = supported.find(',');
        std::string_view name = supported.substr(0, comma);
        supported.remove_prefix(comma == std::string_view::npos ? supported.size() : comma + 1);
        while (name.starts_with(' ')) name.remove_prefix(1);
        while (name.ends_with(' ')) name.remove_suffix(1);
        known.push_back(name);
    }
    std::string missing;
    for (const std::string_view name : required_features(plan)) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        if (!missing.empty()) missing += ", ";
        missing += name;
    }
    if (missing.empty()) return {};
    return Status(errors::bad_request(
        "Query contains the following features, which the calling client does not support: " +
        missing));
}

}  // namespace orrery::client_plan
