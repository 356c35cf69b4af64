#include "query/exec/aggregate.h"

#include <fmt/format.h>

#include <cmath>

#include "base/errors.h"
#include "json/order.h"
#include "query/limits.h"
#include "query/parse/number.h"

namespace orrery::query {

using json::Value;

Value Keeper::keep(const Value& v) {
    if (arena_ == nullptr) {
        // Values may share parts, so a long list of large values costs time but little memory.
        if (v.type() > json::Type::kNumber)
            other_bytes_ += bounded_size(v, limits::kEvaluationBytesMax);
        return charge(0) ? v : Value();
    }
    if (v.type() <= json::Type::kBool) return v;
    // Count it before it is copied; afterwards the arena counts it.
    if (!may_hold(bounded_size(v, limits::kRetainedBytesMax))) return {};
    return json::copy_value(v, *arena_);
}

bool Keeper::charge(size_t bytes) {
    if (context_.failed()) return false;
    other_bytes_ += bytes;
    return arena_ == nullptr ? context_.may_allocate(other_bytes_) : may_hold(0);
}

bool Keeper::may_hold(size_t more) {
    if (context_.failed()) return false;
    Status held = retained_.hold(arena_->bytes_used() + other_bytes_ + more);
    if (held.ok()) return true;
    context_.fail(held.error());
    return false;
}

void Accumulator::add_extreme(const Value& v, Keeper& keeper) {
    if (!v.is_scalar()) {
        spoiled_ = true;
        return;
    }
    const int sign = extreme_.is_undefined() ? 0 : json::compare(v, extreme_);
    const bool better =
        extreme_.is_undefined() || (kind_ == AggregateKind::kMin ? sign < 0 : sign > 0);
    if (!better) return;
    if (keeper.copies() && v.is_string()) {
        const size_t room = held_ == nullptr ? 0 : held_->extreme_text.capacity();
        if (v.as_string().size() > room &&
            !keeper.charge(v.as_string().size() - room + (held_ == nullptr ? sizeof(Held) : 0)))
            return;
    }
    extreme_ = v;
    if (keeper.copies() && v.is_string()) {
        held().extreme_text.assign(v.as_string());
        extreme_ = Value::string(held().extreme_text);
    } else if (v.is_number()) {  // without the borrowed text
        extreme_ = v.is_int64() ? Value::integer(v.as_int64()) : Value::number(v.as_double());
    }
}

void Accumulator::add_number(double v) {
    const double sum = sum_ + v;
    if (std::isfinite(sum)) {
        lost_ += std::fabs(sum_) >= std::fabs(v) ? (sum_ - sum) + v : (v - sum) + sum_;
    }
    sum_ = sum;
}

void Accumulator::add(const Value& v, Keeper& keeper, uint64_t weight) {
    if (v.is_undefined() || spoiled_) return;
    switch (kind_) {
        case AggregateKind::kCount:
            count_ += weight;
            break;
        case AggregateKind::kCountIf:
            if (v.is_bool() && v.as_bool()) count_ += weight;
            break;
        case AggregateKind::kSum:
        case AggregateKind::kAverage:
            if (!v.is_number()) {
                spoiled_ = true;
                break;
            }
            count_ += weight;
            for (uint64_t i = 0; i < weight; ++i) add_number(v.as_double());
            break;
        case AggregateKind::kMin:
        case AggregateKind::kMax:
            add_extreme(v, keeper);
            break;
        case AggregateKind::kMakeList:
            for (uint64_t i = 0; i < weight; ++i)
                if (list_may_grow(v, keeper) && keeper.charge(sizeof(Value)))
                    held().list.push_back(keeper.keep(v));
            break;
        case AggregateKind::kMakeSet:
            if (!held().set.contains(v) && list_may_grow(v, keeper) &&
                keeper.charge(sizeof(Value) + 48)) {
                const Value kept = keeper.keep(v);
                if (!kept.is_undefined()) held().set.insert(kept);
            }
            break;
    }
}

/// A list is one value of one row.
bool Accumulator::list_may_grow(const Value& v, Keeper& keeper) {
    Held& h = held();
    h.list_bytes += bounded_size(v, limits::kValueBytesMax) + 1;
    if (h.list_bytes <= limits::kValueBytesMax) return true;
    keeper.refuse(errors::bad_request(
        fmt::format("A list of MAKELIST or MAKESET is larger than {} MB. Narrow the query with "
                    "WHERE or GROUP BY.",
                    limits::kValueBytesMax >> 20)));
    return false;
}

Value Accumulator::result(EvalContext& context) const {
    if (spoiled_) return {};
    switch (kind_) {
        case AggregateKind::kCount:
        case AggregateKind::kCountIf:
            return Value::integer(static_cast<int64_t>(count_));
        case AggregateKind::kSum:
            return number_value(sum_ + lost_);
        case AggregateKind::kAverage:
            return count_ == 0 ? Value()
                               : Value::number((sum_ + lost_) / static_cast<double>(count_));
        case AggregateKind::kMin:
        case AggregateKind::kMax:
            return extreme_;
        case AggregateKind::kMakeList:
            return held_ == nullptr
                       ? Value::array({})
                       : Value::array(context.arena->copy(std::span<const Value>(held_->list)));
        case AggregateKind::kMakeSet:
            return held_ == nullptr ? Value::array({})
                                    : Value::array(context.arena->copy(held_->set.values()));
    }
    return {};
}

}  // namespace orrery::query
