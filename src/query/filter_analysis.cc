// Which index entries a WHERE clause can be answered from.
#include <algorithm>

#include "query/conditions.h"
#include "query/detail/index_lookups.h"
#include "query/functions.h"
#include "query/nodes.h"

namespace orrery::query {
namespace {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using detail::Found;
using detail::IndexLookups;
using json::Value;
namespace ranges = index::term_ranges;

Condition never() {
    return {};
}

class Analysis {
public:
    Analysis(const CompiledQuery& query, const Parameters& parameters, const IndexFacts& facts)
        : query_(query),
          parameters_(parameters),
          facts_(facts),
          lookups_(query, parameters, facts),
          names_(lookups_.names()) {}

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
        filter.missing_paths = lookups_.missing().paths;
        filter.missing_spatial = lookups_.missing().spatial;
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
            case ExprKind::kExists:
                return want ? exists(e) : std::nullopt;
            default:
                return lookups_.find(e, want);
        }
    }

    static void weaken(Found& found) {
        if (found) found->exact = false;
    }

    Found binary(const Expr& e, bool want) {
        const Op op = e.ops[0];
        if (op == Op::kAnd || op == Op::kOr)
            return (op == Op::kAnd) == want ? all_of(e, want) : any_of(e, want);
        return lookups_.find(e, want);
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
        const size_t missing = lookups_.missing().paths.size();
        const size_t missing_spatial = lookups_.missing().spatial.size();
        bool lacks = false;  // an index
        for (const Expr* part : e.args) {
            const uint64_t misses = lookups_.missing().misses;
            Found found = find(*part, want);
            if (!found && lookups_.missing().misses == misses) {
                // No index serves this part, so that those for the others are of no use.
                lookups_.forget_missing(missing, missing_spatial);
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
        Found out =
            lookups_.terms_at(std::move(*path), {ranges::defined()}, LookupKind::kFullIndexScan, 0);
        if (out) {
            out->test = conjunct.node;
            out->needle = needle_of(*conjunct.syntax);
        }
        return out;
    }

    const CompiledQuery& query_;
    const Parameters& parameters_;
    const IndexFacts& facts_;
    IndexLookups lookups_;
    detail::FilterNames& names_;
};

}  // namespace

Filter analyze_filter(const CompiledQuery& query, const Parameters& parameters,
                      const IndexFacts& facts) {
    return Analysis(query, parameters, facts).run();
}

}  // namespace orrery::query
