#pragma once

#include <memory>
#include <string>
#include <vector>

#include "json/value.h"
#include "query/bind/eval.h"
#include "query/bind/level.h"
#include "query/exec/retained.h"
#include "query/functions/values.h"

namespace orrery::query {

/// Where values that outlive an item are kept. In a run over many items they are copied; inside
/// one item they can stay where they are.
class Keeper {
public:
    /// `arena` null: values stay where they are.
    Keeper(EvalContext& context, json::Arena* arena) : context_(context), arena_(arena) {}
    bool copies() const { return arena_ != nullptr; }
    /// The value, safe to hold; undefined (and a failed context) when memory is used up.
    json::Value keep(const json::Value& v);
    /// Counts memory other than the arena's.
    bool charge(size_t bytes);
    /// Starts over in an empty arena (the old one must outlive what is copied out of it).
    void reset(json::Arena* arena, size_t other_bytes) {
        arena_ = arena;
        other_bytes_ = other_bytes;
        retained_.release();
    }
    void refuse(Error error) { context_.fail(std::move(error)); }
    /// What is held for longer than an item.
    size_t bytes() const { return retained_.bytes(); }

private:
    /// Besides what is counted.
    bool may_hold(size_t more);

    EvalContext& context_;
    json::Arena* arena_;
    size_t other_bytes_ = 0;
    Retained retained_;
};

/// The running state of one aggregate in one group.
class Accumulator {
public:
    explicit Accumulator(AggregateKind kind) : kind_(kind) {}
    /// `weight`: so many equal values.
    void add(const json::Value& v, Keeper& keeper, uint64_t weight = 1);
    json::Value result(EvalContext& context) const;

private:
    void add_extreme(const json::Value& v, Keeper& keeper);
    void add_number(double v);
    bool list_may_grow(const json::Value& v, Keeper& keeper);

    AggregateKind kind_;
    bool spoiled_ = false;  // an input that makes the result undefined
    uint64_t count_ = 0;
    // Neumaier's sum: what rounding loses is added at the end, so that the order in which items
    // come does not show in the result.
    double sum_ = 0;
    double lost_ = 0;
    json::Value extreme_;
    /// What only some kinds hold; it stays where it is when the accumulator moves.
    struct Held {
        std::string extreme_text;  ///< backs extreme_ when the keeper copies
        std::vector<json::Value> list;
        ValueSet set;
        size_t list_bytes = 0;  ///< of either as JSON
    };
    Held& held() {
        if (held_ == nullptr) held_ = std::make_unique<Held>();
        return *held_;
    }
    std::unique_ptr<Held> held_;
};

}  // namespace orrery::query
