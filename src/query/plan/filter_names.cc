#include "query/plan/filter_names.h"

#include <algorithm>
#include <utility>

#include "query/bind/nodes.h"
#include "query/functions/functions.h"

namespace orrery::query {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using json::Value;

bool names_one_value(const IndexPathSteps& path) {
    return std::none_of(path.begin(), path.end(),
                        [](const index::PathStep& s) { return s.any_element; });
}

bool is_stored_member(const CompiledQuery& query, const Expr& e, const json::MemberPath& names) {
    return e.kind == ExprKind::kPath && e.args[0]->kind == ExprKind::kIdentifier &&
           e.args[0]->name == query.item_alias() &&
           std::equal(e.steps.begin(), e.steps.end(), names.begin(), names.end(),
                      [](const ast::Step& step, const std::string& name) {
                          return step.is_name() && step.name == name;
                      }) &&
           query.find_computed(e.steps[0].name) == nullptr;
}

void FilterNames::bind(const ast::Query& query, bool outermost) {
    for (size_t i = 0; i < query.sources.size(); ++i) {
        const ast::Source& s = query.sources[i];
        Alias alias;
        alias.name = s.alias;
        if (s.collection != nullptr) {
            const Expr& e = *s.collection;
            if (alias.name.empty() && e.kind == ExprKind::kIdentifier) alias.name = e.name;
            if (alias.name.empty() && e.kind == ExprKind::kPath && e.steps.back().is_name())
                alias.name = e.steps.back().name;
            const bool from_item = outermost && i == 0;
            if (from_item && (e.kind == ExprKind::kIdentifier || e.kind == ExprKind::kPath)) {
                alias.usable = append_steps(e, alias.path);
            } else if (auto path = path_of(e)) {
                alias.path = std::move(*path);
                alias.usable = true;
            }
            if (s.iterate) alias.path.push_back({true, {}});
        }
        aliases_.push_back(std::move(alias));
    }
}

/// Member and element steps; a position in an array is "some element".
bool FilterNames::append_steps(const Expr& e, IndexPathSteps& path) {
    for (const ast::Step& step : e.steps) {
        if (step.is_name()) {
            path.push_back({false, std::string(step.name)});
        } else if (step.kind == ast::StepKind::kIndex) {
            path.push_back({true, {}});
        } else {
            return false;
        }
    }
    return true;
}

const FilterNames::Alias* FilterNames::alias_of(std::string_view name) const {
    for (auto it = aliases_.rbegin(); it != aliases_.rend(); ++it)
        if (it->name == name) return it->usable ? &*it : nullptr;
    return nullptr;
}

std::optional<IndexPathSteps> FilterNames::path_of(const Expr& e) const {
    const Expr* base = e.kind == ExprKind::kPath ? e.args[0] : &e;
    if (base->kind != ExprKind::kIdentifier) return std::nullopt;
    const Alias* alias = alias_of(base->name);
    if (alias == nullptr) return std::nullopt;
    IndexPathSteps path = alias->path;
    if (e.kind == ExprKind::kPath && !append_steps(e, path)) return std::nullopt;
    if (path.empty()) return std::nullopt;
    return path;
}

std::optional<Value> FilterNames::constant(const Expr& e) const {
    if (e.kind == ExprKind::kLiteral) return e.value;
    if (e.kind == ExprKind::kParameter) return parameters_.values()[*query_.find_parameter(e.name)];
    if (e.kind == ExprKind::kUnary && (e.ops[0] == Op::kMinus || e.ops[0] == Op::kPlus) &&
        e.args[0]->kind == ExprKind::kLiteral && e.args[0]->value.is_number())
        return apply_unary(e.ops[0], e.args[0]->value);
    return std::nullopt;
}

std::optional<IndexPathSteps> FilterNames::only_path(const Expr& e) const {
    PathUse use;
    collect(e, use);
    if (!use.simple) return std::nullopt;
    return std::move(use.path);
}

void FilterNames::collect(const Expr& e, PathUse& use) const {
    use.simple = use.simple && e.query == nullptr;
    if (!use.simple) return;
    switch (e.kind) {
        case ExprKind::kIdentifier:
        case ExprKind::kPath: {
            auto path = path_of(e);
            use.simple = path && names_one_value(*path) && (!use.path || *use.path == *path);
            use.path = std::move(path);
            return;
        }
        case ExprKind::kUdfCall:
            use.simple = false;
            return;
        case ExprKind::kCall: {
            const FunctionSpec* spec = find_function(e.name);
            use.simple = spec != nullptr && (spec->family == FunctionFamily::kPure ||
                                             spec->family == FunctionFamily::kConditional);
            break;
        }
        default:
            break;
    }
    for (const Expr* part : e.args) collect(*part, use);
}

}  // namespace orrery::query
