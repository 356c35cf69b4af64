#include "query/conditions.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "index/spatial.h"
#include "index/terms.h"
#include "query/evaluation.h"
#include "query/functions.h"
#include "query/like.h"
#include "query/nodes.h"
#include "query/text.h"

namespace orrery::query {
namespace {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using index::TermRange;
using json::Value;
namespace ranges = index::term_ranges;

using Found = std::optional<Condition>;

/// A name of FROM and where its values lie in the item.
struct Alias {
    std::string_view name;
    IndexPathSteps path;
    bool usable = false;
};

Condition never() {
    return {};
}

bool is_nan(const Value& v) {
    return v.is_number() && std::isnan(v.as_double());
}

/// The same for the other direction of a comparison: 5 < c.x is c.x > 5.
Op mirrored(Op op) {
    switch (op) {
        case Op::kLess:
            return Op::kGreater;
        case Op::kLessEqual:
            return Op::kGreaterEqual;
        case Op::kGreater:
            return Op::kLess;
        case Op::kGreaterEqual:
            return Op::kLessEqual;
        default:
            return op;
    }
}

/// The comparison that is true exactly where `op` is false.
Op opposite(Op op) {
    switch (op) {
        case Op::kEqual:
            return Op::kNotEqual;
        case Op::kNotEqual:
            return Op::kEqual;
        case Op::kLess:
            return Op::kGreaterEqual;
        case Op::kLessEqual:
            return Op::kGreater;
        case Op::kGreater:
            return Op::kLessEqual;
        case Op::kGreaterEqual:
            return Op::kLess;
        default:
            return op;
    }
}

class Analysis {
public:
    Analysis(const CompiledQuery& query, const Parameters& parameters, const IndexFacts& facts)
        : query_(query), parameters_(parameters), facts_(facts) {
        for (size_t i = 0; i < query.parameters().size(); ++i)
            by_name_.emplace(query.parameters()[i], i);
    }

    Filter run() {
        Filter filter;
        const ast::Query& q = query_.syntax();
        if (q.where == nullptr || !query_.reads_items()) return filter;
        bind_sources(q, true);
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
        return filter;
    }

private:
    // --- names ----------------------------------------------------------------------------------

    void bind_sources(const ast::Query& q, bool outermost) {
        for (size_t i = 0; i < q.sources.size(); ++i) {
            const ast::Source& s = q.sources[i];
            Alias alias;
            alias.name = s.alias;
            if (s.collection != nullptr) {
                const Expr& e = *s.collection;
                if (alias.name.empty() && e.kind == ExprKind::kIdentifier) alias.name = e.name;
                if (alias.name.empty() && e.kind == ExprKind::kPath && e.steps.back().is_name())
                    alias.name = e.steps.back().name;
                const bool from_item = outermost && i == 0;
                if (from_item && (e.kind == ExprKind::kIdentifier || e.kind == ExprKind::kPath)) {
                    alias.usable = append_steps(e, alias.path);
                } else if (auto path = path_of(e)) {
                    alias.path = std::move(*path);
                    alias.usable = true;
                }
                if (s.iterate) alias.path.push_back({true, {}});
            }
            aliases_.push_back(std::move(alias));
        }
    }

    /// Member and element steps; a position in an array is "some element".
    static bool append_steps(const Expr& e, IndexPathSteps& path) {
        for (const ast::Step& step : e.steps) {
            if (step.is_name()) {
                path.push_back({false, std::string(step.name)});
            } else if (step.kind == ast::StepKind::kIndex) {
                path.push_back({true, {}});
            } else {
                return false;
            }
        }
        return true;
    }

    const Alias* alias_of(std::string_view name) const {
        for (auto it = aliases_.rbegin(); it != aliases_.rend(); ++it)
            if (it->name == name) return it->usable ? &*it : nullptr;
        return nullptr;
    }

    std::optional<IndexPathSteps> path_of(const Expr& e) const {
        const Expr* base = e.kind == ExprKind::kPath ? e.args[0] : &e;
        if (base->kind != ExprKind::kIdentifier) return std::nullopt;
        const Alias* alias = alias_of(base->name);
        if (alias == nullptr) return std::nullopt;
        IndexPathSteps path = alias->path;
        if (e.kind == ExprKind::kPath && !append_steps(e, path)) return std::nullopt;
        if (path.empty()) return std::nullopt;
        return path;
    }

    /// Some values of the path, not all: rows, elements and positions are decided by the item.
    static bool names_one_value(const IndexPathSteps& path) {
        return std::none_of(path.begin(), path.end(),
                            [](const index::PathStep& s) { return s.any_element; });
    }

