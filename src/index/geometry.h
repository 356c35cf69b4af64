#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

namespace orrery::index {

namespace detail {
struct Shape;
struct PlaneShape;
}  // namespace detail

enum class GeometryType : uint8_t { kPoint, kLineString, kPolygon, kMultiPolygon };
inline constexpr size_t kGeometryTypeCount = 4;
std::string_view geometry_type_name(GeometryType type);
/// By the name in GeoJSON; names have one spelling.
std::optional<GeometryType> geometry_type(std::string_view name);

/// What a container's coordinates mean: places on the Earth, or points in a plane.
enum class GeometrySpace : uint8_t { kEarth, kPlane };

/// A valid GeoJSON geometry. On the Earth it lies on the WGS-84 ellipsoid. Positions are
/// (longitude, latitude) in degrees. An edge is the arc that the plane through its ends and the
/// Earth's centre cuts out of the ellipsoid, the shorter way round. The outer ring of a polygon has
/// the polygon on its left, so that a clockwise ring is everything outside; holes have either
/// direction. In a plane edges are straight, lengths Euclidean in the coordinates' own unit, and
/// rings have either direction. Only geometries of one space can be related. Immutable.
class Geometry {
public:
    /// nullopt when `geojson` is not valid; `reason` (may be null) then says why in a sentence.
    static std::optional<Geometry> parse(const json::Value& geojson, std::string* reason = nullptr,
                                         GeometrySpace space = GeometrySpace::kEarth);

    Geometry(Geometry&&) noexcept;
    Geometry& operator=(Geometry&&) noexcept;
    ~Geometry();

    GeometryType type() const;
    size_t points() const { return points_; }  ///< corners, each once
    /// Along the shortest way between the two (on the Earth: metres on a geodesic); 0 if they meet.
    double distance(const Geometry& other) const;
    /// Every point of this is in `other`, and not all of them on its border. To within rounding.
    bool within(const Geometry& other) const;
    /// They have a point in common; borders count. On the Earth, to within a micrometre.
    bool intersects(const Geometry& other) const;
    /// On the Earth: square metres; 0 for points and lines.
    double area() const;

    const detail::Shape& shape() const { return *shape_; }       ///< on the Earth only
    const detail::PlaneShape& plane() const { return *plane_; }  ///< in a plane only

private:
    explicit Geometry(std::unique_ptr<const detail::Shape> shape);
    explicit Geometry(std::unique_ptr<const detail::PlaneShape> shape);
    // One of the two.
    std::unique_ptr<const detail::Shape> shape_;
    std::unique_ptr<const detail::PlaneShape> plane_;
    size_t points_ = 1;
};

}  // namespace orrery::index
