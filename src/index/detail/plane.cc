#include "index/detail/plane.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "index/detail/plane_parts.h"

namespace orrery::index::detail {
namespace {

double point_to_point(const PlanePoint& a, const PlanePoint& b) {
    return std::hypot(a.x - b.x, a.y - b.y);
}

double point_to_segment(const PlanePoint& p, const Segment& s) {
    const double dx = s.b.x - s.a.x;
    const double dy = s.b.y - s.a.y;
    const double length = dx * dx + dy * dy;
    if (length == 0) return point_to_point(p, s.a);
    const double along = std::clamp(((p.x - s.a.x) * dx + (p.y - s.a.y) * dy) / length, 0.0, 1.0);
    return point_to_point(p, {s.a.x + along * dx, s.a.y + along * dy});
}

/// Relative to the coordinates: those of a point that is meant to be on a slanting edge are
/// rounded. A tenth of the room that searches by cells have.
constexpr double kTouch = 1e-13;

bool touches(const Segment& s, const PlanePoint& p) {
    const double room =
        kTouch * std::max({std::abs(s.a.x), std::abs(s.a.y), std::abs(s.b.x), std::abs(s.b.y)});
    if (p.x < s.min_x() - room || p.x > s.max_x() + room || p.y < s.min_y() - room ||
        p.y > s.max_y() + room)
        return false;
    return on_segment(s, p) || point_to_segment(p, s) <= room;
}
bool touches(const std::vector<Segment>& segments, const PlanePoint& p) {
    return std::any_of(segments.begin(), segments.end(),
                       [&](const Segment& s) { return touches(s, p); });
}
bool touch(const Segment& s, const Segment& t) {
    return segments_meet(s, t) || touches(s, t.a) || touches(s, t.b) || touches(t, s.a) ||
           touches(t, s.b);
}

void append_ring(const PlaneRing& ring, std::vector<Segment>& out) {
    for (size_t i = 0; i < ring.size(); ++i) out.push_back({ring[i], ring[(i + 1) % ring.size()]});
}

std::vector<Segment> segments_of(const PlaneShape& shape) {
    std::vector<Segment> out;
    for (size_t i = 1; i < shape.line.size(); ++i)
        out.push_back({shape.line[i - 1], shape.line[i]});
    for (const auto& polygon : shape.polygons)
        for (const PlaneRing& ring : polygon) append_ring(ring, out);
    return out;
}

Place place_in(const PlanePoint& p, const PlaneShape& shape) {
    Place best = Place::kOutside;
    for (const auto& polygon : shape.polygons) {
        for (const PlaneRing& ring : polygon)
            for (size_t i = 0; i < ring.size(); ++i)
                if (touches(Segment{ring[i], ring[(i + 1) % ring.size()]}, p))
                    return Place::kBorder;
        best = std::max(best, place_in_polygon(p, polygon));
    }
    return best;
}

bool covers_point(const PlaneShape& shape, const PlanePoint& p) {
    if (shape.is_point()) return shape.point == p;
    if (shape.is_polygonal()) return place_in(p, shape) != Place::kOutside;
    return touches(segments_of(shape), p);
}

PlanePoint any_vertex(const PlaneShape& shape) {
    if (shape.is_point()) return shape.point;
    return shape.is_polygonal() ? shape.polygons[0][0][0] : shape.line[0];
}

/// A point strictly inside a polygon: on a line across it, between two neighbouring borders.
PlanePoint inner_point(const std::vector<PlaneRing>& rings) {
    std::vector<double> heights;
    for (const PlaneRing& ring : rings)
        for (const PlanePoint& p : ring) heights.push_back(p.y);
    std::sort(heights.begin(), heights.end());
    heights.erase(std::unique(heights.begin(), heights.end()), heights.end());
    PlanePoint best = rings[0][0];
    double widest = -1;
    for (size_t i = 1; i < heights.size(); ++i) {
        const double y = heights[i - 1] + (heights[i] - heights[i - 1]) / 2;
        std::vector<double> crossings;
        for (const PlaneRing& ring : rings)
            for (size_t j = 0; j < ring.size(); ++j) {
                const PlanePoint& a = ring[j];
                const PlanePoint& b = ring[(j + 1) % ring.size()];
                if ((a.y > y) != (b.y > y))
                    crossings.push_back(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x));
            }
        std::sort(crossings.begin(), crossings.end());
        for (size_t j = 0; j + 1 < crossings.size(); j += 2)
            if (crossings[j + 1] - crossings[j] > widest) {
                widest = crossings[j + 1] - crossings[j];
                best = {crossings[j] + widest / 2, y};
            }
        if (widest > 0 && i > 16) break;  // it is wide enough: stop trying heights
    }
    return best;
}

/// How far along `s` (0 to 1) it meets `t`; both ends of a shared stretch.
void add_meetings(const Segment& s, const Segment& t, std::vector<double>& out) {
    if (!touch(s, t)) return;
    const auto along = [&](const PlanePoint& p) {
        const double dx = s.b.x - s.a.x;
        const double dy = s.b.y - s.a.y;
        const double share = std::abs(dx) > std::abs(dy) ? (p.x - s.a.x) / dx : (p.y - s.a.y) / dy;
        out.push_back(std::clamp(share, 0.0, 1.0));
    };
    const long double t_a = turn(s.a, s.b, t.a);
    const long double t_b = turn(s.a, s.b, t.b);
    if (touches(s, t.a)) along(t.a);
    if (touches(s, t.b)) along(t.b);
    if (sign(t_a) * sign(t_b) < 0 && segments_meet(s, t)) {
        const auto share = static_cast<double>(t_a / (t_a - t_b));
        along({t.a.x + share * (t.b.x - t.a.x), t.a.y + share * (t.b.y - t.a.y)});
    }
}

/// Calls `use` with the middle of each piece into which the edges of `cutters` cut `s`, until it
/// returns false.
template <typename Use>
bool each_piece(const Segment& s, const std::vector<Segment>& cutters, const Use& use) {
    std::vector<double> cuts = {0.0, 1.0};
    for (const Segment& cutter : cutters) add_meetings(s, cutter, cuts);
    std::sort(cuts.begin(), cuts.end());
    for (size_t i = 1; i < cuts.size(); ++i) {
        if (cuts[i] - cuts[i - 1] < 1e-12) continue;
        const double middle = cuts[i - 1] + (cuts[i] - cuts[i - 1]) / 2;
        if (!use(PlanePoint{s.a.x + middle * (s.b.x - s.a.x), s.a.y + middle * (s.b.y - s.a.y)}))
            return false;
    }
    return true;
}

bool line_within_line(const PlaneShape& a, const PlaneShape& b) {
    const auto borders = segments_of(b);
    for (const Segment& s : segments_of(a))
        if (!each_piece(s, borders, [&](const PlanePoint& p) { return touches(borders, p); }))
            return false;
    return true;
}

bool edges_within_area(const PlaneShape& a, const PlaneShape& b, bool& touches_inside) {
    const auto borders = segments_of(b);
    for (const Segment& s : segments_of(a))
        if (!each_piece(s, borders, [&](const PlanePoint& p) {
                if (touches(borders, p)) return true;
                const Place place = place_in(p, b);
                touches_inside = touches_inside || place == Place::kInside;
                return place != Place::kOutside;
            }))
            return false;
    return true;
}

bool area_within_area(const PlaneShape& a, const PlaneShape& b) {
    bool inside = false;
    if (!edges_within_area(a, b, inside)) return false;
    const auto borders_a = segments_of(a);
    // A border of b inside a has something on its other side that is not in b: the rings of one
    // shape share no stretch.
    for (const Segment& s : segments_of(b))
        if (!each_piece(s, borders_a, [&](const PlanePoint& p) {
                return touches(borders_a, p) || place_in(p, a) != Place::kInside;
            }))
            return false;
    return std::all_of(a.polygons.begin(), a.polygons.end(), [&](const auto& polygon) {
        return place_in(inner_point(polygon), b) == Place::kInside;
    });
}

double ring_area(const PlaneRing& ring) {
    // Computed relative to a corner, so that large coordinates lose no digits.
    double twice = 0;
    for (size_t i = 1; i + 1 < ring.size(); ++i)
        twice += static_cast<double>(turn(ring[0], ring[i], ring[i + 1]));
    return std::abs(twice) / 2;
}

}  // namespace

