#pragma once

#include <cmath>
#include <iterator>
#include <vector>

#include "query/bind/eval.h"
#include "query/compile.h"
#include "query/query.h"

namespace orrery::query {

/// The value of a computed property. A definition that cannot be evaluated within the limits of one
/// item, or that gives what JSON cannot express, has none, for queries as for the index.
inline json::Value computed_value(const Node& definition, const EvalContext& around) {
    EvalContext context = around;
    context.begin_item();
    const json::Value value = definition.eval(context);
    const bool usable = !value.is_number() || std::isfinite(value.as_double());
    return context.failed() || !usable ? json::Value() : value;
}

/// Slots and context of one evaluation.
class Evaluation {
public:
    Evaluation(const CompiledQuery& query, const Parameters& parameters)
        : computed_(query.computed()) {
        if (query.slot_count() > std::size(fixed_)) more_.resize(query.slot_count());
        context.slots = more_.empty() ? fixed_ : more_.data();
        context.parameters = parameters.values().data();
        if (!parameters.geometries().empty()) context.geometries = parameters.geometries().data();
        context.space = query.space();
        context.udf = parameters.environment().udf;
        context.clock = parameters.environment().clock;
        context.static_now_us = parameters.start_us();
    }
    void begin(const json::Value& item, json::Arena& arena) {
        begin_stored(item, arena);
        for (const CompiledQuery::Computed& use : computed_)
            context.slots[use.slot] = computed_value(*use.value, context);
    }
    /// Leaves the computed properties as they are.
    void begin_stored(const json::Value& item, json::Arena& arena) {
        context.slots[kItemSlot] = item;
        context.arena = &arena;
        context.begin_item();
    }
    EvalContext context;

private:
    const std::vector<CompiledQuery::Computed>& computed_;
    json::Value fixed_[8];
    std::vector<json::Value> more_;
};

}  // namespace orrery::query
