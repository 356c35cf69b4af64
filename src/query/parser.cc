#include "query/parser.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/encoding.h"
#include "base/errors.h"
#include "query/choices.h"
#include "query/number.h"
#include "query/parser_base.h"

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

/// Recursive descent with precedence climbing.
class Parser : private ParserBase {
public:
    explicit Parser(Syntax& syntax) : ParserBase(syntax) {}

    Status run() {
        syntax_.query = query();
        return finish();
    }

    Status run_condition() {
        auto* q = make<Query>();
        syntax_.query = q;
        if (from(*q) && expect(Tok::kWhere)) q->where = expr();
        q->range = {0, static_cast<uint32_t>(syntax_.text.size())};
        return finish();
    }

private:
    Status finish() {
        if (!failed_ && token_.kind != Tok::kEnd) unexpected();
        if (!failed_) return {};
        return Status(std::move(error_));
    }

    // --- clauses ------------------------------------------------------------------------------
    const Query* query() {
        const Level level(*this);
        if (!level) return nullptr;
        const uint32_t start = token_.range.start;
        auto* q = make<Query>();
        if (!select(*q)) return nullptr;
        if (at(Tok::kFrom) && !from(*q)) return nullptr;
        if (accept(Tok::kWhere) && (q->where = expr()) == nullptr) return nullptr;
        if (at(Tok::kGroup) && !group_by(*q)) return nullptr;
        if (at(Tok::kOrder) && !order_by(*q)) return nullptr;
        if (at(Tok::kOffset) && !offset_limit(*q)) return nullptr;
        q->range = {start, end_};
        return set_height(*q, height_below(*q) + 1) ? q : nullptr;
    }

    static uint32_t height_below(const Query& q) {
        uint32_t below = 0;
        const auto see = [&](const Expr* e) {
            if (e != nullptr) below = std::max<uint32_t>(below, e->height);
        };
        see(q.value);
        see(q.where);
        for (const ast::SelectItem& item : q.items) see(item.expr);
        for (const ast::Source& s : q.sources) {
            see(s.collection);
            if (s.query != nullptr) below = std::max<uint32_t>(below, s.query->height);
        }
        for (const Expr* key : q.group_by) see(key);
        for (const ast::OrderItem& item : q.order_by) see(item.expr);
        return below;
    }

    bool select(Query& q) {
        if (!expect(Tok::kSelect)) return false;
        q.distinct = accept(Tok::kDistinct);
        if (at(Tok::kTop)) {
            const uint32_t start = token_.range.start;
            advance();
            if ((q.top = count()) == nullptr) return false;
            q.top_range = {start, end_};
        }
        if (at(Tok::kStar)) {
            q.star_range = token_.range;
            advance();
            return true;
        }
        if (accept(Tok::kValue)) {
            q.select_kind = ast::SelectKind::kValue;
            return (q.value = expr()) != nullptr;
        }
        q.select_kind = ast::SelectKind::kList;
        std::vector<ast::SelectItem> items;
        do {
            ast::SelectItem item;
            item.range.start = token_.range.start;
            if ((item.expr = expr()) == nullptr) return false;
            if (!optional_alias(item.alias)) return false;
            item.range.end = end_;
            items.push_back(item);
        } while (accept(Tok::kComma));
        q.items = take(items, 0);
        return true;
    }

    /// `[ [AS] identifier ]`
    bool optional_alias(std::string_view& alias) {
        const bool named = accept(Tok::kAs);
        if (at(Tok::kIdentifier)) {
            alias = token_.text;
            advance();
        } else if (named) {
            unexpected();
            return false;
        }
        return true;
    }

    const Expr* count() {
        if (!at(Tok::kNumber) && !at(Tok::kParameter)) return unexpected();
        return atom();
    }

    bool from(Query& q) {
        if (!expect(Tok::kFrom)) return false;
        std::vector<ast::Source> sources;
        do {
            ast::Source s;
            if (!source(s)) return false;
            sources.push_back(s);
            if (sources.size() > limits::kJoinsMax + 1) {
                fail(errors::bad_request(fmt::format(
                    "The query has more than the maximum of {} JOINs.", limits::kJoinsMax)));
                return false;
            }
        } while (accept(Tok::kJoin));
        q.sources = take(sources, 0);
        return true;
    }