bool plane_intersects(const PlaneShape& a, const PlaneShape& b) {
    if (a.is_point()) return covers_point(b, a.point);
    if (b.is_point()) return covers_point(a, b.point);
    if (covers_point(b, any_vertex(a)) || covers_point(a, any_vertex(b))) return true;
    // Polygons of a MultiPolygon may lie wholly in the other.
    for (const auto& polygon : a.polygons)
        if (covers_point(b, polygon[0][0])) return true;
    for (const auto& polygon : b.polygons)
        if (covers_point(a, polygon[0][0])) return true;
    const auto edges = segments_of(b);
    for (const Segment& s : segments_of(a))
        for (const Segment& t : edges)
            if (touch(s, t)) return true;
    return false;
}

bool plane_within(const PlaneShape& a, const PlaneShape& b) {
    if (b.is_point()) return a.is_point() && a.point == b.point;
    if (a.is_point())
        return b.is_polygonal() ? place_in(a.point, b) == Place::kInside : covers_point(b, a.point);
    if (a.is_polygonal()) return b.is_polygonal() && area_within_area(a, b);
    if (!b.is_polygonal()) return line_within_line(a, b);
    bool inside = false;
    return edges_within_area(a, b, inside) && inside;
}

double plane_distance(const PlaneShape& a, const PlaneShape& b) {
    if (a.is_point() && b.is_point()) return point_to_point(a.point, b.point);
    if (plane_intersects(a, b)) return 0;
    double best = std::numeric_limits<double>::infinity();
    const auto edges_a = segments_of(a);
    const auto edges_b = segments_of(b);
    const auto to_all = [&](const PlanePoint& p, const std::vector<Segment>& edges) {
        for (const Segment& s : edges) best = std::min(best, point_to_segment(p, s));
    };
    if (a.is_point()) to_all(a.point, edges_b);
    if (b.is_point()) to_all(b.point, edges_a);
    for (const Segment& s : edges_a) {
        to_all(s.a, edges_b);
        to_all(s.b, edges_b);
    }
    for (const Segment& s : edges_b) {
        to_all(s.a, edges_a);
        to_all(s.b, edges_a);
    }
    return best;
}

double plane_area(const PlaneShape& shape) {
    double sum = 0;
    for (const auto& polygon : shape.polygons) {
        sum += ring_area(polygon[0]);
        for (size_t i = 1; i < polygon.size(); ++i) sum -= ring_area(polygon[i]);
    }
    return sum;
}

}  // namespace orrery::index::detail
