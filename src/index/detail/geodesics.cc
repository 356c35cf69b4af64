#include <s2/s2closest_edge_query.h>
#include <s2/s2edge_distances.h>
#include <s2/s2pointutil.h>

#include <GeographicLib/Geodesic.hpp>
#include <GeographicLib/Math.hpp>
#include <GeographicLib/PolygonArea.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

#include "index/detail/shape.h"

namespace orrery::index::detail {
namespace {

using GeographicLib::Geodesic;

constexpr double kSqueeze = kMetresMin / kMetresMax;
/// Room for rounding in bounds that must not lose an edge.
constexpr double kSlack = 1 + 1e-9;
constexpr double kAngleSlack = 1e-12;

/// An edge as a curve over the angle from its start.
class Arc {
public:
    Arc(const S2Point& a, const S2Point& b)
        : start_(a),
          side_(S2::RobustCrossProd(a, b).Normalize().CrossProd(a).Normalize()),
          length_(a.Angle(b)) {}

    double length() const { return length_; }
    S2Point at(double angle) const {
        return (std::cos(angle) * start_ + std::sin(angle) * side_).Normalize();
    }
    double angle_of(const S2Point& x) const {
        return std::clamp(std::atan2(x.DotProd(side_), x.DotProd(start_)), 0.0, length_);
    }
    /// Metres north and east per radian at a point of the arc.
    void speed(double angle, const Position& here, double& north, double& east) const {
        const S2Point x = at(angle);
        const S2Point along = -std::sin(angle) * start_ + std::cos(angle) * side_;
        double sin_lon = 0;
        double cos_lon = 1;
        GeographicLib::Math::sincosd(here.longitude, sin_lon, cos_lon);
        const double sin_lat = x.z();
        const double cos_lat = std::hypot(x.x(), x.y());
        north = std::hypot(kMetresMax * sin_lat, kMetresMin * cos_lat) *
                S2Point(-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat).DotProd(along);
        east = kMetresMax * S2Point(-sin_lon, cos_lon, 0).DotProd(along);
    }

private:
    S2Point start_;
    S2Point side_;  ///< on the arc's circle, a right angle from the start
    double length_;
};

/// The shortest geodesic from a point to an edge. The foot on the sphere is near the one on the
/// ellipsoid; from there Newton's method, whose slope is that of the sphere, takes few steps.
double edge_distance(const S2Point& p, const S2Point& a, const S2Point& b) {
    constexpr int kStepsMax = 8;
    constexpr double kAngleEnough = 1e-11;
    const Position from = from_sphere(p);
    if (is_same(a, b)) return point_distance(from, from_sphere(a));
    const Arc arc(a, b);
    double angle = arc.angle_of(S2::Project(p, a, b));
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kStepsMax; ++i) {
        const Position here = from_sphere(arc.at(angle));
        double metres = 0;
        double azimuth_there = 0;
        double azimuth = 0;
        Geodesic::WGS84().Inverse(from.latitude, from.longitude, here.latitude, here.longitude,
                                  metres, azimuth_there, azimuth);
        best = std::min(best, metres);
        double north = 0;
        double east = 0;
        arc.speed(angle, here, north, east);
        double sin_azimuth = 0;
        double cos_azimuth = 1;
        GeographicLib::Math::sincosd(azimuth, sin_azimuth, cos_azimuth);
        const double slope = north * cos_azimuth + east * sin_azimuth;
        const double step = slope / kMetresMax * std::tan(metres / kMetresMax);
        const double next = std::clamp(angle - step, 0.0, arc.length());
        if (!(std::abs(next - angle) > kAngleEnough)) break;
        angle = next;
    }
    return best;
}

double edges_distance(const S2Shape::Edge& a, const S2Shape::Edge& b) {
    return std::min({edge_distance(a.v0, b.v0, b.v1), edge_distance(a.v1, b.v0, b.v1),
                     edge_distance(b.v0, a.v0, a.v1), edge_distance(b.v1, a.v0, a.v1)});
}

/// Visits the edges of an index that can be nearest to the target, nearest on the sphere first.
/// `visit` returns the least distance so far.
template <typename Target, typename Visit>
void visit_nearest(const MutableS2ShapeIndex& edges, Target& target, const Visit& visit) {
    S2ClosestEdgeQuery query(&edges);
    query.mutable_options()->set_include_interiors(false);
    const S1Angle nearest = query.FindClosestEdge(&target).distance().ToAngle();
    const double bound = nearest.radians() * kMetresMax / kMetresMin * kSlack + kAngleSlack;
    // One less than "no limit": S2 warns when neither the number nor the distance is limited.
    query.mutable_options()->set_max_results(S2ClosestEdgeQuery::Options::kMaxMaxResults - 1);
    query.mutable_options()->set_inclusive_max_distance(
        S1ChordAngle(S1Angle::Radians(std::min(bound, M_PI))));
    for (const auto& found : query.FindClosestEdges(&target)) {
        const double best = visit(query.GetEdge(found));
        const double least = found.distance().ToAngle().radians() * kMetresMin;
        if (least > best * kSlack + kAngleSlack * kMetresMax) break;
    }
}

double point_to_shape(const S2Point& point, const Shape& shape) {
    double best = std::numeric_limits<double>::infinity();
    S2ClosestEdgeQuery::PointTarget target(point);
    visit_nearest(shape.edges, target, [&](const S2Shape::Edge& edge) {
        best = std::min(best, edge_distance(point, edge.v0, edge.v1));
        return best;
    });
    return best;
}

double ring_area(const Ring& ring, bool hole) {
    const Geodesic& earth = Geodesic::WGS84();
    GeographicLib::PolygonArea sum(earth);
    for (const Position& position : ring) sum.AddPoint(position.latitude, position.longitude);
    double perimeter = 0;
    double area = 0;
    sum.Compute(false, false, perimeter, area);
    return hole ? std::min(area, earth.EllipsoidArea() - area) : area;
}

}  // namespace

