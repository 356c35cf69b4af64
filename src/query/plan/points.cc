#include "query/limits.h"
#include "query/plan/filter_names.h"
#include "query/query.h"

namespace orrery::query {
namespace {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using json::Value;

/// What one branch of a filter says about an item: undefined where it says nothing.
struct Pin {
    Value id;
    std::vector<Value> key;
    bool certain = true;  ///< the branch says nothing else
};
using Pins = std::optional<std::vector<Pin>>;

class Finder {
public:
    Finder(const CompiledQuery& query, const Parameters& parameters,
           const std::vector<json::MemberPath>& key_paths)
        : query_(query), parameters_(parameters), key_paths_(key_paths) {}

    /// The pins of which at least one holds for every item that satisfies `e`; nullopt: unknown.
    Pins find(const Expr& e) const {
        if (e.kind == ExprKind::kIn && !e.negated) return in(e);
        if (e.kind != ExprKind::kBinary) return std::nullopt;
        switch (e.ops[0]) {
            case Op::kAnd:
                return all_of(e);
            case Op::kOr:
                return any_of(e);
            case Op::kEqual:
                return e.ops.size() == 1 ? equality(e) : std::nullopt;
            default:
                return std::nullopt;
        }
    }

private:
    Pins any_of(const Expr& e) const {
        std::vector<Pin> out;
        for (const Expr* branch : e.args) {
            Pins pins = find(*branch);
            if (!pins || out.size() + pins->size() > limits::kPointCandidatesMax)
                return std::nullopt;
            std::move(pins->begin(), pins->end(), std::back_inserter(out));
        }
        return out;
    }

    Pins all_of(const Expr& e) const {
        Pins out;
        bool complete = true;
        for (const Expr* part : e.args) {
            Pins pins = find(*part);
            if (!pins) {
                complete = false;
                continue;
            }
            if (!out) {
                out = std::move(pins);
                continue;
            }
            // Too many combinations: what is known already is still true.
            if (out->size() * pins->size() > limits::kPointCandidatesMax) {
                complete = false;
                continue;
            }
            std::vector<Pin> combined;
            for (const Pin& a : *out)
                for (const Pin& b : *pins)
                    if (auto pin = combine(a, b)) combined.push_back(std::move(*pin));
            out = std::move(combined);
        }
        if (out && !complete)
            for (Pin& pin : *out) pin.certain = false;
        return out;
    }

    /// nullopt when the two contradict each other.
    static std::optional<Pin> combine(const Pin& a, const Pin& b) {
        Pin out = a;
        out.certain = a.certain && b.certain;
        if (!merge(out.id, b.id)) return std::nullopt;
        for (size_t i = 0; i < out.key.size(); ++i)
            if (!merge(out.key[i], b.key[i])) return std::nullopt;
        return out;
    }
    static bool merge(Value& into, const Value& other) {
        if (other.is_undefined()) return true;
        if (into.is_undefined()) {
            into = other;
            return true;
        }
        return same_value(into, other);
    }

    Pins equality(const Expr& e) const {
        if (auto value = constant(*e.args[1])) return pin(*e.args[0], *value);
        if (auto value = constant(*e.args[0])) return pin(*e.args[1], *value);
        return std::nullopt;
    }

    Pins in(const Expr& e) const {
        std::vector<Pin> out;
        for (const Expr* element : e.args.subspan(1)) {
            const auto value = constant(*element);
            if (!value) return std::nullopt;
            Pins pins = pin(*e.args[0], *value);
            if (!pins) return std::nullopt;
            std::move(pins->begin(), pins->end(), std::back_inserter(out));
        }
        return out;
    }

    std::optional<Value> constant(const Expr& e) const {
        if (e.kind == ExprKind::kLiteral) return e.value;
        if (e.kind != ExprKind::kParameter) return std::nullopt;
        return parameters_.values()[*query_.find_parameter(e.name)];
    }

    /// `path` = value. An impossible value gives no pins at all: nothing can match.
    Pins pin(const Expr& path, const Value& value) const {
        Pin out;
        bool found = false;
        if (is_stored_member(query_, path, id_path_)) {
            if (!value.is_string()) return std::vector<Pin>();
            out.id = value;
            found = true;
        }
        for (size_t i = 0; i < key_paths_.size(); ++i) {
            if (!is_stored_member(query_, path, key_paths_[i])) continue;
            // Arrays and objects as key values do not stand for themselves.
            if (!value.is_scalar()) return value.is_undefined() ? Pins(std::vector<Pin>()) : Pins();
            out.key.resize(key_paths_.size());
            out.key[i] = value;
            found = true;
        }
        if (!found) return std::nullopt;
        out.key.resize(key_paths_.size());
        return std::vector<Pin>{std::move(out)};
    }

    const CompiledQuery& query_;
    const Parameters& parameters_;
    const std::vector<json::MemberPath>& key_paths_;
    const json::MemberPath id_path_{"id"};
};

}  // namespace

std::optional<std::vector<PointCandidate>> point_candidates(
    const CompiledQuery& query, const Parameters& parameters,
    const std::vector<json::MemberPath>& key_paths) {
    const Expr* where = query.syntax().where;
    if (where == nullptr || query.item_alias().empty()) return std::nullopt;
    const Pins pins = Finder(query, parameters, key_paths).find(*where);
    if (!pins) return std::nullopt;
    std::vector<PointCandidate> out;
    std::unordered_multimap<std::string_view, size_t> seen;
    for (const Pin& pin : *pins) {
        if (pin.id.is_undefined()) return std::nullopt;
        PointCandidate candidate;
        candidate.id = std::string(pin.id.as_string());
        bool complete = !key_paths.empty();
        for (const Value& v : pin.key) complete &= !v.is_undefined();
        if (complete) candidate.key = pin.key;
        // Part of a key cannot be handed over, so it has to be looked at again.
        bool partial = false;
        for (const Value& v : pin.key) partial |= !complete && !v.is_undefined();
        candidate.certain = pin.certain && !partial;
        const auto same = [&](const PointCandidate& other) {
            if (candidate.key.has_value() != other.key.has_value()) return false;
            return !candidate.key || std::equal(candidate.key->begin(), candidate.key->end(),
                                                other.key->begin(), json::same_value);
        };
        const auto [begin, end] = seen.equal_range(pin.id.as_string());
        bool duplicate = false;
        for (auto it = begin; it != end && !duplicate; ++it) {
            duplicate = same(out[it->second]);
            if (duplicate) out[it->second].certain |= candidate.certain;
        }
        if (duplicate) continue;
        seen.emplace(pin.id.as_string(), out.size());
        out.push_back(std::move(candidate));
    }
    return out;
}

}  // namespace orrery::query
