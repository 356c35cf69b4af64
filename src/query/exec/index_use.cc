// Index metrics: what the index serves of a query, and what more it could.
#include <algorithm>
#include <set>

#include "base/limits.h"
#include "index/terms.h"
#include "query/exec/page.h"
#include "query/plan/composite_filter.h"

namespace orrery::query {

namespace {

void add_once(std::vector<std::string>& list, std::string text) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

/// Leaves the first of equal texts. A filter may name thousands of paths.
void keep_first_of_each(std::vector<std::string>& list) {
    constexpr size_t kFew = 16;
    const bool few = list.size() <= kFew;
    std::set<std::string> seen;
    size_t kept = 0;
    for (std::string& text : list) {
        const auto end = list.begin() + static_cast<ptrdiff_t>(kept);
        const bool again =
            few ? std::find(list.begin(), end, text) != end : !seen.insert(text).second;
        if (again) continue;
        if (&list[kept] != &text) list[kept] = std::move(text);
        ++kept;
    }
    list.resize(kept);
}

/// A spatial index is named by its subtree, a value's by the value.
void note_paths(const Condition& condition, std::vector<std::string>& out) {
    for (const Condition& part : condition.parts) note_paths(part, out);
    if (condition.kind == Condition::Kind::kTerms && !condition.path.empty())
        out.push_back(metric_path(condition.path) + (condition.spatial ? "/*" : "/?"));
}

/// Whether the policy has a composite index of these filters, in any order, with `order` behind
/// them. Another one would not serve more: the query must name the filters' paths in its ORDER BY.
bool has_for_order(const index::IndexingPolicy& policy, const std::vector<IndexPathSteps>& filters,
                   const IndexPathSteps& order) {
    return std::any_of(policy.composites.begin(), policy.composites.end(), [&](const auto& one) {
        const auto& members = one.members;
        if (members.size() != filters.size() + 1 || members.back().steps != order) return false;
        return std::all_of(members.begin(), members.end() - 1, [&](const auto& member) {
            return std::find(filters.begin(), filters.end(), member.steps) != filters.end();
        });
    });
}

/// A composite index that would answer several filters, or filters and the order, in one walk.
void note_potential_composite(const IndexPlan& index, Page& page) {
    IndexUse& use = page.answer.index_use;
    const SortOrder& order = index.order;
    const Filter& filter = index.filter;
    const bool ordered = page.plan.order == PagePlan::Order::kIndex && !order.steps.empty();
    if (ordered && page.flow.order_may_walk)
        add_once(use.utilized, metric_path(order.steps) + "/?");
    const bool points =
        !page.answer.accesses.empty() && page.answer.accesses.front().access == "points";
    if (points || (!ordered && !filter.composites.empty())) return;
    if (filter.conjuncts.size() + (ordered ? 1 : 0) < 2) return;
    constexpr size_t kMembersMax = orrery::limits::kCompositePathsMax;
    std::vector<std::string> members;
    std::vector<IndexPathSteps> filters;
    for (const Condition* condition : composite_candidates(filter, ordered)) {
        if (condition->path == order.steps) continue;
        if (members.size() + (ordered ? 1 : 0) == kMembersMax) break;
        members.push_back(metric_path(condition->path) + " ASC");
        filters.push_back(condition->path);
    }
    if (members.size() < (ordered ? 1U : 2U)) return;
    if (ordered && has_for_order(index.settings->indexing, filters, order.steps)) return;
    if (ordered) members.push_back(metric_path(order.steps) + (order.backward ? " DESC" : " ASC"));
    use.potential_composite.push_back(std::move(members));
}

}  // namespace

void note_index_use(Page& page) {
    const IndexPlan& index = page.plan.indexes[0];
    const Filter& filter = index.filter;
    const SortOrder& order = index.order;
    IndexUse& use = page.answer.index_use;
    const auto note_composite = [&](const index::CompositeIndex& composite) {
        std::vector<std::string> members;
        for (const auto& member : composite.members)
            members.push_back(metric_path(member.steps) + (member.descending ? " DESC" : " ASC"));
        auto& list = use.utilized_composite;
        if (std::find(list.begin(), list.end(), members) == list.end())
            list.push_back(std::move(members));
    };
    for (const CompositeCondition& one : filter.composites)
        note_composite(*one.condition.composite);
    for (const Conjunct& conjunct : filter.conjuncts)
        if (conjunct.condition) note_paths(*conjunct.condition, use.utilized);
    for (const IndexPathSteps& path : filter.missing_paths)
        use.potential.push_back(metric_path(path) + "/?");
    for (const IndexPathSteps& path : filter.missing_spatial)
        use.potential.push_back(metric_path(path) + "/*");
    keep_first_of_each(use.utilized);
    keep_first_of_each(use.potential);
    if (page.plan.order != PagePlan::Order::kIndex || order.composite == nullptr) {
        note_potential_composite(index, page);
        return;
    }
    note_composite(*order.composite);
}

}  // namespace orrery::query
