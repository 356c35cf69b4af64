#pragma once

#include <span>
#include <string_view>

#include "query/bind/eval.h"
#include "query/bind/level.h"
#include "query/functions/functions.h"
#include "query/functions/like.h"
#include "query/functions/values.h"
#include "query/parse/ast.h"

/// The compiled forms of expressions. All are immutable and live in an arena.
namespace orrery::query {

class ConstantNode final : public Node {
public:
    explicit ConstantNode(json::Value value) : value_(value) {}
    json::Value eval(EvalContext&) const override { return value_; }
    const json::Value* constant() const override { return &value_; }

private:
    json::Value value_;
};

class SlotNode final : public Node {
public:
    explicit SlotNode(uint32_t slot) : slot_(slot) {}
    json::Value eval(EvalContext& context) const override { return context.slots[slot_]; }
    uint32_t slot() const { return slot_; }

private:
    uint32_t slot_;
};

class ParameterNode final : public Node {
public:
    explicit ParameterNode(uint32_t index) : index_(index) {}
    json::Value eval(EvalContext& context) const override { return context.parameters[index_]; }
    uint32_t index() const { return index_; }

private:
    uint32_t index_;
};

struct PathStep {
    enum class Kind : uint8_t { kName, kIndex, kParameter, kNothing } kind = Kind::kName;
    std::string_view name;
    uint64_t index = 0;  ///< of the element or of the parameter
};

/// Follows steps from a value: a member of an object, an element of an array, else undefined.
json::Value follow(json::Value value, std::span<const PathStep> steps, EvalContext& context);

/// A path from a slot: the common case.
class SlotPathNode final : public Node {
public:
    SlotPathNode(uint32_t slot, std::span<const PathStep> steps) : slot_(slot), steps_(steps) {}
    json::Value eval(EvalContext& context) const override;
    uint32_t slot() const { return slot_; }
    std::span<const PathStep> steps() const { return steps_; }

private:
    uint32_t slot_;
    std::span<const PathStep> steps_;
};

/// A member of the item whose name is a parameter: a computed property, or what the item stores.
class NamedMemberNode final : public Node {
public:
    NamedMemberNode(uint32_t slot, uint32_t parameter, std::span<const std::string_view> names,
                    std::span<const uint32_t> slots)
        : slot_(slot), parameter_(parameter), names_(names), slots_(slots) {}
    json::Value eval(EvalContext& context) const override;

private:
    uint32_t slot_;
    uint32_t parameter_;
    std::span<const std::string_view> names_;  // of the computed properties, and …
    std::span<const uint32_t> slots_;          // … where their values are
};

class PathNode final : public Node {
public:
    PathNode(const Node* base, std::span<const PathStep> steps) : base_(base), steps_(steps) {}
    json::Value eval(EvalContext& context) const override;

private:
    const Node* base_;
    std::span<const PathStep> steps_;
};

class ArrayNode final : public Node {
public:
    ArrayNode(std::span<const Node* const> elements, bool check_size)
        : elements_(elements), check_size_(check_size) {}
    json::Value eval(EvalContext& context) const override;

private:
    std::span<const Node* const> elements_;
    bool check_size_;  // the value may be much larger than the memory it takes
};

class ObjectNode final : public Node {
public:
    ObjectNode(std::span<const std::string_view> names, std::span<const Node* const> values,
               bool check_size)
        : names_(names), values_(values), check_size_(check_size) {}
    json::Value eval(EvalContext& context) const override;

private:
    std::span<const std::string_view> names_;
    std::span<const Node* const> values_;
    bool check_size_;
};

/// Computes a unary or one step of a binary operator.
json::Value apply_unary(ast::Op op, const json::Value& operand);
json::Value apply_binary(ast::Op op, const json::Value& a, const json::Value& b,
                         EvalContext& context);
Truth compare_values(ast::Op op, const json::Value& a, const json::Value& b);

class UnaryNode final : public Node {
public:
    UnaryNode(ast::Op op, const Node* operand) : op_(op), operand_(operand) {}
    json::Value eval(EvalContext& context) const override;

private:
    ast::Op op_;
    const Node* operand_;
};

class NotNode final : public Node {
public:
    explicit NotNode(const Node* operand) : operand_(operand) {}
    json::Value eval(EvalContext& context) const override { return to_value(test(context)); }
    Truth test(EvalContext& context) const override { return negate(operand_->test(context)); }
    const Node* operand() const { return operand_; }

private:
    const Node* operand_;
};

/// AND, OR
class LogicNode final : public Node {
public:
    LogicNode(ast::Op op, std::span<const Node* const> operands)
        : decisive_(op == ast::Op::kOr ? Truth::kTrue : Truth::kFalse), operands_(operands) {}
    json::Value eval(EvalContext& context) const override { return to_value(test(context)); }
    Truth test(EvalContext& context) const override;
    std::span<const Node* const> operands() const { return operands_; }

private:
    Truth decisive_;  // the operand value that settles the result
    std::span<const Node* const> operands_;
};

/// ??
class CoalesceNode final : public Node {
public:
    explicit CoalesceNode(std::span<const Node* const> operands) : operands_(operands) {}
    json::Value eval(EvalContext& context) const override;

private:
    std::span<const Node* const> operands_;
};

/// One comparison.
class CompareNode final : public Node {
public:
    CompareNode(ast::Op op, const Node* left, const Node* right)
        : op_(op), left_(left), right_(right) {}
    json::Value eval(EvalContext& context) const override { return to_value(test(context)); }
    Truth test(EvalContext& context) const override;

private:
    ast::Op op_;
    const Node* left_;
    const Node* right_;
};

/// A path of names from a slot compared with a constant: what most filters are made of.
class CompareConstantNode final : public Node {
public:
    CompareConstantNode(ast::Op op, uint32_t slot, std::span<const PathStep> steps,
                        json::Value constant)
        : op_(op), slot_(slot), steps_(steps), constant_(constant) {}
    json::Value eval(EvalContext& context) const override { return to_value(test(context)); }
    Truth test(EvalContext& context) const override;

private:
    ast::Op op_;
    uint32_t slot_;
    std::span<const PathStep> steps_;
    json::Value constant_;
};

/// Any other left-associative chain of one level.
class ChainNode final : public Node {
public:
    ChainNode(std::span<const ast::Op> ops, std::span<const Node* const> operands)
        : ops_(ops), operands_(operands) {}
    json::Value eval(EvalContext& context) const override;

private:
    std::span<const ast::Op> ops_;
    std::span<const Node* const> operands_;
};

class ConditionalNode final : public Node {
public:
    ConditionalNode(const Node* condition, const Node* then, const Node* otherwise)
        : condition_(condition), then_(then), otherwise_(otherwise) {}
    json::Value eval(EvalContext& context) const override;

private:
    const Node* condition_;
    const Node* then_;
    const Node* otherwise_;
};

class BetweenNode final : public Node {
public:
    BetweenNode(const Node* value, const Node* low, const Node* high, bool negated)
        : value_(value), low_(low), high_(high), negated_(negated) {}
    json::Value eval(EvalContext& context) const override { return to_value(test(context)); }
    Truth test(EvalContext& context) const override;

private:
    const Node* value_;
    const Node* low_;
    const Node* high_;
    bool negated_;
};

/// IN. Long lists of constants are looked up in a set (owned by the query).
class InNode final : public Node {
public:
    InNode(const Node* value, std::span<const Node* const> list, const ValueSet* constants,
           bool negated)
        : value_(value), list_(list), constants_(constants), negated_(negated) {}
    json::Value eval(EvalContext& context) const override { return to_value(test(context)); }
    Truth test(EvalContext& context) const override;

private:
    const Node* value_;
    std::span<const Node* const> list_;  // what is not in `constants_`
    const ValueSet* constants_;          // may be null
    bool negated_;
};

class LikeNode final : public Node {
public:
    /// `compiled` (owned by the query) when the pattern is constant, else null.
    LikeNode(const Node* value, const Node* pattern, const LikePattern* compiled, char32_t escape,
             bool negated)
        : value_(value),
          pattern_(pattern),
          compiled_(compiled),
          escape_(escape),
          negated_(negated) {}
    json::Value eval(EvalContext& context) const override { return to_value(test(context)); }
    Truth test(EvalContext& context) const override;

private:
    const Node* value_;
    const Node* pattern_;
    const LikePattern* compiled_;
    char32_t escape_;
    bool negated_;
};

class CallNode final : public Node {
public:
    CallNode(ScalarFunction function, std::span<const Node* const> args)
        : function_(function), args_(args) {}
    json::Value eval(EvalContext& context) const override;

private:
    ScalarFunction function_;
    std::span<const Node* const> args_;
};

class UdfNode final : public Node {
public:
    UdfNode(std::string_view name, std::span<const Node* const> args) : name_(name), args_(args) {}
    json::Value eval(EvalContext& context) const override;

private:
    std::string_view name_;
    std::span<const Node* const> args_;
};

/// (query), EXISTS, ARRAY, ALL, FIRST, LAST
class SubqueryNode final : public Node {
public:
    SubqueryNode(ast::ExprKind kind, const Level* query) : kind_(kind), query_(query) {}
    json::Value eval(EvalContext& context) const override;

private:
    ast::ExprKind kind_;
    const Level* query_;
};

}  // namespace orrery::query
