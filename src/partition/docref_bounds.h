#pragma once

#include <string>

#include "partition/partition_key.h"

namespace orrery::partition {

/// The docrefs that may belong to a range of EPKs: [begin, end), an empty end is no bound. Docrefs
/// hold the first bytes of hashes only, so the EPK in the item decides; but one key, or one
/// hierarchical prefix, is one run.
struct DocrefBounds {
    std::string begin;
    std::string end;
};
DocrefBounds docref_bounds(const PartitionKeyDefinition& definition, const EpkRange& range);

}  // namespace orrery::partition
