#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "query/exec/blocking_pass.h"
#include "query/exec/docref_stream.h"
#include "query/exec/page_run.h"
#include "storage/light_view.h"

/// Answers that the index gives without reading items.
namespace orrery::query {

/// Of a budget, for a value that is evaluated.
inline constexpr uint64_t kStepsPerValue = 2;
/// Entries between two looks whether anybody waits.
inline constexpr uint64_t kEntriesPerLook = 4096;
/// Docrefs that are held at most.
inline constexpr uint64_t kListMax = 1'000'000;

/// One segment that is to be answered. Owned by one thread.
struct PageRun::IndexOnly {
    const Segment& segment;
    SegmentFacts& facts;
    BlockingPass& pass;
    const PageRequest& request;
    IndexPathSteps path;  ///< whose values are asked for; empty: the items' number is
    DocrefSet expired;
    json::Arena arena;  ///< of one value
    uint64_t entries = 0;
    uint64_t loaded = 0;   ///< items that had to be asked
    uint64_t matched = 0;  ///< items that were counted

    /// In the segment, expired ones left out. Read when first asked for.
    Result<uint64_t> items() const {
        TRY(const uint64_t all, facts.items());
        return all - std::min<uint64_t>(all, expired.size());
    }

    bool is_expired(std::string_view docref) const {
        return !expired.empty() && expired.contains(docref);
    }
    /// Of a budget, for work on what is in memory.
    Status spend(uint64_t steps) const {
        storage::ReadBudget* const budget = storage::budget_of(*request.view);
        if (budget == nullptr || budget->spend(steps)) return {};
        return Status(errors::internal("The values are beyond the budget."));
    }
    /// Of a budget, for so many terms of a run. Searching through their bytes is fast, evaluating
    /// each is not; the terms of a whole partition were paid for when they were found.
    uint64_t steps_to_count(uint64_t terms, bool evaluated) const {
        constexpr uint64_t kTermsPerStep = 8;
        if (segment.whole_partition) return 0;
        return evaluated ? terms * kStepsPerValue : terms / kTermsPerStep;
    }
    std::string path_prefix(uint64_t hash) const {
        return storage::keys::index_path(segment.scope.partition, hash);
    }
    void note_walk(uint64_t hash, uint64_t walked) const {
        if (segment.whole_partition) storage::note_walk(*request.view, path_prefix(hash), walked);
    }
    /// Entries per term, where nothing has to be subtracted; nullopt: they must be walked.
    Result<std::optional<storage::TermCounts>> term_counts(uint64_t hash,
                                                           const index::TermRange& range) const;
    /// Of the filter; `all`: they are all of it.
    std::vector<const Condition*> conditions(bool& all) const {
        return pass.filter.conditions([](const Condition&) { return true; }, all);
    }
};

}  // namespace orrery::query
