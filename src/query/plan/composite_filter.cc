#include "query/plan/composite_filter.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/limits.h"

namespace orrery::query {
namespace {

using Member = index::CompositeIndex::Member;

std::string inverted(std::string bytes) {
    for (char& c : bytes) c = static_cast<char>(~c);
    return bytes;
}

/// The last conjunct about a member's values. `single`: it is about one value.
std::optional<size_t> find_conjunct(const Filter& filter, const Member& member, bool single) {
    std::optional<size_t> found;
    for (size_t i = 0; i < filter.conjuncts.size(); ++i) {
        const auto& condition = filter.conjuncts[i].condition;
        if (condition && condition->is_of_values(member.steps) &&
            (!single || condition->is_single_term()))
            found = i;
    }
    return found;
}

/// The entries behind `prefix` whose next member is in `range`. No term is the beginning of another
/// term or of a bound, so that inverted, what is not below `begin` is what is below the end of
/// everything that begins like it.
index::TermRange behind(const std::string& prefix, const index::TermRange& range, bool descending) {
    if (!descending) return {prefix + range.begin, prefix + range.end, false};
    return {prefix_successor(prefix + inverted(range.end)),
            prefix_successor(prefix + inverted(range.begin)), false};
}

bool is_path_of(const Member& member, const json::MemberPath& path) {
    return std::equal(
        member.steps.begin(), member.steps.end(), path.begin(), path.end(),
        [](const index::PathStep& step, const auto& name) { return step.name == name; });
}

}  // namespace

CompositeReach reach_of(const Filter& filter, const index::CompositeIndex& composite,
                        const partition::ContainerSettings& settings) {
    CompositeReach reach;
    const auto& members = composite.members;
    std::string prefix;
    for (; reach.fixed < members.size(); ++reach.fixed) {
        const Member& member = members[reach.fixed];
        const auto conjunct = find_conjunct(filter, member, true);
        if (!conjunct) break;
        reach.conjuncts.push_back(*conjunct);
        const std::string& term = filter.conjuncts[*conjunct].condition->ranges[0].begin;
        prefix += member.descending ? inverted(term) : term;
    }
    const bool more = reach.fixed < members.size();
    std::optional<size_t> range;
    if (more) range = find_conjunct(filter, members[reach.fixed], false);
    if (range) {
        const bool descending = members[reach.fixed].descending;
        reach.conjuncts.push_back(*range);
        for (const index::TermRange& one : filter.conjuncts[*range].condition->ranges)
            reach.ranges.push_back(behind(prefix, one, descending));
        if (descending) std::reverse(reach.ranges.begin(), reach.ranges.end());
    } else {
        reach.ranges = {
            {prefix, prefix.empty() ? std::string(1, '\xFF') : prefix_successor(prefix), !more}};
    }
    reach.within_key = std::all_of(
        settings.key.member_paths.begin(), settings.key.member_paths.end(),
        [&](const json::MemberPath& path) {
            const auto end = members.begin() + static_cast<ptrdiff_t>(reach.fixed);
            return std::any_of(members.begin(), end,
                               [&](const Member& member) { return is_path_of(member, path); });
        });
    return reach;
}

std::vector<const Condition*> composite_candidates(const Filter& filter, bool equality_only) {
    std::vector<const Condition*> out;
    const auto add = [&](const Condition& condition) {
        if (out.size() > orrery::limits::kCompositePathsMax) return;  // one may be the sort key
        for (const Condition* one : out)
            if (one->path == condition.path) return;
        out.push_back(&condition);
    };
    const Condition* range = nullptr;
    for (const Conjunct& conjunct : filter.conjuncts) {
        if (!conjunct.condition || !conjunct.condition->is_member_path() ||
            !conjunct.condition->tests.empty() || conjunct.condition->ranges.size() != 1)
            continue;
        if (conjunct.condition->is_single_term()) {
            add(*conjunct.condition);
        } else if (range == nullptr) {
            range = &*conjunct.condition;
        }
    }
    if (range != nullptr && !out.empty() && !equality_only) add(*range);
    return out;
}

void use_composites(Filter& filter, const partition::ContainerSettings& settings) {
    // One conjunct alone has an index of its own.
    if (filter.conjuncts.size() < 2) return;
    std::vector<CompositeCondition> found;
    for (const index::CompositeIndex& composite : settings.indexing.composites) {
        CompositeReach reach = reach_of(filter, composite, settings);
        if (reach.conjuncts.size() < 2 || !settings.composite_usable(composite)) continue;
        CompositeCondition one;
        one.condition.composite = &composite;
        one.condition.within_key = reach.within_key;
        one.condition.ranges = std::move(reach.ranges);
        one.condition.exact =
            std::all_of(reach.conjuncts.begin(), reach.conjuncts.end(),
                        [&](size_t i) { return filter.conjuncts[i].condition->exact; });
        one.conjuncts = std::move(reach.conjuncts);
        found.push_back(std::move(one));
    }
    // Among equally useful ones, prefer the one whose entries are one run, then the first of the
    // policy.
    const auto rank = [](const CompositeCondition& one) {
        return std::pair(one.conjuncts.size(), one.condition.is_single_term());
    };
    std::stable_sort(found.begin(), found.end(),
                     [&](const CompositeCondition& a, const CompositeCondition& b) {
                         return rank(a) > rank(b);
                     });
    std::vector<bool> decided(filter.conjuncts.size());
    for (CompositeCondition& one : found) {
        if (std::any_of(one.conjuncts.begin(), one.conjuncts.end(),
                        [&](size_t i) { return decided[i]; }))
            continue;
        for (const size_t i : one.conjuncts) decided[i] = true;
        filter.composites.push_back(std::move(one));
    }
}

}  // namespace orrery::query