    bool source(ast::Source& s) {
        s.range.start = token_.range.start;
        const Token first = token_;
        bool ok = false;
        if (at(Tok::kOpenParen)) {
            ok = (s.query = parenthesised_query()) != nullptr;
        } else if (!at(Tok::kIdentifier)) {
            unexpected();
        } else {
            advance();
            if (accept(Tok::kIn)) {
                s.iterate = true;
                s.alias = first.text;
                s.alias_range = first.range;
                ok = collection(s);
            } else {
                ok = (s.collection = source_path(first)) != nullptr;
            }
        }
        if (!ok) return false;
        if (!s.iterate) {
            const Token alias = token_;
            if (!optional_alias(s.alias)) return false;
            s.alias_range = s.alias.empty() ? first.range : Range{alias.range.start, end_};
        }
        s.range.end = end_;
        return true;
    }

    /// What may follow IN in FROM.
    bool collection(ast::Source& s) {
        if (at(Tok::kOpenParen)) return (s.query = parenthesised_query()) != nullptr;
        if (!at(Tok::kIdentifier)) return unexpected() != nullptr;
        const Token name = token_;
        advance();
        s.collection = at(Tok::kOpenParen) ? call(name) : source_path(name);
        return s.collection != nullptr;
    }

    const Query* parenthesised_query() {
        if (!expect(Tok::kOpenParen)) return nullptr;
        if (!at(Tok::kSelect)) return unexpected();
        const Query* q = query();
        if (q == nullptr || !expect(Tok::kCloseParen)) return nullptr;
        return q;
    }

    /// identifier { .name | ["name"] | [number] }, the identifier already consumed.
    const Expr* source_path(const Token& first) {
        Expr* base = make_expr(ExprKind::kIdentifier, first.range.start);
        base->range = first.range;
        base->name = first.text;
        const Expr* path = postfix(base);
        if (path == nullptr || path->kind != ExprKind::kPath) return path;
        for (const ast::Step& step : path->steps) {
            if (step.kind != ast::StepKind::kExpr) continue;
            Diagnostics diagnostics(syntax_.text);
            diagnostics.add(
                "SC1001", step.range,
                fmt::format("Syntax error, incorrect syntax near '{}'.",
                            std::string_view(syntax_.text)
                                .substr(step.expr->range.start,
                                        step.expr->range.end - step.expr->range.start)));
            return fail(diagnostics.to_error());
        }
        return path;
    }

    bool group_by(Query& q) {
        advance();
        if (!expect(Tok::kBy)) return false;
        const size_t mark = exprs_.size();
        do {
            const Expr* e = expr();
            if (e == nullptr) return false;
            exprs_.push_back(e);
        } while (accept(Tok::kComma));
        q.group_by = take(exprs_, mark);
        return true;
    }

    bool order_by(Query& q) {
        q.order_by_range.start = token_.range.start;
        advance();
        if (!expect(Tok::kBy)) return false;
        q.order_by_rank = accept(Tok::kRank);
        std::vector<ast::OrderItem> items;
        do {
            ast::OrderItem item;
            if (q.order_by_rank) {
                const Token name = token_;
                if (!expect(Tok::kIdentifier)) return false;
                if (!at(Tok::kOpenParen)) return unexpected() != nullptr;
                item.expr = call(name);
            } else {
                item.expr = expr();
            }
            if (item.expr == nullptr) return false;
            if (accept(Tok::kAsc)) {
                item.direction = ast::Direction::kAscending;
            } else if (accept(Tok::kDesc)) {
                item.direction = ast::Direction::kDescending;
            }
            items.push_back(item);
        } while (accept(Tok::kComma));
        q.order_by = take(items, 0);
        q.order_by_range.end = end_;
        return true;
    }

    bool offset_limit(Query& q) {
        q.offset_limit_range.start = token_.range.start;
        advance();
        if ((q.offset = count()) == nullptr || !expect(Tok::kLimit)) return false;
        if ((q.limit = count()) == nullptr) return false;
        q.offset_limit_range.end = end_;
        return true;
    }

    // --- expressions --------------------------------------------------------------------------
    const Expr* expr() {
        const Level level(*this);
        if (!level) return nullptr;
        const uint32_t start = token_.range.start;
        return conditional_after(binary(kCoalesceLevel), start);
    }

    /// [ ? expr : expr ]
    const Expr* conditional_after(const Expr* condition, uint32_t start) {
        if (condition == nullptr || !accept(Tok::kQuestion)) return condition;
        const Expr* then = expr();
        if (then == nullptr || !expect(Tok::kColon)) return nullptr;
        const Expr* otherwise = expr();
        if (otherwise == nullptr) return nullptr;
        Expr* e = make_expr(ExprKind::kConditional, start);
        e->args = list(condition, then, otherwise);
        return done(e);
    }

    /// Everything that binds at least as tightly as `level`.
    const Expr* binary(int level) {
        const uint32_t start = token_.range.start;
        return binary_after(unary(), level, start);
    }

