// Which index entries a WHERE clause can be answered from.
#include <algorithm>
#include <cmath>

#include "index/spatial.h"
#include "index/terms.h"
#include "json/item.h"
#include "query/comparisons.h"
#include "query/conditions.h"
#include "query/detail/filter_names.h"
#include "query/functions.h"
#include "query/like.h"
#include "query/nodes.h"
#include "query/text.h"

namespace orrery::query {
namespace {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using detail::names_one_value;
using index::TermRange;
using json::Value;
namespace ranges = index::term_ranges;

using Found = std::optional<Condition>;

Condition never() {
    return {};
}

bool is_nan(const Value& v) {
    return v.is_number() && std::isnan(v.as_double());
}

class Analysis {
public:
    Analysis(const CompiledQuery& query, const Parameters& parameters, const IndexFacts& facts)
        : query_(query), parameters_(parameters), facts_(facts), names_(query, parameters) {}

    Filter run() {
        Filter filter;
        const ast::Query& q = query_.syntax();
        if (q.where == nullptr || !query_.reads_items()) return filter;
        names_.bind(q, true);
        split(*q.where, query_.root().where, filter);
        for (Conjunct& conjunct : filter.conjuncts) {
            conjunct.condition = find(*conjunct.syntax, true);
        }
        // Testing every value of a path is worth it only where nothing else narrows.
        for (Conjunct& conjunct : filter.conjuncts) {
            if (filter.is_served()) break;
            conjunct.condition = term_test(conjunct);
        }
        filter.missing_paths = std::move(missing_);
        filter.missing_spatial = std::move(missing_spatial_);
        return filter;
    }

private:
    // --- conditions -----------------------------------------------------------------------------

    static bool is_always(const Expr& e, bool want) {
        return e.kind == ExprKind::kLiteral && e.value.is_bool() && e.value.as_bool() == want;
    }

    void split(const Expr& e, const Node* node, Filter& filter) {
        if (is_always(e, true)) return;
        const auto* logic = e.kind == ExprKind::kBinary && e.ops[0] == Op::kAnd
                                ? dynamic_cast<const LogicNode*>(node)
                                : nullptr;
        if (logic == nullptr || logic->operands().size() != e.args.size()) {
            filter.conjuncts.push_back({&e, node, std::nullopt});
            return;
        }
        for (size_t i = 0; i < e.args.size(); ++i) split(*e.args[i], logic->operands()[i], filter);
    }

    /// Where `e` is true (or, with !want, false).
    Found find(const Expr& e, bool want) {
        switch (e.kind) {
            case ExprKind::kLiteral:
                return is_always(e, want) ? Found() : Found(never());
            case ExprKind::kBinary:
                return binary(e, want);
            case ExprKind::kUnary:
                return e.ops[0] == Op::kNot ? find(*e.args[0], !want) : std::nullopt;
            case ExprKind::kBetween:
                return between(e, want != e.negated);
            case ExprKind::kIn:
                return in(e, want != e.negated);
            case ExprKind::kLike:
                return like(e, want);
            case ExprKind::kCall:
                return call(e, want);
            case ExprKind::kExists:
                return want ? exists(e) : std::nullopt;
            case ExprKind::kPath:
            case ExprKind::kIdentifier:
                return terms(e, {ranges::equal(Value::boolean(want))}, LookupKind::kSeek, 1);
            default:
                return std::nullopt;
        }
    }

    /// Items with an entry of the path in the ranges.
    Found terms(const Expr& e, std::vector<TermRange> wanted, LookupKind lookup, uint32_t seeks) {
        auto path = names_.path_of(e);
        if (!path) return std::nullopt;
        return terms_at(std::move(*path), std::move(wanted), lookup, seeks);
    }

    Found terms_at(IndexPathSteps path, std::vector<TermRange> wanted, LookupKind lookup,
                   uint32_t seeks) {
        ranges::normalize(wanted);
        Condition out;
        out.exact = names_one_value(path);
        if (wanted.empty()) return out;
        if (!facts_.is_indexed(path)) {
            miss(path, missing_);
            return std::nullopt;
        }
        out.path = std::move(path);
        out.ranges = std::move(wanted);
        out.lookup = lookup;
        out.seeks = seeks;
        return out;
    }

