#include <cmath>
#include <utility>

#include "base/limits.h"
#include "index/detail/plane_parts.h"

namespace orrery::index::detail {
namespace {

using json::Value;

struct RingEdge {
    Segment segment;
    size_t ring = 0;
    size_t index = 0;  ///< in its ring
};

bool share_stretch(const Segment& s, const Segment& t) {
    if (turn(s.a, s.b, t.a) != 0 || turn(s.a, s.b, t.b) != 0) return false;
    const auto overlap = [](double a0, double a1, double b0, double b1) {
        return std::min(std::max(a0, a1), std::max(b0, b1)) -
               std::max(std::min(a0, a1), std::min(b0, b1));
    };
    const double x = overlap(s.a.x, s.b.x, t.a.x, t.b.x);
    const double y = overlap(s.a.y, s.b.y, t.a.y, t.b.y);
    return x >= 0 && y >= 0 && (x > 0 || y > 0);
}

bool cross(const Segment& s, const Segment& t) {
    return sign(turn(s.a, s.b, t.a)) * sign(turn(s.a, s.b, t.b)) < 0 &&
           sign(turn(t.a, t.b, s.a)) * sign(turn(t.a, t.b, s.b)) < 0;
}

/// Whether two edges of the rings of one shape lie to each other as they must not.
bool collide(const RingEdge& a, const RingEdge& b, size_t ring_size) {
    if (!segments_meet(a.segment, b.segment)) return false;
    if (a.ring != b.ring) return cross(a.segment, b.segment) || share_stretch(a.segment, b.segment);
    const bool neighbours =
        (a.index + 1) % ring_size == b.index || (b.index + 1) % ring_size == a.index;
    return !neighbours || share_stretch(a.segment, b.segment);
}

/// Reads one geometry front to back; the first mistake ends it.
class Reader {
public:
    explicit Reader(std::string& reason) : reason_(reason) {}

    std::unique_ptr<const PlaneShape> read(const Value& geojson) {
        if (!geojson.is_object()) return fail("The input is not a GeoJSON object.");
        const Value type = geojson.member("type");
        if (!type.is_string()) return fail("The GeoJSON input has no string member 'type'.");
        const auto known = geometry_type(type.as_string());
        if (!known)
            return fail("The GeoJSON type must be Point, LineString, Polygon or MultiPolygon.");
        const Value coordinates = geojson.member("coordinates");
        if (!coordinates.is_array())
            return fail("The " + std::string(type.as_string()) +
                        " input has no array member 'coordinates'.");
        shape_ = std::make_unique<PlaneShape>();
        shape_->type = *known;
        if (!read_coordinates(coordinates)) return nullptr;
        return std::move(shape_);
    }

private:
    std::nullptr_t fail(std::string why) {
        reason_ = std::move(why);
        return nullptr;
    }
    bool refuse(std::string why) {
        reason_ = std::move(why);
        return false;
    }

    bool read_coordinates(const Value& coordinates) {
        switch (shape_->type) {
            case GeometryType::kPoint:
                return read_position(coordinates, shape_->point);
            case GeometryType::kLineString:
                if (!read_positions(coordinates, shape_->line)) return false;
                if (shape_->line.size() < 2)
                    return refuse(
                        "The LineString input is not valid because it does not have enough "
                        "distinct points. A LineString must have at least two distinct points.");
                return true;
            case GeometryType::kPolygon:
                return read_polygon(coordinates) && check_rings();
            case GeometryType::kMultiPolygon:
                if (coordinates.elements().empty())
                    return refuse("A MultiPolygon must have at least one polygon.");
                for (const Value& polygon : coordinates.elements())
                    if (!read_polygon(polygon)) return false;
                return check_rings();
        }
        return false;
    }

    bool read_position(const Value& value, PlanePoint& out) {
        const bool plausible = value.is_array() && value.elements().size() >= 2 &&
                               std::all_of(value.elements().begin(), value.elements().end(),
                                           [](const Value& number) { return number.is_number(); });
        if (!plausible) return refuse("Every position must be an array of at least two numbers.");
        if (++positions_ > limits::kGeometryPointsMax)
            return refuse("A geometry can have at most " +
                          std::to_string(limits::kGeometryPointsMax) + " points.");
        out = {value.elements()[0].as_double(), value.elements()[1].as_double()};
        if (!std::isfinite(out.x) || !std::isfinite(out.y))
            return refuse("Coordinates must be finite numbers.");
        return true;
    }

    /// A position that repeats the one before it adds nothing.
    bool read_positions(const Value& list, std::vector<PlanePoint>& out) {
        if (!list.is_array())
            return refuse("The coordinates of a line or ring must be an array of positions.");
        for (const Value& position : list.elements()) {
            PlanePoint point;
            if (!read_position(position, point)) return false;
            if (out.empty() || !(out.back() == point)) out.push_back(point);
        }
        return true;
    }

