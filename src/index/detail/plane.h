#pragma once

#include <memory>
#include <string>
#include <vector>

#include "index/geometry.h"

/// Geometries in a plane: coordinates are plain numbers, edges are straight, lengths are Euclidean.
namespace orrery::index::detail {

struct PlanePoint {
    double x = 0;
    double y = 0;
    friend bool operator==(const PlanePoint&, const PlanePoint&) = default;
};
using PlaneLine = std::vector<PlanePoint>;
using PlaneRing = std::vector<PlanePoint>;  ///< closed: the first point is not repeated at the end

/// Immutable once made. The direction of a ring means nothing: its inside is the bounded side.
struct PlaneShape {
    GeometryType type = GeometryType::kPoint;
    PlanePoint point;                              ///< kPoint
    PlaneLine line;                                ///< kLineString
    std::vector<std::vector<PlaneRing>> polygons;  ///< kPolygon, kMultiPolygon: outer ring, holes

    bool is_point() const { return type == GeometryType::kPoint; }
    bool is_polygonal() const { return type >= GeometryType::kPolygon; }
};

/// Reads and validates GeoJSON; null with a reason.
std::unique_ptr<const PlaneShape> read_plane_shape(const json::Value& geojson, std::string& reason);

double plane_distance(const PlaneShape& a, const PlaneShape& b);  ///< 0 if they meet
bool plane_within(const PlaneShape& a, const PlaneShape& b);
bool plane_intersects(const PlaneShape& a, const PlaneShape& b);
double plane_area(const PlaneShape& shape);

}  // namespace orrery::index::detail
