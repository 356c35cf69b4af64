// Which index entries one comparison or call can be answered from.
#include "query/plan/index_lookups.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "index/spatial.h"
#include "index/terms.h"
#include "json/item.h"
#include "json/text.h"
#include "query/bind/nodes.h"
#include "query/functions/functions.h"
#include "query/functions/like.h"
#include "query/parse/comparisons.h"

namespace orrery::query {

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

/// Of the system properties only the time is indexed, whatever the policy says.
bool may_be_indexed(const IndexPathSteps& path) {
    return path[0].any_element || path[0].name == "_ts" || !json::is_system_property(path[0].name);
}

/// The scalars in a constant array or object, with the paths of their entries. What depends on the
/// item is left out, and so is what comes behind the first few: they narrow enough.
class HeldScalars {
public:
    explicit HeldScalars(const FilterNames& names) : names_(names) {}

    void add(const IndexPathSteps& path, const Expr& e) {
        if (is_full()) return;
        if (const auto value = names_.constant(e)) return add(path, *value);
        if (e.kind == ExprKind::kArray)
            for (const Expr* element : e.args) add(below(path, {true, {}}), *element);
        if (e.kind != ExprKind::kObject || !are_different(e.names, [](auto name) { return name; }))
            return;
        for (size_t i = 0; i < e.args.size(); ++i)
            add(below(path, {false, std::string(e.names[i])}), *e.args[i]);
    }

    const std::vector<std::pair<IndexPathSteps, Value>>& found() const { return found_; }

private:
    static constexpr size_t kFoundMax = 8;

    void add(const IndexPathSteps& path, const Value& value) {
        if (is_full()) return;
        if (value.is_array()) {
            for (const Value& element : value.elements()) add(below(path, {true, {}}), element);
        } else if (value.is_object()) {
            if (!are_different(value.members(), [](const auto& member) { return member.name; }))
                return;
            for (const json::Member& member : value.members())
                add(below(path, {false, std::string(member.name)}), member.value);
        } else if (!value.is_undefined() &&
                   (!value.is_number() || std::isfinite(value.as_double()))) {
            found_.emplace_back(path, value);
        }
    }

    bool is_full() const { return found_.size() >= kFoundMax; }

    static IndexPathSteps below(IndexPathSteps path, index::PathStep step) {
        path.push_back(std::move(step));
        return path;
    }

    /// If names repeat, only one member counts, so the constants say nothing about the item.
    template <typename List, typename NameOf>
    static bool are_different(const List& list, const NameOf& name_of) {
        std::set<std::string_view> seen;
        return std::all_of(list.begin(), list.end(),
                           [&](const auto& one) { return seen.insert(name_of(one)).second; });
    }

