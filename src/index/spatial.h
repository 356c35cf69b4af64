#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "index/geometry.h"
#include "index/lookup.h"
#include "index/policy.h"

/// Spatial indexes: geometries as cells of the sphere, or of a box in a plane.
/// docs/formats/index.md.
namespace orrery::index {

/// What a spatial index posts for a geometry at most.
inline constexpr int kGeometryCellsMax = 8;

/// Under which hash the geometries at a path are posted. Boxes have each their own.
uint64_t spatial_hash(SipKey key, uint64_t path_hash, const SpatialGrid& grid);

/// A geometry of the grid's space.
std::optional<Geometry> parse_in(const SpatialGrid& grid, const json::Value& geojson);

/// The cells that together cover a geometry, ascending: what is posted, one entry each. None: the
/// grid does not show it (another type, not wholly in the box).
std::vector<uint64_t> covering_cells(const Geometry& geometry, const SpatialGrid& grid);

/// Appends the term of a cell.
void append_cell_term(std::string& out, uint64_t cell);
/// Appends the term of a geometry that the grid does not show.
void append_uncovered_term(std::string& out);

/// Every geometry that has a point within a distance (metres; in a plane, its unit) of `geometry`
/// (0: that meets it) has an entry in these ranges, which are normalized. Others may have one, too.
/// They do not depend on the grid's types.
std::vector<TermRange> cells_near(const Geometry& geometry, double distance,
                                  const SpatialGrid& grid);

/// True if an entry that a geometry posts lies in these ranges of cells. A value that is no
/// geometry posts none.
bool posts_in(const json::Value& geojson, const std::vector<TermRange>& ranges,
              const SpatialGrid& grid);

}  // namespace orrery::index
