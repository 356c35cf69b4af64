#include "query/bind/nodes.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/clock.h"
#include "json/order.h"
#include "query/functions/values.h"
#include "query/parse/number.h"

namespace orrery::query {

using ast::Op;
using json::Member;
using json::Value;

namespace {

/// Values of a few operands without an allocation.
class ValueBuffer {
public:
    explicit ValueBuffer(size_t count) {
        if (count > fixed_.size()) {
            more_.resize(count);
            data_ = more_.data();
        }
    }
    Value& operator[](size_t i) { return data_[i]; }
    std::span<const Value> first(size_t count) const { return {data_, count}; }

private:
    std::array<Value, 8> fixed_;
    std::vector<Value> more_;
    Value* data_ = fixed_.data();
};

Value checked_size(Value v, bool check, EvalContext& context) {
    if (!check) return v;
    const size_t bytes = bounded_size(v, limits::kValueBytesMax);
    if (!context.charge(bytes / 64)) return {};
    if (bytes <= limits::kValueBytesMax) return v;
    return context.fail(
        errors::bad_request("The query computes an array or object that is too large."));
}

/// As JavaScript converts numbers for its bit operators.
int32_t to_int32(double d) {
    if (!std::isfinite(d)) return 0;
    const double wrapped = std::fmod(std::trunc(d), 4294967296.0);
    return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(wrapped)));
}

/// What std::fmod gives, faster where both are whole numbers above zero.
double remainder_of(double a, double b) {
    constexpr double kWholeMax = 9007199254740992.0;
    if (a >= 1 && a <= kWholeMax && b >= 1 && b <= kWholeMax) {
        const auto x = static_cast<int64_t>(a);
        const auto y = static_cast<int64_t>(b);
        if (static_cast<double>(x) == a && static_cast<double>(y) == b)
            return static_cast<double>(x % y);
    }
    return std::fmod(a, b);
}

Value arithmetic(Op op, double a, double b) {
    switch (op) {
        case Op::kAdd:
            return Value::number(a + b);
        case Op::kSubtract:
            return Value::number(a - b);
        case Op::kMultiply:
            return Value::number(a * b);
        case Op::kDivide:
            return Value::number(a / b);
        case Op::kModulo:
            return Value::number(remainder_of(a, b));
        default:
            break;
    }
    const auto x = static_cast<uint32_t>(to_int32(a));
    const auto y = static_cast<uint32_t>(to_int32(b));
    const uint32_t shift = y & 31;
    uint32_t bits = 0;
    switch (op) {
        case Op::kBitAnd:
            bits = x & y;
            break;
        case Op::kBitOr:
            bits = x | y;
            break;
        case Op::kBitXor:
            bits = x ^ y;
            break;
        case Op::kShiftLeft:
            bits = x << shift;
            break;
        case Op::kShiftRight:
            return Value::integer(static_cast<int32_t>(x) >> static_cast<int>(shift));
        case Op::kShiftRightUnsigned:
            return Value::integer(x >> shift);
        default:
            return {};
    }
    return Value::integer(static_cast<int32_t>(bits));
}

}  // namespace

Value follow(Value value, std::span<const PathStep> steps, EvalContext& context) {
    for (const PathStep& step : steps) {
        switch (step.kind) {
            case PathStep::Kind::kName:
                value = value.member(step.name);
                break;
            case PathStep::Kind::kIndex:
                value = value.is_array() && step.index < value.elements().size()
                            ? value.elements()[step.index]
                            : Value();
                break;
            case PathStep::Kind::kParameter: {
                const Value& key = context.parameters[step.index];
                if (key.is_string()) {
                    value = value.member(key.as_string());
                    break;
                }
                const auto index = exact_int64(key);
                const bool inside = index && *index >= 0 && value.is_array() &&
                                    static_cast<uint64_t>(*index) < value.elements().size();
                value = inside ? value.elements()[static_cast<size_t>(*index)] : Value();
                break;
            }
            case PathStep::Kind::kNothing:
                return {};
        }
        if (value.is_undefined()) return value;
    }
    return value;
}

Value SlotPathNode::eval(EvalContext& context) const {
    // Most paths are one name.
    if (steps_.size() == 1 && steps_[0].kind == PathStep::Kind::kName)
        return context.slots[slot_].member(steps_[0].name);
    return follow(context.slots[slot_], steps_, context);
}