    bool read_polygon(const Value& rings) {
        if (!rings.is_array() || rings.elements().empty())
            return refuse("A polygon must have at least one ring.");
        auto& out = shape_->polygons.emplace_back();
        for (size_t i = 0; i < rings.elements().size(); ++i)
            if (!read_ring(rings.elements()[i], i, out.emplace_back())) return false;
        return true;
    }

    bool read_ring(const Value& list, size_t index, PlaneRing& out) {
        const std::string number = std::to_string(index + 1);
        if (list.is_array() && list.elements().size() < 4)
            return refuse(
                "The Polygon input is not valid because the ring number " + number +
                " does not have enough points. Each ring of a polygon must contain at least "
                "four points.");
        if (!read_positions(list, out)) return false;
        if (out.size() < 2 || !(out.front() == out.back()))
            return refuse(
                "The Polygon input is not valid because the start and end points of the ring "
                "number " +
                number +
                " are not the same. Each ring of a polygon must have the same start and end "
                "points.");
        out.pop_back();
        if (out.size() < 3)
            return refuse(
                "The Polygon input is not valid because the ring number " + number +
                " does not have enough distinct points. Each ring of a polygon must have at "
                "least three distinct points.");
        return true;
    }

    /// Rings may touch in points but not cross; every hole is inside its polygon; polygons do not
    /// overlap.
    bool check_rings() {
        if (rings_collide())
            return refuse(
                "The Polygon input is not valid because a ring intersects itself or "
                "another ring.");
        for (size_t i = 0; i < shape_->polygons.size(); ++i) {
            const auto& rings = shape_->polygons[i];
            for (size_t hole = 1; hole < rings.size(); ++hole) {
                bool misplaced = !lies_in(rings[hole], rings[0]);
                for (size_t other = 1; other < rings.size(); ++other)
                    misplaced = misplaced || (other != hole && overlaps(rings[hole], rings[other]));
                if (misplaced) return refuse(kMisplaced);
            }
            for (size_t j = 0; j < shape_->polygons.size(); ++j)
                if (i != j && reaches_into(rings[0], shape_->polygons[j]))
                    return refuse(kMisplaced);
        }
        return true;
    }
    static constexpr const char* kMisplaced =
        "The Polygon input is not valid because a ring is not where it belongs: holes lie inside "
        "their outer ring, and the polygons of a MultiPolygon do not overlap.";

    bool rings_collide() const {
        std::vector<RingEdge> edges;
        std::vector<size_t> sizes;
        for (const auto& polygon : shape_->polygons)
            for (const PlaneRing& ring : polygon) {
                for (size_t i = 0; i < ring.size(); ++i)
                    edges.push_back({{ring[i], ring[(i + 1) % ring.size()]}, sizes.size(), i});
                sizes.push_back(ring.size());
            }
        std::sort(edges.begin(), edges.end(), [](const RingEdge& a, const RingEdge& b) {
            return a.segment.min_x() < b.segment.min_x();
        });
        for (size_t i = 0; i < edges.size(); ++i)
            for (size_t j = i + 1;
                 j < edges.size() && edges[j].segment.min_x() <= edges[i].segment.max_x(); ++j)
                if (collide(edges[i], edges[j], sizes[edges[i].ring])) return true;
        return false;
    }

    /// Points that tell on which side of another ring a ring is: corners and the middles of edges.
    template <typename Test>
    static bool any_point(const PlaneRing& ring, const Test& test) {
        for (size_t i = 0; i < ring.size(); ++i) {
            const PlanePoint& a = ring[i];
            const PlanePoint& b = ring[(i + 1) % ring.size()];
            if (test(a) || test(PlanePoint{a.x + (b.x - a.x) / 2, a.y + (b.y - a.y) / 2}))
                return true;
        }
        return false;
    }
    static bool lies_in(const PlaneRing& ring, const PlaneRing& outer) {
        return !any_point(
            ring, [&](const PlanePoint& p) { return place_in_ring(p, outer) == Place::kOutside; });
    }
    static bool overlaps(const PlaneRing& ring, const PlaneRing& other) {
        return any_point(
            ring, [&](const PlanePoint& p) { return place_in_ring(p, other) == Place::kInside; });
    }
    static bool reaches_into(const PlaneRing& ring, const std::vector<PlaneRing>& polygon) {
        return any_point(ring, [&](const PlanePoint& p) {
            return place_in_polygon(p, polygon) == Place::kInside;
        });
    }

    std::string& reason_;
    std::unique_ptr<PlaneShape> shape_;
    size_t positions_ = 0;
};

}  // namespace

std::unique_ptr<const PlaneShape> read_plane_shape(const Value& geojson, std::string& reason) {
    return Reader(reason).read(geojson);
}

}  // namespace orrery::index::detail
