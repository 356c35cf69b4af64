#pragma once

#include <vector>

#include "query/exec/access.h"

/// Paths inside one logical partition, walked as if the index were kept by key.
namespace orrery::query {

/// Whether the segment is one key whose paths may have runs, and the path is one of those. Says
/// nothing about how many items the key has.
bool may_have_run(const SegmentFacts& facts, const IndexPathSteps& path);

/// Makes walks over these paths read runs (PostingScope::runs); all of them may have one. From
/// memory, else by a pass over the key's items. False: the key holds too much for that.
/// Whether a plan uses runs follows from the data alone, never from what memory holds.
Result<bool> use_key_runs(SegmentFacts& facts, const std::vector<IndexPathSteps>& paths);

/// The same for one path, but only if memory has the run; for plans that are good without it.
bool use_key_run_in_memory(const SegmentFacts& facts, const IndexPathSteps& path);

/// The run that walks over a path read; null: none.
index::KeyRunPtr key_run_of(const Segment& segment, uint64_t path_hash);

/// Appends the paths whose entries the condition reads. False: some may not have runs, or they are
/// too many.
bool add_run_paths(const SegmentFacts& facts, const Condition& condition,
                   std::vector<IndexPathSteps>& out);

/// Whether the condition says no more than that items have the key that the request names. Items
/// still decide: keys that differ may have one hash.
bool names_the_key(const SegmentFacts& facts, const Condition& condition);

}  // namespace orrery::query
