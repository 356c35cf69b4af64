// Items as selections see them.
#include <algorithm>

#include "json/order.h"
#include "json/parse.h"
#include "query/plan/selection_plan.h"

namespace orrery::query {
namespace {

using json::Value;
using Kind = PathCondition::Kind;

/// Whether a value at the path satisfies `holds`.
template <typename Holds>
bool any_value(const Value& value, std::span<const index::PathStep> path, const Holds& holds) {
    if (path.empty()) return holds(value);
    if (!path[0].any_element) return any_value(value.member(path[0].name), path.subspan(1), holds);
    return value.is_array() &&
           std::any_of(value.elements().begin(), value.elements().end(),
                       [&](const Value& one) { return any_value(one, path.subspan(1), holds); });
}

bool holds_for(const PathCondition& condition, const Value& value) {
    if (value.is_undefined()) return false;
    const auto is_beyond = [&](const std::optional<PathCondition::Bound>& bound, int sign) {
        if (!bound) return true;
        if (value.type() != bound->value.type()) return false;
        const int order = sign * json::compare(value, bound->value);
        return bound->inclusive ? order >= 0 : order > 0;
    };
    switch (condition.kind) {
        case Kind::kOneOf:
            return std::any_of(
                condition.values.begin(), condition.values.end(), [&](const Value& one) {
                    return one.type() == value.type() && json::compare(one, value) == 0;
                });
        case Kind::kRange:
            return (condition.lower || condition.upper) && is_beyond(condition.lower, 1) &&
                   is_beyond(condition.upper, -1);
        case Kind::kDefined:
            return true;
        case Kind::kTested:
            return condition.test->holds(value);
    }
    return false;
}

class SelectionRows final : public RowMaker {
public:
    SelectionRows(const Selection& selection, const IndexPlan& index)
        : selection_(selection), index_(index) {}

    Status load(const json::Document& document, const storage::Docref&) override {
        document_ = document;
        parsed_ = false;
        return {};
    }
    Result<bool> passes_served() override { return passes(true); }
    Result<Tuples> make_rows() override {
        TRY(bool passed, passes(false));
        if (passed && selection_.residual != nullptr) {
            TRY_STATUS(parse());
            TRY(passed, selection_.residual->holds(value_, document_));
        }
        return Tuples{1, passed ? 1U : 0U, passed ? 1U : 0U};
    }
    /// The items themselves are shown.
    size_t show(size_t, RowSink&) override { return 0; }
    Value sort_value(size_t key) override {
        Value value;
        if (!parse().ok()) return value;
        any_value(value_, selection_.order.keys[key].path, [&](const Value& found) {
            value = found;
            return true;
        });
        return value;
    }

private:
    /// Those that the index serves, or those that it does not.
    Result<bool> passes(bool served) {
        for (size_t i = 0; i < selection_.conditions.size(); ++i) {
            if (index_.filter.conjuncts[i].condition.has_value() != served) continue;
            TRY_STATUS(parse());
            const AnyCondition& any = selection_.conditions[i];
            if (std::none_of(any.begin(), any.end(), [&](const PathCondition& one) {
                    return any_value(value_, one.path,
                                     [&](const Value& value) { return holds_for(one, value); });
                }))
                return false;
        }
        return true;
    }
    /// Many items are shown without a look inside.
    Status parse() {
        if (parsed_) return {};
        arena_.clear();
        TRY(value_, document_.value(arena_));
        parsed_ = true;
        return {};
    }

    const Selection& selection_;
    const IndexPlan& index_;
    json::Arena arena_;
    json::Document document_;
    Value value_;
    bool parsed_ = false;
};

}  // namespace

std::unique_ptr<RowMaker> SelectionProducer::row_maker(const IndexPlan& index) const {
    return std::make_unique<SelectionRows>(selection_, index);
}

}  // namespace orrery::query
