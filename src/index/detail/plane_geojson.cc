#include <cmath>
#include <utility>

#include "index/detail/coordinates.h"
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

/// True if two edges of the rings of one shape lie in a forbidden way.
bool collide(const RingEdge& a, const RingEdge& b, size_t ring_size) {
    if (!segments_meet(a.segment, b.segment)) return false;
    if (a.ring != b.ring) return cross(a.segment, b.segment) || share_stretch(a.segment, b.segment);
    const bool neighbours =
        (a.index + 1) % ring_size == b.index || (b.index + 1) % ring_size == a.index;
    return !neighbours || share_stretch(a.segment, b.segment);
}

const char* check_finite(const Pair& pair) {
    return std::isfinite(pair[0]) && std::isfinite(pair[1]) ? nullptr
                                                            : "Coordinates must be finite numbers.";
}

/// A pair that repeats the one before it adds nothing.
std::vector<PlanePoint> distinct_points(const std::vector<Pair>& pairs) {
    std::vector<PlanePoint> out;
    for (const Pair& pair : pairs) {
        const PlanePoint point{pair[0], pair[1]};
        if (out.empty() || !(out.back() == point)) out.push_back(point);
    }
    return out;
}

/// Puts one geometry into the plane; the first mistake ends it.
class Builder {
public:
    explicit Builder(std::string& reason) : reason_(reason) {}

    std::unique_ptr<const PlaneShape> build(const Coordinates& coordinates) {
        shape_ = std::make_unique<PlaneShape>();
        shape_->type = coordinates.type;
        if (!add(coordinates)) return nullptr;
        return std::move(shape_);
    }

private:
    bool refuse(std::string why) {
        reason_ = std::move(why);
        return false;
    }

    bool add(const Coordinates& coordinates) {
        switch (coordinates.type) {
            case GeometryType::kPoint:
                shape_->point = {coordinates.point[0], coordinates.point[1]};
                return true;
            case GeometryType::kLineString:
                shape_->line = distinct_points(coordinates.line);
                return shape_->line.size() >= 2 || refuse(too_few_line_points());
            case GeometryType::kPolygon:
            case GeometryType::kMultiPolygon:
                for (const auto& rings : coordinates.polygons) {
                    auto& out = shape_->polygons.emplace_back();
                    for (size_t i = 0; i < rings.size(); ++i)
                        if (!add_ring(rings[i], i, out.emplace_back())) return false;
                }
                return check_rings();
        }
        return false;
    }

    bool add_ring(const PairRing& pairs, size_t index, PlaneRing& out) {
        out = distinct_points(pairs);
        while (out.size() > 1 && out.front() == out.back()) out.pop_back();
        return out.size() >= 3 || refuse(too_few_ring_points(index));
    }

    /// Rings may touch in points but not cross; every hole is inside its polygon; polygons do not
    /// overlap.
    bool check_rings() {
        if (rings_collide()) return refuse(kRingsCross);
        for (size_t i = 0; i < shape_->polygons.size(); ++i) {
            const auto& rings = shape_->polygons[i];
            for (size_t hole = 1; hole < rings.size(); ++hole) {
                bool misplaced = !lies_in(rings[hole], rings[0]);
                for (size_t other = 1; other < rings.size(); ++other)
                    misplaced = misplaced || (other != hole && overlaps(rings[hole], rings[other]));
                if (misplaced) return refuse(kRingMisplaced);
            }
            for (size_t j = 0; j < shape_->polygons.size(); ++j)
                if (i != j && reaches_into(rings[0], shape_->polygons[j]))
                    return refuse(kRingMisplaced);
        }
        return true;
    }

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
};

}  // namespace

std::unique_ptr<const PlaneShape> read_plane_shape(const Value& geojson, std::string& reason) {
    const auto coordinates = read_coordinates(geojson, check_finite, reason);
    return coordinates ? Builder(reason).build(*coordinates) : nullptr;
}

}  // namespace orrery::index::detail
