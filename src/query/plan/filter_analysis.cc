// Which index entries a WHERE clause can be answered from.
#include "query/plan/filter_analysis.h"

#include <algorithm>
#include <map>
#include <string>

#include "index/policy.h"
#include "query/bind/evaluation.h"
#include "query/bind/nodes.h"
#include "query/functions/functions.h"
#include "query/plan/index_lookups.h"

namespace orrery::query {
namespace {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
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
        // Testing every value of a path is worth it only where nothing else narrows, and the values
        // of one path are fewer than those of several.
        for (Conjunct& conjunct : filter.conjuncts) {
            if (filter.is_served()) break;
            conjunct.condition = value_test(*conjunct.syntax, *conjunct.node, true);
        }
        for (Conjunct& conjunct : filter.conjuncts) {
            if (filter.is_served()) break;
            conjunct.condition = find_tested(*conjunct.syntax, *conjunct.node, true);
        }
        filter.missing_paths = lookups_.missing().paths.paths();
        filter.missing_spatial = lookups_.missing().spatial.paths();
        return filter;
    }

private:
    // --- conditions -----------------------------------------------------------------------------

    static bool is_always(const Expr& e, bool want) {
        return e.kind == ExprKind::kLiteral && e.value.is_bool() && e.value.as_bool() == want;
    }

    static bool is_logic(const Expr& e) {
        return e.kind == ExprKind::kBinary && (e.ops[0] == Op::kAnd || e.ops[0] == Op::kOr);
    }

    /// How an AND or OR was compiled, operand by operand; null where it was compiled otherwise.
    static const LogicNode* logic_of(const Expr& e, const Node* node) {
        const auto* logic = is_logic(e) ? dynamic_cast<const LogicNode*>(node) : nullptr;
        return logic != nullptr && logic->operands().size() == e.args.size() ? logic : nullptr;
    }

