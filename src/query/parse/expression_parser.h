#pragma once

#include <vector>

#include "query/parse/parser_base.h"

namespace orrery::query {

/// The expressions of the language: recursive descent with precedence climbing. Subqueries come
/// from the class above it, which knows the clauses.
class ExpressionParser : protected ParserBase {
protected:
    explicit ExpressionParser(Syntax& syntax) : ParserBase(syntax) {}
    ~ExpressionParser() = default;

    virtual const Query* query() = 0;

    const Query* parenthesised_query();
    const Expr* expr();
    const Expr* postfix(const Expr* base);
    const Expr* atom();
    /// ( [ expr { , expr } ] ), after a name. ALL, FIRST and LAST take a subquery instead.
    const Expr* call(const Token& name);
    /// udf.name( [ expr { , expr } ] )
    const Expr* udf_call();

    // A stack shared by all levels of the recursion; each level takes what it pushed.
    std::vector<const Expr*> exprs_;

private:
    /// [ ? expr : expr ]
    const Expr* conditional_after(const Expr* condition, uint32_t start);
    /// Everything that binds at least as tightly as `level`.
    const Expr* binary(int level);
    /// The operators behind `left`.
    const Expr* binary_after(const Expr* left, int level, uint32_t start);
    const Expr* chain(const Expr* first, int level, uint32_t start);
    bool at_predicate() const;
    const Expr* predicate(const Expr* operand, uint32_t start);
    Expr* in_list(const Expr* operand, uint32_t start);
    const Expr* unary();
    bool path_step(ast::Step& step);
    const Expr* literal(json::Value value);
    /// Any number of opening parentheses is read by a loop: each one closes around what was read
    /// so far, which then is the left operand of what follows.
    const Expr* parenthesised();
    const Expr* unexpected_at(const Token& token);
    const Expr* named(ExprKind kind);
    const Expr* subquery(ExprKind kind, const Token& keyword);
    /// Pushes a possibly empty list on exprs_ and consumes `close`.
    bool expressions_until(Tok close);
    const Expr* array();
    const Expr* object();

    uint32_t udf_references_ = 0;
    std::vector<std::string_view> names_;  // like exprs_
};

}  // namespace orrery::query
