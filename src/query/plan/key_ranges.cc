#include "query/key_ranges.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/encoding.h"
#include "json/text.h"
#include "query/bind/binder.h"
#include "query/functions/values.h"
#include "query/limits.h"
#include "query/plan/filter_names.h"

namespace orrery::query {
namespace {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using json::Value;

/// The components of the key that one branch of a filter knows, by level. An undefined component is
/// the key of items whose value is missing, an array or an object.
using Pin = std::vector<std::optional<Value>>;
/// At least one pin holds for every item that satisfies the condition; nullopt: unknown.
using Pins = std::optional<std::vector<Pin>>;

class Analysis {
public:
    Analysis(const CompiledQuery& query, const Parameters& parameters,
             const partition::PartitionKeyDefinition& definition)
        : query_(query), parameters_(parameters), definition_(definition) {}

    Pins find(const Expr& e) {
        switch (e.kind) {
            case ExprKind::kLiteral:
            case ExprKind::kParameter: {
                const Value v = *constant(e);
                if (v.is_bool() && v.as_bool()) return std::nullopt;
                return std::vector<Pin>();
            }
            case ExprKind::kPath:
                return pin(e, Value::boolean(true));
            case ExprKind::kIn:
                return e.negated ? std::nullopt : in(e);
            case ExprKind::kLike:
                return e.negated ? std::nullopt : like(e);
            case ExprKind::kCall:
                return call(e);
            case ExprKind::kBinary:
                break;
            default:
                return std::nullopt;
        }
        const Op op = e.ops[0];
        if (op == Op::kAnd) return all_of(e);
        if (op == Op::kOr) return any_of(e);
        if (op < Op::kEqual || op > Op::kGreaterEqual || e.ops.size() != 1) return std::nullopt;
        // A comparison with a missing value is never true, so the subquery must have a row.
        for (const Expr* side : e.args)
            if (side->kind == ExprKind::kSubquery) return within(*side->query);
        return op == Op::kEqual ? equality(e) : std::nullopt;
    }

    std::vector<KeyRange> ranges(const std::vector<Pin>& pins) const {
        std::vector<KeyRange> out;
        for (const Pin& pin : pins) {
            partition::PartitionKeyComponents components;
            for (const auto& component : pin) {
                if (!component) break;
                components.push_back(*component);
            }
            const bool whole = components.size() == pin.size();
            if (!whole &&
                (components.empty() || definition_.kind != partition::KeyKind::kMultiHash))
                return {everything()};
            const auto epk = partition::effective_partition_key(definition_, components);
            if (!epk.ok()) continue;  // a value that no stored key has
            if (whole) {
                out.push_back({*epk, *epk, true});
            } else {
                const auto range = partition::range_of_key(*epk);
                out.push_back({range.min, range.max, false});
            }
        }
        return without_overlaps(std::move(out));
    }

    static KeyRange everything() { return {"", "\xFF", false}; }
    static KeyRange nothing() { return {"", "", true}; }

private:
    /// Two of these ranges are apart, equal, or one holds the other.
    static std::vector<KeyRange> without_overlaps(std::vector<KeyRange> ranges) {
        std::sort(ranges.begin(), ranges.end(), [](const KeyRange& a, const KeyRange& b) {
            if (a.min != b.min) return a.min < b.min;
            return a.max != b.max ? a.max > b.max : a.max_inclusive > b.max_inclusive;
        });
        std::vector<KeyRange> out;
        for (KeyRange& range : ranges) {
            const bool held =
                !out.empty() && (range.min < out.back().max ||
                                 (out.back().max_inclusive && range.min == out.back().max));
            if (!held) out.push_back(std::move(range));
        }
        if (out.empty()) out.push_back(nothing());
        return out;
    }

    Pins any_of(const Expr& e) {
        std::vector<Pin> out;
        for (const Expr* branch : e.args) {
            Pins pins = find(*branch);
            if (!pins || out.size() + pins->size() > limits::kPointCandidatesMax)
                return std::nullopt;
            std::move(pins->begin(), pins->end(), std::back_inserter(out));
        }
        return out;
    }

    Pins all_of(const Expr& e) {
        Pins out;
        for (const Expr* part : e.args) {
            Pins pins = find(*part);
            if (!pins) continue;
            if (!out) {
                out = std::move(pins);
                continue;
            }
            // Too many combinations: what is known already is still true.
            if (out->size() * pins->size() > limits::kPointCandidatesMax) continue;
            std::vector<Pin> combined;
            for (const Pin& a : *out)
                for (const Pin& b : *pins)
                    if (auto both = combine(a, b)) combined.push_back(std::move(*both));
            out = std::move(combined);
        }
        return out;
    }

    /// nullopt when the two contradict each other.
    static std::optional<Pin> combine(const Pin& a, const Pin& b) {
        Pin out = a;
        for (size_t i = 0; i < out.size(); ++i) {
            if (!b[i]) continue;
            if (out[i] && !same_value(*out[i], *b[i])) return std::nullopt;
            out[i] = b[i];
        }
        return out;
    }

    Pins equality(const Expr& e) {
        for (const size_t side : {size_t{0}, size_t{1}}) {
            const auto value = constant(*e.args[1 - side]);
            if (!value) continue;
            const Expr& other = *e.args[side];
            if (is_call(other, "ABS")) return absolute(*other.args[0], *value);
            return pin(other, *value);
        }
        return std::nullopt;
    }

