#include "query/exec/sql_rows.h"

#include <algorithm>
#include <cmath>

#include "index/spatial.h"
#include "index/terms.h"
#include "json/select.h"
#include "query/plan/sql_plan.h"

namespace orrery::query {

using json::Value;

namespace {

/// Gives all values at a path of the item.
template <typename Each>
bool any_value(const Value& value, std::span<const index::PathStep> path, const Each& each) {
    if (path.empty()) return each(value);
    if (!path[0].any_element) {
        const Value member = value.member(path[0].name);
        if (member.is_undefined() && path.size() > 1) return false;
        return any_value(member, path.subspan(1), each);
    }
    if (!value.is_array()) return false;
    return std::any_of(value.elements().begin(), value.elements().end(), [&](const Value& element) {
        return any_value(element, path.subspan(1), each);
    });
}

class Rows final : public ValueSink {
public:
    explicit Rows(std::vector<Value>& out) : out_(out) {}
    bool row(const Value& value) override {
        if (!value.is_number() || std::isfinite(value.as_double())) out_.push_back(value);
        return true;
    }

private:
    std::vector<Value>& out_;
};

/// The item as the index sees it: computed properties in place of what is stored under their names.
Value indexed_item(const CompiledQuery& query, const EvalContext& context, const Value& item,
                   json::Arena& arena) {
    if (query.computed().empty()) return item;
    std::vector<json::Member> members;
    for (const json::Member& member : item.members())
        if (query.find_computed(member.name) == nullptr) members.push_back(member);
    for (const CompiledQuery::Computed& use : query.computed())
        if (!context.slots[use.slot].is_undefined())
            members.push_back({use.name, context.slots[use.slot]});
    return Value::object(arena.copy(std::span<const json::Member>(members)));
}

/// Whether an item would be found under a condition.
bool condition_holds(const Condition& condition, const Value& item,
                     const std::function<bool(const ValueTest&)>& test) {
    const auto holds = [&](const Condition& part) { return condition_holds(part, item, test); };
    switch (condition.kind) {
        case Condition::Kind::kAll:
            return std::all_of(condition.parts.begin(), condition.parts.end(), holds);
        case Condition::Kind::kAny:
            return std::any_of(condition.parts.begin(), condition.parts.end(), holds);
        case Condition::Kind::kTerms:
            break;
    }
    if (condition.spatial)
        return any_value(item, condition.path, [&](const Value& value) {
            return index::posts_in(value, condition.ranges, *condition.spatial);
        });
    std::string term;
    return any_value(item, condition.path, [&](const Value& value) {
        term.clear();
        index::append_term(term, value);
        const bool in =
            std::any_of(condition.ranges.begin(), condition.ranges.end(),
                        [&](const index::TermRange& r) { return term >= r.begin && term < r.end; });
        return in && (condition.tests.empty() ||
                      std::any_of(condition.tests.begin(), condition.tests.end(), test));
    });
}

}  // namespace

SqlRows::SqlRows(const CompiledQuery& query, const Parameters& parameters, const IndexPlan& index,
                 const std::function<bool()>& cancelled)
    : query_(query),
      index_(index),
      evaluation_(query, parameters),
      level_(query.root()),
      split_(level_.sources.size() == 1 && level_.sources[0].query == nullptr &&
             !level_.sources[0].iterate) {
    evaluation_.context.cancelled = &cancelled;
    level_.order_by = {};
    level_.top = level_.offset = level_.limit = {};
    if (split_) level_.where = nullptr;
    for (const Conjunct& conjunct : index.filter.conjuncts) {
        if (conjunct.condition) conditions_.push_back(&*conjunct.condition);
        (conjunct.condition ? served_ : rest_).push_back(conjunct.node);
    }
}

Status SqlRows::load(const json::Document& document, const storage::Docref& docref) {
    document_ = document;
    arena_.clear();
    const ItemNeeds& needs = query_.needs();
    if (!needs.whole && !needs.system) {
        TRY(value_, document.select(query_.selection(), arena_));
        return {};
    }
    if (!writer_) writer_.emplace(*index_.settings);
    const partition::SystemProperties system = writer_->system(document.header, docref);
    const json::Member members[] = {
        {"_rid", Value::string(system.rid)},
        {"_self", Value::string(system.self)},
        {"_etag", Value::string(arena_.copy('"' + std::string(system.etag) + '"'))},
        {"_attachments", Value::string("attachments/")},
        {"_ts", Value::integer(system.ts)},
    };
    TRY(value_, document.select(query_.selection(), arena_, members));
    return {};
}

void SqlRows::begin() {
    evaluation_.begin(value_, arena_);
    const BoundSource& first = level_.sources[0];
    if (first.query != nullptr || first.iterate) return;
    EvalContext& context = evaluation_.context;
    context.slots[first.slot] = first.node->eval(context);
}

Result<bool> SqlRows::passes_served() {
    if (served_.empty()) return true;
    begin();
    EvalContext& context = evaluation_.context;
    bool holds = true;
    if (split_) {
        for (const Node* node : served_)
            if (holds) holds = node->test(context) == Truth::kTrue;
    } else {
        const auto test = [&](const ValueTest& one) {
            return one.node->test(context) == (one.want ? Truth::kTrue : Truth::kFalse);
        };
        const Value shown = indexed_item(query_, context, value_, arena_);
        for (const Condition* condition : conditions_)
            if (holds) holds = condition_holds(*condition, shown, test);
    }
    TRY_STATUS(context.take_status());
    return holds;
}

Result<RowMaker::Tuples> SqlRows::make_rows() {
    rows_.clear();
    begin();
    EvalContext& context = evaluation_.context;
    if (split_) {
        for (const Node* node : rest_) {
            if (node->test(context) == Truth::kTrue) continue;
            TRY_STATUS(context.take_status());
            return Tuples{1, 0, 0};
        }
    }
    Rows sink(rows_);
    LevelRun run(level_, context, sink, LevelRun::Scope::kWithinItem);
    run.feed();
    TRY_STATUS(context.take_status());
    const RowCounts counts = run.counts();
    return Tuples{counts.joined, counts.passed, rows_.size()};
}

size_t SqlRows::show(size_t row, RowSink& sink) {
    return sink.add_value(rows_[row]);
}

Value SqlRows::sort_value(size_t key) {
    begin();
    return query_.root().order_by[key].node->eval(evaluation_.context);
}

std::unique_ptr<RowMaker> SqlProducer::row_maker(const IndexPlan& index) const {
    return std::make_unique<SqlRows>(query_, parameters_, index, cancelled_);
}

}  // namespace orrery::query
