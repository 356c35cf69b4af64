#pragma once

#include <optional>

#include "engine/engine.h"

namespace orrery::engine {

/// Engine::query from memory and with little work, for threads that must not wait. nullopt: ask
/// Engine::query(). Never blocks.
std::optional<Result<QueryAnswer>> query_in_memory(const Engine& engine,
                                                   const catalog::Container& container,
                                                   const QueryRequest& request);

// Parts of both.

meter::Charge price(const query::PageAnswer& page);
/// The service refuses over several keys what its clients could not merge. An application that got
/// an answer here would fail there.
Status check_merge(const catalog::Container& container, const query::CompiledQuery& compiled,
                   const query::Parameters& parameters);

}  // namespace orrery::engine
