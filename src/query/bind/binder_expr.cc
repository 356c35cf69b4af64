#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/encoding.h"
#include "json/text.h"
#include "query/bind/binder.h"
#include "query/parse/comparisons.h"
#include "query/parse/hints.h"
#include "query/parse/number.h"
#include "query/parse/printer.h"

namespace orrery::query {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using json::Value;

namespace {

constexpr uint64_t kWeightMax = UINT32_MAX;
/// Below this, a value is at most so many times as large as an item: no need to measure it.
constexpr uint64_t kHarmlessWeight = 64;
constexpr size_t kFoldedBytesMax = 4096;
constexpr size_t kSetMin = 8;

const FunctionSpec* spec_of(const Expr& e) {
    return e.kind == ExprKind::kCall ? find_function(e.name) : nullptr;
}

template <typename Visit>
void for_each_child(const Expr& e, Visit visit) {
    for (const Expr* arg : e.args) visit(*arg);
    for (const ast::Step& step : e.steps)
        if (step.expr != nullptr) visit(*step.expr);
}

}  // namespace

size_t count_aggregates(const Expr& e) {
    const FunctionSpec* spec = spec_of(e);
    size_t count = spec != nullptr && spec->family == FunctionFamily::kAggregate ? 1 : 0;
    for_each_child(e, [&](const Expr& child) { count += count_aggregates(child); });
    return count;
}

bool contains_subquery(const Expr& e) {
    if (e.query != nullptr) return true;
    bool found = false;
    for_each_child(e, [&](const Expr& child) { found = found || contains_subquery(child); });
    return found;
}

const Binding* Binder::find(std::string_view name, const Scope& scope, const Scope*& owner) {
    static const Binding kItemBinding{{}, {}, kItemSlot, Origin::kItem, 1, true};
    for (const Scope* s = &scope; s != nullptr; s = s->outer) {
        owner = s;
        if (s->any_name_is_item) return &kItemBinding;
        for (const Binding& binding : s->bindings)
            if (binding.name == name && !name.empty()) return &binding;
    }
    return nullptr;
}

uint32_t Binder::parameter(std::string_view name) {
    auto& names = query_.parameters_;
    const auto [it, added] =
        query_.parameter_places_.emplace(name, static_cast<uint32_t>(names.size()));
    if (added) names.push_back(name);
    return it->second;
}

Bound Binder::folded(Bound bound, bool constant) {
    if (!constant) return bound;
    scratch_.clear();
    EvalContext context;
    context.space = query_.space_;
    context.arena = &scratch_;
    context.begin_item();
    const Value v = bound.node->eval(context);
    if (context.failed() || bounded_size(v, kFoldedBytesMax) > kFoldedBytesMax) return bound;
    return {make<ConstantNode>(json::copy_value(v, arena())), 1, nullptr};
}

std::span<const Node* const> Binder::operands(std::span<const Expr* const> args, Scope& scope,
                                              uint64_t& weight, bool& constant) {
    std::vector<const Node*> nodes;
    nodes.reserve(args.size());
    for (const Expr* arg : args) {
        const Bound bound = expr(*arg, scope);
        weight = std::min(weight + bound.weight, kWeightMax);
        constant = constant && bound.is_constant();
        nodes.push_back(bound.node);
    }
    return keep(nodes);
}

Bound Binder::expr(const Expr& e, Scope& scope) {
    if (diagnostics_->full()) return nothing();
    // A group key may be any expression; references look for prefixes by themselves.
    if (scope.grouped_select && !scope.group_by.empty() && e.kind != ExprKind::kIdentifier &&
        e.kind != ExprKind::kPath && e.kind != ExprKind::kLiteral) {
        if (const auto key = scope.group_key(ast::fingerprint(e), e))
            return {make<SlotNode>(scope.group_slot + *key), 1, nullptr};
    }
    switch (e.kind) {
        case ExprKind::kLiteral:
            return {make<ConstantNode>(e.value), 1, nullptr};
        case ExprKind::kIdentifier:
            return reference(e, scope);
        case ExprKind::kParameter:
            return {make<ParameterNode>(parameter(e.name)), 1, nullptr};
        case ExprKind::kPath:
            return path(e, scope);
        case ExprKind::kArray:
        case ExprKind::kObject:
            return constructor(e, scope);
        case ExprKind::kUnary:
            return unary(e, scope);
        case ExprKind::kBinary:
            return binary(e, scope);
        case ExprKind::kIn:
            return in(e, scope);
        case ExprKind::kLike:
            return like(e, scope);
        case ExprKind::kCall:
            return call(e, scope);
        case ExprKind::kConditional:
        case ExprKind::kBetween:
        case ExprKind::kUdfCall:
            break;
        default:
            return subquery(e, scope);
    }
    uint64_t weight = 0;
    bool constant = true;
    const auto nodes = operands(e.args, scope, weight, constant);
    if (e.kind == ExprKind::kUdfCall) {
        query_.has_udf_ = true;
        return {make<UdfNode>(e.name, nodes), 1, nullptr};
    }
    if (e.kind == ExprKind::kBetween)
        return folded({make<BetweenNode>(nodes[0], nodes[1], nodes[2], e.negated), 1, nullptr},
                      constant);
    return folded({make<ConditionalNode>(nodes[0], nodes[1], nodes[2]), weight, nullptr}, constant);
}

// --- names and paths ----------------------------------------------------------------------------

Bound Binder::reference(const Expr& e, Scope& scope) {
    const Expr& base = e.kind == ExprKind::kPath ? *e.args[0] : e;
    const Scope* owner = nullptr;
    const Binding* binding = find(base.name, scope, owner);
    if (binding == nullptr) {
        Value number;
        if (base.name == "NaN") number = Value::number(std::numeric_limits<double>::quiet_NaN());
        if (base.name == "Infinity")
            number = Value::number(std::numeric_limits<double>::infinity());
        if (number.is_undefined()) {
            unknown_name(base, e.kind == ExprKind::kIdentifier, scope);
            return nothing();
        }
        return e.kind == ExprKind::kPath ? nothing()
                                         : Bound{make<ConstantNode>(number), 1, nullptr};
    }
    if (owner->grouped_select) return grouped_reference(e, *owner, scope);
    if (e.kind == ExprKind::kIdentifier)
        return {make<SlotNode>(binding->slot), binding->weight, nullptr};
    const auto bound_steps = steps(e.steps, scope);
    if (binding->is_item && query_.container_computed_ != nullptr)
        return item_path(*binding, bound_steps);
    const auto* node = make<SlotPathNode>(binding->slot, bound_steps);
    return {node, binding->weight, node};
}

void Binder::unknown_name(const Expr& base, bool bare, const Scope& scope) {
    std::vector<hints::KnownName> known;
    for (const Scope* level = &scope; level != nullptr; level = level->outer)
        for (auto it = level->bindings.rbegin(); it != level->bindings.rend(); ++it)
            if (!it->name.empty())
                known.push_back(
                    {it->name, it->source == it->name ? std::string_view() : it->source});
    diagnostics_->add("SC2001", base.range,
                      fmt::format("Identifier '{}' could not be resolved.", base.name),
                      hints::unknown_name(base.name, known, bare));
}

/// A name in the SELECT clause of a grouped level: the longest group key that is a prefix of it.
Bound Binder::grouped_reference(const Expr& e, const Scope& owner, Scope& scope) {
    const Expr& base = e.kind == ExprKind::kPath ? *e.args[0] : e;
    std::vector<uint64_t> fingerprints = {ast::fingerprint(base)};  // of the prefixes
    for (const ast::Step& step : e.steps)
        fingerprints.push_back(ast::extended_fingerprint(fingerprints.back(), step));
    std::optional<uint32_t> key;
    size_t length = fingerprints.size();
    while (!key && length-- > 0) {
        Expr prefix = length == 0 ? base : e;
        if (length > 0) prefix.steps = e.steps.first(length);
        key = owner.group_key(fingerprints[length], prefix);
    }
    if (!key) {
        diagnostics_->add(
            "SC2102", e.range,
            fmt::format("Property reference '{}' is invalid in the select list because "
                        "it is not contained in either an aggregate function or the "
                        "GROUP BY clause.",
                        to_text(e)),
            hints::not_grouped(to_text(e)));
        return nothing();
    }
    const uint32_t slot = owner.group_slot + *key;
    if (length == e.steps.size()) return {make<SlotNode>(slot), 1, nullptr};
    return {make<SlotPathNode>(slot, steps(e.steps.subspan(length), scope)), 1, nullptr};
}

Bound Binder::path(const Expr& e, Scope& scope) {
    if (e.args[0]->kind == ExprKind::kIdentifier) return reference(e, scope);
    const Bound base = expr(*e.args[0], scope);
    const auto bound_steps = steps(e.steps, scope);
    const bool constant =
        base.is_constant() &&
        std::none_of(bound_steps.begin(), bound_steps.end(),
                     [](const PathStep& step) { return step.kind == PathStep::Kind::kParameter; });
    return folded({make<PathNode>(base.node, bound_steps), base.weight, nullptr}, constant);
}

std::span<const PathStep> Binder::steps(std::span<const ast::Step> from, Scope& scope) {
    std::vector<PathStep> bound;
    bound.reserve(from.size());
    for (const ast::Step& step : from) {
        PathStep out;
        Value key = step.index;
        if (step.is_name()) {
            key = Value::string(step.name);
        } else if (step.kind == ast::StepKind::kExpr && step.expr->kind == ExprKind::kParameter) {
            out.kind = PathStep::Kind::kParameter;
            out.index = parameter(step.expr->name);
            bound.push_back(out);
            continue;
        } else if (step.kind == ast::StepKind::kExpr) {
            const Bound index = expr(*step.expr, scope);
            if (!index.is_constant()) {
                diagnostics_->add(
                    "SC2990", step.range,
                    "The specified query includes 'member indexer' which is currently "
                    "not supported.");
                continue;
            }
            key = *index.node->constant();
        }
        const auto index = exact_int64(key);
        if (key.is_string()) {
            out.name = key.as_string();
        } else if (index && *index >= 0) {
            out.kind = PathStep::Kind::kIndex;
            out.index = static_cast<uint64_t>(*index);
        } else {
            out.kind = PathStep::Kind::kNothing;
        }
        bound.push_back(out);
    }
    return keep(bound);
}

// --- operators ----------------------------------------------------------------------------------

Bound Binder::constructor(const Expr& e, Scope& scope) {
    uint64_t weight = 0;
    bool constant = true;
    const auto nodes = operands(e.args, scope, weight, constant);
    const bool check = weight > kHarmlessWeight && !constant;
    if (e.kind == ExprKind::kArray)
        return folded({make<ArrayNode>(nodes, check), weight, nullptr}, constant);
    std::vector<std::string_view> names(e.names.begin(), e.names.end());
    std::vector<const Node*> values(nodes.begin(), nodes.end());
    // The last of several members of one name counts, as in JSON.
    std::unordered_map<std::string_view, size_t, KeyedHash> last;
    for (size_t i = 0; i < names.size(); ++i) last[names[i]] = i;
    if (last.size() < names.size()) {
        size_t kept = 0;
        for (size_t i = 0; i < names.size(); ++i) {
            if (last[names[i]] != i) continue;
            names[kept] = names[i];
            values[kept++] = values[i];
        }
        names.resize(kept);
        values.resize(kept);
    }
    return folded({make<ObjectNode>(keep(names), keep(values), check), weight, nullptr}, constant);
}

Bound Binder::unary(const Expr& e, Scope& scope) {
    const Bound operand = expr(*e.args[0], scope);
    if (e.ops[0] == Op::kNot)
        return folded({make<NotNode>(operand.node), 1, nullptr}, operand.is_constant());
    return folded({make<UnaryNode>(e.ops[0], operand.node), 1, nullptr}, operand.is_constant());
}

Bound Binder::comparison(Op op, const Bound& left, const Bound& right) {
    const bool constant = left.is_constant() && right.is_constant();
    if (left.path != nullptr && right.is_constant())
        return {make<CompareConstantNode>(op, left.path->slot(), left.path->steps(),
                                          *right.node->constant()),
                1, nullptr};
    if (right.path != nullptr && left.is_constant())
        return {make<CompareConstantNode>(mirrored(op), right.path->slot(), right.path->steps(),
                                          *left.node->constant()),
                1, nullptr};
    return folded({make<CompareNode>(op, left.node, right.node), 1, nullptr}, constant);
}

Bound Binder::binary(const Expr& e, Scope& scope) {
    const Op first = e.ops[0];
    const bool compares = first >= Op::kEqual && first <= Op::kGreaterEqual;
    if (compares && e.ops.size() == 1) {
        const Bound left = expr(*e.args[0], scope);
        return comparison(first, left, expr(*e.args[1], scope));
    }
    uint64_t weight = 0;
    bool constant = true;
    const auto nodes = operands(e.args, scope, weight, constant);
    if (first == Op::kAnd || first == Op::kOr)
        return folded({make<LogicNode>(first, nodes), 1, nullptr}, constant);
    if (first == Op::kCoalesce)
        return folded({make<CoalesceNode>(nodes), weight, nullptr}, constant);
    return folded({make<ChainNode>(e.ops, nodes), weight, nullptr}, constant);
}

Bound Binder::in(const Expr& e, Scope& scope) {
    const Bound value = expr(*e.args[0], scope);
    uint64_t weight = 0;
    bool constant = true;
    const auto list = operands(e.args.subspan(1), scope, weight, constant);
    const ValueSet* constants = nullptr;
    std::vector<const Node*> others;
    if (list.size() >= kSetMin) {
        auto set = std::make_unique<ValueSet>();
        for (const Node* element : list) {
            const Value* v = element->constant();
            const bool usable = v != nullptr && !v->is_undefined() &&
                                !(v->is_number() && std::isnan(v->as_double()));
            if (usable) {
                set->insert(*v);
            } else {
                others.push_back(element);
            }
        }
        constants = set.get();
        query_.sets_.push_back(std::move(set));
    } else {
        others.assign(list.begin(), list.end());
    }
    return folded({make<InNode>(value.node, keep(others), constants, e.negated), 1, nullptr},
                  constant && value.is_constant());
}

Bound Binder::like(const Expr& e, Scope& scope) {
    const Bound value = expr(*e.args[0], scope);
    const Bound pattern = expr(*e.args[1], scope);
    char32_t escape = 0;
    if (e.value.is_string()) {
        const std::u32string characters = json::decode_utf8(e.value.as_string());
        if (characters.size() == 1) {
            escape = characters[0];
        } else {
            diagnostics_->add("", e.range,
                              "The ESCAPE of a LIKE must be a string of exactly one character.",
                              hints::kEscape);
        }
    }
    const LikePattern* compiled = nullptr;
    const Value* text = pattern.node->constant();
    if (text != nullptr && text->is_string()) {
        query_.patterns_.push_back(std::make_unique<const LikePattern>(text->as_string(), escape));
        compiled = query_.patterns_.back().get();
    }
    return folded(
        {make<LikeNode>(value.node, pattern.node, compiled, escape, e.negated), 1, nullptr},
        value.is_constant() && pattern.is_constant());
}

// --- subqueries ---------------------------------------------------------------------------------

namespace {

/// Whether the shape of a subquery shows that it can return several rows.
bool returns_many(const Level& level) {
    if (level.grouped) return false;
    for (const BoundSource& source : level.sources)
        if (source.iterate || (source.query != nullptr && returns_many(*source.query))) return true;
    return false;
}

}  // namespace

Bound Binder::subquery(const Expr& e, Scope& scope) {
    uint64_t weight = 1;
    const Level* level = query(*e.query, &scope, Place::kSubquery, false, weight);
    if (e.kind == ExprKind::kSubquery && returns_many(*level)) {
        diagnostics_->add("", e.range,
                          "The cardinality of a scalar subquery result set cannot be greater than "
                          "one.",
                          hints::kSeveralRows);
        return nothing();
    }
    return {make<SubqueryNode>(e.kind, level), weight, nullptr};
}

}  // namespace orrery::query