    void split(const Expr& e, const Node* node, Filter& filter) {
        if (is_always(e, true)) return;
        const LogicNode* logic = logic_of(e, node);
        if (logic == nullptr || e.ops[0] != Op::kAnd) {
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
        if (!is_logic(e)) return lookups_.find(e, want);
        if ((e.ops[0] == Op::kAnd) == want) return all_of(e, want);
        return any_of(e, [&](size_t i) { return find(*e.args[i], want); });
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

    /// `find_part`: of an operand, by its place.
    template <typename FindPart>
    Found any_of(const Expr& e, const FindPart& find_part) {
        Condition out;
        out.kind = Condition::Kind::kAny;
        const size_t missing = lookups_.missing().paths.size();
        const size_t missing_spatial = lookups_.missing().spatial.size();
        bool lacks = false;  // an index
        for (size_t i = 0; i < e.args.size(); ++i) {
            const uint64_t misses = lookups_.missing().misses;
            Found found = find_part(i);
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
        merge_paths(out);
        if (out.parts.size() == 1) return std::move(out.parts[0]);
        return out;
    }

    /// What an OR looks up at one path is one look-up, and what it tests there one walk.
    static void merge_paths(Condition& any) {
        if (any.parts.size() == 1) return;
        std::vector<Condition> merged;
        std::map<std::string, size_t> places;  // of paths, in `merged`
        for (Condition& part : any.parts) {
            if (part.kind != Condition::Kind::kTerms) {
                merged.push_back(std::move(part));
                continue;
            }
            const char* kind = part.spatial ? "s" : part.tests.empty() ? "l" : "t";
            const auto [place, is_new] =
                places.emplace(kind + index::path_text(part.path), merged.size());
            if (is_new) {
                merged.push_back(std::move(part));
                continue;
            }
            Condition& same = merged[place->second];
            same.exact &= part.exact;
            same.seeks += part.seeks;
            same.lookup = std::max(same.lookup, part.lookup);
            same.needle.clear();
            std::move(part.ranges.begin(), part.ranges.end(), std::back_inserter(same.ranges));
            std::move(part.tests.begin(), part.tests.end(), std::back_inserter(same.tests));
        }
        for (Condition& part : merged) ranges::normalize(part.ranges);
        any.parts = std::move(merged);
    }

    /// A condition on some element gives a superset of the items.
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

    /// Whether `e` is about what arrays or objects hold. Their entries tell no more than that they
    /// are some: every one of them would have to be asked.
    bool looks_inside(const Expr& e) const {
        if (e.kind == ExprKind::kArray || e.kind == ExprKind::kObject) return true;
        if (const auto value = names_.constant(e)) return value->is_array() || value->is_object();
        const FunctionSpec* spec = e.kind == ExprKind::kCall ? find_function(e.name) : nullptr;
        const std::string_view name = spec != nullptr ? spec->name : std::string_view();
        const bool contains = name.starts_with("ARRAY_CONTAINS");
        const bool of_arrays =
            name.starts_with("ARRAY_") || name.starts_with("SET") || name == "OBJECTTOARRAY";
        for (size_t i = 0; i < e.args.size(); ++i) {
            const Expr& part = *e.args[i];
            if (of_arrays && (i == 0 || !contains) && names_.path_of(part)) return true;
            // The list in which a value of the path is looked for.
            if (!(contains && i == 0) && looks_inside(part)) return true;
        }
        return false;
    }

    /// The values of one path for which `e` is true (or, with !want, false).
    Found value_test(const Expr& e, const Node& node, bool want) {
        auto path = names_.only_path(e);
        if (!path) return std::nullopt;
        // Names bound to other things than the item itself cannot be tried on a value alone.
        if (query_.item_alias().empty() || query_.syntax().sources.size() != 1) return std::nullopt;
        const ValueTest test{&node, want};
        json::Arena arena;
        if (holds_for_value(query_, parameters_, test, *path, Value(), arena)) return std::nullopt;
        if (looks_inside(e)) return std::nullopt;
        Found out =
            lookups_.terms_at(std::move(*path), {ranges::defined()}, LookupKind::kFullIndexScan, 0);
        if (out) {
            out->tests = {test};
            if (want) out->needle = needle_of(e);
        }
        return out;
    }

    /// Where `e` is true (or, with !want, false): looked up, or tested on the values of paths. An
    /// OR is served if all of its parts are, an AND by one part of it, which leaves the others to
    /// the item.
    Found find_tested(const Expr& e, const Node& node, bool want) {
        if (Found found = find(e, want)) return found;
        if (Found found = value_test(e, node, want)) return found;
        if (e.kind == ExprKind::kUnary && e.ops[0] == Op::kNot) {
            const auto* negation = dynamic_cast<const NotNode*>(&node);
            return negation == nullptr ? std::nullopt
                                       : find_tested(*e.args[0], *negation->operand(), !want);
        }
        const LogicNode* logic = logic_of(e, &node);
        if (logic == nullptr) return std::nullopt;
        if ((e.ops[0] == Op::kAnd) == want) return one_of(e, *logic, want);
        return any_of(
            e, [&](size_t i) { return find_tested(*e.args[i], *logic->operands()[i], want); });
    }

    /// The first operand that serves; that none can be looked up is known.
    Found one_of(const Expr& e, const LogicNode& logic, bool want) {
        const auto others = [&] {
            return std::count_if(e.args.begin(), e.args.end(),
                                 [&](const Expr* part) { return !is_always(*part, want); }) > 1;
        };
        Found out;
        for (size_t i = 0; i < e.args.size() && !out; ++i)
            out = value_test(*e.args[i], *logic.operands()[i], want);
        for (size_t i = 0; i < e.args.size() && !out; ++i)
            out = find_tested(*e.args[i], *logic.operands()[i], want);
        if (others()) weaken(out);
        return out;
    }

    const CompiledQuery& query_;
    const Parameters& parameters_;
    IndexLookups lookups_;
    FilterNames& names_;
};

}  // namespace

namespace {

/// `value` wrapped as an item that has nothing but this path.
Value item_with(const IndexPathSteps& path, const Value& value, json::Arena& arena) {
    Value out = value;
    for (auto step = path.rbegin(); step != path.rend(); ++step) {
        if (out.is_undefined()) return Value::object({});
        const json::Member member{step->name, out};
        out = Value::object(arena.copy(std::span(&member, 1)));
    }
    return out;
}

}  // namespace

OneValueItem::OneValueItem(const IndexPathSteps& path) : members_(path.size()) {
    for (size_t i = path.size(); i-- > 0;) {
        members_[i].name = path[i].name;
        if (i + 1 < path.size())
            members_[i].value = Value::object(std::span(members_).subspan(i + 1, 1));
    }
}

Value OneValueItem::with(const Value& value) {
    if (value.is_undefined()) return Value::object({});
    if (members_.empty()) return value;
    members_.back().value = value;
    return Value::object(std::span(members_).first(1));
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

bool holds_for_value(const CompiledQuery& query, const Parameters& parameters,
                     const ValueTest& test, const IndexPathSteps& path, const Value& value,
                     json::Arena& arena) {
    Evaluation evaluation(query, parameters);
    begin_with_value(evaluation, query, path, value, arena);
    return test.node->test(evaluation.context) == (test.want ? Truth::kTrue : Truth::kFalse);
}

Filter analyze_filter(const CompiledQuery& query, const Parameters& parameters,
                      const IndexFacts& facts) {
    return Analysis(query, parameters, facts).run();
}

}  // namespace orrery::query
