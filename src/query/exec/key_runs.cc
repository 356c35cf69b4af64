#include "query/exec/key_runs.h"

#include <algorithm>

#include "base/errors.h"
#include "index/terms.h"
#include "json/item.h"
#include "query/plan/cost.h"
#include "storage/light_view.h"

namespace orrery::query {

bool may_have_run(const SegmentFacts& facts, const IndexPathSteps& path) {
    return facts.segment.scope.runs != nullptr && !path.empty() &&
           !json::is_system_property(path[0].name) && !facts.index.is_hidden(path[0].name) &&
           std::none_of(path.begin(), path.end(),
                        [](const index::PathStep& step) { return step.any_element; });
}

index::KeyRunPtr key_run_of(const Segment& segment, uint64_t path_hash) {
    return segment.scope.runs == nullptr ? nullptr : segment.scope.runs->find(path_hash);
}

bool use_key_run_in_memory(const SegmentFacts& facts, const IndexPathSteps& path) {
    const Segment& segment = facts.segment;
    const uint64_t hash = index::path_hash(segment.settings().path_key, path);
    if (key_run_of(segment, hash) != nullptr) return true;
    index::KeyRunPtr run =
        segment.source->partition->find_key_run(segment.view(), *facts.page.full_epk, hash);
    if (run == nullptr) return false;
    segment.scope.runs->add(std::move(run));
    return true;
}

Result<bool> use_key_runs(SegmentFacts& facts, const std::vector<IndexPathSteps>& paths) {
    const Segment& segment = facts.segment;
    std::vector<IndexPathSteps> missing;
    for (const IndexPathSteps& path : paths)
        if (!use_key_run_in_memory(facts, path)) missing.push_back(path);
    if (missing.empty()) return true;  // such runs were made of few enough items
    TRY(const uint64_t items, facts.items());
    TRY(const uint64_t bytes, facts.bytes());
    if (items > cost::kRunItemsMax || bytes > cost::kRunBytesMax) return false;
    if (storage::ReadBudget* const budget = storage::budget_of(segment.view());
        budget != nullptr && items > budget->steps_left) {
        budget->exceeded = true;
        return errors::internal("The items are beyond the budget.");
    }
    TRY(auto built,
        segment.source->partition->build_key_runs(segment.view(), *facts.page.full_epk, missing));
    for (index::KeyRunPtr& run : built) segment.scope.runs->add(std::move(run));
    return true;
}

bool add_run_paths(const SegmentFacts& facts, const Condition& condition,
                   std::vector<IndexPathSteps>& out) {
    if (condition.kind != Condition::Kind::kTerms)
        return std::all_of(condition.parts.begin(), condition.parts.end(),
                           [&](const Condition& part) { return add_run_paths(facts, part, out); });
    if (condition.spatial || condition.composite != nullptr || !may_have_run(facts, condition.path))
        return false;
    if (std::find(out.begin(), out.end(), condition.path) == out.end())
        out.push_back(condition.path);
    return out.size() <= cost::kRunPathsMax;
}

bool names_the_key(const SegmentFacts& facts, const Condition& condition) {
    const auto& key = facts.segment.settings().key;
    if (!facts.page.full_epk || key.member_paths.size() != 1 || !condition.is_single_term() ||
        condition.spatial || condition.composite != nullptr ||
        !std::equal(condition.path.begin(), condition.path.end(), key.member_paths[0].begin(),
                    key.member_paths[0].end(), [](const index::PathStep& a, const std::string& b) {
                        return !a.any_element && a.name == b;
                    }))
        return false;
    json::Arena arena;
    const auto value = index::decode_term(condition.ranges[0].begin, arena);
    if (!value) return false;
    const auto epk = partition::effective_partition_key(key, {*value});
    return epk.ok() && *epk == *facts.page.full_epk;
}

}  // namespace orrery::query