    std::optional<Value> constant(const Expr& e) const {
        if (e.kind == ExprKind::kLiteral) return e.value;
        if (e.kind == ExprKind::kParameter) return parameters_.values()[by_name_.at(e.name)];
        if (e.kind == ExprKind::kUnary && (e.ops[0] == Op::kMinus || e.ops[0] == Op::kPlus) &&
            e.args[0]->kind == ExprKind::kLiteral && e.args[0]->value.is_number())
            return apply_unary(e.ops[0], e.args[0]->value);
        return std::nullopt;
    }

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
        auto path = path_of(e);
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
            if (std::find(missing_.begin(), missing_.end(), path) == missing_.end())
                missing_.push_back(path);
            return std::nullopt;
        }
        out.path = std::move(path);
        out.ranges = std::move(wanted);
        out.lookup = lookup;
        out.seeks = seeks;
        return out;
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
        const bool mirror = !constant(*e.args[1]);
        const auto value = constant(*e.args[mirror ? 0 : 1]);
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
        for (const Expr* part : e.args) {
            Found found = find(*part, want);
            if (!found) return std::nullopt;
            if (found->is_never()) continue;
            out.exact &= found->exact;
            out.seeks += found->seeks;
            out.parts.push_back(std::move(*found));
        }
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
                Found out = terms(path, {ranges::equal(value)}, LookupKind::kSeek, 1);
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
        const auto low = constant(*e.args[1]);
        const auto high = constant(*e.args[2]);
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
            const auto value = constant(*element);
            if (!value) return std::nullopt;
            list.push_back(*value);
        }
        return one_of(*e.args[0], list, want);
    }

    Found like(const Expr& e, bool want) {
        const auto text = constant(*e.args[1]);
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
            auto path = path_of(*e.args[0]);
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
        const auto text = constant(*e.args[1]);
        if (!text || !text->is_string()) return std::nullopt;
        if (e.args.size() > 2) {
            const auto ignore_case = constant(*e.args[2]);
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
        if (e.args[0]->kind == ExprKind::kArray || constant(*e.args[0])) return contained_in(e);
        const auto value = constant(*e.args[1]);
        auto path = path_of(*e.args[0]);
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
        auto path = path_of(*call.args[left ? 0 : 1]);
        if (known.source == Source::kItem || !path) return std::nullopt;
        const index::Geometry* geometry = known.source == Source::kConstant
                                              ? known.constant
                                              : parameters_.geometries()[known.parameter].get();
        if (geometry == nullptr) return Found(never());
        const index::SpatialGrid* grid = facts_.spatial(*path);
        if (grid == nullptr) return std::nullopt;
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
                const auto value = constant(*element);
                if (!value) return std::nullopt;
                list.push_back(*value);
            }
        } else {
            const Value array = *constant(*e.args[0]);
            if (!array.is_array()) return Found(never());
            list.assign(array.elements().begin(), array.elements().end());
        }
        return one_of(*e.args[1], list, true);
    }

    /// What must hold for some element holds for the item: a superset.
    Found exists(const Expr& e) {
        const ast::Query& q = *e.query;
        if (q.where == nullptr || !q.group_by.empty()) return std::nullopt;
        const size_t outer = aliases_.size();
        bind_sources(q, false);
        Found out = find(*q.where, true);
        aliases_.resize(outer);
        weaken(out);
        return out;
    }

    // --- conditions tested on every value of a path --------------------------------------------

    /// The only path that `e` looks at; nullopt when there are more, or other things than values.
    struct PathUse {
        std::optional<IndexPathSteps> path;
        bool simple = true;
    };
    void collect(const Expr& e, PathUse& use) const {
        if (!use.simple) return;
        switch (e.kind) {
            case ExprKind::kIdentifier:
            case ExprKind::kPath: {
                auto path = path_of(e);
                use.simple = path && names_one_value(*path) && (!use.path || *use.path == *path);
                use.path = std::move(path);
                return;
            }
            case ExprKind::kUdfCall:
            case ExprKind::kSubquery:
            case ExprKind::kExists:
            case ExprKind::kArrayOf:
            case ExprKind::kAll:
            case ExprKind::kFirst:
            case ExprKind::kLast:
                use.simple = false;
                return;
            case ExprKind::kCall: {
                const FunctionSpec* spec = find_function(e.name);
                use.simple = spec != nullptr && (spec->family == FunctionFamily::kPure ||
                                                 spec->family == FunctionFamily::kConditional);
                break;
            }
            default:
                break;
        }
        for (const Expr* part : e.args) collect(*part, use);
    }

    /// What CONTAINS looks for. A zero byte is written otherwise in terms.
    std::string needle_of(const Expr& e) const {
        if (e.kind != ExprKind::kCall || e.negated || e.args.size() != 2) return {};
        const FunctionSpec* spec = find_function(e.name);
        if (spec == nullptr || spec->name != "CONTAINS") return {};
        const auto text = constant(*e.args[1]);
        if (!text || !text->is_string() || !path_of(*e.args[0])) return {};
        const std::string_view bytes = text->as_string();
        return std::string(bytes.find('\0') == std::string_view::npos ? bytes : "");
    }

    Found term_test(const Conjunct& conjunct) {
        PathUse use;
        collect(*conjunct.syntax, use);
        if (!use.simple || !use.path) return std::nullopt;
        // Names bound to other things than the item itself cannot be tried on a value alone.
        if (query_.item_alias().empty() || query_.syntax().sources.size() != 1) return std::nullopt;
        json::Arena arena;
        if (holds_for_value(query_, parameters_, *conjunct.node, *use.path, Value(), arena))
            return std::nullopt;
        Found out =
            terms_at(std::move(*use.path), {ranges::defined()}, LookupKind::kFullIndexScan, 0);
        if (out) {
            out->test = conjunct.node;
            out->needle = needle_of(*conjunct.syntax);
        }
        return out;
    }

    const CompiledQuery& query_;
    const Parameters& parameters_;
    const IndexFacts& facts_;
    std::unordered_map<std::string_view, size_t> by_name_;
    std::vector<Alias> aliases_;
    std::vector<IndexPathSteps> missing_;
};

}  // namespace