Value NamedMemberNode::eval(EvalContext& context) const {
    const Value& key = context.parameters[parameter_];
    for (size_t i = 0; i < names_.size(); ++i)
        if (key.is_string() && key.as_string() == names_[i]) return context.slots[slots_[i]];
    const PathStep step{PathStep::Kind::kParameter, {}, parameter_};
    return follow(context.slots[slot_], std::span(&step, 1), context);
}

Value PathNode::eval(EvalContext& context) const {
    return follow(base_->eval(context), steps_, context);
}

Value ArrayNode::eval(EvalContext& context) const {
    if (!context.may_allocate(elements_.size() * sizeof(Value))) return {};
    auto* out = reinterpret_cast<Value*>(
        context.arena->allocate(elements_.size() * sizeof(Value), alignof(Value)));
    size_t count = 0;
    for (const Node* element : elements_) {
        const Value v = element->eval(context);
        if (!v.is_undefined()) new (&out[count++]) Value(v);
    }
    return checked_size(Value::array({out, count}), check_size_, context);
}

Value ObjectNode::eval(EvalContext& context) const {
    if (!context.may_allocate(values_.size() * sizeof(Member))) return {};
    auto* out = reinterpret_cast<Member*>(
        context.arena->allocate(values_.size() * sizeof(Member), alignof(Member)));
    size_t count = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
        const Value v = values_[i]->eval(context);
        if (!v.is_undefined()) new (&out[count++]) Member{names_[i], v};
    }
    return checked_size(Value::object({out, count}), check_size_, context);
}

Value apply_unary(Op op, const Value& operand) {
    if (op == Op::kNot) return to_value(negate(truth_of(operand)));
    if (!operand.is_number()) return {};
    switch (op) {
        case Op::kMinus:
            return Value::number(-operand.as_double());
        case Op::kPlus:
            return operand;
        case Op::kComplement:
            return Value::integer(~to_int32(operand.as_double()));
        default:
            return {};
    }
}

Truth compare_values(Op op, const Value& a, const Value& b) {
    if (op == Op::kEqual) return equals(a, b);
    if (op == Op::kNotEqual) return negate(equals(a, b));
    if (a.is_null() && b.is_null() && (op == Op::kLessEqual || op == Op::kGreaterEqual))
        return Truth::kTrue;
    const int sign = order(a, b);
    if (sign == kUnordered) {
        // Two numbers of which one is NaN do compare: to false.
        return a.is_number() && b.is_number() ? Truth::kFalse : Truth::kUndefined;
    }
    bool holds = false;
    switch (op) {
        case Op::kLess:
            holds = sign < 0;
            break;
        case Op::kLessEqual:
            holds = sign <= 0;
            break;
        case Op::kGreater:
            holds = sign > 0;
            break;
        case Op::kGreaterEqual:
            holds = sign >= 0;
            break;
        default:
            break;
    }
    return holds ? Truth::kTrue : Truth::kFalse;
}

Value apply_binary(Op op, const Value& a, const Value& b, EvalContext& context) {
    switch (op) {
        case Op::kEqual:
        case Op::kNotEqual:
        case Op::kLess:
        case Op::kLessEqual:
        case Op::kGreater:
        case Op::kGreaterEqual:
            return to_value(compare_values(op, a, b));
        case Op::kConcat: {
            if (!a.is_string() || !b.is_string()) return {};
            const size_t bytes = a.as_string().size() + b.as_string().size();
            if (!context.may_allocate(bytes)) return {};
            char* out = context.arena->allocate(bytes, 1);
            std::copy(a.as_string().begin(), a.as_string().end(), out);
            std::copy(b.as_string().begin(), b.as_string().end(), out + a.as_string().size());
            return Value::string({out, bytes});
        }
        default:
            break;
    }
    if (!a.is_number() || !b.is_number()) return {};
    return arithmetic(op, a.as_double(), b.as_double());
}

Value UnaryNode::eval(EvalContext& context) const {
    return apply_unary(op_, operand_->eval(context));
}

Truth LogicNode::test(EvalContext& context) const {
    bool unknown = false;
    for (const Node* operand : operands_) {
        const Truth t = operand->test(context);
        if (t == decisive_) return t;
        unknown |= t == Truth::kUndefined;
    }
    return unknown ? Truth::kUndefined : negate(decisive_);
}

Value CoalesceNode::eval(EvalContext& context) const {
    Value v;
    for (const Node* operand : operands_) {
        v = operand->eval(context);
        if (!v.is_undefined()) break;
    }
    return v;
}

