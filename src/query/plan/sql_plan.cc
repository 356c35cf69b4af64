#include "query/plan/sql_plan.h"

#include <algorithm>

#include "query/bind/evaluation.h"
#include "query/plan/composite_filter.h"
#include "query/plan/filter_analysis.h"

namespace orrery::query {
namespace {

class NodeTester final : public ValueTester {
public:
    NodeTester(const CompiledQuery& query, const Parameters& parameters, const Condition& condition)
        : query_(query), condition_(condition), evaluation_(query, parameters) {}
    bool passes(const json::Value& value, json::Arena& arena) override {
        begin_with_value(evaluation_, query_, condition_.path, value, arena);
        return std::any_of(condition_.tests.begin(), condition_.tests.end(),
                           [&](const ValueTest& one) {
                               return one.node->test(evaluation_.context) ==
                                      (one.want ? Truth::kTrue : Truth::kFalse);
                           });
    }

private:
    const CompiledQuery& query_;
    const Condition& condition_;
    Evaluation evaluation_;
};

uint64_t count_of(const BoundCount& count, const Parameters& parameters, uint64_t otherwise) {
    switch (count.kind) {
        case BoundCount::Kind::kNone:
            return otherwise;
        case BoundCount::Kind::kConstant:
            return count.value;
        case BoundCount::Kind::kParameter:
            return static_cast<uint64_t>(parameters.values()[count.parameter].as_double());
    }
    return otherwise;
}

/// The items that the filter names, if it names all that can match.
std::optional<std::vector<ItemKey>> pins_of(const PageRequest& request) {
    const auto& key = request.scope.sources[0].settings->key;
    if (request.query.root().sources.size() != 1) return std::nullopt;
    auto candidates = point_candidates(request.query, request.parameters, key.member_paths);
    if (!candidates) return std::nullopt;
    std::vector<ItemKey> pins;
    for (PointCandidate& candidate : *candidates) {
        std::string epk;
        if (candidate.key && candidate.key->size() == key.paths.size()) {
            auto computed = partition::effective_partition_key(key, *candidate.key);
            if (!computed.ok()) continue;  // no item can have such a key
            epk = std::move(computed).value();
        } else if (request.scope.full_epk) {
            epk = *request.scope.full_epk;
        } else {
            return std::nullopt;
        }
        pins.push_back({std::move(epk), std::move(candidate.id)});
    }
    return pins;
}

Filter filter_of(const PageRequest& request, const partition::ContainerSettings& settings) {
    IndexFacts facts;
    facts.is_indexed = [&](const IndexPathSteps& path) { return settings.path_usable(path); };
    facts.posts_undefined = [&](const IndexPathSteps& path) {
        return settings.undefined_usable(path);
    };
    facts.spatial = [&](const IndexPathSteps& path) { return settings.spatial_usable(path); };
    Filter filter = analyze_filter(request.query, request.parameters, facts);
    use_composites(filter, settings);
    return filter;
}

}  // namespace

std::unique_ptr<ValueTester> SqlProducer::value_tester(const Condition& condition) const {
    return std::make_unique<NodeTester>(query_, parameters_, condition);
}

bool is_by_row(const Level& root) {
    return !root.grouped && !root.distinct && root.reads_items &&
           (root.sources[0].query == nullptr || root.sources[0].query->is_streaming());
}

Result<PagePlan> plan_page(const PageRequest& request) {
    const Level& root = request.query.root();
    const Parameters& parameters = request.parameters;
    const bool by_row = is_by_row(root);
    PagePlan plan;
    plan.skip = count_of(root.offset, parameters, 0);
    plan.limit = std::min(count_of(root.limit, parameters, UINT64_MAX),
                          count_of(root.top, parameters, UINT64_MAX));
    plan.shows_items = request.query.returns_whole_item();
    plan.one_source = root.sources.size() == 1;
    plan.heavy = request.query.is_heavy();
    if (by_row && !root.order_by.empty()) plan.order = PagePlan::Order::kIndex;
    // Rows that are sorted in memory need the index that others are read from all the same.
    const bool needs_order = plan.order == PagePlan::Order::kIndex ||
                             (root.distinct && !root.grouped && !root.order_by.empty() &&
                              root.reads_items && root.sources[0].query == nullptr);
    TRY_STATUS(plan_indexes(request.scope, plan, [&](IndexPlan& index) -> Status {
        index.filter = filter_of(request, *index.settings);
        if (!needs_order) return {};
        TRY(index.order, sort_order(request.query, request.scope.use_index, index));
        return {};
    }));
    if (needs_order) align_orders(plan);
    if (by_row && plan.order == PagePlan::Order::kNone) plan.points = pins_of(request);
    return plan;
}

}  // namespace orrery::query
