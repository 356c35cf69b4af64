#include "client_plan/client_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/encoding.h"
#include "base/errors.h"
#include "client_plan/rank_scores.h"
#include "client_plan/syntax_maker.h"
#include "query/function_names.h"
#include "query/limits.h"
#include "query/parse/number.h"
#include "query/parse/printer.h"

namespace orrery::client_plan {

using namespace query;

namespace {

using ast::Expr;
using ast::ExprKind;

/// One SELECT item of a query with groups, under its output name.
struct Output {
    std::string name;
    const Expr* expr = nullptr;
    std::optional<AggregateKind> aggregate;
};

class Rewriter {
public:
    Rewriter(const CompiledQuery& query, const Parameters& parameters, const PlanScope& scope)
        : query_(query),
          level_(query.root()),
          syntax_(query.syntax()),
          parameters_(parameters),
          scope_(scope) {}

    Result<QueryPlan> run() {
        plan_.has_select_value = syntax_.select_kind == ast::SelectKind::kValue;
        if (!level_.reads_items) return std::move(plan_);
        const bool one_key = is_one_key();
        const bool first_gathers =
            level_.sources[0].query != nullptr && !level_.sources[0].query->is_streaming();
        if (first_gathers && !is_distinct_count()) {
            if (one_key || scope_.one_range) return std::move(plan_);
            return errors::not_supported(
                "A FROM clause with a subquery that groups, aggregates or removes duplicates, over "
                "several partition key ranges,",
                "Limit the query to one partition key, or move the clause to the outer query.");
        }
        if (query_.composes_aggregates() && !has_object_of_aggregates()) {
            if (one_key) return std::move(plan_);
            return errors::bad_request(
                "Compositions of aggregates and other expressions are not allowed.");
        }
        out_ = syntax_;
        if (syntax_.order_by_rank) {
            TRY_STATUS(hybrid());
            return std::move(plan_);
        }
        window();
        if (first_gathers) {
            distinct_count();
            return std::move(plan_);
        }
        if (level_.grouped) {
            TRY_STATUS(groups());
        } else if (!level_.order_by.empty()) {
            order_by();
        } else if (syntax_.distinct) {
            plan_.distinct = DistinctType::kAnyOrder;
        }
        if (rewritten_) plan_.rewritten_query = to_text(out_, PrintForm::kLines);
        return std::move(plan_);
    }

private:
    bool is_one_key() const { return scope_.one_key_by_filter || scope_.one_key_by_request; }

    std::optional<uint64_t> value_of(const BoundCount& count) const {
        switch (count.kind) {
            case BoundCount::Kind::kNone:
                return std::nullopt;
            case BoundCount::Kind::kConstant:
                return count.value;
            case BoundCount::Kind::kParameter:
                break;
        }
        const auto n = exact_int64(parameters_.values()[count.parameter]);
        return static_cast<uint64_t>(n.value_or(0));  // bind() has checked it
    }

    /// TOP, OFFSET and LIMIT. A range may cut its rows where that cannot take away what the client
    /// needs: not before rows of several ranges are put together.
    void window() {
        plan_.top = value_of(level_.top);
        plan_.offset = value_of(level_.offset);
        plan_.limit = value_of(level_.limit);
        const bool merges = level_.grouped || syntax_.distinct;
        if (plan_.top) {
            out_.top = merges || plan_.offset ? nullptr : make_.number(*plan_.top);
            rewritten_ = merges;
        }
        if (!plan_.offset) return;
        rewritten_ = true;
        if (merges) {
            out_.offset = nullptr;
            out_.limit = nullptr;
            return;
        }
        if (scope_.one_key_by_filter && level_.order_by.empty()) {
            // One range has all the rows and does all the work. (Not with ORDER BY: a client that
            // resumes would have rows skipped again.)
            plan_.offset.reset();
            plan_.limit.reset();
            rewritten_ = false;
            return;
        }
        const uint64_t last = std::min<uint64_t>(*plan_.offset + *plan_.limit, limits::kCountMax);
        out_.offset = make_.number(0);
        out_.limit = make_.number(last);
    }

    // --- ORDER BY -------------------------------------------------------------------------------