    Pins absolute(const Expr& path, const Value& value) {
        if (!value.is_number()) return std::nullopt;
        const double v = value.as_double();
        std::vector<Pin> out;
        if (v < 0 || std::isnan(v)) return out;
        for (const double signed_value : {v, -v}) {
            Pins pins = pin(path, Value::number(signed_value));
            if (!pins) return std::nullopt;
            std::move(pins->begin(), pins->end(), std::back_inserter(out));
            if (v == 0) break;
        }
        return out;
    }

    Pins in(const Expr& e) {
        std::vector<Value> values;
        for (const Expr* element : e.args.subspan(1)) {
            const auto value = constant(*element);
            if (!value) return std::nullopt;
            values.push_back(*value);
        }
        return one_of(*e.args[0], values);
    }

    Pins one_of(const Expr& path, std::span<const Value> values) {
        std::vector<Pin> out;
        if (!level_of(path)) return std::nullopt;
        for (const Value& value : values) {
            Pins pins = pin(path, value);
            std::move(pins->begin(), pins->end(), std::back_inserter(out));
        }
        return out;
    }

    Pins like(const Expr& e) {
        const auto text = constant(*e.args[1]);
        if (!text || !text->is_string()) return std::nullopt;
        char32_t escape = 0;
        if (e.value.is_string())
            escape = json::decode_utf8(e.value.as_string())[0];  // has one character
        const LikePattern pattern(text->as_string(), escape);
        if (!pattern.is_exact()) return std::nullopt;
        return pin(*e.args[0], Value::string(arena_.copy(pattern.literal())));
    }

    static bool is_call(const Expr& e, std::string_view name) {
        return e.kind == ExprKind::kCall && equals_ignore_case(e.name, name);
    }

    Pins call(const Expr& e) {
        if (is_call(e, "IS_NULL")) return pin(*e.args[0], Value::null());
        if (is_call(e, "IS_BOOL") || is_call(e, "IS_BOOLEAN")) {
            const Value both[] = {Value::boolean(false), Value::boolean(true)};
            return one_of(*e.args[0], both);
        }
        if (!is_call(e, "ARRAY_CONTAINS") || e.args.size() != 2) return std::nullopt;
        const Expr& list = *e.args[0];
        if (list.kind == ExprKind::kParameter) {
            const Value v = *constant(list);
            if (!v.is_array()) return std::nullopt;
            return one_of(*e.args[1], v.elements());
        }
        if (list.kind != ExprKind::kArray) return std::nullopt;
        std::vector<Value> values;
        for (const Expr* element : list.args) {
            const auto value = constant(*element);
            if (!value) return std::nullopt;
            values.push_back(*value);
        }
        return one_of(*e.args[1], values);
    }

    /// What the filter of a subquery says about the item, for a subquery that has a row.
    Pins within(const ast::Query& q) {
        if (q.where == nullptr || !q.group_by.empty()) return std::nullopt;
        if (q.value != nullptr && count_aggregates(*q.value) > 0) return std::nullopt;
        for (const ast::SelectItem& item : q.items)
            if (count_aggregates(*item.expr) > 0) return std::nullopt;
        for (const ast::Source& s : q.sources) {
            if (source_name(s) != query_.item_alias()) continue;
            // The same name may only stand for the same item.
            if (s.iterate || s.collection == nullptr ||
                s.collection->kind != ExprKind::kIdentifier ||
                s.collection->name != query_.item_alias())
                return std::nullopt;
        }
        return find(*q.where);
    }

    /// The value of an expression that is the same for all items.
    std::optional<Value> constant(const Expr& e) const {
        switch (e.kind) {
            case ExprKind::kLiteral:
                return e.value;
            case ExprKind::kParameter:
                return parameters_.values()[*query_.find_parameter(e.name)];
            case ExprKind::kArray:
            case ExprKind::kObject: {
                // As key values, all of them are one.
                for (const Expr* part : e.args)
                    if (!constant(*part)) return std::nullopt;
                return Value::array({});
            }
            case ExprKind::kUnary: {
                const auto v = constant(*e.args[0]);
                if (e.ops[0] != Op::kMinus || !v || !v->is_number()) return std::nullopt;
                return Value::number(-v->as_double());
            }
            default:
                return std::nullopt;
        }
    }

    /// `e` = value. A value that nothing equals gives no pins.
    Pins pin(const Expr& e, const Value& value) const {
        const auto level = level_of(e);
        if (!level) return std::nullopt;
        if (value.is_undefined() || (value.is_number() && !std::isfinite(value.as_double())))
            return std::vector<Pin>();
        Pin out(definition_.member_paths.size());
        out[*level] = value.is_scalar() ? value : Value();
        return std::vector<Pin>{std::move(out)};
    }

    /// Which component of the key an expression is.
    std::optional<size_t> level_of(const Expr& e) const {
        for (size_t i = 0; i < definition_.member_paths.size(); ++i)
            if (is_stored_member(query_, e, definition_.member_paths[i])) return i;
        return std::nullopt;
    }

    const CompiledQuery& query_;
    const Parameters& parameters_;
    const partition::PartitionKeyDefinition& definition_;
    json::Arena arena_;
};

}  // namespace

std::vector<KeyRange> key_ranges(const CompiledQuery& query, const Parameters& parameters,
                                 const partition::PartitionKeyDefinition& definition) {
    if (!query.reads_items()) return {Analysis::nothing()};
    const Node* where = query.root().where;
    if (where == nullptr) return {Analysis::everything()};
    if (const Value* v = where->constant(); v != nullptr && !(v->is_bool() && v->as_bool()))
        return {Analysis::nothing()};
    Analysis analysis(query, parameters, definition);
    const Pins pins = analysis.find(*query.syntax().where);
    if (!pins) return {Analysis::everything()};
    return analysis.ranges(*pins);
}

}  // namespace orrery::query
