#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "index/geometry.h"
#include "index/lookup.h"
#include "index/policy.h"

/// Spatial indexes: geometries as cells of the sphere. docs/formats/index.md.
namespace orrery::index {

/// What a spatial index posts for a geometry at most.
inline constexpr int kGeometryCellsMax = 8;

/// Under which hash the geometries at a path are posted.
uint64_t spatial_hash(SipKey key, uint64_t path_hash);

/// The cells that together cover a geometry, ascending: what is posted, one entry each.
std::vector<uint64_t> covering_cells(const Geometry& geometry);

/// Appends the term of a cell.
void append_cell_term(std::string& out, uint64_t cell);
/// Appends the term of a geometry that is not covered: of a type that the index does not list.
void append_uncovered_term(std::string& out);

/// Every geometry that has a point within `metres` of `geometry` (0: that meets it) has an entry in
/// these ranges, which are normalized. Others may have one, too.
std::vector<TermRange> cells_near(const Geometry& geometry, double metres);

/// Whether what is posted for a geometry (of any value: nothing, if it is none) lies in ranges of
/// cells.
bool posts_in(const json::Value& geojson, const std::vector<TermRange>& ranges);

}  // namespace orrery::index