    void order_by() {
        rewritten_ = true;
        std::vector<const Expr*> keys;
        for (const ast::OrderItem& item : syntax_.order_by) {
            const bool vectors = is_vector_distance(*item.expr);
            plan_.has_non_streaming_order_by |= vectors;
            plan_.order_by_descending.push_back(
                vectors && item.direction == ast::Direction::kDefault
                    ? !is_euclidean(*item.expr)
                    : item.direction == ast::Direction::kDescending);
            plan_.order_by_expressions.push_back(to_text(*item.expr));
            keys.push_back(make_.object({"item"}, {item.expr}));
        }
        if (syntax_.distinct) {
            plan_.distinct =
                equal_rows_are_neighbours() ? DistinctType::kInOrder : DistinctType::kAnyOrder;
            out_.distinct = false;
        }
        const std::string_view root = source_name(syntax_.sources[0]);
        const Expr* filter = make_.verbatim(make_.text(fmt::format("({})", kOrderByFilter)));
        if (syntax_.where != nullptr) filter = make_.both(syntax_.where, filter);
        const Expr* payload = syntax_.value;
        if (syntax_.select_kind == ast::SelectKind::kStar) {
            payload = make_.verbatim(root);
        } else if (syntax_.select_kind == ast::SelectKind::kList) {
            payload = payload_object(outputs());
        } else {
            filter = make_.both(filter, make_.call("IS_DEFINED", payload));
        }
        out_.where = filter;
        select({{make_.member(root, "_rid"), {}, {}},
                {make_.array(keys), "orderByItems", {}},
                {payload, "payload", {}}});
    }

    static bool is_vector_distance(const Expr& e) {
        return e.kind == ExprKind::kCall && equals_ignore_case(e.name, "VECTORDISTANCE");
    }

    /// Whether the options of a VectorDistance say so; then small values are the similar ones.
    static bool is_euclidean(const Expr& call) {
        if (call.args.size() < 4 || call.args[3]->kind != ExprKind::kObject) return false;
        const Expr& options = *call.args[3];
        for (size_t i = 0; i < options.args.size(); ++i)
            if (options.names[i] == "distanceFunction" && options.args[i]->value.is_string() &&
                equals_ignore_case(options.args[i]->value.as_string(), "euclidean"))
                return true;
        return false;
    }

    /// Expressions, found again in a time that does not depend on how many there are.
    class ExprSet {
    public:
        void add(const Expr& e) { by_fingerprint_.emplace(ast::fingerprint(e), &e); }
        bool contains(const Expr& e) const {
            const auto [from, to] = by_fingerprint_.equal_range(ast::fingerprint(e));
            return std::any_of(from, to,
                               [&](const auto& entry) { return ast::same(*entry.second, e); });
        }

    private:
        std::unordered_multimap<uint64_t, const Expr*> by_fingerprint_;
    };

    /// Whether the selected values are the leading sort keys, whatever their sequence: then equal
    /// rows follow each other and a client needs to remember one row only.
    bool equal_rows_are_neighbours() const {
        std::vector<const Expr*> selected;
        if (syntax_.value != nullptr) selected.push_back(syntax_.value);
        for (const ast::SelectItem& item : syntax_.items) selected.push_back(item.expr);
        if (selected.empty()) return false;
        ExprSet wanted;
        for (const Expr* e : selected) wanted.add(*e);
        ExprSet leading;
        for (const ast::OrderItem& item : syntax_.order_by) {
            if (!wanted.contains(*item.expr)) break;
            leading.add(*item.expr);
        }
        return std::all_of(selected.begin(), selected.end(),
                           [&](const Expr* e) { return leading.contains(*e); });
    }

    // --- ORDER BY RANK --------------------------------------------------------------------------

    std::string statistics_query(std::string_view figures) {
        ast::Query query;
        query.sources = syntax_.sources;
        query.select_kind = ast::SelectKind::kList;
        query.items = make_.keep<ast::SelectItem>(
            {{make_.call("COUNT", make_.number(1)), "documentCount", {}},
             {make_.verbatim(figures), "fullTextStatistics", {}}});
        return to_text(query, PrintForm::kLines);
    }

    /// How many candidates each component gives: twice what is asked for, as the service counts.
    static uint64_t candidates(uint64_t wanted) {
        constexpr uint64_t kFewest = 60;
        return static_cast<uint32_t>(2 * std::max(wanted, kFewest));
    }

