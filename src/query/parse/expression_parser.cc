#include "query/parse/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/encoding.h"
#include "base/errors.h"
#include "query/parse/number.h"

namespace orrery::query {
namespace {

// Binding strength of the binary levels; 0 is no operator. Predicates (BETWEEN, IN, LIKE) stand
// between AND and || and do not chain.
constexpr int kCoalesceLevel = 1;
constexpr int kPredicateLevel = 4;

struct BinaryOp {
    int level = 0;
    Op op = Op::kAdd;
};

struct OperatorEntry {
    Tok token;
    Op op;
    int level;
};

constexpr OperatorEntry kOperators[] = {
    {Tok::kCoalesce, Op::kCoalesce, kCoalesceLevel},
    {Tok::kOr, Op::kOr, 2},
    {Tok::kAnd, Op::kAnd, 3},
    {Tok::kConcat, Op::kConcat, kPredicateLevel + 1},
    {Tok::kPipe, Op::kBitOr, 6},
    {Tok::kCaret, Op::kBitXor, 7},
    {Tok::kAmpersand, Op::kBitAnd, 8},
    {Tok::kEqual, Op::kEqual, 9},
    {Tok::kNotEqual, Op::kNotEqual, 9},
    {Tok::kLess, Op::kLess, 10},
    {Tok::kLessEqual, Op::kLessEqual, 10},
    {Tok::kGreater, Op::kGreater, 10},
    {Tok::kGreaterEqual, Op::kGreaterEqual, 10},
    {Tok::kShiftLeft, Op::kShiftLeft, 11},
    {Tok::kShiftRight, Op::kShiftRight, 11},
    {Tok::kShiftRightUnsigned, Op::kShiftRightUnsigned, 11},
    {Tok::kPlus, Op::kAdd, 12},
    {Tok::kMinus, Op::kSubtract, 12},
    {Tok::kStar, Op::kMultiply, 13},
    {Tok::kSlash, Op::kDivide, 13},
    {Tok::kPercent, Op::kModulo, 13},
};

constexpr size_t kTokenCount = static_cast<size_t>(Tok::kWhere) + 1;
constexpr size_t kOpCount = static_cast<size_t>(Op::kNot) + 1;

constexpr auto kByToken = [] {
    std::array<BinaryOp, kTokenCount> out{};
    for (const OperatorEntry& entry : kOperators)
        out[static_cast<size_t>(entry.token)] = {entry.level, entry.op};
    return out;
}();
constexpr auto kLevelByOp = [] {
    std::array<int, kOpCount> out{};
    for (const OperatorEntry& entry : kOperators) out[static_cast<size_t>(entry.op)] = entry.level;
    return out;
}();

BinaryOp binary_op(Tok token) {
    return kByToken[static_cast<size_t>(token)];
}

int op_level(Op op) {
    return kLevelByOp[static_cast<size_t>(op)];
}

}  // namespace

const Query* ExpressionParser::parenthesised_query() {
    if (!expect(Tok::kOpenParen)) return nullptr;
    if (!at(Tok::kSelect)) return unexpected();
    const Query* q = query();
    if (q == nullptr || !expect(Tok::kCloseParen)) return nullptr;
    return q;
}

const Expr* ExpressionParser::expr() {
    const Level level(*this);
    if (!level) return nullptr;
    const uint32_t start = token_.range.start;
    return conditional_after(binary(kCoalesceLevel), start);
}

const Expr* ExpressionParser::conditional_after(const Expr* condition, uint32_t start) {
    if (condition == nullptr || !accept(Tok::kQuestion)) return condition;
    const Expr* then = expr();
    if (then == nullptr || !expect(Tok::kColon)) return nullptr;
    const Expr* otherwise = expr();
    if (otherwise == nullptr) return nullptr;
    Expr* e = make_expr(ExprKind::kConditional, start);
    e->args = list(condition, then, otherwise);
    return done(e);
}

const Expr* ExpressionParser::binary(int level) {
    const uint32_t start = token_.range.start;
    return binary_after(unary(), level, start);
}

const Expr* ExpressionParser::binary_after(const Expr* left, int level, uint32_t start) {
    bool predicate_seen = false;
    while (left != nullptr) {
        const BinaryOp next = binary_op(token_.kind);
        if (next.level != 0 && next.level >= level) {
            // After a predicate only looser operators may follow.
            if (predicate_seen && next.level > kPredicateLevel) return unexpected();
            left = chain(left, next.level, start);
        } else if (next.level == 0 && level <= kPredicateLevel && at_predicate()) {
            if (predicate_seen) return unexpected();
            predicate_seen = true;
            left = predicate(left, start);
        } else {
            break;
        }
        if (next.level != 0 && next.level < kPredicateLevel) predicate_seen = false;
    }
    return left;
}

const Expr* ExpressionParser::chain(const Expr* first, int level, uint32_t start) {
    const Level nested(*this);
    if (!nested) return nullptr;
    Expr* e = nullptr;
    if (first->kind == ExprKind::kBinary && op_level(first->ops[0]) == level) {
        // `(a - b) - c` is the chain `a - b - c`. No other node refers to it yet.
        e = const_cast<Expr*>(first);
    } else {
        e = make_expr(ExprKind::kBinary, start);
        append(e->args, first);
        set_height(*e, first->height + 1u);
    }
    for (BinaryOp next = binary_op(token_.kind); next.level == level;
         next = binary_op(token_.kind)) {
        advance();
        const Expr* right = binary(level + 1);
        if (right == nullptr) return nullptr;
        append(e->ops, next.op);
        append(e->args, right);
        if (right->height >= e->height) set_height(*e, right->height + 1u);
    }
    e->range = {start, end_};
    return failed_ ? nullptr : e;
}

bool ExpressionParser::at_predicate() const {
    return at(Tok::kBetween) || at(Tok::kIn) || at(Tok::kLike) || at(Tok::kNot);
}

const Expr* ExpressionParser::predicate(const Expr* operand, uint32_t start) {
    const bool negated = accept(Tok::kNot);
    Expr* e = nullptr;
    if (accept(Tok::kBetween)) {
        const Expr* low = binary(kPredicateLevel + 1);
        if (low == nullptr || !expect(Tok::kAnd)) return nullptr;
        const Expr* high = binary(kPredicateLevel + 1);
        if (high == nullptr) return nullptr;
        e = make_expr(ExprKind::kBetween, start);
        e->args = list(operand, low, high);
    } else if (accept(Tok::kIn)) {
        e = in_list(operand, start);
    } else if (accept(Tok::kLike)) {
        const Expr* pattern = binary(kPredicateLevel + 1);
        if (pattern == nullptr) return nullptr;
        json::Value escape;
        if (accept(Tok::kEscape)) {
            escape = token_.value;
            if (!expect(Tok::kString)) return nullptr;
        }
        e = make_expr(ExprKind::kLike, start);
        e->args = list(operand, pattern);
        e->value = escape;
    } else {
        return unexpected();
    }
    if (e == nullptr) return nullptr;
    e->negated = negated;
    return done(e);
}

Expr* ExpressionParser::in_list(const Expr* operand, uint32_t start) {
    if (!expect(Tok::kOpenParen)) return nullptr;
    const size_t mark = exprs_.size();
    exprs_.push_back(operand);
    do {
        const Expr* element = expr();
        if (element == nullptr) return nullptr;
        exprs_.push_back(element);
    } while (accept(Tok::kComma));
    if (!expect(Tok::kCloseParen)) return nullptr;
    if (exprs_.size() - mark - 1 > limits::kInListMax)
        return fail(errors::bad_request(
            fmt::format("An IN list has more than the maximum of {} items.", limits::kInListMax)));
    Expr* e = make_expr(ExprKind::kIn, start);
    e->args = take(exprs_, mark);
    return done(e);
}

const Expr* ExpressionParser::unary() {
    Op op;
    switch (token_.kind) {
        case Tok::kMinus:
            op = Op::kMinus;
            break;
        case Tok::kPlus:
            op = Op::kPlus;
            break;
        case Tok::kTilde:
            op = Op::kComplement;
            break;
        case Tok::kNot:
            op = Op::kNot;
            break;
        default:
            return postfix(atom());
    }
    const Level level(*this);
    if (!level) return nullptr;
    const Token sign = token_;
    advance();
    if ((op == Op::kMinus || op == Op::kPlus) && at(Tok::kNumber) &&
        token_.range.start == sign.range.end) {
        const uint32_t from = op == Op::kMinus ? sign.range.start : token_.range.start;
        const json::Value value =
            number_from_text(std::string_view(syntax_.text).substr(from, token_.range.end - from));
        advance();
        Expr* e = make_expr(ExprKind::kLiteral, sign.range.start);
        e->value = value;
        return postfix(e);
    }
    const Expr* operand = unary();
    if (operand == nullptr) return nullptr;
    Expr* e = make_expr(ExprKind::kUnary, sign.range.start);
    append(e->ops, op);
    e->args = list(operand);
    return done(e);
}

const Expr* ExpressionParser::postfix(const Expr* base) {
    if (base == nullptr || (!at(Tok::kDot) && !at(Tok::kOpenBracket))) return base;
    Expr* e = nullptr;
    if (base->kind == ExprKind::kPath) {
        e = const_cast<Expr*>(base);  // `(c.a).b` is `c.a.b`
    } else {
        e = make_expr(ExprKind::kPath, base->range.start);
        e->args = list(base);
    }
    while (at(Tok::kDot) || at(Tok::kOpenBracket)) {
        ast::Step step;
        if (!path_step(step)) return nullptr;
        append(e->steps, step);
        const uint32_t below = step.expr == nullptr ? 0 : step.expr->height;
        set_height(*e, std::max<uint32_t>({e->height, e->args[0]->height + 1u, below + 1u}));
    }
    e->range.end = end_;
    return failed_ ? nullptr : e;
}

bool ExpressionParser::path_step(ast::Step& step) {
    step.range.start = token_.range.start;
    if (accept(Tok::kDot)) {
        step.name = token_.text;
        if (!expect(Tok::kIdentifier)) return false;
    } else {
        advance();
        const Expr* index = expr();
        if (index == nullptr || !expect(Tok::kCloseBracket)) return false;
        if (index->kind == ExprKind::kLiteral && index->value.is_string()) {
            step.kind = ast::StepKind::kBracket;
            step.name = index->value.as_string();
        } else if (index->kind == ExprKind::kLiteral && index->value.is_number()) {
            step.kind = ast::StepKind::kIndex;
            step.index = index->value;
        } else {
            step.kind = ast::StepKind::kExpr;
            step.expr = index;
        }
    }
    step.range.end = end_;
    return true;
}

const Expr* ExpressionParser::literal(json::Value value) {
    const uint32_t start = token_.range.start;
    advance();
    Expr* e = make_expr(ExprKind::kLiteral, start);
    e->value = value;
    return e;
}

const Expr* ExpressionParser::atom() {
    const Token first = token_;
    switch (first.kind) {
        case Tok::kNumber:
        case Tok::kString:
            return literal(first.value);
        case Tok::kTrue:
            return literal(json::Value::boolean(true));
        case Tok::kFalse:
            return literal(json::Value::boolean(false));
        case Tok::kNull:
            return literal(json::Value::null());
        case Tok::kUndefined:
            return literal(json::Value());
        case Tok::kParameter:
            return named(ExprKind::kParameter);
        case Tok::kOpenBracket:
            return array();
        case Tok::kOpenBrace:
            return object();
        case Tok::kExists:
            advance();
            return subquery(ExprKind::kExists, first);
        case Tok::kArray:
            advance();
            return subquery(ExprKind::kArrayOf, first);
        case Tok::kUdf:
            return udf_call();
        case Tok::kLeft:
        case Tok::kRight:
            advance();
            return at(Tok::kOpenParen) ? call(first) : unexpected_at(first);
        case Tok::kOpenParen:
            break;
        case Tok::kIdentifier: {
            const Expr* name = named(ExprKind::kIdentifier);
            return at(Tok::kOpenParen) ? call(first) : name;
        }
        default:
            return unexpected();
    }
    return parenthesised();
}

const Expr* ExpressionParser::parenthesised() {
    std::vector<uint32_t> starts;
    while (at(Tok::kOpenParen)) {
        starts.push_back(token_.range.start);
        advance();
    }
    const Expr* e = nullptr;
    if (at(Tok::kSelect)) {
        const Query* q = query();
        if (q == nullptr || !expect(Tok::kCloseParen)) return nullptr;
        Expr* subquery_expr = make_expr(ExprKind::kSubquery, starts.back());
        subquery_expr->query = q;
        e = done(subquery_expr);
    } else {
        e = expr();
        if (e == nullptr || !expect(Tok::kCloseParen)) return nullptr;
    }
    for (starts.pop_back(); !starts.empty() && e != nullptr; starts.pop_back()) {
        const uint32_t start = starts.back() + 1;
        e = conditional_after(binary_after(postfix(e), kCoalesceLevel, start), start);
        if (e == nullptr || !expect(Tok::kCloseParen)) return nullptr;
    }
    return e;
}

const Expr* ExpressionParser::unexpected_at(const Token& token) {
    token_ = token;
    return unexpected();
}

const Expr* ExpressionParser::named(ExprKind kind) {
    const Token token = token_;
    advance();
    Expr* e = make_expr(kind, token.range.start);
    e->name = token.text;
    return e;
}

const Expr* ExpressionParser::subquery(ExprKind kind, const Token& keyword) {
    const Query* q = parenthesised_query();
    if (q == nullptr) return nullptr;
    Expr* e = make_expr(kind, keyword.range.start);
    e->query = q;
    return done(e);
}

const Expr* ExpressionParser::call(const Token& name) {
    advance();
    if (at(Tok::kSelect)) {
        ExprKind kind;
        if (equals_ignore_case(name.text, "ALL")) {
            kind = ExprKind::kAll;
        } else if (equals_ignore_case(name.text, "FIRST")) {
            kind = ExprKind::kFirst;
        } else if (equals_ignore_case(name.text, "LAST")) {
            kind = ExprKind::kLast;
        } else {
            return unexpected();
        }
        const Query* q = query();
        if (q == nullptr || !expect(Tok::kCloseParen)) return nullptr;
        Expr* e = make_expr(kind, name.range.start);
        e->query = q;
        return done(e);
    }
    const size_t mark = exprs_.size();
    if (!expressions_until(Tok::kCloseParen)) return nullptr;
    Expr* e = make_expr(ExprKind::kCall, name.range.start);
    e->name = name.text;
    e->name_range = name.range;
    e->args = take(exprs_, mark);
    return done(e);
}

const Expr* ExpressionParser::udf_call() {
    const uint32_t start = token_.range.start;
    advance();
    if (!expect(Tok::kDot)) return nullptr;
    const Token name = token_;
    if (!expect(Tok::kIdentifier)) return nullptr;
    if (!at(Tok::kOpenParen)) return unexpected();
    if (++udf_references_ > limits::kUdfReferencesMax)
        return fail(errors::bad_request(
            fmt::format("The query has more than the maximum of {} references to user-defined "
                        "functions.",
                        limits::kUdfReferencesMax)));
    advance();
    const size_t mark = exprs_.size();
    if (!expressions_until(Tok::kCloseParen)) return nullptr;
    Expr* e = make_expr(ExprKind::kUdfCall, start);
    e->name = name.text;
    e->name_range = {start, name.range.end};
    e->args = take(exprs_, mark);
    return done(e);
}

bool ExpressionParser::expressions_until(Tok close) {
    if (accept(close)) return true;
    do {
        const Expr* element = expr();
        if (element == nullptr) return false;
        exprs_.push_back(element);
    } while (accept(Tok::kComma));
    return expect(close);
}

const Expr* ExpressionParser::array() {
    const uint32_t start = token_.range.start;
    advance();
    const size_t mark = exprs_.size();
    if (!expressions_until(Tok::kCloseBracket)) return nullptr;
    Expr* e = make_expr(ExprKind::kArray, start);
    e->args = take(exprs_, mark);
    return done(e);
}

const Expr* ExpressionParser::object() {
    const uint32_t start = token_.range.start;
    advance();
    const size_t args_mark = exprs_.size();
    const size_t names_mark = names_.size();
    if (!accept(Tok::kCloseBrace)) {
        do {
            if (at(Tok::kString)) {
                names_.push_back(token_.value.as_string());
            } else if (at(Tok::kIdentifier)) {
                names_.push_back(token_.text);
            } else {
                return unexpected();
            }
            advance();
            if (!expect(Tok::kColon)) return nullptr;
            const Expr* member = expr();
            if (member == nullptr) return nullptr;
            exprs_.push_back(member);
        } while (accept(Tok::kComma));
        if (!expect(Tok::kCloseBrace)) return nullptr;
    }
    Expr* e = make_expr(ExprKind::kObject, start);
    e->args = take(exprs_, args_mark);
    e->names = take(names_, names_mark);
    return done(e);
}

}  // namespace orrery::query
