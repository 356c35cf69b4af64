#include "query/computed.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/limits.h"
#include "json/item.h"
#include "json/problems.h"
#include "json/select.h"
#include "query/bind/evaluation.h"
#include "query/functions/functions.h"
#include "query/functions/regex.h"
#include "query/parse/diagnostics.h"
#include "query/query.h"

namespace orrery::query {
namespace {

using ast::Expr;
using ast::ExprKind;
using index::ComputedProperties;
using json::Value;

/// {"errors":[…]} with numbers for codes, as definitions are answered.
std::string details(const Error& error) {
    std::vector<QueryProblem> problems = error.details.problems;
    if (problems.empty()) problems = {{"", error.message, "", std::nullopt}};
    for (QueryProblem& problem : problems)
        if (problem.code.starts_with("SC")) problem.code.erase(0, 2);
    return json::problems_text(problems);
}

Error malformed(std::string_view text, size_t place, const Error& error) {
    return errors::bad_request(fmt::format(
        "Computed property at index ({}) has a malformed query: '{}' Error details: '{}'", place,
        text, details(error)));
}

class CompiledProperties final : public ComputedProperties {
public:
    struct Compiled {
        std::shared_ptr<const CompiledQuery> query;
        Parameters parameters;
    };
    CompiledProperties(std::vector<Definition> definitions, std::vector<Compiled> compiled)
        : ComputedProperties(std::move(definitions)), compiled_(std::move(compiled)) {
        std::vector<json::MemberPath> paths;
        for (size_t i = 0; i < compiled_.size(); ++i) {
            if (!this->definitions()[i].indexable) continue;
            const auto& more = compiled_[i].query->output_needs().paths;
            paths.insert(paths.end(), more.begin(), more.end());
        }
        selection_ = json::Selection(paths);
    }

    Status evaluate(const json::Document& document, std::span<const size_t> wanted,
                    json::Arena& arena, std::vector<Value>& values) const override {
        TRY(const Value item, document.select(selection_, arena));
        for (const size_t i : wanted) {
            const CompiledQuery& query = *compiled_[i].query;
            Evaluation evaluation(query, compiled_[i].parameters);
            evaluation.begin(item, arena);
            evaluation.context.slots[query.root().sources[0].slot] = item;
            values.push_back(computed_value(*query.root().value, evaluation.context));
        }
        return {};
    }

    Status check_new() const override {
        for (size_t i = 0; i < compiled_.size(); ++i)
            TRY_STATUS(check_patterns(i, *compiled_[i].query->syntax().value));
        return {};
    }

private:
    /// Patterns are compiled when there is a text to match, and a failure leaves the value
    /// undefined. Check them here, or a pattern that never works would go unnoticed.
    Status check_patterns(size_t place, const Expr& e) const {
        const FunctionSpec* spec = e.kind == ExprKind::kCall ? find_function(e.name) : nullptr;
        if (spec != nullptr && spec->name == "REGEXMATCH" && is_text(*e.args[1]) &&
            (e.args.size() < 3 || is_text(*e.args[2]))) {
            EvalContext context;
            regex_match(context, "", e.args[1]->value.as_string(),
                        e.args.size() < 3 ? "" : e.args[2]->value.as_string());
            if (const Status status = context.take_status(); !status.ok())
                return Status(malformed(definitions()[place].query, place, status.error()));
        }
        for (const Expr* part : e.args) TRY_STATUS(check_patterns(place, *part));
        for (const ast::Step& step : e.steps)
            if (step.expr != nullptr) TRY_STATUS(check_patterns(place, *step.expr));
        return {};
    }
    static bool is_text(const Expr& e) {
        return e.kind == ExprKind::kLiteral && e.value.is_string();
    }

    const std::vector<Compiled> compiled_;
    json::Selection selection_;  ///< what the indexable ones look at
};

/// Finds what the expression of a definition may not contain.
class Restrictions {
public:
    Restrictions(const Syntax& syntax, const std::vector<ComputedProperties::Definition>& all,
                 size_t own)
        : query_(*syntax.query), diagnostics_(syntax.text), all_(all), own_(own) {}

    Diagnostics check() {
        clauses();
        if (query_.value != nullptr) expr(*query_.value);
        return std::move(diagnostics_);
    }

private:
    void refuse(ast::Range range, std::string_view what) {
        diagnostics_.add("", range,
                         fmt::format("{} is not allowed in a computed property definition.", what));
    }

    void clauses() {
        const bool root = query_.sources.size() == 1 && query_.sources[0].collection != nullptr &&
                          !query_.sources[0].iterate &&
                          query_.sources[0].collection->kind == ExprKind::kIdentifier;
        if (query_.sources.size() > 1) {
            refuse(query_.sources[1].range, "A JOIN");
        } else if (!root) {
            diagnostics_.add("", query_.sources.empty() ? query_.range : query_.sources[0].range,
                             "A computed property definition must select FROM the container "
                             "itself.");
        }
        if (query_.distinct) refuse(query_.range, "DISTINCT");
        if (query_.top != nullptr) refuse(query_.top_range, "TOP");
        if (query_.where != nullptr) refuse(query_.where->range, "A WHERE clause");
        if (!query_.group_by.empty()) refuse(query_.group_by[0]->range, "GROUP BY");
        if (!query_.order_by.empty()) refuse(query_.order_by_range, "ORDER BY");
        if (query_.offset != nullptr) refuse(query_.offset_limit_range, "OFFSET LIMIT");
    }

