#include "query/parse/ast.h"

#include <bit>
#include <functional>

#include "json/order.h"

namespace orrery::query::ast {

std::string_view op_text(Op op) {
    switch (op) {
        case Op::kCoalesce:
            return "??";
        case Op::kOr:
            return "OR";
        case Op::kAnd:
            return "AND";
        case Op::kConcat:
            return "||";
        case Op::kBitOr:
            return "|";
        case Op::kBitXor:
            return "^";
        case Op::kBitAnd:
            return "&";
        case Op::kEqual:
            return "=";
        case Op::kNotEqual:
            return "!=";
        case Op::kLess:
            return "<";
        case Op::kLessEqual:
            return "<=";
        case Op::kGreater:
            return ">";
        case Op::kGreaterEqual:
            return ">=";
        case Op::kShiftLeft:
            return "<<";
        case Op::kShiftRight:
            return ">>";
        case Op::kShiftRightUnsigned:
            return ">>>";
        case Op::kAdd:
            return "+";
        case Op::kSubtract:
            return "-";
        case Op::kMultiply:
            return "*";
        case Op::kDivide:
            return "/";
        case Op::kModulo:
            return "%";
        case Op::kMinus:
            return "-";
        case Op::kPlus:
            return "+";
        case Op::kComplement:
            return "~";
        case Op::kNot:
            return "NOT";
    }
    return "";
}

namespace {

bool same_value(const json::Value& a, const json::Value& b) {
    return a.type() == b.type() && (a.is_undefined() || json::equal(a, b));
}

bool same_or_null(const Expr* a, const Expr* b) {
    return a == nullptr || b == nullptr ? a == b : same(*a, *b);
}

bool same_or_null(const Query* a, const Query* b) {
    return a == nullptr || b == nullptr ? a == b : same(*a, *b);
}

bool same_list(std::span<const Expr* const> a, std::span<const Expr* const> b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
        if (!same(*a[i], *b[i])) return false;
    return true;
}

bool same_step(const Step& a, const Step& b) {
    if (a.is_name() || b.is_name()) return a.is_name() && b.is_name() && a.name == b.name;
    if (a.kind != b.kind) return false;
    return a.kind == StepKind::kIndex ? same_value(a.index, b.index) : same(*a.expr, *b.expr);
}

bool same_name(ExprKind kind, std::string_view a, std::string_view b) {
    if (kind != ExprKind::kCall) return a == b;
    if (a.size() != b.size()) return false;  // built-in names ignore case
    for (size_t i = 0; i < a.size(); ++i) {
        const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; };
        if (lower(a[i]) != lower(b[i])) return false;
    }
    return true;
}

uint64_t mixed(uint64_t before, uint64_t value) {
    uint64_t h = (before ^ value) * 0x9E3779B97F4A7C15;
    h ^= h >> 29;
    return h * 0xBF58476D1CE4E5B9 + 1;
}

uint64_t mixed(uint64_t before, std::string_view text) {
    return mixed(before, std::hash<std::string_view>{}(text));
}

/// Built-in names ignore case.
uint64_t mixed_ignoring_case(uint64_t before, std::string_view text) {
    for (const char c : text)
        before = mixed(before, static_cast<uint64_t>(c >= 'A' && c <= 'Z' ? c + 32 : c));
    return before;
}

uint64_t mixed(uint64_t before, const json::Value& v) {
    if (v.is_string()) return mixed(before, v.as_string());
    // Both zeros are one number.
    if (v.is_number()) return mixed(before, std::bit_cast<uint64_t>(v.as_double() + 0.0));
    return mixed(before, static_cast<uint64_t>(v.type()));
}

}  // namespace

bool same(const Expr& a, const Expr& b) {
    if (a.kind != b.kind || a.negated != b.negated || !same_name(a.kind, a.name, b.name))
        return false;
    if (!same_value(a.value, b.value) || a.names.size() != b.names.size()) return false;
    if (a.ops.size() != b.ops.size() || a.steps.size() != b.steps.size()) return false;
    for (size_t i = 0; i < a.ops.size(); ++i)
        if (a.ops[i] != b.ops[i]) return false;
    for (size_t i = 0; i < a.names.size(); ++i)
        if (a.names[i] != b.names[i]) return false;
    for (size_t i = 0; i < a.steps.size(); ++i)
        if (!same_step(a.steps[i], b.steps[i])) return false;
    return same_list(a.args, b.args) && same_or_null(a.query, b.query);
}

uint64_t extended_fingerprint(uint64_t before, const Step& step) {
    if (step.is_name()) return mixed(before, step.name);
    return step.kind == StepKind::kIndex ? mixed(before, step.index) : mixed(before, uint64_t{1});
}

uint64_t fingerprint(const Expr& e) {
    if (e.kind == ExprKind::kPath) {
        uint64_t h = fingerprint(*e.args[0]);
        for (const Step& step : e.steps) h = extended_fingerprint(h, step);
        return h;
    }
    uint64_t h = mixed(static_cast<uint64_t>(e.kind), static_cast<uint64_t>(e.negated));
    h = e.kind == ExprKind::kCall ? mixed_ignoring_case(h, e.name) : mixed(h, e.name);
    h = mixed(h, e.value);
    for (const Op op : e.ops) h = mixed(h, static_cast<uint64_t>(op));
    for (const std::string_view name : e.names) h = mixed(h, name);
    for (const Expr* arg : e.args) h = mixed(h, fingerprint(*arg));
    return h;
}

bool same(const Query& a, const Query& b) {
    if (a.select_kind != b.select_kind || a.distinct != b.distinct ||
        a.order_by_rank != b.order_by_rank || a.items.size() != b.items.size() ||
        a.sources.size() != b.sources.size() || a.order_by.size() != b.order_by.size())
        return false;
    for (size_t i = 0; i < a.items.size(); ++i)
        if (a.items[i].alias != b.items[i].alias || !same(*a.items[i].expr, *b.items[i].expr))
            return false;
    for (size_t i = 0; i < a.sources.size(); ++i) {
        const Source& x = a.sources[i];
        const Source& y = b.sources[i];
        if (x.iterate != y.iterate || x.alias != y.alias ||
            !same_or_null(x.collection, y.collection) || !same_or_null(x.query, y.query))
            return false;
    }
    for (size_t i = 0; i < a.order_by.size(); ++i)
        if (a.order_by[i].direction != b.order_by[i].direction ||
            !same(*a.order_by[i].expr, *b.order_by[i].expr))
            return false;
    return same_or_null(a.top, b.top) && same_or_null(a.value, b.value) &&
           same_or_null(a.where, b.where) && same_list(a.group_by, b.group_by) &&
           same_or_null(a.offset, b.offset) && same_or_null(a.limit, b.limit);
}

}  // namespace orrery::query::ast
