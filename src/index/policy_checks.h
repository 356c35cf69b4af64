#pragma once

#include <vector>

#include "index/policy.h"

/// Further checks of a valid policy.
namespace orrery::index {

/// A path of a system property that no policy can have indexed: all but `_ts`.
bool is_never_indexed(const std::vector<PathStep>& path);

/// What a policy that a client sends is held to beyond parse_indexing_policy(): a bad request where
/// it includes a path that is never indexed. Stored policies may have one, without effect.
Status check_included_paths(const IndexingPolicy& policy);

/// The entry of `excluded` that is the path itself, as /a/b/?; null: there is none.
const IndexPath* named_exclusion(const IndexingPolicy& policy, const std::vector<PathStep>& path);
/// Whether the path would be indexed without that entry.
bool is_included_around(const IndexingPolicy& policy, const std::vector<PathStep>& path);

}  // namespace orrery::index
