#pragma once

#include <s2/mutable_s2shape_index.h>
#include <s2/s2point.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "index/geometry.h"

/// What a geometry is made of: points on a sphere, and an index over its edges.
namespace orrery::index::detail {

struct Position {
    double longitude = 0;
    double latitude = 0;
};
using Ring = std::vector<Position>;  ///< closed: the first position is not repeated at the end

/// The ellipsoid squeezed into a unit sphere: planes through the centre stay such planes, so that
/// edges are great circles there, and a length on the ellipsoid is between kMetresMin and
/// kMetresMax times the angle.
S2Point to_sphere(Position position);
/// S2's own operator is ambiguous in C++20.
inline bool is_same(const S2Point& a, const S2Point& b) {
    return a.x() == b.x() && a.y() == b.y() && a.z() == b.z();
}
Position from_sphere(const S2Point& point);
inline constexpr double kMetresMax = 6378137.0;                             ///< equator
inline constexpr double kMetresMin = kMetresMax * (1 - 1 / 298.257223563);  ///< pole

/// What is nearer than this touches. Positions that are meant to be one differ by nanometres: the
/// last bit of a longitude is 3 nm, and putting it on the sphere rounds a few times more.
inline constexpr double kTouchMetres = 1e-6;
inline constexpr double kTouchAngle = kTouchMetres / kMetresMax;

/// Immutable once made; the edge index is built, so that threads may share it.
struct Shape {
    GeometryType type = GeometryType::kPoint;
    S2Point point;                            ///< kPoint
    Position position;                        ///< kPoint
    std::vector<std::vector<Ring>> polygons;  ///< kPolygon, kMultiPolygon: outer ring, holes
    MutableS2ShapeIndex edges;                ///< all but kPoint

    bool is_point() const { return type == GeometryType::kPoint; }
    bool is_polygonal() const { return type >= GeometryType::kPolygon; }
};

/// Reads and validates GeoJSON; null with a reason.
std::unique_ptr<const Shape> read_shape(const json::Value& geojson, std::string& reason);

/// What geometry.h says of intersects() and within().
bool shapes_meet(const Shape& a, const Shape& b);
bool shape_within(const Shape& a, const Shape& b);

/// Lengths and areas on the ellipsoid, in metres.
double point_distance(const Position& a, const Position& b);
double shape_distance(const Shape& a, const Shape& b);  ///< of shapes that do not meet
double shape_area(const Shape& shape);

}  // namespace orrery::index::detail
