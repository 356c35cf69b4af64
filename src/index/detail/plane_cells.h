#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "index/detail/plane.h"
#include "index/policy.h"

/// Cells of a plane: a box, its four quarters, their quarters, and so on. A cell's number is the
/// way to it, two bits per level from the top (1: right half, 2: upper half), then a one, then
/// zeros: the cells inside a cell are neighbours of it. Borders belong to the cells on both sides.
namespace orrery::index::detail {

/// Up to `cells_max` cells that cover the shape, ascending; the one cell of a point. Empty if the
/// shape is not wholly in the box.
std::vector<uint64_t> plane_covering(const PlaneShape& shape, const PlaneBox& box,
                                     size_t cells_max);
/// Cells that together hold whatever is within `distance` of the shape and in the box: a cell of a
/// covering that has a point there is inside one of them or around it.
std::vector<uint64_t> plane_search(const PlaneShape& shape, double distance, const PlaneBox& box,
                                   size_t cells_max);

/// The first and the last number of the cells inside a cell, itself included.
std::pair<uint64_t, uint64_t> plane_cells_inside(uint64_t cell);
/// The cell that this one is a quarter of; 0 for the box.
uint64_t plane_cell_around(uint64_t cell);

}  // namespace orrery::index::detail