    Status hybrid() {
        auto plan = std::make_shared<HybridPlan>();
        TRY(const auto ranking, rank_scores(syntax_));
        const auto& parts = ranking.scores;
        plan->weights = ranking.weights;
        plan->statistics_query = statistics_query(ranking.figures);
        plan->needs_statistics = ranking.needs_figures;
        plan->skip = value_of(level_.offset);
        plan->take = level_.top.kind != BoundCount::Kind::kNone ? value_of(level_.top)
                                                                : value_of(level_.limit);
        const uint64_t rows = candidates(plan->skip.value_or(0) + plan->take.value_or(0));
        const bool by_top = level_.offset.kind == BoundCount::Kind::kNone;
        out_.top = by_top ? make_.number(rows) : nullptr;
        out_.offset = by_top ? nullptr : make_.number(0);
        out_.limit = by_top ? nullptr : make_.number(rows);
        out_.order_by_rank = false;
        const std::string_view root = source_name(syntax_.sources[0]);
        const Expr* payload = syntax_.value;
        if (syntax_.select_kind == ast::SelectKind::kStar) payload = make_.verbatim(root);
        if (syntax_.select_kind == ast::SelectKind::kList) payload = payload_object(outputs());
        const Expr* filter = make_.verbatim(make_.text(fmt::format("({})", kOrderByFilter)));
        if (syntax_.where != nullptr) filter = make_.both(syntax_.where, filter);
        out_.where = filter;
        std::vector<std::string_view> defaulted;
        for (const RankScore& part : parts) defaulted.push_back(part.defaulted);
        const Expr* all_scores =
            make_.verbatim(make_.text(fmt::format("[{}]", fmt::join(defaulted, ", "))));
        for (const RankScore& part : parts) {
            const Expr* score = make_.verbatim(make_.text(part.text));
            select({{make_.member(root, "_rid"), {}, {}},
                    {make_.array({make_.object({"item"}, {score})}), "orderByItems", {}},
                    {make_.object({"payload", "componentScores"}, {payload, all_scores}),
                     "payload",
                     {}}});
            out_.order_by = make_.keep<ast::OrderItem>({{score, part.written}});
            QueryPlan component;
            if (by_top) component.top = rows;
            if (!by_top) component.offset = 0;
            if (!by_top) component.limit = rows;
            component.order_by_descending = {part.descending};
            component.order_by_expressions = {part.text};
            component.has_non_streaming_order_by = true;
            component.rewritten_query = to_text(out_, PrintForm::kLines);
            plan->components.push_back(std::move(component));
        }
        plan_ = QueryPlan{};
        plan_.hybrid = std::move(plan);
        return {};
    }

    // --- aggregates and GROUP BY ----------------------------------------------------------------

    Status groups() {
        rewritten_ = true;
        out_.distinct = false;
        out_.order_by = {};  // without GROUP BY there is one row; with it, ORDER BY is refused
        const bool keyed = !syntax_.group_by.empty();
        if (has_many_aggregates(query_) && !is_one_key())
            return Status(errors::bad_request(fmt::format(
                "The query has {} aggregates. With GROUP BY, a query over several partitions may "
                "have at most {}.",
                level_.aggregates.size(), kGroupByAggregatesMax)));
        if (keyed && syntax_.distinct) plan_.distinct = DistinctType::kAnyOrder;
        std::vector<const Expr*> keys;
        for (const Expr* key : syntax_.group_by) {
            plan_.group_by_expressions.push_back(to_text(*key));
            keys.push_back(make_.object({"item"}, {key}));
        }
        const Expr* payload = nullptr;
        if (plan_.has_select_value && !has_object_of_aggregates()) {
            payload = syntax_.value;
            if (!level_.aggregates.empty()) {
                const AggregateKind kind = level_.aggregates[0].kind;
                plan_.aggregates.push_back(kind);
                payload = make_.array({partial(*syntax_.value, kind)});
            }
            if (!keyed) {
                out_.value = payload;
                return {};
            }
        } else {
            plan_.has_select_value = false;  // an object of values is a row of columns
            const auto columns = outputs();
            for (const Output& column : columns)
                plan_.group_by_aliases.push_back({column.name, column.aggregate});
            payload = payload_object(columns);
        }
        std::vector<ast::SelectItem> items;
        if (keyed) items.push_back({make_.array(keys), "groupByItems", {}});
        items.push_back({payload, "payload", {}});
        select(items);
        return {};
    }

    /// `SELECT VALUE {"k": c.k, "n": COUNT(1)} … GROUP BY c.k`: the same rows as a list of columns.
    bool has_object_of_aggregates() const {
        if (syntax_.group_by.empty() || syntax_.value == nullptr ||
            syntax_.value->kind != ExprKind::kObject || level_.aggregates.empty())
            return false;
        const auto args = syntax_.value->args;
        return std::all_of(args.begin(), args.end(), [](const Expr* e) {
            return count_aggregates(*e) == 0 || is_aggregate(*e);
        });
    }

    static bool is_aggregate(const Expr& e) {
        return e.kind == ExprKind::kCall && is_aggregate_function(e.name);
    }

    /// What one range says about an aggregate, so that several can be combined.
    const Expr* partial(const Expr& call, AggregateKind kind) {
        const Expr* argument = call.args[0];
        const Expr* count = make_.call("COUNT", argument);
        switch (kind) {
            case AggregateKind::kAverage:
                return make_.object({"item"}, {make_.object({"sum", "count"},
                                                            {make_.call("SUM", argument), count})});
            case AggregateKind::kMin:
                return make_.object(
                    {"item", "item2"},
                    {&call, make_.object({"min", "count"}, {make_.call("MIN", argument), count})});
            case AggregateKind::kMax:
                return make_.object(
                    {"item", "item2"},
                    {&call, make_.object({"max", "count"}, {make_.call("MAX", argument), count})});
            default:
                return make_.object({"item"}, {&call});
        }
    }

