#include "query/plan/selection_plan.h"

#include <algorithm>
#include <cmath>

#include "query/plan/composite_filter.h"
#include "query/plan/filter_names.h"
#include "query/plan/sql_plan.h"

namespace orrery::query {
namespace {

namespace ranges = index::term_ranges;
using Kind = PathCondition::Kind;

class PredicateTester final : public ValueTester {
public:
    explicit PredicateTester(const Condition& condition) : condition_(condition) {}
    bool passes(const json::Value& value, json::Arena&) override {
        return std::any_of(condition_.tests.begin(), condition_.tests.end(),
                           [&](const ValueTest& one) { return one.predicate->holds(value); });
    }

private:
    const Condition& condition_;
};

bool is_nan(const json::Value& value) {
    return value.is_number() && std::isnan(value.as_double());
}

std::vector<index::TermRange> ranges_of(const PathCondition& condition, bool& exact) {
    std::vector<index::TermRange> out;
    switch (condition.kind) {
        case Kind::kOneOf:
            for (const json::Value& value : condition.values) {
                if (value.is_undefined() || is_nan(value)) continue;
                exact &= value.is_scalar();
                out.push_back(ranges::equal(value));
            }
            break;
        case Kind::kRange: {
            const auto is_bound = [](const auto& bound) {
                return !bound || (bound->value.is_scalar() && !is_nan(bound->value));
            };
            const auto& [lower, upper] = std::tie(condition.lower, condition.upper);
            if (!is_bound(lower) || !is_bound(upper)) break;
            if (lower) out.push_back(ranges::above(lower->value, lower->inclusive));
            if (upper) {
                std::vector<index::TermRange> below{ranges::below(upper->value, upper->inclusive)};
                out = lower ? ranges::intersect(out, below) : std::move(below);
            }
            break;
        }
        case Kind::kDefined:
        case Kind::kTested:
            out.push_back(ranges::defined());
            break;
    }
    ranges::normalize(out);
    return out;
}

/// nullopt: the index cannot help.
std::optional<Condition> condition_of(const PathCondition& given,
                                      const partition::ContainerSettings& settings,
                                      const SelectionHint& hint) {
    const bool hinted = hint.kind == SelectionHint::Kind::kNone ||
                        (hint.kind == SelectionHint::Kind::kPath && hint.path == given.path);
    if (!hinted || given.path.empty() || !settings.path_usable(given.path)) return std::nullopt;
    const bool tested = given.kind == Kind::kTested;
    // Entries of elements are some of an item's values: a test may walk one item several times.
    if (tested && !names_one_value(given.path)) return std::nullopt;
    Condition out;
    out.exact = names_one_value(given.path);
    out.path = given.path;
    out.ranges = ranges_of(given, out.exact);
    const bool seeks = given.kind == Kind::kOneOf;
    out.lookup = seeks    ? LookupKind::kSeek
                 : tested ? LookupKind::kFullIndexScan
                          : LookupKind::kPreciseScan;
    out.seeks = tested ? 0 : seeks ? static_cast<uint32_t>(out.ranges.size()) : 1;
    if (tested) out.tests.push_back({.predicate = given.test});
    return out;
}

/// Served where every part is. A test is worth its walk only where nothing else narrows.
std::optional<Condition> condition_of(const AnyCondition& given,
                                      const partition::ContainerSettings& settings,
                                      const SelectionHint& hint, bool with_tests) {
    Condition out;
    out.kind = Condition::Kind::kAny;
    for (const PathCondition& part : given) {
        auto one = condition_of(part, settings, hint);
        if (!one || (!one->tests.empty() && !with_tests)) return std::nullopt;
        out.exact &= one->exact;
        out.seeks += one->seeks;
        if (!one->is_never()) out.parts.push_back(std::move(*one));
    }
    if (out.parts.empty()) return Condition();
    if (out.parts.size() == 1) return std::move(out.parts[0]);
    return out;
}

Filter filter_of(const Selection& selection, const partition::ContainerSettings& settings) {
    Filter filter;
    filter.conjuncts.resize(selection.conditions.size());
    for (const bool with_tests : {false, true})
        for (size_t i = 0; i < filter.conjuncts.size(); ++i) {
            if (with_tests && filter.is_served()) break;
            filter.conjuncts[i].condition =
                condition_of(selection.conditions[i], settings, selection.hint, with_tests);
        }
    if (selection.hint.kind == SelectionHint::Kind::kNone) use_composites(filter, settings);
    // What the residual decides, no index does.
    if (selection.residual != nullptr) filter.conjuncts.emplace_back();
    return filter;
}

SortOrder order_of(const Selection& selection, const IndexPlan& index) {
    SortOrder order;
    std::vector<IndexPathSteps> paths;
    for (const SelectionOrder::Key& key : selection.order.keys) {
        order.descending.push_back(key.descending);
        paths.push_back(key.path);
    }
    order.backward = order.descending[0];
    if (paths.size() > 1) {
        composite_order(paths, selection.scope.use_index, index, order);
    } else {
        path_order(paths[0], selection.scope.use_index, index, order);
    }
    return order;
}

}  // namespace

std::unique_ptr<ValueTester> SelectionProducer::value_tester(const Condition& condition) const {
    return std::make_unique<PredicateTester>(condition);
}

Result<PagePlan> plan_selection(const Selection& selection) {
    PagePlan plan;
    plan.skip = selection.skip;
    plan.limit = selection.limit;
    plan.shows_items = true;
    plan.points = selection.keys;
    plan.backward = selection.order.backward;
    plan.ids = selection.order.ids;
    const bool by_paths =
        selection.order.kind == SelectionOrder::Kind::kPaths && !selection.order.keys.empty();
    if (by_paths) plan.order = PagePlan::Order::kIndex;
    if (selection.order.kind == SelectionOrder::Kind::kPrimary)
        plan.order = PagePlan::Order::kPrimary;
    TRY_STATUS(plan_indexes(selection.scope, plan, [&](IndexPlan& index) -> Status {
        index.filter = filter_of(selection, *index.settings);
        if (by_paths) index.order = order_of(selection, index);
        return {};
    }));
    if (by_paths) align_orders(plan);
    return plan;
}

}  // namespace orrery::query
