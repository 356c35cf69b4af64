#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "index/geometry.h"

/// Reads GeoJSON and checks what holds in every space, before the positions of points matter.
namespace orrery::index::detail {

using Pair = std::array<double, 2>;  ///< longitude and latitude, or x and y
using PairRing = std::vector<Pair>;  ///< closed: the first pair is not repeated at the end

struct Coordinates {
    GeometryType type = GeometryType::kPoint;
    Pair point{};                                 ///< kPoint
    std::vector<Pair> line;                       ///< kLineString
    std::vector<std::vector<PairRing>> polygons;  ///< kPolygon, kMultiPolygon: outer ring, holes
};

/// What is wrong with a pair in this space; null: nothing.
using PairCheck = const char* (*)(const Pair&);

/// Rings have at least four pairs and end where they begin. nullopt with a reason.
std::optional<Coordinates> read_coordinates(const json::Value& geojson, PairCheck check,
                                            std::string& reason);

/// The reasons that depend on which points count as the same.
std::string too_few_line_points();
std::string too_few_ring_points(size_t ring);
inline constexpr const char* kRingsCross =
    "The Polygon input is not valid because a ring intersects itself or another ring.";
inline constexpr const char* kRingMisplaced =
    "The Polygon input is not valid because a ring is not where it belongs: holes lie inside their "
    "outer ring, and the polygons of a MultiPolygon do not overlap.";

}  // namespace orrery::index::detail
