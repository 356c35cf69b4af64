#include "query/plan/conditions.h"

#include <algorithm>

#include "index/spatial.h"
#include "index/terms.h"
#include "query/bind/evaluation.h"
#include "query/bind/nodes.h"

namespace orrery::query {

using json::Value;

bool Condition::is_member_path() const {
    return kind == Kind::kTerms && !spatial &&
           std::none_of(path.begin(), path.end(),
                        [](const auto& step) { return step.any_element; });
}

uint64_t Condition::walks() const {
    uint64_t sum = tests.empty() ? 0 : 1;
    for (const Condition& part : parts) sum += part.walks();
    return sum;
}

uint64_t Condition::entries_hash(SipKey key) const {
    if (composite != nullptr) return index::composite_hash(key, *composite);
    const uint64_t hash = index::path_hash(key, path);
    return spatial ? index::spatial_hash(key, hash, *spatial) : hash;
}

bool Filter::is_exact() const {
    return std::all_of(conjuncts.begin(), conjuncts.end(),
                       [](const Conjunct& c) { return c.condition && c.condition->exact; });
}

bool Filter::is_served() const {
    return std::any_of(conjuncts.begin(), conjuncts.end(),
                       [](const Conjunct& c) { return c.condition.has_value(); });
}

uint64_t Filter::seeks() const {
    uint64_t sum = 0;
    for (const Conjunct& c : conjuncts)
        if (c.condition) sum += c.condition->seeks;
    return sum;
}

std::vector<const Condition*> Filter::conditions(
    const std::function<bool(const Condition&)>& usable, bool& all) const {
    std::vector<const Condition*> out;
    std::vector<bool> decided(conjuncts.size());
    for (const CompositeCondition& one : composites) {
        if (!usable(one.condition)) continue;
        out.push_back(&one.condition);
        for (const size_t i : one.conjuncts) decided[i] = true;
    }
    all = true;
    for (size_t i = 0; i < conjuncts.size(); ++i) {
        if (decided[i]) continue;
        const auto& condition = conjuncts[i].condition;
        if (condition && usable(*condition)) {
            out.push_back(&*condition);
        } else {
            all = false;
        }
    }
    return out;
}

namespace {

/// `value` wrapped as an item that has nothing but this path.
Value item_with(const IndexPathSteps& path, const Value& value, json::Arena& arena) {
    Value out = value;
    for (auto step = path.rbegin(); step != path.rend(); ++step) {
        if (out.is_undefined()) return Value::object({});
        const json::Member member{step->name, out};
        out = Value::object(arena.copy(std::span(&member, 1)));
    }
    return out;
}

}  // namespace

OneValueItem::OneValueItem(const IndexPathSteps& path) : members_(path.size()) {
    for (size_t i = path.size(); i-- > 0;) {
        members_[i].name = path[i].name;
        if (i + 1 < path.size())
            members_[i].value = Value::object(std::span(members_).subspan(i + 1, 1));
    }
}

Value OneValueItem::with(const Value& value) {
    if (value.is_undefined()) return Value::object({});
    if (members_.empty()) return value;
    members_.back().value = value;
    return Value::object(std::span(members_).first(1));
}

void begin_with_value(Evaluation& evaluation, const CompiledQuery& query,
                      const IndexPathSteps& path, const Value& value, json::Arena& arena) {
    Value item = Value::object({});
    if (const CompiledQuery::Computed* use = query.find_computed(path.front().name)) {
        evaluation.begin_stored(item, arena);
        const IndexPathSteps below(path.begin() + 1, path.end());
        evaluation.context.slots[use->slot] = item_with(below, value, arena);
    } else {
        item = item_with(path, value, arena);
        evaluation.begin(item, arena);
    }
    evaluation.context.slots[query.root().sources[0].slot] = item;
}

bool holds_for_value(const CompiledQuery& query, const Parameters& parameters,
                     const ValueTest& test, const IndexPathSteps& path, const Value& value,
                     json::Arena& arena) {
    Evaluation evaluation(query, parameters);
    begin_with_value(evaluation, query, path, value, arena);
    return test.node->test(evaluation.context) == (test.want ? Truth::kTrue : Truth::kFalse);
}

}  // namespace orrery::query
