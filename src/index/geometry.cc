#include "index/geometry.h"

#include <s2/s2shapeutil_count_edges.h>

#include <algorithm>
#include <array>

#include "index/detail/plane.h"
#include "index/detail/shape.h"

namespace orrery::index {
namespace {

using detail::Shape;
constexpr std::array<std::string_view, kGeometryTypeCount> kNames = {"Point", "LineString",
                                                                     "Polygon", "MultiPolygon"};

}  // namespace

std::string_view geometry_type_name(GeometryType type) {
    return kNames[static_cast<size_t>(type)];
}

std::optional<GeometryType> geometry_type(std::string_view name) {
    const auto* found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<GeometryType>(found - kNames.begin());
}

Geometry::Geometry(std::unique_ptr<const Shape> shape) : shape_(std::move(shape)) {
    if (!shape_->is_point())
        points_ = std::max<size_t>(1, static_cast<size_t>(s2shapeutil::CountEdges(shape_->edges)));
}
Geometry::Geometry(std::unique_ptr<const detail::PlaneShape> shape) : plane_(std::move(shape)) {
    if (!plane_->line.empty()) points_ = plane_->line.size();
    if (plane_->polygons.empty()) return;
    points_ = 0;
    for (const auto& rings : plane_->polygons)
        for (const auto& ring : rings) points_ += ring.size();
}
Geometry::Geometry(Geometry&&) noexcept = default;
Geometry& Geometry::operator=(Geometry&&) noexcept = default;
Geometry::~Geometry() = default;

std::optional<Geometry> Geometry::parse(const json::Value& geojson, std::string* reason,
                                        GeometrySpace space) {
    std::string why;
    if (space == GeometrySpace::kPlane) {
        auto plane = detail::read_plane_shape(geojson, why);
        if (plane != nullptr) return Geometry(std::move(plane));
        if (reason != nullptr) *reason = std::move(why);
        return std::nullopt;
    }
    std::unique_ptr<const Shape> shape = detail::read_shape(geojson, why);
    if (shape != nullptr) return Geometry(std::move(shape));
    if (reason != nullptr) *reason = std::move(why);
    return std::nullopt;
}

GeometryType Geometry::type() const {
    return plane_ != nullptr ? plane_->type : shape_->type;
}

double Geometry::distance(const Geometry& other) const {
    if (plane_ != nullptr) return detail::plane_distance(*plane_, *other.plane_);
    const Shape& a = *shape_;
    const Shape& b = *other.shape_;
    if (detail::shapes_meet(a, b)) return 0;
    if (a.is_point() && b.is_point()) return detail::point_distance(a.position, b.position);
    return detail::shape_distance(a, b);
}

bool Geometry::within(const Geometry& other) const {
    if (plane_ != nullptr) return detail::plane_within(*plane_, *other.plane_);
    return detail::shape_within(*shape_, *other.shape_);
}

bool Geometry::intersects(const Geometry& other) const {
    if (plane_ != nullptr) return detail::plane_intersects(*plane_, *other.plane_);
    return detail::shapes_meet(*shape_, *other.shape_);
}

double Geometry::area() const {
    if (plane_ != nullptr) return detail::plane_area(*plane_);
    return detail::shape_area(*shape_);
}

}  // namespace orrery::index
