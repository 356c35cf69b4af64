#pragma once

#include <optional>

#include "engine/engine.h"

namespace orrery::engine {

/// Engine::query from memory and with little work, for threads that must not wait. nullopt: ask
/// Engine::query(). Never blocks.
std::optional<Result<QueryAnswer>> query_in_memory(const Engine& engine,
                                                   const catalog::Container& container,
                                                   const QueryRequest& request);

/// The service refuses over several keys what its clients could not merge. An application that got
/// an answer here would fail there.
Status check_merge(const catalog::Container& container, const query::CompiledQuery& compiled,
                   const query::Parameters& parameters);
/// Whether filter or request limit the query to partition keys or prefixes of them.
bool is_keyed(const catalog::Container& container, const query::CompiledQuery& compiled,
              const query::Parameters& parameters, const QueryRequest& request);
/// The ranges that can hold what the filter asks for; at least one.
std::vector<const catalog::PartitionRange*> ranges_of_query(const catalog::Container& container,
                                                            const query::CompiledQuery& compiled,
                                                            const query::Parameters& parameters,
                                                            const partition::EpkRange& range);

}  // namespace orrery::engine