    const FilterNames& names_;
    std::vector<std::pair<IndexPathSteps, Value>> found_;
};

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
void IndexLookups::miss(const IndexPathSteps& path, PathList& paths) {
    if (!may_be_indexed(path)) return;
    ++missing_.misses;
    paths.add(path);
}

void IndexLookups::PathList::add(const IndexPathSteps& path) {
    if (known_.insert(index::path_text(path)).second) paths_.push_back(path);
}

void IndexLookups::PathList::resize(size_t size) {
    for (; paths_.size() > size; paths_.pop_back()) known_.erase(index::path_text(paths_.back()));
}

/// Items that hold at the path what equals `value`, which may be an array or object: those with the
/// scalars in it at their own paths, a superset. Where it holds none that is known, its type tells.
Found IndexLookups::holding(const IndexPathSteps& path, const Expr& value) {
    HeldScalars held(names_);
    held.add(path, value);
    if (held.found().empty()) {
        const auto whole = names_.constant(value);
        if (whole && (whole->is_undefined() || is_nan(*whole))) return std::nullopt;
        const Value like = whole                             ? *whole
                           : value.kind == ExprKind::kArray  ? Value::array({})
                           : value.kind == ExprKind::kObject ? Value::object({})
                                                             : Value();
        if (like.is_undefined()) return std::nullopt;
        Found out = terms_at(path, {ranges::equal(like)}, LookupKind::kSeek, 1);
        weaken(out);
        return out;
    }
    Condition all;
    all.kind = Condition::Kind::kAll;
    all.exact = false;
    for (const auto& [at, scalar] : held.found()) {
        Found part = terms_at(at, {ranges::equal(scalar)}, LookupKind::kSeek, 1);
        const auto is_same = [&](const Condition& other) {
            return other.path == part->path && other.ranges[0].begin == part->ranges[0].begin;
        };
        if (!part || std::any_of(all.parts.begin(), all.parts.end(), is_same)) continue;
        all.seeks += part->seeks;
        all.parts.push_back(std::move(*part));
    }
    if (all.parts.empty()) return std::nullopt;
    if (all.parts.size() > 1) return all;
    all.parts[0].exact = false;
    return std::move(all.parts[0]);
}

Found IndexLookups::comparison(const Expr& e, bool want) {
    const Op op = e.ops[0];
    if (e.ops.size() != 1 || op < Op::kEqual || op > Op::kGreaterEqual) return std::nullopt;
    auto value = names_.constant(*e.args[1]);
    const bool mirror = !value;
    if (mirror) value = names_.constant(*e.args[0]);
    if (!value || value->is_array() || value->is_object()) {
        const Op same = want ? Op::kEqual : Op::kNotEqual;
        for (const size_t side : {size_t{0}, size_t{1}})
            if (const auto path = names_.path_of(*e.args[side]); path && op == same)
                return holding(*path, *e.args[1 - side]);
    }
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
    if (e.value.is_string()) escape = json::decode_utf8(e.value.as_string()).front();
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
    if (name == "ARRAY_CONTAINS_ANY" || name == "ARRAY_CONTAINS_ALL")
        return want ? array_contains_values(e, name == "ARRAY_CONTAINS_ANY") : std::nullopt;
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
    auto path = names_.path_of(*e.args[0]);
    if (!path) return std::nullopt;
    const bool one = names_one_value(*path);
    path->push_back({true, {}});
    const auto value = names_.constant(*e.args[1]);
    Found out = holding(*path, *e.args[1]);
    if (out) out->exact = one && value && value->is_scalar();
    return out;
}

/// ARRAY_CONTAINS_ANY and ARRAY_CONTAINS_ALL of an array of the item.
Found IndexLookups::array_contains_values(const Expr& e, bool any) {
    auto path = names_.path_of(*e.args[0]);
    if (!path) return std::nullopt;
    const bool one = names_one_value(*path);
    path->push_back({true, {}});
    std::vector<TermRange> scalars;  // of ANY, one look-up
    Condition out;
    out.kind = any ? Condition::Kind::kAny : Condition::Kind::kAll;
    for (const Expr* element : e.args.subspan(1)) {
        const auto value = names_.constant(*element);
        // It can never make ANY true, and ALL can never be true with it.
        if (value && value->is_undefined() && any) continue;
        if (value && value->is_undefined()) return Found(Condition());
        const bool sharp = one && value && value->is_scalar();
        Found part = holding(*path, *element);
        if (!part && any) return std::nullopt;
        out.exact &= part && sharp;
        if (!part) continue;
        part->exact = sharp;
        out.seeks += part->seeks;
        if (any && sharp) {
            scalars.push_back(part->ranges[0]);
        } else {
            out.parts.push_back(std::move(*part));
        }
    }
    if (!scalars.empty()) {
        const auto seeks = static_cast<uint32_t>(scalars.size());
        out.parts.push_back(*terms_at(*path, std::move(scalars), LookupKind::kSeek, seeks));
        out.parts.back().exact = true;
    }
    if (out.parts.empty()) return any ? Found(Condition()) : std::nullopt;
    if (out.parts.size() > 1) return out;
    out.parts[0].exact = out.exact;
    return std::move(out.parts[0]);
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

}  // namespace orrery::query
