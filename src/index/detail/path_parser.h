#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "index/policy.h"

/// Reading the paths of an indexing policy, and its errors.
namespace orrery::index::detail {

/// The beginning of a text that a client sent, for error messages.
std::string excerpt(std::string_view text);
Error bad_policy(std::string_view why);

/// What a path ends in: `/?` or `/*`, or nothing where `/?` is implied.
enum class PathEnding : uint8_t { kWritten, kImplied };
Result<IndexPath> parse_index_path(std::string_view text, PathEnding ending = PathEnding::kWritten);

/// Composite indexes of a policy: the member `compositeIndexes`.
Result<std::vector<CompositeIndex>> parse_composites(const json::Value& list);
void append_composites(std::string& out, const std::vector<CompositeIndex>& composites);

/// Spatial indexes of a policy: the member `spatialIndexes`.
Result<std::vector<SpatialIndex>> parse_spatials(const json::Value& list);
void append_spatials(std::string& out, const std::vector<SpatialIndex>& spatials);

}  // namespace orrery::index::detail
