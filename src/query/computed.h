#pragma once

#include "base/status.h"
#include "index/computed.h"
#include "json/value.h"

namespace orrery::query {

/// Checks and compiles a container's computed properties, an array of {"name","query"}; an
/// index::ComputedCompiler. Mistakes are told in the service's words.
Result<index::ComputedPropertiesPtr> compile_computed_properties(const json::Value& list);

}  // namespace orrery::query