S2Point to_sphere(Position position) {
    double sin_lat = 0;
    double cos_lat = 1;
    double sin_lon = 0;
    double cos_lon = 1;
    GeographicLib::Math::sincosd(position.latitude, sin_lat, cos_lat);
    // The antimeridian is one line.
    const double longitude = position.longitude == -180 ? 180 : position.longitude;
    GeographicLib::Math::sincosd(longitude, sin_lon, cos_lon);
    sin_lat *= kSqueeze;
    const double norm = std::hypot(sin_lat, cos_lat);
    return {cos_lat / norm * cos_lon, cos_lat / norm * sin_lon, sin_lat / norm};
}

Position from_sphere(const S2Point& point) {
    return {GeographicLib::Math::atan2d(point.y(), point.x()),
            GeographicLib::Math::atan2d(point.z(), kSqueeze * std::hypot(point.x(), point.y()))};
}

double point_distance(const Position& a, const Position& b) {
    double metres = 0;
    Geodesic::WGS84().Inverse(a.latitude, a.longitude, b.latitude, b.longitude, metres);
    return metres;
}

double shape_distance(const Shape& a, const Shape& b) {
    if (a.is_point()) return point_to_shape(a.point, b);
    if (b.is_point()) return point_to_shape(b.point, a);
    double best = std::numeric_limits<double>::infinity();
    S2ClosestEdgeQuery::ShapeIndexTarget other(&b.edges);
    other.set_include_interiors(false);
    visit_nearest(a.edges, other, [&](const S2Shape::Edge& edge) {
        S2ClosestEdgeQuery::EdgeTarget target(edge.v0, edge.v1);
        visit_nearest(b.edges, target, [&](const S2Shape::Edge& opposite) {
            best = std::min(best, edges_distance(edge, opposite));
            return best;
        });
        return best;
    });
    return best;
}

double shape_area(const Shape& shape) {
    double sum = 0;
    for (const std::vector<Ring>& rings : shape.polygons)
        for (size_t i = 0; i < rings.size(); ++i)
            sum += i == 0 ? ring_area(rings[i], false) : -ring_area(rings[i], true);
    return sum;
}

}  // namespace orrery::index::detail