    /// Of system properties there is an index of the time alone, whatever the policy says.
    static bool may_be_indexed(const IndexPathSteps& path) {
        return path[0].any_element || path[0].name == "_ts" ||
               !json::is_system_property(path[0].name);
    }

    /// Notes a path that would be looked up if it were indexed.
    void miss(const IndexPathSteps& path, std::vector<IndexPathSteps>& paths) {
        if (!may_be_indexed(path)) return;
        ++misses_;
        if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    }

    static void weaken(Found& found) {
        if (found) found->exact = false;
    }

    Found binary(const Expr& e, bool want) {
        const Op op = e.ops[0];
        if (op == Op::kAnd || op == Op::kOr) {
            return (op == Op::kAnd) == want ? all_of(e, want) : any_of(e, want);
        }
        if (e.ops.size() != 1 || op < Op::kEqual || op > Op::kGreaterEqual) return std::nullopt;
        auto value = names_.constant(*e.args[1]);
        const bool mirror = !value;
        if (mirror) value = names_.constant(*e.args[0]);
        if (!value) return std::nullopt;
        const bool orders = op != Op::kEqual && op != Op::kNotEqual;
        // Null is ordered with nothing, and equal to null at most: such a comparison is never
        // false.
        if (!want && orders && value->is_null()) return Found(never());
        const Op wanted = want ? op : opposite(op);
        const Expr& other = *e.args[mirror ? 1 : 0];
        if (query_.spatial_call(other) != nullptr)
            return distance(other, mirror ? mirrored(wanted) : wanted, *value);
        return compare(other, mirror ? mirrored(wanted) : wanted, *value);
    }

    Found all_of(const Expr& e, bool want) {
        Condition out;
        out.kind = Condition::Kind::kAll;
        for (const Expr* part : e.args) {
            if (is_always(*part, want)) continue;
            Found found = find(*part, want);
            if (!found) {
                out.exact = false;
                continue;
            }
            if (found->is_never() && found->exact) return never();
            out.exact &= found->exact;
            out.seeks += found->seeks;
            out.parts.push_back(std::move(*found));
        }
        if (out.parts.empty()) return std::nullopt;
        return out;
    }

    Found any_of(const Expr& e, bool want) {
        Condition out;
        out.kind = Condition::Kind::kAny;
        const size_t missing = missing_.size();
        const size_t missing_spatial = missing_spatial_.size();
        bool lacks = false;  // an index
        for (const Expr* part : e.args) {
            const uint64_t misses = misses_;
            Found found = find(*part, want);
            if (!found && misses_ == misses) {
                // No index serves this part, so that those for the others are of no use.
                missing_.resize(missing);
                missing_spatial_.resize(missing_spatial);
                return std::nullopt;
            }
            lacks |= !found;
            if (!found || found->is_never()) continue;
            out.exact &= found->exact;
            out.seeks += found->seeks;
            out.parts.push_back(std::move(*found));
        }
        if (lacks) return std::nullopt;
        if (out.parts.empty()) return never();
        if (out.parts.size() == 1) return std::move(out.parts[0]);
        return merged(std::move(out));
    }

    /// An OR over one path is one look-up.
    static Condition merged(Condition any) {
        const IndexPathSteps path = any.parts[0].path;
        for (const Condition& part : any.parts)
            if (part.kind != Condition::Kind::kTerms || part.test != nullptr || part.path != path ||
                part.spatial != any.parts[0].spatial)
                return any;
        Condition out = std::move(any.parts[0]);
        out.exact = any.exact;
        out.seeks = any.seeks;
        for (size_t i = 1; i < any.parts.size(); ++i) {
            std::move(any.parts[i].ranges.begin(), any.parts[i].ranges.end(),
                      std::back_inserter(out.ranges));
            out.lookup = std::max(out.lookup, any.parts[i].lookup);
        }
        ranges::normalize(out.ranges);
        return out;
    }

