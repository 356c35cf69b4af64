#include "query/aggregate.h"

#include <fmt/format.h>

#include <cmath>

#include "json/order.h"
#include "query/limits.h"
#include "query/number.h"

namespace orrery::query {

using json::Value;

Value Keeper::keep(const Value& v) {
    if (arena_ == nullptr) {
        // Values may share their parts, so a long list of large values costs no memory, but time.
        if (v.type() > json::Type::kNumber)
            other_bytes_ += bounded_size(v, limits::kEvaluationBytesMax);
        return charge(0) ? v : Value();
    }
    if (v.type() <= json::Type::kBool) return v;
    const size_t bytes = bounded_size(v, limits::kRetainedBytesMax);
    if (!charge(0) || arena_->bytes_used() + other_bytes_ + bytes > limits::kRetainedBytesMax) {
        charge(bytes);
        return {};
    }
    return json::copy_value(v, *arena_);
}

bool Keeper::charge(size_t bytes) {
    if (context_.failed()) return false;
    other_bytes_ += bytes;
    if (arena_ == nullptr) return context_.may_allocate(other_bytes_);
    if (arena_->bytes_used() + other_bytes_ <= limits::kRetainedBytesMax) return true;
    context_.fail(errors::bad_request(
        fmt::format("DISTINCT, ORDER BY, GROUP BY or an aggregate of the query must hold more than "
                    "{} MB in memory. Narrow the query with WHERE, TOP or LIMIT.",
                    limits::kRetainedBytesMax >> 20)));
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
                if (keeper.charge(sizeof(Value))) held().list.push_back(keeper.keep(v));
            break;
        case AggregateKind::kMakeSet:
            if (!held().set.contains(v) && keeper.charge(sizeof(Value) + 48)) {
                const Value kept = keeper.keep(v);
                if (!kept.is_undefined()) held().set.insert(kept);
            }
            break;
    }
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