    void expr(const Expr& e) {
        if (e.query != nullptr) return refuse(e.range, "A subquery");
        switch (e.kind) {
            case ExprKind::kParameter:
                return refuse(e.range, fmt::format("The parameter '{}'", e.name));
            case ExprKind::kUdfCall:
                return refuse(e.range, "A user-defined function");
            case ExprKind::kCall:
                call(e);
                break;
            case ExprKind::kPath:
                path(e);
                break;
            default:
                break;
        }
        for (const Expr* part : e.args) expr(*part);
        for (const ast::Step& step : e.steps)
            if (step.expr != nullptr) expr(*step.expr);
    }

    void call(const Expr& e) {
        const FunctionSpec* spec = find_function(e.name);
        if (spec == nullptr) return;  // the binder says so
        switch (spec->family) {
            case FunctionFamily::kPure:
            case FunctionFamily::kConditional:
                return;
            case FunctionFamily::kAggregate:
                return refuse(e.range, fmt::format("The aggregate function {}", e.name));
            case FunctionFamily::kVolatile:
                return refuse(e.range, fmt::format("The nondeterministic function {}", e.name));
            case FunctionFamily::kSpatial:
                return refuse(e.range, fmt::format("The spatial function {}", e.name));
            default:
                return refuse(e.range, fmt::format("The function {}", e.name));
        }
    }

    /// The own name is what the item stores.
    void path(const Expr& e) {
        if (e.args[0]->kind != ExprKind::kIdentifier || !e.steps[0].is_name()) return;
        for (size_t i = 0; i < all_.size(); ++i)
            if (i != own_ && all_[i].name == e.steps[0].name)
                refuse(e.range, fmt::format("The computed property '{}'", all_[i].name));
    }

    const ast::Query& query_;
    Diagnostics diagnostics_;
    const std::vector<ComputedProperties::Definition>& all_;
    const size_t own_;
};

Result<std::shared_ptr<const CompiledQuery>> compile_definition(
    const std::vector<ComputedProperties::Definition>& all, size_t own) {
    const std::string& text = all[own].query;
    auto syntax = parse_query(text);
    if (!syntax.ok()) return malformed(text, own, syntax.error());
    if ((*syntax)->query->select_kind != ast::SelectKind::kValue)
        return errors::bad_request(
            fmt::format("Required VALUE expression missing from computed property query '{}' at "
                        "index ({}).",
                        text, own));
    const Diagnostics refused = Restrictions(**syntax, all, own).check();
    if (!refused.empty()) return malformed(text, own, refused.to_error());
    auto compiled = compile_syntax(std::move(*syntax));
    if (!compiled.ok()) return malformed(text, own, compiled.error());
    const Status runnable = (*compiled)->check_runnable();
    if (!runnable.ok()) return malformed(text, own, runnable.error());
    return compiled;
}

Status check_not_empty(std::string_view text, std::string_view name) {
    if (!text.empty()) return {};
    return Status(errors::bad_request(
        fmt::format("Computed property '{}' is either empty or unspecified.", name)));
}

}  // namespace

Result<index::ComputedPropertiesPtr> compile_computed_properties(
    const std::vector<index::ComputedProperty>& list) {
    if (list.empty()) return index::ComputedPropertiesPtr();
    if (list.size() > orrery::limits::kComputedPropertiesMax)
        return errors::bad_request(
            fmt::format("A container can have at most {} computed properties.",
                        orrery::limits::kComputedPropertiesMax));
    std::vector<ComputedProperties::Definition> definitions;
    for (const index::ComputedProperty& entry : list) {
        ComputedProperties::Definition definition{entry};
        TRY_STATUS(check_not_empty(entry.name, "name"));
        TRY_STATUS(check_not_empty(entry.query, "query"));
        if (definition.name == "id" || json::is_system_property(definition.name))
            return errors::bad_request(
                fmt::format("The system property name '{}' cannot be used as a computed property "
                            "name.",
                            definition.name));
        for (const auto& other : definitions)
            if (other.name == definition.name)
                return errors::bad_request(fmt::format(
                    "Computed property name '{}' cannot be used in multiple definitions.",
                    definition.name));
        definitions.push_back(std::move(definition));
    }
    std::vector<CompiledProperties::Compiled> compiled;
    for (size_t i = 0; i < definitions.size(); ++i) {
        TRY(auto query, compile_definition(definitions, i));
        TRY(auto parameters, Parameters::bind(*query, Value()));
        definitions[i].indexable = !query->output_needs().whole && !query->output_needs().system;
        compiled.push_back({std::move(query), std::move(parameters)});
    }
    return index::ComputedPropertiesPtr(
        std::make_shared<CompiledProperties>(std::move(definitions), std::move(compiled)));
}

}  // namespace orrery::query
