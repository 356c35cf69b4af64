#pragma once

#include <vector>

#include "base/status.h"
#include "index/computed.h"

namespace orrery::query {

/// Checks and compiles a container's computed properties; an index::ComputedCompiler. Mistakes are
/// An error in the service's words.
Result<index::ComputedPropertiesPtr> compile_computed_properties(
    const std::vector<index::ComputedProperty>& list);

}  // namespace orrery::query
