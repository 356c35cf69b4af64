#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "query/exec/blocking_pass.h"
#include "query/exec/page.h"
#include "storage/light_view.h"

/// Answers that the index gives without reading items.
namespace orrery::query {

/// Of a budget, for a value that is evaluated.
inline constexpr uint64_t kStepsPerValue = 2;
/// Entries between two looks whether anybody waits.
inline constexpr uint64_t kEntriesPerLook = 4096;

/// The answer of one segment. Owned by one thread.
class IndexOnly {
public:
    IndexOnly(Page& page, BlockingPass& pass, SegmentFacts& facts)
        : page_(page),
          pass_(pass),
          facts_(facts),
          segment_(facts.segment),
          query_(pass.request.query),
          filter_(facts.index.filter) {}

    /// Feeds the pass; false: the items must be read.
    Result<bool> feed();

private:
    bool find_path();
    Result<bool> prepare();
    Result<bool> prepare_in_key();
    bool is_one_run() const;
    Result<bool> feed_count();
    Result<bool> feed_values();
    Result<bool> feed_counted(const Condition& condition);
    Status feed_item_at(std::string_view docref);
    std::string text() const;

    /// In the segment, expired ones left out. Read when first asked for.
    Result<uint64_t> items() const {
        TRY(const uint64_t all, facts_.items());
        return all - std::min<uint64_t>(all, expired_.size());
    }

    bool is_expired(std::string_view docref) const {
        return !expired_.empty() && expired_.contains(docref);
    }
    /// Of a budget, for work on what is in memory.
    Status spend(uint64_t steps) const {
        storage::ReadBudget* const budget = storage::budget_of(segment_.view());
        if (budget == nullptr || budget->spend(steps)) return {};
        return Status(errors::internal("The values are beyond the budget."));
    }
    /// Of a budget, for so many terms of a run. Searching through their bytes is fast, evaluating
    /// each is not; the terms of a whole partition were paid for when they were found.
    uint64_t steps_to_count(uint64_t terms, bool evaluated) const {
        constexpr uint64_t kTermsPerStep = 8;
        if (segment_.whole_partition) return 0;
        return evaluated ? terms * kStepsPerValue : terms / kTermsPerStep;
    }
    std::string path_prefix(uint64_t hash) const {
        return storage::keys::index_path(segment_.scope.partition, hash);
    }
    void note_walk(uint64_t hash, uint64_t walked) const {
        if (segment_.whole_partition)
            storage::note_walk(segment_.view(), path_prefix(hash), walked);
    }
    /// Entries per term, where nothing has to be subtracted; nullopt: they must be walked.
    Result<std::optional<storage::TermCounts>> term_counts(uint64_t hash,
                                                           const index::TermRange& range) const;
    /// Of the filter; `all`: they are all of it.
    std::vector<const Condition*> conditions(bool& all) const {
        return filter_.conditions([](const Condition&) { return true; }, all);
    }

    Page& page_;
    BlockingPass& pass_;
    SegmentFacts& facts_;
    const Segment& segment_;
    const CompiledQuery& query_;
    const Filter& filter_;
    IndexPathSteps path_;  ///< whose values are asked for; empty: the items' number is
    DocrefSet expired_;
    json::Arena arena_;  ///< of one value
    uint64_t entries_ = 0;
    uint64_t loaded_ = 0;   ///< items that had to be asked
    uint64_t matched_ = 0;  ///< items that were counted
};

}  // namespace orrery::query
