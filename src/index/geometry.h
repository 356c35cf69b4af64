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
}  // namespace detail

enum class GeometryType : uint8_t { kPoint, kLineString, kPolygon, kMultiPolygon };
inline constexpr size_t kGeometryTypeCount = 4;
std::string_view geometry_type_name(GeometryType type);
/// By the name in GeoJSON; names have one spelling.
std::optional<GeometryType> geometry_type(std::string_view name);

/// A valid GeoJSON geometry on the WGS-84 ellipsoid. Positions are (longitude, latitude) in
/// degrees. An edge is the arc that the plane through its ends and the Earth's centre cuts out of
/// the ellipsoid, the shorter way round. The outer ring of a polygon has the polygon on its left,
/// so that a clockwise ring is everything outside; holes have either direction. Immutable.
class Geometry {
public:
    /// nullopt when `geojson` is not valid; `reason` (may be null) then says why in a sentence.
    static std::optional<Geometry> parse(const json::Value& geojson, std::string* reason = nullptr);

    Geometry(Geometry&&) noexcept;
    Geometry& operator=(Geometry&&) noexcept;
    ~Geometry();

    GeometryType type() const;
    /// Metres along the shortest geodesic between the two; 0 if they meet.
    double distance(const Geometry& other) const;
    /// Every point of this is in `other`, and not all of them on its border.
    bool within(const Geometry& other) const;
    /// They have a point in common; borders count.
    bool intersects(const Geometry& other) const;
    /// Square metres; 0 for points and lines.
    double area() const;

    const detail::Shape& shape() const { return *shape_; }

private:
    explicit Geometry(std::unique_ptr<const detail::Shape> shape);
    std::unique_ptr<const detail::Shape> shape_;
};

}  // namespace orrery::index
