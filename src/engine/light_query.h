#pragma once

#include <optional>

#include "engine/engine.h"

namespace orrery::engine {

/// Engine::query from memory and with little work, for threads that must not wait. nullopt: ask
/// Engine::query(). Never blocks.
std::optional<Result<QueryAnswer>> query_in_memory(const Engine& engine,
                                                   const catalog::Container& container,
                                                   const QueryRequest& request);

}  // namespace orrery::engine
