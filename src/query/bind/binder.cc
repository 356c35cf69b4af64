#include "query/bind/binder.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/errors.h"
#include "query/limits.h"
#include "query/parse/hints.h"
#include "query/parse/number.h"
#include "query/parse/printer.h"

namespace orrery::query {

using ast::Expr;
using ast::ExprKind;

Binder::Binder(CompiledQuery& query, index::GeometrySpace space) : query_(query) {
    query_.space_ = space;
}

Status Binder::run(std::unique_ptr<Syntax> syntax, index::ComputedPropertiesPtr computed) {
    query_.container_computed_ = std::move(computed);
    query_.syntax_ = std::move(syntax);
    diagnostics_.emplace(query_.syntax_->text);
    uint64_t weight = 1;
    query_.root_ = query(*query_.syntax_->query, nullptr, Place::kTop, true, weight);
    if (!diagnostics_->empty()) return Status(diagnostics_->to_error());
    if (plain_error_) return Status(std::move(*plain_error_));
    note_properties(*query_.syntax_->query, *query_.root_);
    return {};
}

Result<std::shared_ptr<const CompiledQuery>> compile_syntax(std::unique_ptr<Syntax> syntax,
                                                            index::ComputedPropertiesPtr computed,
                                                            index::GeometrySpace space) {
    auto query = std::make_shared<CompiledQuery>();
    TRY_STATUS(Binder(*query, space).run(std::move(syntax), std::move(computed)));
    return std::shared_ptr<const CompiledQuery>(std::move(query));
}

const Level* Binder::query(const ast::Query& q, const Scope* outer, Place place, bool root_driven,
                           uint64_t& weight) {
    if (place != Place::kTop) {
        query_.has_subquery_ = true;
        refuse_in_subquery(q);
    }
    auto* level = new (arena().allocate(sizeof(Level), alignof(Level))) Level();
    level->syntax = &q;
    Scope scope;
    scope.outer = outer;
    std::vector<BoundAggregate> aggregates;
    scope.aggregates = &aggregates;
    std::vector<BoundSource> sources;
    for (size_t i = 0; i < q.sources.size(); ++i)
        sources.push_back(source(q.sources[i], i, scope, root_driven));
    level->sources = keep(sources);
    level->reads_items = root_driven && !sources.empty() &&
                         (sources[0].query == nullptr || sources[0].query->reads_items);
    if (q.where != nullptr) level->where = expr(*q.where, scope).node;
    group_by(q, scope, *level);
    const Bound value = projection(q, scope);
    scope.grouped_select = false;
    level->value = value.node;
    weight = value.weight;
    level->distinct = q.distinct;
    if (place == Place::kTop) {
        order_by(q, scope, *level);
        level->top = count(q.top, kTopClause);
        level->offset = count(q.offset, kOffsetClause);
        level->limit = count(q.limit, kLimitClause);
    }
    level->aggregates = keep(aggregates);
    return level;
}

void Binder::refuse_in_subquery(const ast::Query& q) {
    if (!q.order_by.empty() && q.order_by_rank)
        diagnostics_->add("SC2228", q.order_by_range,
                          "The ORDER BY RANK clause is not supported in subqueries.");
    if (!q.order_by.empty() && !q.order_by_rank)
        diagnostics_->add("SC2202", q.order_by_range, "'ORDER BY' is not supported in subqueries.");
    if (q.top != nullptr)
        diagnostics_->add("SC2203", q.top_range, "'TOP' is not supported in subqueries.");
    if (q.offset != nullptr)
        diagnostics_->add("SC2204", q.offset_limit_range,
                          "'OFFSET LIMIT' clause is not supported in subqueries.");
}

// --- FROM ---------------------------------------------------------------------------------------

std::string_view source_name(const ast::Source& s) {
    if (!s.alias.empty() || s.collection == nullptr) return s.alias;
    return natural_name(*s.collection);
}

BoundSource Binder::source(const ast::Source& s, size_t index, Scope& scope, bool root_driven) {
    BoundSource bound;
    bound.iterate = s.iterate;
    Binding binding;
    if (s.query != nullptr) {
        const bool first = index == 0;
        bound.query = query(*s.query, first ? scope.outer : &scope,
                            first ? Place::kFirstSource : Place::kSubquery, first && root_driven,
                            binding.weight);
        binding.origin = s.iterate ? Origin::kCorrelated : Origin::kSubquery;
    } else {
        // The first source of the outermost query starts at the container, whatever its name.
        Scope container;
        container.any_name_is_item = true;
        Scope& from = index == 0 && root_driven ? container : scope;
        const Bound collection = expr(*s.collection, from);
        bound.node = collection.node;
        binding.weight = collection.weight;
        if (s.collection->kind == ExprKind::kIdentifier && !s.iterate) {
            const Scope* owner = nullptr;
            const Binding* same = find(s.collection->name, from, owner);
            binding.is_item = same != nullptr && same->is_item;
        }
        if (s.iterate || index > 0 || !root_driven) {
            binding.origin = Origin::kCorrelated;
        } else {
            binding.origin =
                s.collection->kind == ExprKind::kIdentifier ? Origin::kItem : Origin::kItemPath;
        }
    }
    binding.name = source_name(s);
    if (s.collection != nullptr && s.collection->kind == ExprKind::kIdentifier)
        binding.source = s.collection->name;
    // A source without a name still needs a slot for SELECT *.
    binding.slot = query_.slot_count_++;
    bound.slot = binding.slot;
    add_alias(s, scope, binding);
    return bound;
}

void Binder::add_alias(const ast::Source& s, Scope& scope, Binding binding) {
    if (!binding.name.empty()) {
        for (const Binding& other : scope.bindings) {
            if (other.name != binding.name) continue;
            diagnostics_->add("", s.alias_range,
                              fmt::format("The input alias '{}' is specified more than once in the "
                                          "FROM clause.",
                                          binding.name),
                              hints::kAliasTwice);
            break;
        }
    }
    scope.bindings.push_back(binding);
}

// --- SELECT and GROUP BY ------------------------------------------------------------------------

std::optional<uint32_t> Scope::group_key(uint64_t fingerprint, const Expr& e) const {
    const auto [from, to] = group_index.equal_range(fingerprint);
    for (auto it = from; it != to; ++it)
        if (ast::same(e, *group_by[it->second])) return it->second;
    return std::nullopt;
}

void Binder::group_by(const ast::Query& q, Scope& scope, Level& level) {
    size_t aggregates = q.value != nullptr ? count_aggregates(*q.value) : 0;
    for (const ast::SelectItem& item : q.items) aggregates += count_aggregates(*item.expr);
    if (aggregates == 0 && q.group_by.empty()) return;
    std::vector<const Node*> keys;
    for (const Expr* key : q.group_by) {
        if (count_aggregates(*key) > 0 || contains_subquery(*key)) {
            diagnostics_->add("", key->range,
                              "An aggregate function or a subquery is not allowed in the GROUP BY "
                              "clause.",
                              hints::kGroupKey);
            keys.push_back(nothing().node);
            continue;
        }
        keys.push_back(expr(*key, scope).node);
    }
    level.grouped = true;
    level.group_keys = keep(keys);
    level.group_slot = query_.slot_count_;
    query_.slot_count_ += static_cast<uint32_t>(keys.size() + aggregates);
    scope.grouped_select = true;
    scope.group_by = q.group_by;
    for (uint32_t i = 0; i < q.group_by.size(); ++i) {
        const uint64_t fingerprint = ast::fingerprint(*q.group_by[i]);
        if (!scope.group_key(fingerprint, *q.group_by[i]))
            scope.group_index.emplace(fingerprint, i);
    }
    scope.group_slot = level.group_slot;
    if (q.order_by.empty() || q.group_by.empty()) return;
    diagnostics_->add("", q.order_by_range, "'ORDER BY' is not supported with GROUP BY.",
                      hints::kSortedGroups);
}

Bound Binder::projection(const ast::Query& q, Scope& scope) {
    switch (q.select_kind) {
        case ast::SelectKind::kStar:
            return star(q, scope);
        case ast::SelectKind::kValue:
            return expr(*q.value, scope);
        case ast::SelectKind::kList:
            return select_list(q, scope);
    }
    return nothing();
}

Bound Binder::star(const ast::Query& q, const Scope& scope) {
    if (!q.group_by.empty()) {
        diagnostics_->add("SC2041", q.star_range, "'SELECT *' is not allowed with GROUP BY.");
    } else if (q.sources.empty()) {
        diagnostics_->add("", q.star_range, "'SELECT *' is not valid if FROM clause is omitted.",
                          hints::kStarWithoutFrom);
    } else if (q.sources.size() > 1) {
        diagnostics_->add("", q.star_range, "'SELECT *' is only valid with a single input set.",
                          hints::kStarWithJoin);
    } else {
        return {make<SlotNode>(scope.bindings[0].slot), scope.bindings[0].weight, nullptr};
    }
    return nothing();
}

std::string_view natural_name(const Expr& e) {
    if (e.kind == ExprKind::kIdentifier) return e.name;
    if (e.kind == ExprKind::kPath && e.steps.back().is_name()) return e.steps.back().name;
    return {};
}

Bound Binder::select_list(const ast::Query& q, Scope& scope) {
    std::vector<std::string_view> names;
    std::vector<const Node*> values;
    std::unordered_map<std::string_view, size_t> places;
    uint64_t weight = 0;
    size_t unnamed = 0;
    for (const ast::SelectItem& item : q.items) {
        std::string_view name = item.alias.empty() ? natural_name(*item.expr) : item.alias;
        if (name.empty()) name = arena().copy(fmt::format("${}", ++unnamed));
        const Bound value = expr(*item.expr, scope);
        weight = std::min<uint64_t>(weight + value.weight, UINT32_MAX);
        const auto [place, is_new] = places.emplace(name, names.size());
        if (!is_new) {
            diagnostics_->add(
                "", item.range,
                fmt::format(
                    "The property name '{}' is specified more than once in the SELECT list.", name),
                hints::kNameTwice);
            values[place->second] = value.node;
            continue;
        }
        names.push_back(name);
        values.push_back(value.node);
    }
    constexpr uint64_t kHarmlessWeight = 64;
    return {make<ObjectNode>(keep(names), keep(values), weight > kHarmlessWeight), weight, nullptr};
}

// --- ORDER BY, TOP, OFFSET, LIMIT ---------------------------------------------------------------

void Binder::order_by(const ast::Query& q, Scope& scope, Level& level) {
    if (q.order_by_rank) return order_by_rank(q, scope);
    std::vector<BoundOrderKey> keys;
    for (const ast::OrderItem& item : q.order_by) keys.push_back(order_key(item, scope));
    level.order_by = keep(keys);
}

BoundOrderKey Binder::order_key(const ast::OrderItem& item, Scope& scope) {
    BoundOrderKey key;
    key.descending = item.direction == ast::Direction::kDescending;
    key.node = nothing().node;
    const Expr& e = *item.expr;
    const FunctionSpec* function = e.kind == ExprKind::kCall ? find_function(e.name) : nullptr;
    if (function != nullptr &&
        (function->family == FunctionFamily::kVector || function->name == "_FULLTEXTSCORE")) {
        key.node = expr(e, scope).node;
        return key;
    }
    const Expr* base = e.kind == ExprKind::kPath ? e.args[0] : &e;
    const Scope* owner = nullptr;
    const Binding* binding =
        base->kind == ExprKind::kIdentifier ? find(base->name, scope, owner) : nullptr;
    if (base->kind == ExprKind::kIdentifier && binding == nullptr) {
        expr(e, scope);  // reports the name
        return key;
    }
    bool mappable = binding != nullptr && binding->origin != Origin::kSubquery &&
                    !(binding->origin == Origin::kItem && e.kind == ExprKind::kIdentifier);
    if (e.kind == ExprKind::kPath)
        for (const ast::Step& step : e.steps) mappable &= step.kind != ast::StepKind::kExpr;
    if (!mappable) {
        diagnostics_->add_without_location("2206",
                                           "Unsupported ORDER BY clause. ORDER BY item expression "
                                           "could not be mapped to a document path.");
        return key;
    }
    if (binding->origin == Origin::kCorrelated) {
        plain_error(errors::bad_request(fmt::format(
            "Order-by over correlated collections is not supported. {}", hints::kCorrelatedOrder)));
        return key;
    }
    key.node = expr(e, scope).node;
    return key;
}

void Binder::order_by_rank(const ast::Query& q, Scope& scope) {
    if (q.sources.size() > 1)
        diagnostics_->add("SC2224", q.sources[1].range,
                          "The JOIN operator is not allowed with the ORDER BY RANK clause.");
    for (const ast::Source& s : q.sources) {
        if (s.iterate)
            diagnostics_->add("SC2223", s.range,
                              "The FROM clause with the IN operator is not allowed with the ORDER "
                              "BY RANK clause.");
        if (s.query != nullptr)
            diagnostics_->add(
                "SC2225", s.range,
                "Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.");
    }
    const auto is_score = [](const Expr& e) {
        return e.kind == ExprKind::kCall && (equals_ignore_case(e.name, "FULLTEXTSCORE") ||
                                             equals_ignore_case(e.name, "VECTORDISTANCE"));
    };
    const auto bind_score = [&](const Expr& e) {
        uint64_t weight = 0;
        bool constant = true;
        if (check_count(e, *find_function(e.name))) operands(e.args, scope, weight, constant);
    };
    for (const ast::OrderItem& item : q.order_by) {
        const Expr& e = *item.expr;
        bool valid = is_score(e);
        if (valid) bind_score(e);
        if (!valid && equals_ignore_case(e.name, "RRF")) {
            size_t scores = 0;
            while (scores < e.args.size() && is_score(*e.args[scores]))
                bind_score(*e.args[scores++]);
            valid = scores >= 2 && e.args.size() - scores <= 1;
            if (valid && scores < e.args.size()) {
                const Expr& weights = *e.args.back();
                bool literal = weights.kind == ExprKind::kArray && weights.args.size() == scores;
                for (const Expr* w : weights.args)
                    literal &= w->kind == ExprKind::kLiteral && w->value.is_number();
                if (!literal)
                    diagnostics_->add(
                        "SC2229", weights.range,
                        "The last parameter of the RRF function is an optional array of weights. "
                        "When present, it must be a literal array of numbers, one for each of the "
                        "component scores used for the RRF function. The length of this array must "
                        "be the same as the number of the component scores.");
            }
        }
        if (!valid)
            diagnostics_->add(
                "SC2221", e.range,
                "The ORDER BY RANK clause must be followed by a VectorDistance and/or "
                "a FullTextScore function call.");
    }
    refuse(errors::not_supported("The ORDER BY RANK clause", "Remove it from the query."));
}

BoundCount Binder::count(const Expr* e, const CountClause& clause) {
    BoundCount bound;
    if (e == nullptr) return bound;
    if (e->kind == ExprKind::kParameter) {
        bound.kind = BoundCount::Kind::kParameter;
        bound.parameter = parameter(e->name);
        return bound;
    }
    bound.kind = BoundCount::Kind::kConstant;
    const auto value = exact_int64(e->value);
    const bool huge = e->value.as_double() > static_cast<double>(limits::kCountMax);
    if (value && !huge) {
        bound.value = static_cast<uint64_t>(*value);  // a literal without sign is never negative
    } else {
        diagnostics_->add_bad_count(clause, e->range, huge);
    }
    return bound;
}

// --- properties of the whole query --------------------------------------------------------------

void Binder::note_properties(const ast::Query& q, const Level& level) {
    const bool item_source = !q.sources.empty() && q.sources[0].collection != nullptr &&
                             !q.sources[0].iterate &&
                             q.sources[0].collection->kind == ExprKind::kIdentifier;
    if (item_source)
        query_.item_alias_ =
            q.sources[0].alias.empty() ? q.sources[0].collection->name : q.sources[0].alias;
    const bool names_item = q.value != nullptr && q.value->kind == ExprKind::kIdentifier &&
                            q.value->name == query_.item_alias_;
    query_.returns_whole_item_ =
        item_source && !level.grouped && (q.select_kind == ast::SelectKind::kStar || names_item);
    const auto computed_needs = [this](std::string_view name) -> const ItemNeeds* {
        for (size_t i = 0; i < query_.computed_.size(); ++i)
            if (query_.computed_[i].name == name) return &computed_needs_[i];
        return nullptr;
    };
    query_.needs_ = item_needs(q, query_.returns_whole_item_ && !q.distinct, computed_needs);
    ast::Query output = q;
    output.where = nullptr;
    query_.output_needs_ = item_needs(output, false, computed_needs);
    query_.selection_ = json::Selection(query_.needs_.whole ? std::vector<json::MemberPath>{{}}
                                                            : query_.needs_.paths);
    const auto composes = [](const Expr& e) {
        if (count_aggregates(e) == 0) return false;
        const FunctionSpec* spec = e.kind == ExprKind::kCall ? find_function(e.name) : nullptr;
        return spec == nullptr || spec->family != FunctionFamily::kAggregate;
    };
    if (q.value != nullptr) query_.composes_aggregates_ = composes(*q.value);
    for (const ast::SelectItem& item : q.items)
        query_.composes_aggregates_ = query_.composes_aggregates_ || composes(*item.expr);
}

}  // namespace orrery::query
