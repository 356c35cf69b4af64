#pragma once

// Metadata as requests and answers of the engine have it, for heads.

#include "catalog/catalog.h"
#include "catalog/names.h"
#include "engine/facts.h"

namespace orrery::engine {

/// The keys that a physical partition serves.
inline const partition::EpkRange& keys_of(const catalog::PartitionRange& range) {
    return range.partition->identity().range;
}

}  // namespace orrery::engine