    // --- parts ----------------------------------------------------------------------------------

    /// The columns of a SELECT list, or of the object that stands for one. Of several with one
    /// name, the last counts, at the place of the first.
    std::vector<Output> outputs() {
        std::vector<Output> out;
        std::unordered_map<std::string, size_t> places;
        size_t unnamed = 0;
        size_t aggregates = 0;
        const auto add = [&](std::string_view name, const Expr& e) {
            Output output{std::string(name), &e, std::nullopt};
            if (output.name.empty()) output.name = fmt::format("${}", ++unnamed);
            // The binder met the aggregates in the same sequence.
            if (level_.grouped && is_aggregate(e))
                output.aggregate = level_.aggregates[aggregates++].kind;
            const auto [place, is_new] = places.emplace(output.name, out.size());
            if (is_new) {
                out.push_back(std::move(output));
            } else {
                out[place->second] = std::move(output);
            }
        };
        if (syntax_.select_kind == ast::SelectKind::kValue) {
            for (size_t i = 0; i < syntax_.value->args.size(); ++i)
                add(syntax_.value->names[i], *syntax_.value->args[i]);
        }
        for (const ast::SelectItem& item : syntax_.items)
            add(item.alias.empty() ? natural_name(*item.expr) : item.alias, *item.expr);
        return out;
    }

    const Expr* payload_object(const std::vector<Output>& columns) {
        std::vector<std::string_view> names;
        std::vector<const Expr*> values;
        for (const Output& column : columns) {
            names.push_back(make_.text(column.name));
            values.push_back(column.aggregate ? partial(*column.expr, *column.aggregate)
                                              : column.expr);
        }
        return make_.object(names, values);
    }

    void select(const std::vector<ast::SelectItem>& items) {
        out_.select_kind = ast::SelectKind::kList;
        out_.value = nullptr;
        out_.items = make_.keep(items);
    }

    // --- counting distinct values ---------------------------------------------------------------

    /// `SELECT [VALUE] COUNT(1) FROM (SELECT DISTINCT …) [AS a]`, or COUNT(a).
    bool is_distinct_count() const {
        const ast::Source& source = syntax_.sources[0];
        const Level& inner = *level_.sources[0].query;
        const bool inner_fits =
            inner.distinct && !inner.grouped &&
            (inner.sources[0].query == nullptr || inner.sources[0].query->is_streaming());
        if (!inner_fits || syntax_.sources.size() > 1 || source.iterate ||
            syntax_.where != nullptr || !syntax_.group_by.empty() ||
            level_.aggregates.size() != 1 || level_.aggregates[0].kind != AggregateKind::kCount)
            return false;
        const Expr* call = syntax_.value;
        if (call == nullptr && syntax_.items.size() == 1) call = syntax_.items[0].expr;
        if (call == nullptr || !is_aggregate(*call)) return false;
        const Expr& argument = *call->args[0];
        return (argument.kind == ExprKind::kLiteral && !argument.value.is_undefined()) ||
               (argument.kind == ExprKind::kIdentifier && argument.name == source.alias);
    }

    void distinct_count() {
        plan_.distinct = DistinctType::kAnyOrder;
        plan_.dcount_alias = "";
        if (syntax_.value == nullptr) plan_.dcount_alias = outputs()[0].name;
        plan_.rewritten_query = to_text(*syntax_.sources[0].query, PrintForm::kLines);
    }

    const CompiledQuery& query_;
    const Level& level_;
    const ast::Query& syntax_;
    const Parameters& parameters_;
    const PlanScope& scope_;
    SyntaxMaker make_;
    QueryPlan plan_;
    ast::Query out_;
    bool rewritten_ = false;
};

}  // namespace

bool has_many_aggregates(const CompiledQuery& query) {
    return !query.syntax().group_by.empty() &&
           query.root().aggregates.size() > kGroupByAggregatesMax;
}

Result<QueryPlan> make_plan(const CompiledQuery& query, const Parameters& parameters,
                            const PlanScope& scope) {
    return Rewriter(query, parameters, scope).run();
}

std::string resume_identity(const CompiledQuery& query) {
    const ast::Query& syntax = query.syntax();
    const bool rewritten =
        !syntax.order_by.empty() && !syntax.order_by_rank && syntax.items.size() == 3 &&
        natural_name(*syntax.items[0].expr) == "_rid" && syntax.items[1].alias == "orderByItems" &&
        syntax.items[2].alias == "payload";
    if (!rewritten) return std::string(query.text());
    ast::Query unfiltered = syntax;
    unfiltered.where = nullptr;
    return to_text(unfiltered, PrintForm::kOneLine);
}

}  // namespace orrery::client_plan
