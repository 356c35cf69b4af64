#pragma once

#include <iterator>
#include <vector>

#include "query/compile.h"
#include "query/eval.h"
#include "query/query.h"

namespace orrery::query {

/// Slots and context of one evaluation.
class Evaluation {
public:
    Evaluation(const CompiledQuery& query, const Parameters& parameters) {
        if (query.slot_count() > std::size(fixed_)) more_.resize(query.slot_count());
        context.slots = more_.empty() ? fixed_ : more_.data();
        context.parameters = parameters.values().data();
        if (!parameters.geometries().empty()) context.geometries = parameters.geometries().data();
        context.udf = parameters.environment().udf;
        context.clock = parameters.environment().clock;
        context.static_now_us = parameters.start_us();
    }
    void begin(const json::Value& item, json::Arena& arena) {
        context.slots[kItemSlot] = item;
        context.arena = &arena;
        context.begin_item();
    }
    EvalContext context;

private:
    json::Value fixed_[8];
    std::vector<json::Value> more_;
};

}  // namespace orrery::query
