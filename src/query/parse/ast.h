#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "json/value.h"

/// Syntax trees. Nodes are immutable, trivially destructible and live in the arena of the Syntax
/// that owns them (parser.h); texts are borrowed from its copy of the query.
///
/// Chains of operators of one precedence level and chains of member accesses are flat lists,
/// however they were parenthesised on the left, and every tree is at most limits::kDepthMax levels
/// high.
namespace orrery::query::ast {

/// Byte offsets into the query text, end exclusive.
struct Range {
    uint32_t start = 0;
    uint32_t end = 0;
};

enum class ExprKind : uint8_t {
    kLiteral,      ///< value
    kIdentifier,   ///< name
    kParameter,    ///< name, with the '@'
    kPath,         ///< args[0] then steps
    kArray,        ///< args
    kObject,       ///< names and args in pairs
    kUnary,        ///< ops[0], args[0]
    kBinary,       ///< args[0] ops[0] args[1] ops[1] …: one precedence level, left associative
    kConditional,  ///< args[0] ? args[1] : args[2]
    kBetween,      ///< args[0] [NOT] BETWEEN args[1] AND args[2]
    kIn,           ///< args[0] [NOT] IN (args[1] …)
    kLike,         ///< args[0] [NOT] LIKE args[1] [ESCAPE value]
    kCall,         ///< name(args)
    kUdfCall,      ///< udf.name(args)
    kSubquery,     ///< (query)
    kExists,
    kArrayOf,  ///< ARRAY(query)
    kAll,
    kFirst,
    kLast,
};

enum class Op : uint8_t {
    kCoalesce,
    kOr,
    kAnd,
    kConcat,
    kBitOr,
    kBitXor,
    kBitAnd,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kShiftLeft,
    kShiftRight,
    kShiftRightUnsigned,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kModulo,
    kMinus,  // unary from here on
    kPlus,
    kComplement,
    kNot,
};
/// As the printer writes it: "+", "AND", "!=", …
std::string_view op_text(Op op);

struct Expr;
struct Query;

enum class StepKind : uint8_t {
    kName,     ///< .name
    kBracket,  ///< ["name"]
    kIndex,    ///< [3]
    kExpr,     ///< [@p] or any other expression
};
struct Step {
    StepKind kind = StepKind::kName;
    std::string_view name;
    json::Value index;           ///< kIndex: the number
    const Expr* expr = nullptr;  ///< kExpr
    Range range;
    bool is_name() const { return kind == StepKind::kName || kind == StepKind::kBracket; }
};

struct Expr {
    ExprKind kind = ExprKind::kLiteral;
    bool negated = false;  ///< NOT BETWEEN, NOT IN, NOT LIKE
    uint16_t height = 1;   ///< levels of nodes from here down; at most limits::kDepthMax
    Range range;
    Range name_range;  ///< calls: the name alone
    std::string_view name;
    json::Value value;
    std::span<const Op> ops;
    std::span<const Expr* const> args;
    std::span<const std::string_view> names;
    std::span<const Step> steps;
    const Query* query = nullptr;  ///< of kSubquery and the kinds behind it, and only of them
};

/// A source of FROM: a path, a subquery, or (after IN) a call.
struct Source {
    bool iterate = false;    ///< alias IN collection
    std::string_view alias;  ///< empty if none was written
    Range alias_range;
    const Expr* collection = nullptr;  ///< kIdentifier, kPath, kCall; null with a subquery
    const Query* query = nullptr;
    Range range;
};

struct SelectItem {
    const Expr* expr = nullptr;
    std::string_view alias;  ///< empty if none was written
    Range range;
};

enum class SelectKind : uint8_t { kStar, kValue, kList };
enum class Direction : uint8_t { kDefault, kAscending, kDescending };

struct OrderItem {
    const Expr* expr = nullptr;
    Direction direction = Direction::kDefault;
};

/// The operand of TOP, OFFSET or LIMIT: a number literal or a parameter; null when absent.
using Count = const Expr*;

struct Query {
    SelectKind select_kind = SelectKind::kStar;
    bool distinct = false;
    bool order_by_rank = false;
    uint16_t height = 1;
    Count top = nullptr;
    const Expr* value = nullptr;  ///< SELECT VALUE
    std::span<const SelectItem> items;
    std::span<const Source> sources;
    const Expr* where = nullptr;
    std::span<const Expr* const> group_by;
    std::span<const OrderItem> order_by;
    Count offset = nullptr;
    Count limit = nullptr;
    Range range;
    Range star_range;
    Range top_range;           ///< TOP and its count
    Range order_by_range;      ///< from ORDER to the last key
    Range offset_limit_range;  ///< from OFFSET to the limit
};

/// Same tree, positions aside. `.a` and `["a"]` are the same step; numbers compare by value.
bool same(const Expr& a, const Expr& b);
bool same(const Query& a, const Query& b);
/// Equal for what is the same(). A path's is its base's, extended step by step.
uint64_t fingerprint(const Expr& e);
uint64_t extended_fingerprint(uint64_t before, const Step& step);

}  // namespace orrery::query::ast
