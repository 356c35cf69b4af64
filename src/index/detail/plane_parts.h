#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "index/detail/plane.h"

/// Segments and rings in a plane: how points and edges lie to each other.
namespace orrery::index::detail {

struct Segment {
    PlanePoint a;
    PlanePoint b;
    double min_x() const { return std::min(a.x, b.x); }
    double max_x() const { return std::max(a.x, b.x); }
    double min_y() const { return std::min(a.y, b.y); }
    double max_y() const { return std::max(a.y, b.y); }
};

/// > 0: c lies to the left of the way from a to b. Long double keeps the sign of nearly straight
/// corners of coordinates that doubles hold exactly.
inline long double turn(const PlanePoint& a, const PlanePoint& b, const PlanePoint& c) {
    return (static_cast<long double>(b.x) - a.x) * (static_cast<long double>(c.y) - a.y) -
           (static_cast<long double>(b.y) - a.y) * (static_cast<long double>(c.x) - a.x);
}

inline bool in_box(const Segment& s, const PlanePoint& p) {
    return p.x >= s.min_x() && p.x <= s.max_x() && p.y >= s.min_y() && p.y <= s.max_y();
}

inline bool on_segment(const Segment& s, const PlanePoint& p) {
    return in_box(s, p) && turn(s.a, s.b, p) == 0;
}

inline int sign(long double value) {
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

inline bool boxes_meet(const Segment& s, const Segment& t) {
    return s.min_x() <= t.max_x() && t.min_x() <= s.max_x() && s.min_y() <= t.max_y() &&
           t.min_y() <= s.max_y();
}

inline bool segments_meet(const Segment& s, const Segment& t) {
    if (!boxes_meet(s, t)) return false;
    const int t_a = sign(turn(s.a, s.b, t.a));
    const int t_b = sign(turn(s.a, s.b, t.b));
    const int s_a = sign(turn(t.a, t.b, s.a));
    const int s_b = sign(turn(t.a, t.b, s.b));
    if (t_a * t_b < 0 && s_a * s_b < 0) return true;
    return (t_a == 0 && in_box(s, t.a)) || (t_b == 0 && in_box(s, t.b)) ||
           (s_a == 0 && in_box(t, s.a)) || (s_b == 0 && in_box(t, s.b));
}

enum class Place : uint8_t { kOutside, kBorder, kInside };

inline Place place_in_ring(const PlanePoint& p, const PlaneRing& ring) {
    bool inside = false;
    for (size_t i = 0; i < ring.size(); ++i) {
        const Segment edge{ring[i], ring[(i + 1) % ring.size()]};
        if (on_segment(edge, p)) return Place::kBorder;
        // Edges that pass the height of p, to the right of it.
        if ((edge.a.y > p.y) == (edge.b.y > p.y)) continue;
        const bool left = turn(edge.a, edge.b, p) > 0;
        if (left == (edge.b.y > edge.a.y)) inside = !inside;
    }
    return inside ? Place::kInside : Place::kOutside;
}

inline Place place_in_polygon(const PlanePoint& p, const std::vector<PlaneRing>& rings) {
    Place place = place_in_ring(p, rings[0]);
    for (size_t i = 1; i < rings.size() && place == Place::kInside; ++i) {
        const Place in_hole = place_in_ring(p, rings[i]);
        if (in_hole == Place::kInside) place = Place::kOutside;
        if (in_hole == Place::kBorder) place = Place::kBorder;
    }
    return place;
}

}  // namespace orrery::index::detail
