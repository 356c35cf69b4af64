#pragma once

#include <string>
#include <vector>

#include "partition/partition_key.h"
#include "query/compile.h"
#include "query/query.h"

namespace orrery::query {

/// A range of effective partition keys, binary; its minimum always belongs to it.
struct KeyRange {
    std::string min;
    std::string max;
    bool max_inclusive = false;

    bool is_point() const { return max_inclusive && min == max; }
    friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

/// The keys that items satisfying the WHERE clause can have: sorted, not overlapping, never empty.
/// One point per value where the filter pins the whole key, a prefix range where it pins the first
/// levels of a hierarchical one, and the whole key space where it says nothing. The point "" stands
/// for a filter that no item can satisfy, and for a query that reads no items.
std::vector<KeyRange> key_ranges(const CompiledQuery& query, const Parameters& parameters,
                                 const partition::PartitionKeyDefinition& definition);

}  // namespace orrery::query
