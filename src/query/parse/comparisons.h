#pragma once

#include "query/parse/ast.h"

/// How comparisons relate to each other. Other operators stand for themselves.
namespace orrery::query {

/// The same with its sides exchanged: 5 < c.x is c.x > 5.
constexpr ast::Op mirrored(ast::Op op) {
    switch (op) {
        case ast::Op::kLess:
            return ast::Op::kGreater;
        case ast::Op::kLessEqual:
            return ast::Op::kGreaterEqual;
        case ast::Op::kGreater:
            return ast::Op::kLess;
        case ast::Op::kGreaterEqual:
            return ast::Op::kLessEqual;
        default:
            return op;
    }
}

/// The one that is true exactly where `op` is false.
constexpr ast::Op opposite(ast::Op op) {
    switch (op) {
        case ast::Op::kEqual:
            return ast::Op::kNotEqual;
        case ast::Op::kNotEqual:
            return ast::Op::kEqual;
        case ast::Op::kLess:
            return ast::Op::kGreaterEqual;
        case ast::Op::kLessEqual:
            return ast::Op::kGreater;
        case ast::Op::kGreater:
            return ast::Op::kLessEqual;
        case ast::Op::kGreaterEqual:
            return ast::Op::kLess;
        default:
            return op;
    }
}

}  // namespace orrery::query