Truth CompareNode::test(EvalContext& context) const {
    const Value left = left_->eval(context);
    return compare_values(op_, left, right_->eval(context));
}

Truth CompareConstantNode::test(EvalContext& context) const {
    return compare_values(op_, follow(context.slots[slot_], steps_, context), constant_);
}

Value ChainNode::eval(EvalContext& context) const {
    Value v = operands_[0]->eval(context);
    for (size_t i = 0; i < ops_.size(); ++i)
        v = apply_binary(ops_[i], v, operands_[i + 1]->eval(context), context);
    return v;
}

Value ConditionalNode::eval(EvalContext& context) const {
    return (condition_->test(context) == Truth::kTrue ? then_ : otherwise_)->eval(context);
}

Truth BetweenNode::test(EvalContext& context) const {
    const Value v = value_->eval(context);
    const Truth low = compare_values(Op::kGreaterEqual, v, low_->eval(context));
    const Truth high = compare_values(Op::kLessEqual, v, high_->eval(context));
    Truth both = Truth::kTrue;
    if (low == Truth::kFalse || high == Truth::kFalse) {
        both = Truth::kFalse;
    } else if (low == Truth::kUndefined || high == Truth::kUndefined) {
        both = Truth::kUndefined;
    }
    return negated_ ? negate(both) : both;
}

Truth InNode::test(EvalContext& context) const {
    const Value v = value_->eval(context);
    if (v.is_undefined()) return Truth::kUndefined;
    Truth result = Truth::kFalse;
    if (constants_ != nullptr && constants_->contains(v)) {
        result = Truth::kTrue;
    } else {
        for (const Node* element : list_) {
            const Truth t = equals(v, element->eval(context));
            if (t == Truth::kTrue) {
                result = t;
                break;
            }
            if (t == Truth::kUndefined) result = t;
        }
    }
    return negated_ ? negate(result) : result;
}

namespace {

/// Counts what a match can take. One with wildcards inside compares the text with the pattern at
/// every place if both are alike everywhere; others are searches.
bool charge_match(EvalContext& context, std::string_view text, std::string_view pattern) {
    constexpr size_t kStepsPerUnit = 64;
    const bool inside = pattern.size() > 2 &&
                        (pattern.find_first_of("_[") != std::string_view::npos ||
                         pattern.substr(1, pattern.size() - 2).find('%') != std::string_view::npos);
    const uint64_t steps = text.size() * (inside ? pattern.size() : 1);
    return steps < kStepsPerUnit || context.charge(steps / kStepsPerUnit);
}

}  // namespace

Truth LikeNode::test(EvalContext& context) const {
    const Value v = value_->eval(context);
    if (!v.is_string()) return Truth::kUndefined;
    const Value pattern = pattern_->eval(context);
    if (!pattern.is_string()) return Truth::kUndefined;
    if (!charge_match(context, v.as_string(), pattern.as_string())) return Truth::kUndefined;
    const bool matched = compiled_ != nullptr
                             ? compiled_->matches(v.as_string())
                             : LikePattern(pattern.as_string(), escape_).matches(v.as_string());
    return matched != negated_ ? Truth::kTrue : Truth::kFalse;
}

Value CallNode::eval(EvalContext& context) const {
    ValueBuffer values(args_.size());
    for (size_t i = 0; i < args_.size(); ++i) values[i] = args_[i]->eval(context);
    return function_(context, values.first(args_.size()));
}

Value UdfNode::eval(EvalContext& context) const {
    if (context.failed()) return {};
    if (context.udf == nullptr)
        return context.fail(errors::bad_request("The user-defined function 'udf." +
                                                std::string(name_) + "' does not exist here."));
    ValueBuffer values(args_.size());
    for (size_t i = 0; i < args_.size(); ++i) values[i] = args_[i]->eval(context);
    auto result = context.udf->call(name_, values.first(args_.size()), *context.arena);
    if (!result.ok()) return context.fail(std::move(result).take_status().take_error());
    return *result;
}

bool EvalContext::may_go_on() {
    if (cancelled != nullptr && *cancelled && (*cancelled)()) {
        fail(errors::request_timeout("The client has gone."));
        return false;
    }
    if (clock == nullptr) return true;
    const int64_t now = clock->monotonic_us();
    if (deadline_us_ == 0) deadline_us_ = now + limits::kItemMicrosMax;
    if (now <= deadline_us_) return true;
    fail(errors::bad_request(
        "The query takes too long on a single item. Narrow its JOINs or subqueries."));
    return false;
}

}  // namespace orrery::query
