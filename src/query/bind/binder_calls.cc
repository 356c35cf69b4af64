#include <fmt/format.h>

#include <algorithm>

#include "query/bind/binder.h"
#include "query/parse/hints.h"
#include "query/parse/printer.h"

/// Calls of functions: counts of arguments, aggregates, geometries that are known before any item.
namespace orrery::query {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using json::Value;

bool Binder::check_count(const Expr& e, const FunctionSpec& spec) {
    const size_t count = e.args.size();
    const bool at_end = count == spec.args_min || count == spec.args_max;
    if (count >= spec.args_min && (spec.args_max == kAnyCount || count <= spec.args_max) &&
        (at_end || !spec.none_between))
        return true;
    std::string wanted;
    if (spec.args_max == kAnyCount) {
        wanted = fmt::format("at least {}", spec.args_min);
    } else if (spec.args_min == spec.args_max) {
        wanted = fmt::format("{}", spec.args_min);
    } else {
        wanted =
            fmt::format("{} {} {}", spec.args_min, spec.none_between ? "or" : "to", spec.args_max);
    }
    diagnostics_->add("SC2050", e.range,
                      fmt::format("The {} function requires {} argument(s).", e.name, wanted),
                      hints::argument_count(count));
    return false;
}

Bound Binder::call(const Expr& e, Scope& scope) {
    const FunctionSpec* spec = find_function(e.name);
    if (spec == nullptr) {
        diagnostics_->add("SC2005", e.name_range,
                          fmt::format("'{}' is not a recognized built-in function name.", e.name),
                          hints::unknown_function(e.name));
        return nothing();
    }
    if (!check_count(e, *spec)) return nothing();
    if (spec->family == FunctionFamily::kAggregate) return aggregate(e, *spec, scope);
    if (spec->call == nullptr && spec->family != FunctionFamily::kConditional)
        return refused_function(e, *spec, scope);
    uint64_t weight = 0;
    bool constant = true;
    const auto nodes = operands(e.args, scope, weight, constant);
    if (spec->family == FunctionFamily::kConditional)
        return folded({make<ConditionalNode>(nodes[0], nodes[1], nodes[2]), weight, nullptr},
                      constant);
    if (spec->family == FunctionFamily::kSpatial && !constant) return spatial(e, *spec, nodes);
    return folded({make<CallNode>(spec->call, nodes), std::max<uint64_t>(weight, 1), nullptr},
                  constant && spec->family != FunctionFamily::kVolatile);
}

namespace {

/// Nothing but literals, however large: ones that are too large to be kept as values, too.
bool is_literal(const Expr& e) {
    const bool composed = e.kind == ExprKind::kArray || e.kind == ExprKind::kObject ||
                          (e.kind == ExprKind::kUnary && e.ops[0] != Op::kNot);
    if (!composed) return e.kind == ExprKind::kLiteral;
    return std::all_of(e.args.begin(), e.args.end(),
                       [](const Expr* part) { return is_literal(*part); });
}

}  // namespace

SpatialNode::Argument Binder::spatial_argument(const Expr& e, const Node* node) {
    using Source = SpatialNode::Argument::Source;
    SpatialNode::Argument argument{.node = node};
    if (e.kind == ExprKind::kParameter) {
        argument.source = Source::kParameter;
        argument.parameter = parameter(e.name);
        std::vector<uint32_t>& known = query_.geometry_parameters_;
        if (std::find(known.begin(), known.end(), argument.parameter) == known.end())
            known.push_back(argument.parameter);
        return argument;
    }
    if (node->constant() == nullptr && !is_literal(e)) return argument;
    scratch_.clear();
    EvalContext context;
    context.space = query_.space_;
    context.arena = &scratch_;
    context.begin_item();
    auto geometry = index::Geometry::parse(node->eval(context), nullptr, query_.space_);
    if (context.failed()) return argument;
    argument.source = Source::kConstant;
    if (geometry) {
        query_.geometries_.push_back(std::make_unique<const index::Geometry>(std::move(*geometry)));
        argument.constant = query_.geometries_.back().get();
    }
    return argument;
}

Bound Binder::spatial(const Expr& e, const FunctionSpec& spec, std::span<const Node* const> nodes) {
    const auto relation = spatial_relation(spec.name);
    if (!relation) return {make<CallNode>(spec.call, nodes), 1, nullptr};
    const auto* node = make<SpatialNode>(*relation, spatial_argument(*e.args[0], nodes[0]),
                                         spatial_argument(*e.args[1], nodes[1]));
    query_.spatial_calls_.emplace(&e, node);
    return {node, 1, nullptr};
}

namespace {

Value not_carried_out(EvalContext&, Arguments) {
    return {};
}

}  // namespace

Bound Binder::refused_function(const Expr& e, const FunctionSpec& spec, Scope& scope) {
    if (spec.name == "FULLTEXTSCORE") {
        diagnostics_->add(
            "SC2240", e.range,
            "The FullTextScore function is only allowed in the ORDER BY RANK clause.");
        return nothing();
    }
    if (spec.family == FunctionFamily::kVector && e.args.size() == 4 &&
        e.args[3]->kind == ExprKind::kObject) {
        const Expr& options = *e.args[3];
        for (size_t i = 0; i < options.args.size(); ++i) {
            const Value& v = options.args[i]->value;
            if (options.names[i] != "searchListSizeMultiplier" ||
                options.args[i]->kind != ExprKind::kLiteral || !v.is_number())
                continue;
            if (v.as_double() >= 1 && v.as_double() <= 100) continue;
            diagnostics_->add(
                "SC2213", e.range,
                fmt::format("The 'searchListSizeMultiplier' value {} specified in the "
                            "VectorDistance function is outside the supported range. "
                            "The value must be between 1 and 100.",
                            to_text(*options.args[i])));
            return nothing();
        }
    }
    // Clients may still ask for a plan; running the query is refused.
    Diagnostics refusal(query_.text());
    refusal.add("", e.range,
                fmt::format("The {} function is not supported by this server version.", e.name),
                hints::refused_function(spec.name));
    refuse(refusal.to_error());
    // No constant: a plan must not take the call for one that is never true.
    uint64_t weight = 0;
    bool constant = true;
    return {make<CallNode>(&not_carried_out, operands(e.args, scope, weight, constant)), 1,
            nullptr};
}

Bound Binder::aggregate(const Expr& e, const FunctionSpec& spec, Scope& scope) {
    if (!scope.grouped_select) {
        diagnostics_->add("", e.range,
                          fmt::format("The aggregate function {} is only allowed in the SELECT "
                                      "clause.",
                                      e.name));
        return nothing();
    }
    const Expr& argument = *e.args[0];
    if (count_aggregates(argument) > 0 || contains_subquery(argument)) {
        diagnostics_->add("SC2101", e.range,
                          "Cannot perform an aggregate function on an expression containing an "
                          "aggregate or a subquery.");
        return nothing();
    }
    static constexpr std::pair<std::string_view, AggregateKind> kKinds[] = {
        {"COUNT", AggregateKind::kCount},       {"SUM", AggregateKind::kSum},
        {"AVG", AggregateKind::kAverage},       {"MIN", AggregateKind::kMin},
        {"MAX", AggregateKind::kMax},           {"COUNTIF", AggregateKind::kCountIf},
        {"MAKELIST", AggregateKind::kMakeList}, {"MAKESET", AggregateKind::kMakeSet},
    };
    BoundAggregate bound;
    for (const auto& [name, kind] : kKinds)
        if (name == spec.name) bound.kind = kind;
    scope.grouped_select = false;  // inside an aggregate, names mean the rows again
    bound.argument = expr(argument, scope).node;
    scope.grouped_select = true;
    const auto slot =
        static_cast<uint32_t>(scope.group_slot + scope.group_by.size() + scope.aggregates->size());
    scope.aggregates->push_back(bound);
    return {make<SlotNode>(slot), 1, nullptr};
}

}  // namespace orrery::query