    /// The operators behind `left`.
    const Expr* binary_after(const Expr* left, int level, uint32_t start) {
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

    const Expr* chain(const Expr* first, int level, uint32_t start) {
        const Level nested(*this);
        if (!nested) return nullptr;
        Expr* e = nullptr;
        if (first->kind == ExprKind::kBinary && op_level(first->ops[0]) == level) {
            // `(a - b) - c` is the chain `a - b - c`. Nobody else knows the node yet.
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

    bool at_predicate() const {
        return at(Tok::kBetween) || at(Tok::kIn) || at(Tok::kLike) || at(Tok::kNot);
    }

    const Expr* predicate(const Expr* operand, uint32_t start) {
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

    Expr* in_list(const Expr* operand, uint32_t start) {
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
            return fail(errors::bad_request(fmt::format(
                "An IN list has more than the maximum of {} items.", limits::kInListMax)));
        Expr* e = make_expr(ExprKind::kIn, start);
        e->args = take(exprs_, mark);
        return done(e);
    }

    const Expr* unary() {
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
            const json::Value value = number_from_text(
                std::string_view(syntax_.text).substr(from, token_.range.end - from));
            advance();
            Expr* e = make_expr(ExprKind::kLiteral, sign.range.start);
            e->value = value;
            return postfix(e);
        }
        const Expr* operand =
            op == Op::kNot && !choices::kNotBindsTightly ? binary(kPredicateLevel) : unary();
        if (operand == nullptr) return nullptr;
        Expr* e = make_expr(ExprKind::kUnary, sign.range.start);
        append(e->ops, op);
        e->args = list(operand);
        return done(e);
    }

    const Expr* postfix(const Expr* base) {
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

    bool path_step(ast::Step& step) {
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

    const Expr* literal(json::Value value) {
        const uint32_t start = token_.range.start;
        advance();
        Expr* e = make_expr(ExprKind::kLiteral, start);
        e->value = value;
        return e;
    }

    const Expr* atom() {
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

    /// Any number of opening parentheses is read by a loop: each one closes around what was read
    /// so far, which then is the left operand of what follows.
    const Expr* parenthesised() {
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

    const Expr* unexpected_at(const Token& token) {
        token_ = token;
        return unexpected();
    }

    const Expr* named(ExprKind kind) {
        const Token token = token_;
        advance();
        Expr* e = make_expr(kind, token.range.start);
        e->name = token.text;
        return e;
    }

    const Expr* subquery(ExprKind kind, const Token& keyword) {
        const Query* q = parenthesised_query();
        if (q == nullptr) return nullptr;
        Expr* e = make_expr(kind, keyword.range.start);
        e->query = q;
        return done(e);
    }

    /// ( [ expr { , expr } ] ), after a name. ALL, FIRST and LAST take a subquery instead.
    const Expr* call(const Token& name) {
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

    const Expr* udf_call() {
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

    /// Pushes a possibly empty list on exprs_ and consumes `close`.
    bool expressions_until(Tok close) {
        if (accept(close)) return true;
        do {
            const Expr* element = expr();
            if (element == nullptr) return false;
            exprs_.push_back(element);
        } while (accept(Tok::kComma));
        return expect(close);
    }

    const Expr* array() {
        const uint32_t start = token_.range.start;
        advance();
        const size_t mark = exprs_.size();
        if (!expressions_until(Tok::kCloseBracket)) return nullptr;
        Expr* e = make_expr(ExprKind::kArray, start);
        e->args = take(exprs_, mark);
        return done(e);
    }

    const Expr* object() {
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

    uint32_t udf_references_ = 0;
    // Stacks shared by all levels of the recursion; each level takes what it pushed.
    std::vector<const Expr*> exprs_;
    std::vector<std::string_view> names_;
};

Status check_text(std::string_view text) {
    if (text.size() > limits::kTextBytesMax)
        return Status(errors::bad_request(
            fmt::format("The query text of {} bytes exceeds the maximum of {} bytes.", text.size(),
                        limits::kTextBytesMax)));
    if (!is_valid_utf8(text))
        return Status(errors::bad_request("The query text is not valid UTF-8."));
    return {};
}

}  // namespace

Result<std::unique_ptr<Syntax>> parse_query(std::string_view text) {
    TRY_STATUS(check_text(text));
    auto syntax = std::make_unique<Syntax>(text);
    TRY_STATUS(Parser(*syntax).run());
    return syntax;
}

Result<std::unique_ptr<Syntax>> parse_condition(std::string_view text) {
    TRY_STATUS(check_text(text));
    auto syntax = std::make_unique<Syntax>(text);
    TRY_STATUS(Parser(*syntax).run_condition());
    return syntax;
}

}  // namespace orrery::query
