// Which index entries one comparison or call can be answered from.
#include "query/detail/index_lookups.h"

#include <algorithm>
#include <cmath>

#include "index/spatial.h"
#include "index/terms.h"
#include "json/item.h"
#include "query/comparisons.h"
#include "query/functions.h"
#include "query/like.h"
#include "query/nodes.h"
#include "query/text.h"

namespace orrery::query::detail {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using index::TermRange;
using json::Value;
namespace ranges = index::term_ranges;

namespace {

bool is_nan(const Value& v) {
    return v.is_number() && std::isnan(v.as_double());
}

/// The term is not the whole value.
bool is_cut(const Value& value) {
    std::string term;
    return index::append_term(term, value);
}

void weaken(Found& found) {
    if (found) found->exact = false;
}

/// Of system properties there is an index of the time alone, whatever the policy says.
bool may_be_indexed(const IndexPathSteps& path) {
    return path[0].any_element || path[0].name == "_ts" || !json::is_system_property(path[0].name);
}

std::optional<TermRange> type_ranges(std::string_view name) {
    if (name == "IS_DEFINED") return ranges::defined();
    if (name == "IS_NULL") return ranges::type(json::Type::kNull);
    if (name == "IS_BOOL" || name == "IS_BOOLEAN") return ranges::type(json::Type::kBool);
    if (name == "IS_NUMBER") return ranges::type(json::Type::kNumber);
    if (name == "IS_STRING") return ranges::type(json::Type::kString);
    if (name == "IS_ARRAY") return ranges::type(json::Type::kArray);
    if (name == "IS_OBJECT") return ranges::type(json::Type::kObject);
    if (name == "IS_PRIMITIVE") return ranges::scalars();
    return std::nullopt;
}

}  // namespace

Found IndexLookups::find(const Expr& e, bool want) {
    switch (e.kind) {
        case ExprKind::kBinary:
            return comparison(e, want);
        case ExprKind::kBetween:
            return between(e, want != e.negated);
        case ExprKind::kIn:
            return in(e, want != e.negated);
        case ExprKind::kLike:
            return like(e, want);
        case ExprKind::kCall:
            return call(e, want);
        case ExprKind::kPath:
        case ExprKind::kIdentifier:
            return terms(e, {ranges::equal(Value::boolean(want))}, LookupKind::kSeek, 1);
        default:
            return std::nullopt;
    }
}

Found IndexLookups::terms(const Expr& e, std::vector<TermRange> wanted, LookupKind lookup,
                          uint32_t seeks) {
    auto path = names_.path_of(e);
    if (!path) return std::nullopt;
    return terms_at(std::move(*path), std::move(wanted), lookup, seeks);
}

Found IndexLookups::terms_at(IndexPathSteps path, std::vector<TermRange> wanted, LookupKind lookup,
                             uint32_t seeks) {
    ranges::normalize(wanted);
    Condition out;
    out.exact = names_one_value(path);
    if (wanted.empty()) return out;
    if (!facts_.is_indexed(path)) {
        miss(path, missing_.paths);
        return std::nullopt;
    }
    out.path = std::move(path);
    out.ranges = std::move(wanted);
    out.lookup = lookup;
    out.seeks = seeks;
    return out;
}

/// Notes a path that would be looked up if it were indexed.
void IndexLookups::miss(const IndexPathSteps& path, std::vector<IndexPathSteps>& paths) {
    if (!may_be_indexed(path)) return;
    ++missing_.misses;
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
}

Found IndexLookups::comparison(const Expr& e, bool want) {
    const Op op = e.ops[0];
    if (e.ops.size() != 1 || op < Op::kEqual || op > Op::kGreaterEqual) return std::nullopt;
    auto value = names_.constant(*e.args[1]);
    const bool mirror = !value;
    if (mirror) value = names_.constant(*e.args[0]);
    if (!value) return std::nullopt;
    const bool orders = op != Op::kEqual && op != Op::kNotEqual;
    // Null is ordered with nothing, and equal to null at most: such a comparison is never
    // false.
    if (!want && orders && value->is_null()) return Found(Condition());
    const Op wanted = want ? op : opposite(op);
    const Expr& other = *e.args[mirror ? 1 : 0];
    if (query_.spatial_call(other) != nullptr)
        return distance(other, mirror ? mirrored(wanted) : wanted, *value);
    return compare(other, mirror ? mirrored(wanted) : wanted, *value);
}
/// `path` op `value`
Found IndexLookups::compare(const Expr& path, Op op, const Value& value) {
    if (value.is_undefined() || is_nan(value)) return std::nullopt;
    const bool whole = value.is_scalar();
    switch (op) {
        case Op::kEqual: {
            std::vector<TermRange> wanted(1);
            wanted[0] = ranges::equal(value);
            Found out = terms(path, std::move(wanted), LookupKind::kSeek, 1);
            if (!whole) weaken(out);
            return out;
        }
        case Op::kNotEqual: {
            // Strings that share a cut term may differ, and so may arrays.
            std::vector<TermRange> wanted{ranges::defined()};
            const bool sharp = whole && !(value.is_string() && is_cut(value));
            if (sharp) wanted = ranges::complement({ranges::equal(value)});
            Found out = terms(path, std::move(wanted), LookupKind::kPreciseScan, 1);
            if (!sharp) weaken(out);
            return out;
        }
        default:
            break;
    }
    if (value.is_null()) {
        const bool or_equal = op == Op::kLessEqual || op == Op::kGreaterEqual;
        if (!or_equal) return Found(Condition());
        return terms(path, {ranges::equal(value)}, LookupKind::kSeek, 1);
    }
    if (!whole) return Found(Condition());
    const bool above = op == Op::kGreater || op == Op::kGreaterEqual;
    const bool or_equal = op == Op::kLessEqual || op == Op::kGreaterEqual;
    return terms(path, {above ? ranges::above(value, or_equal) : ranges::below(value, or_equal)},
                 LookupKind::kPreciseScan, 1);
}

Found IndexLookups::between(const Expr& e, bool want) {
    const auto low = names_.constant(*e.args[1]);
    const auto high = names_.constant(*e.args[2]);
    if (!low || !high || !low->is_scalar() || !high->is_scalar() || low->is_null() ||
        is_nan(*low) || is_nan(*high))
        return std::nullopt;
    if (low->type() != high->type()) return want ? Found(Condition()) : std::nullopt;
    if (want)
        return terms(*e.args[0],
                     ranges::intersect({ranges::above(*low, true)}, {ranges::below(*high, true)}),
                     LookupKind::kPreciseScan, 1);
    return terms(*e.args[0], {ranges::below(*low, false), ranges::above(*high, false)},
                 LookupKind::kPreciseScan, 1);
}

/// One of a list of constants (or, with !want, defined and none of them).
Found IndexLookups::one_of(const Expr& path, const std::vector<Value>& list, bool want) {
    std::vector<TermRange> wanted;
    bool sharp = true;
    for (const Value& value : list) {
        if (value.is_undefined() || is_nan(value)) return std::nullopt;
        sharp &= value.is_scalar() && !(!want && value.is_string() && is_cut(value));
        wanted.push_back(ranges::equal(value));
    }
    ranges::normalize(wanted);
    if (!want)
        wanted = sharp ? ranges::complement(wanted) : std::vector<TermRange>{ranges::defined()};
    Found out = terms(path, std::move(wanted), want ? LookupKind::kSeek : LookupKind::kPreciseScan,
                      want ? static_cast<uint32_t>(list.size()) : 1);
    if (!sharp) weaken(out);
    return out;
}

Found IndexLookups::in(const Expr& e, bool want) {
    std::vector<Value> list;
    for (const Expr* element : e.args.subspan(1)) {
        const auto value = names_.constant(*element);
        if (!value) return std::nullopt;
        list.push_back(*value);
    }
    return one_of(*e.args[0], list, want);
}

Found IndexLookups::like(const Expr& e, bool want) {
    const auto text = names_.constant(*e.args[1]);
    if (want == e.negated || !text || !text->is_string()) return std::nullopt;
    char32_t escape = 0;
    if (e.value.is_string()) escape = decode_utf8(e.value.as_string()).front();
    const LikePattern pattern(text->as_string(), escape);
    if (pattern.is_exact())
        return terms(*e.args[0], {ranges::equal(Value::string(pattern.literal()))},
                     LookupKind::kSeek, 1);
    if (pattern.is_prefix())
        return terms(*e.args[0], {ranges::prefix(pattern.literal())}, LookupKind::kPreciseScan, 1);
    return std::nullopt;  // term by term
}

Found IndexLookups::call(const Expr& e, bool want) {
    const FunctionSpec* spec = find_function(e.name);
    if (spec == nullptr || e.args.empty()) return std::nullopt;
    const std::string_view name = spec->name;
    if (name == "IS_DEFINED" && !want) {
        auto path = names_.path_of(*e.args[0]);
        if (!path || !facts_.posts_undefined(*path)) return std::nullopt;
        return terms(*e.args[0], {ranges::undefined()}, LookupKind::kSeek, 1);
    }
    if (name == "ARRAY_CONTAINS") return want ? array_contains(e) : std::nullopt;
    if (!want) return std::nullopt;
    if (const auto type = type_ranges(name))
        return terms(*e.args[0], {*type}, LookupKind::kPreciseScan, 1);
    if (name == "STARTSWITH" || name == "STRINGEQUALS") return string_match(e, name);
    if (name == "ST_WITHIN" || name == "ST_INTERSECTS") return near(e, 0);
    return std::nullopt;
}

Found IndexLookups::string_match(const Expr& e, std::string_view name) {
    const auto text = names_.constant(*e.args[1]);
    if (!text || !text->is_string()) return std::nullopt;
    if (e.args.size() > 2) {
        const auto ignore_case = names_.constant(*e.args[2]);
        if (!ignore_case || !ignore_case->is_bool() || ignore_case->as_bool()) return std::nullopt;
    }
    if (name == "STRINGEQUALS")
        return terms(*e.args[0], {ranges::equal(*text)}, LookupKind::kSeek, 1);
    Found out = terms(*e.args[0], {ranges::prefix(text->as_string())}, LookupKind::kPreciseScan, 1);
    // A prefix beyond the indexed bytes is decided by the item.
    if (is_cut(*text)) weaken(out);
    return out;
}

Found IndexLookups::array_contains(const Expr& e) {
    if (e.args[0]->kind == ExprKind::kArray || names_.constant(*e.args[0])) return contained_in(e);
    const auto value = names_.constant(*e.args[1]);
    auto path = names_.path_of(*e.args[0]);
    if (!value || !path || value->is_undefined() || is_nan(*value)) return std::nullopt;
    const bool one = names_one_value(*path);
    path->push_back({true, {}});
    Found out = terms_at(std::move(*path), {ranges::equal(*value)}, LookupKind::kSeek, 1);
    if (out) out->exact = one && value->is_scalar();
    return out;
}

/// ST_DISTANCE(…) op `value`: what is nearer than a constant.
Found IndexLookups::distance(const Expr& call, Op op, const Value& value) {
    const FunctionSpec* spec = find_function(call.name);
    if (spec == nullptr || spec->name != "ST_DISTANCE" || !value.is_number()) return std::nullopt;
    if (op != Op::kLess && op != Op::kLessEqual && op != Op::kEqual) return std::nullopt;
    const double metres = value.as_double();
    if (std::isnan(metres)) return std::nullopt;
    if (metres < 0) return Found(Condition());
    return near(call, metres);
}

/// A spatial call that can only hold for geometries within a distance of a constant one.
Found IndexLookups::near(const Expr& call, double metres) {
    const SpatialNode* node = query_.spatial_call(call);
    if (node == nullptr) return std::nullopt;
    using Source = SpatialNode::Argument::Source;
    const bool left = node->left().source == Source::kItem;
    const SpatialNode::Argument& known = left ? node->right() : node->left();
    auto path = names_.path_of(*call.args[left ? 0 : 1]);
    if (known.source == Source::kItem || !path) return std::nullopt;
    const index::Geometry* geometry = known.source == Source::kConstant
                                          ? known.constant
                                          : parameters_.geometries()[known.parameter].get();
    if (geometry == nullptr) return Found(Condition());
    const index::SpatialGrid* grid = facts_.spatial(*path);
    if (grid == nullptr) {
        miss(*path, missing_.spatial);
        return std::nullopt;
    }
    Condition out;
    out.exact = false;
    out.spatial = *grid;
    out.path = std::move(*path);
    out.ranges = index::cells_near(*geometry, metres, *grid);
    out.lookup = LookupKind::kPreciseScan;
    out.seeks = 1;
    return out;
}

/// ARRAY_CONTAINS([constants], path): an IN list.
Found IndexLookups::contained_in(const Expr& e) {
    if (e.args.size() > 2) return std::nullopt;
    std::vector<Value> list;
    if (e.args[0]->kind == ExprKind::kArray) {
        for (const Expr* element : e.args[0]->args) {
            const auto value = names_.constant(*element);
            if (!value) return std::nullopt;
            list.push_back(*value);
        }
    } else {
        const Value array = *names_.constant(*e.args[0]);
        if (!array.is_array()) return Found(Condition());
        list.assign(array.elements().begin(), array.elements().end());
    }
    return one_of(*e.args[1], list, true);
}

}  // namespace orrery::query::detail
