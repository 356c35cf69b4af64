#include "partition/docref_bounds.h"

#include "base/bytes.h"

namespace orrery::partition {

DocrefBounds docref_bounds(const PartitionKeyDefinition& definition, const EpkRange& range) {
    if (range.is_of_key()) {
        const std::string run = docref_prefix(definition, range.min);
        return {run, prefix_successor(run)};
    }
    constexpr size_t kLevelBytes = 8;
    std::string first = range.min.substr(0, kLevelBytes);
    first.resize(kLevelBytes, '\0');
    std::string last = range.max.substr(0, kLevelBytes);
    last.resize(kLevelBytes, '\xFF');
    return {std::move(first), prefix_successor(last)};
}

}  // namespace orrery::partition