    /// `path` op `value`
    Found compare(const Expr& path, Op op, const Value& value) {
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
            if (!or_equal) return Found(never());
            return terms(path, {ranges::equal(value)}, LookupKind::kSeek, 1);
        }
        if (!whole) return Found(never());
        const bool above = op == Op::kGreater || op == Op::kGreaterEqual;
        const bool or_equal = op == Op::kLessEqual || op == Op::kGreaterEqual;
        return terms(path,
                     {above ? ranges::above(value, or_equal) : ranges::below(value, or_equal)},
                     LookupKind::kPreciseScan, 1);
    }

    static bool is_cut(const Value& value) {
        std::string term;
        return index::append_term(term, value);
    }

    Found between(const Expr& e, bool want) {
        const auto low = names_.constant(*e.args[1]);
        const auto high = names_.constant(*e.args[2]);
        if (!low || !high || !low->is_scalar() || !high->is_scalar() || low->is_null() ||
            is_nan(*low) || is_nan(*high))
            return std::nullopt;
        if (low->type() != high->type()) return want ? Found(never()) : std::nullopt;
        if (want)
            return terms(
                *e.args[0],
                ranges::intersect({ranges::above(*low, true)}, {ranges::below(*high, true)}),
                LookupKind::kPreciseScan, 1);
        return terms(*e.args[0], {ranges::below(*low, false), ranges::above(*high, false)},
                     LookupKind::kPreciseScan, 1);
    }

    /// One of a list of constants (or, with !want, defined and none of them).
    Found one_of(const Expr& path, const std::vector<Value>& list, bool want) {
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
        Found out =
            terms(path, std::move(wanted), want ? LookupKind::kSeek : LookupKind::kPreciseScan,
                  want ? static_cast<uint32_t>(list.size()) : 1);
        if (!sharp) weaken(out);
        return out;
    }

    Found in(const Expr& e, bool want) {
        std::vector<Value> list;
        for (const Expr* element : e.args.subspan(1)) {
            const auto value = names_.constant(*element);
            if (!value) return std::nullopt;
            list.push_back(*value);
        }
        return one_of(*e.args[0], list, want);
    }

    Found like(const Expr& e, bool want) {
        const auto text = names_.constant(*e.args[1]);
        if (want == e.negated || !text || !text->is_string()) return std::nullopt;
        char32_t escape = 0;
        if (e.value.is_string()) escape = decode_utf8(e.value.as_string()).front();
        const LikePattern pattern(text->as_string(), escape);
        if (pattern.is_exact())
            return terms(*e.args[0], {ranges::equal(Value::string(pattern.literal()))},
                         LookupKind::kSeek, 1);
        if (pattern.is_prefix())
            return terms(*e.args[0], {ranges::prefix(pattern.literal())}, LookupKind::kPreciseScan,
                         1);
        return std::nullopt;  // term by term
    }

