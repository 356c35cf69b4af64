#include "query/plan/conditions.h"

#include <algorithm>
#include <cctype>

#include "index/spatial.h"
#include "index/terms.h"

namespace orrery::query {

bool Condition::is_member_path() const {
    return kind == Kind::kTerms && !spatial &&
           std::none_of(path.begin(), path.end(),
                        [](const auto& step) { return step.any_element; });
}

uint64_t Condition::walks() const {
    uint64_t sum = tests.empty() ? 0 : 1;
    for (const Condition& part : parts) sum += part.walks();
    return sum;
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

std::string metric_path(const IndexPathSteps& path) {
    std::string out;
    for (const index::PathStep& step : path) {
        const bool plain = !step.name.empty() &&
                           std::all_of(step.name.begin(), step.name.end(), [](unsigned char c) {
                               return std::isalnum(c) != 0 || c == '_';
                           });
        out += plain && !step.any_element ? "/" + step.name : index::path_text({step});
    }
    return out;
}

std::string composite_text(const index::CompositeIndex& composite) {
    std::string out;
    for (const auto& member : composite.members)
        out += (out.empty() ? "" : ", ") + metric_path(member.steps) +
               (member.descending ? " DESC" : " ASC");
    return out + " (composite)";
}

std::string condition_text(const Condition& condition) {
    switch (condition.kind) {
        case Condition::Kind::kTerms:
            if (condition.composite == nullptr)
                return metric_path(condition.path) + (condition.spatial ? " (spatial)" : "");
            return composite_text(*condition.composite);
        case Condition::Kind::kAll:
        case Condition::Kind::kAny: {
            std::string out = "(";
            for (const Condition& part : condition.parts) {
                if (out.size() > 1)
                    out += condition.kind == Condition::Kind::kAll ? " and " : " or ";
                out += condition_text(part);
            }
            return out + ")";
        }
    }
    return {};
}

}  // namespace orrery::query
