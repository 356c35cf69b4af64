#pragma once

#include <string>

#include "base/status.h"
#include "engine/engine.h"

namespace orrery::server {

/// Creates databases, containers and items from a JSON file:
///   {"databases":[{"id":"d","throughput":400,
///     "containers":[{"id":"c","partitionKey":{"paths":["/pk"]},"throughput":400,"items":[{…}]}]}]}
/// A container takes every property that the protocol knows, and "autoscaleMaxThroughput".
/// Idempotent: what exists already is left as it is.
Status apply_init_file(const std::string& path, engine::Engine& engine);

}  // namespace orrery::server