bool Condition::is_member_path() const {
    return kind == Kind::kTerms && !spatial &&
           std::none_of(path.begin(), path.end(),
                        [](const auto& step) { return step.any_element; });
}

uint64_t Condition::entries_hash(SipKey key) const {
    if (composite != nullptr) return index::composite_hash(key, *composite);
    const uint64_t hash = index::path_hash(key, path);
    return spatial ? index::spatial_hash(key, hash, *spatial) : hash;
}

bool Filter::is_exact() const {
    return std::all_of(conjuncts.begin(), conjuncts.end(),
                       [](const Conjunct& c) { return c.condition && c.condition->exact; });
}

bool Filter::is_served() const {
    return std::any_of(conjuncts.begin(), conjuncts.end(),
                       [](const Conjunct& c) { return c.condition.has_value(); });
}

uint64_t Filter::seeks() const {
    uint64_t sum = 0;
    for (const Conjunct& c : conjuncts)
        if (c.condition) sum += c.condition->seeks;
    return sum;
}

std::vector<const Condition*> Filter::conditions(
    const std::function<bool(const Condition&)>& usable, bool& all) const {
    std::vector<const Condition*> out;
    std::vector<bool> decided(conjuncts.size());
    for (const CompositeCondition& one : composites) {
        if (!usable(one.condition)) continue;
        out.push_back(&one.condition);
        for (const size_t i : one.conjuncts) decided[i] = true;
    }
    all = true;
    for (size_t i = 0; i < conjuncts.size(); ++i) {
        if (decided[i]) continue;
        const auto& condition = conjuncts[i].condition;
        if (condition && usable(*condition)) {
            out.push_back(&*condition);
        } else {
            all = false;
        }
    }
    return out;
}

Filter analyze_filter(const CompiledQuery& query, const Parameters& parameters,
                      const IndexFacts& facts) {
    return Analysis(query, parameters, facts).run();
}

Value item_with(const IndexPathSteps& path, const Value& value, json::Arena& arena) {
    Value out = value;
    for (auto step = path.rbegin(); step != path.rend(); ++step) {
        if (out.is_undefined()) return Value::object({});
        const json::Member member{step->name, out};
        out = Value::object(arena.copy(std::span(&member, 1)));
    }
    return out;
}

void begin_with_value(Evaluation& evaluation, const CompiledQuery& query,
                      const IndexPathSteps& path, const Value& value, json::Arena& arena) {
    Value item = Value::object({});
    if (const CompiledQuery::Computed* use = query.find_computed(path.front().name)) {
        evaluation.begin_stored(item, arena);
        const IndexPathSteps below(path.begin() + 1, path.end());
        evaluation.context.slots[use->slot] = item_with(below, value, arena);
    } else {
        item = item_with(path, value, arena);
        evaluation.begin(item, arena);
    }
    evaluation.context.slots[query.root().sources[0].slot] = item;
}

bool holds_for_value(const CompiledQuery& query, const Parameters& parameters, const Node& node,
                     const IndexPathSteps& path, const Value& value, json::Arena& arena) {
    Evaluation evaluation(query, parameters);
    begin_with_value(evaluation, query, path, value, arena);
    return node.test(evaluation.context) == Truth::kTrue;
}

}  // namespace orrery::query
