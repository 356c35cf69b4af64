#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "query/parse/ast.h"

namespace orrery::client_plan {

namespace ast = query::ast;

/// Makes syntax that no text was parsed into, to be printed and thrown away: it has no positions
/// and no heights. Nodes live as long as this object; they may point to nodes of other trees.
class SyntaxMaker {
public:
    std::string_view text(std::string_view bytes) { return arena_.copy(bytes); }
    /// Prints as it stands.
    const ast::Expr* verbatim(std::string_view text) {
        ast::Expr* e = make(ast::ExprKind::kIdentifier);
        e->name = text;
        return e;
    }
    const ast::Expr* number(uint64_t n) {
        ast::Expr* e = make(ast::ExprKind::kLiteral);
        e->value = json::Value::integer(static_cast<int64_t>(n));
        return e;
    }
    const ast::Expr* member(std::string_view base, std::string_view name) {
        ast::Expr* e = make(ast::ExprKind::kPath);
        e->args = keep<const ast::Expr*>({verbatim(base)});
        ast::Step step;
        step.name = name;
        e->steps = keep<ast::Step>({step});
        return e;
    }
    const ast::Expr* array(const std::vector<const ast::Expr*>& elements) {
        ast::Expr* e = make(ast::ExprKind::kArray);
        e->args = keep(elements);
        return e;
    }
    const ast::Expr* object(const std::vector<std::string_view>& names,
                            const std::vector<const ast::Expr*>& values) {
        ast::Expr* e = make(ast::ExprKind::kObject);
        e->names = keep(names);
        e->args = keep(values);
        return e;
    }
    const ast::Expr* call(std::string_view name, const ast::Expr* argument) {
        ast::Expr* e = make(ast::ExprKind::kCall);
        e->name = name;
        e->args = keep<const ast::Expr*>({argument});
        return e;
    }
    const ast::Expr* both(const ast::Expr* left, const ast::Expr* right) {
        ast::Expr* e = make(ast::ExprKind::kBinary);
        e->ops = keep<ast::Op>({ast::Op::kAnd});
        e->args = keep<const ast::Expr*>({left, right});
        return e;
    }
    template <typename T>
    std::span<const T> keep(const std::vector<T>& items) {
        if (items.empty()) return {};
        auto* out = reinterpret_cast<T*>(arena_.allocate(items.size() * sizeof(T), alignof(T)));
        std::uninitialized_copy(items.begin(), items.end(), out);
        return {out, items.size()};
    }

private:
    ast::Expr* make(ast::ExprKind kind) {
        auto* e = new (arena_.allocate(sizeof(ast::Expr), alignof(ast::Expr))) ast::Expr();
        e->kind = kind;
        return e;
    }

    json::Arena arena_;
};

}  // namespace orrery::client_plan
