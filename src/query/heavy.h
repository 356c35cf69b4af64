#pragma once

#include "query/compile.h"

namespace orrery::query {

/// Whether a single item may take the query long: it calls functions of the container, or may go
/// through arrays as often as they have elements. Others look at each item once.
bool is_heavy(const CompiledQuery& query);

}  // namespace orrery::query
