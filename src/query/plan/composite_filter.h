#pragma once

#include <vector>

#include "partition/partition.h"
#include "query/plan/conditions.h"

/// What composite indexes say about a filter.
namespace orrery::query {

/// What one of them says: single values of its leading members, and a range of the next one.
struct CompositeReach {
    size_t fixed = 0;               ///< leading members with a single value
    std::vector<size_t> conjuncts;  ///< of the filter, that the ranges say already
    std::vector<index::TermRange> ranges;
    bool within_key = false;  ///< the ranges hold entries of one partition key alone
};
CompositeReach reach_of(const Filter& filter, const index::CompositeIndex& composite,
                        const partition::ContainerSettings& settings);

/// The conditions that one composite index could answer together with what comes behind them in
/// it: single values, then, unless `equality_only`, one range. None without a single value.
std::vector<const Condition*> composite_candidates(const Filter& filter, bool equality_only);

/// Sets Filter::composites: those that say most first.
void use_composites(Filter& filter, const partition::ContainerSettings& settings);

}  // namespace orrery::query
