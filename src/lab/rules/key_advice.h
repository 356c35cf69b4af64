#pragma once

#include <string>
#include <vector>

#include "lab/rules/observation.h"

/// What the rules about partition keys share: keys to offer instead of the present one.
namespace orrery::lab {

/// At most so many key values are shown in one chart.
inline constexpr size_t kChartBars = 10;

/// A key path to offer instead.
struct Proposal {
    std::string path;
    int64_t distinct = 0;
    int64_t filter_runs = 0;
};

/// Paths that name something, by how many queries filter by them, then by different values.
std::vector<Proposal> key_proposals(const Observation& of);

/// The definition of a container with this key, as its create takes it.
std::string key_definition(const std::vector<std::string>& paths);

/// The present key with one more level, which spreads what is too much for one value.
std::string deeper_key(const Observation& of);

}  // namespace orrery::lab