    Found call(const Expr& e, bool want) {
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

    static std::optional<TermRange> type_ranges(std::string_view name) {
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

    Found string_match(const Expr& e, std::string_view name) {
        const auto text = names_.constant(*e.args[1]);
        if (!text || !text->is_string()) return std::nullopt;
        if (e.args.size() > 2) {
            const auto ignore_case = names_.constant(*e.args[2]);
            if (!ignore_case || !ignore_case->is_bool() || ignore_case->as_bool())
                return std::nullopt;
        }
        if (name == "STRINGEQUALS")
            return terms(*e.args[0], {ranges::equal(*text)}, LookupKind::kSeek, 1);
        Found out =
            terms(*e.args[0], {ranges::prefix(text->as_string())}, LookupKind::kPreciseScan, 1);
        // A prefix beyond the indexed bytes is decided by the item.
        if (is_cut(*text)) weaken(out);
        return out;
    }

    Found array_contains(const Expr& e) {
        if (e.args[0]->kind == ExprKind::kArray || names_.constant(*e.args[0]))
            return contained_in(e);
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
    Found distance(const Expr& call, Op op, const Value& value) {
        const FunctionSpec* spec = find_function(call.name);
        if (spec == nullptr || spec->name != "ST_DISTANCE" || !value.is_number())
            return std::nullopt;
        if (op != Op::kLess && op != Op::kLessEqual && op != Op::kEqual) return std::nullopt;
        const double metres = value.as_double();
        if (std::isnan(metres)) return std::nullopt;
        if (metres < 0) return Found(never());
        return near(call, metres);
    }

    /// A spatial call that can only hold for geometries within a distance of a constant one.
    Found near(const Expr& call, double metres) {
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
        if (geometry == nullptr) return Found(never());
        const index::SpatialGrid* grid = facts_.spatial(*path);
        if (grid == nullptr) {
            miss(*path, missing_spatial_);
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
    Found contained_in(const Expr& e) {
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
            if (!array.is_array()) return Found(never());
            list.assign(array.elements().begin(), array.elements().end());
        }
        return one_of(*e.args[1], list, true);
    }

    /// What must hold for some element holds for the item: a superset.
    Found exists(const Expr& e) {
        const ast::Query& q = *e.query;
        if (q.where == nullptr || !q.group_by.empty()) return std::nullopt;
        const size_t outer = names_.size();
        names_.bind(q, false);
        Found out = find(*q.where, true);
        names_.resize(outer);
        weaken(out);
        return out;
    }

    // --- conditions tested on every value of a path --------------------------------------------

    /// What CONTAINS looks for. A zero byte is written otherwise in terms.
    std::string needle_of(const Expr& e) const {
        if (e.kind != ExprKind::kCall || e.negated || e.args.size() != 2) return {};
        const FunctionSpec* spec = find_function(e.name);
        if (spec == nullptr || spec->name != "CONTAINS") return {};
        const auto text = names_.constant(*e.args[1]);
        if (!text || !text->is_string() || !names_.path_of(*e.args[0])) return {};
        const std::string_view bytes = text->as_string();
        return std::string(bytes.find('\0') == std::string_view::npos ? bytes : "");
    }

    static bool looks_into_arrays(const Expr& e) {
        if (e.kind == ExprKind::kCall) {
            const FunctionSpec* spec = find_function(e.name);
            if (spec != nullptr && is_of_arrays(spec->name)) return true;
        }
        return std::any_of(e.args.begin(), e.args.end(),
                           [](const Expr* part) { return looks_into_arrays(*part); });
    }
    static bool is_of_arrays(std::string_view name) {
        return name.starts_with("ARRAY_") || name.starts_with("SET") || name == "OBJECTTOARRAY";
    }

    Found term_test(const Conjunct& conjunct) {
        auto path = names_.only_path(*conjunct.syntax);
        if (!path) return std::nullopt;
        // Names bound to other things than the item itself cannot be tried on a value alone.
        if (query_.item_alias().empty() || query_.syntax().sources.size() != 1) return std::nullopt;
        json::Arena arena;
        if (holds_for_value(query_, parameters_, *conjunct.node, *path, Value(), arena))
            return std::nullopt;
        // What an array holds is not in the entries of its own path.
        if (looks_into_arrays(*conjunct.syntax) && !facts_.is_indexed(*path)) return std::nullopt;
        Found out = terms_at(std::move(*path), {ranges::defined()}, LookupKind::kFullIndexScan, 0);
        if (out) {
            out->test = conjunct.node;
            out->needle = needle_of(*conjunct.syntax);
        }
        return out;
    }

    const CompiledQuery& query_;
    const Parameters& parameters_;
    const IndexFacts& facts_;
    detail::FilterNames names_;
    std::vector<IndexPathSteps> missing_;
    std::vector<IndexPathSteps> missing_spatial_;
    uint64_t misses_ = 0;  ///< how often a path was missing that could be indexed
};

}  // namespace

Filter analyze_filter(const CompiledQuery& query, const Parameters& parameters,
                      const IndexFacts& facts) {
    return Analysis(query, parameters, facts).run();
}

}  // namespace orrery::query
