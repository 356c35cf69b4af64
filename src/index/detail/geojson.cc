#include <s2/s2closest_edge_query.h>
#include <s2/s2lax_polygon_shape.h>
#include <s2/s2lax_polyline_shape.h>
#include <s2/s2loop.h>
#include <s2/s2polygon.h>
#include <s2/s2shapeutil_visit_crossing_edge_pairs.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "index/detail/coordinates.h"
#include "index/detail/shape.h"

namespace orrery::index::detail {
namespace {

using json::Value;

const char* check_position(const Pair& pair) {
    // NaN fails every comparison.
    if (!(pair[0] >= -180 && pair[0] <= 180))
        return "Longitude values must be between -180 and 180 degrees.";
    if (!(pair[1] >= -90 && pair[1] <= 90))
        return "Latitude values must be between -90 and 90 degrees.";
    return nullptr;
}

Position position_of(const Pair& pair) {
    return {pair[0], pair[1]};
}

/// Puts one geometry on the sphere; the first mistake ends it.
class Builder {
public:
    explicit Builder(std::string& reason) : reason_(reason) {}

    std::unique_ptr<const Shape> build(const Coordinates& coordinates) {
        shape_ = std::make_unique<Shape>();
        shape_->type = coordinates.type;
        if (!add(coordinates)) return nullptr;
        shape_->edges.ForceBuild();
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
                shape_->position = position_of(coordinates.point);
                shape_->point = to_sphere(shape_->position);
                return true;
            case GeometryType::kLineString:
                return add_line(coordinates.line);
            case GeometryType::kPolygon:
            case GeometryType::kMultiPolygon:
                for (const auto& rings : coordinates.polygons) {
                    auto& out = shape_->polygons.emplace_back();
                    for (size_t i = 0; i < rings.size(); ++i)
                        if (!add_ring(rings[i], i, out.emplace_back())) return false;
                }
                return finish_polygons();
        }
        return false;
    }

    /// On the sphere; a position that repeats the one before it adds nothing.
    bool to_vertices(const std::vector<Pair>& pairs, std::vector<S2Point>& out) {
        for (const Pair& pair : pairs) {
            const S2Point point = to_sphere(position_of(pair));
            if (!out.empty() && is_same(out.back(), point)) continue;
            if (!out.empty() && is_antipodal(out.back(), point)) return refuse(kAntipodal);
            out.push_back(point);
        }
        return true;
    }
    static bool is_antipodal(const S2Point& a, const S2Point& b) { return (a + b).Norm2() < 1e-28; }
    static constexpr const char* kAntipodal =
        "Two consecutive points lie on opposite sides of the Earth; the edge between them is not "
        "defined.";

    static void drop_repeated_end(std::vector<S2Point>& ring) {
        while (ring.size() > 1 && is_same(ring.front(), ring.back())) ring.pop_back();
    }

    bool add_line(const std::vector<Pair>& pairs) {
        std::vector<S2Point> vertices;
        if (!to_vertices(pairs, vertices)) return false;
        if (vertices.size() < 2) return refuse(too_few_line_points());
        shape_->edges.Add(std::make_unique<S2LaxPolylineShape>(vertices));
        return true;
    }

    bool add_ring(const PairRing& pairs, size_t index, Ring& out) {
        for (const Pair& pair : pairs) out.push_back(position_of(pair));
        std::vector<S2Point> vertices;
        if (!to_vertices(pairs, vertices)) return false;
        drop_repeated_end(vertices);
        if (vertices.size() < 3) return refuse(too_few_ring_points(index));
        if (is_antipodal(vertices.front(), vertices.back())) return refuse(kAntipodal);
        is_hole_.push_back(index > 0);
        rings_.push_back(std::move(vertices));
        return true;
    }

    /// A corner that touches another ring becomes a corner of that ring, too: rings that touch
    /// share points instead of crossing by the last bit, and those that share a stretch share
    /// edges.
    void share_corners() {
        if (rings_.size() < 2) return;
        MutableS2ShapeIndex all;
        all.Add(std::make_unique<S2LaxPolygonShape>(rings_));
        S2ClosestEdgeQuery query(&all);
        query.mutable_options()->set_include_interiors(false);
        const S1ChordAngle touch(S1Angle::Radians(kTouchAngle));
        query.mutable_options()->set_inclusive_max_distance(touch);
        const std::vector<std::vector<S2Point>> before = rings_;
        std::vector<Corner> added;
        for (size_t ring = 0; ring < before.size(); ++ring)
            for (size_t i = 0; i < before[ring].size(); ++i) {
                const S2Point& corner = before[ring][i];
                S2ClosestEdgeQuery::PointTarget target(corner);
                for (const auto& found : query.FindClosestEdges(&target)) {
                    const auto at = all.shape(0)->chain_position(found.edge_id());
                    const auto other = static_cast<size_t>(at.chain_id);
                    if (other == ring) continue;
                    const S2Shape::Edge edge = query.GetEdge(found);
                    const bool at_start = S1ChordAngle(corner, edge.v0) <= touch;
                    if (at_start || S1ChordAngle(corner, edge.v1) <= touch) {
                        if (other < ring) rings_[ring][i] = at_start ? edge.v0 : edge.v1;
                    } else {
                        added.push_back({other,
                                         static_cast<size_t>(at.offset),
                                         S1ChordAngle(edge.v0, corner),
                                         ring,
                                         i,
                                         {}});
                    }
                }
            }
        for (Corner& corner : added) corner.point = rings_[corner.from_ring][corner.from];
        // Insert from the end, so that earlier places stay valid.
        std::sort(added.begin(), added.end(), [](const Corner& a, const Corner& b) {
            return std::tie(a.ring, a.edge, a.along) > std::tie(b.ring, b.edge, b.along);
        });
        for (const Corner& corner : added) {
            std::vector<S2Point>& ring = rings_[corner.ring];
            ring.insert(ring.begin() + static_cast<ptrdiff_t>(corner.edge) + 1, corner.point);
        }
        for (std::vector<S2Point>& ring : rings_) {
            ring.erase(std::unique(ring.begin(), ring.end(), is_same), ring.end());
            drop_repeated_end(ring);
        }
    }
    bool has_speck() const {
        return std::any_of(rings_.begin(), rings_.end(),
                           [](const auto& ring) { return ring.size() < 3; });
    }

    /// An edge that is there twice, in whatever direction. S2 ends the process when it meets some
    /// of these in the shapes below.
    bool has_edge_twice() const {
        using Corner3 = std::array<double, 3>;
        std::vector<std::pair<Corner3, Corner3>> edges;
        for (const std::vector<S2Point>& ring : rings_)
            for (size_t i = 0; i < ring.size(); ++i) {
                const S2Point& a = ring[i];
                const S2Point& b = ring[(i + 1) % ring.size()];
                edges.push_back(std::minmax(Corner3{a.x(), a.y(), a.z()}, {b.x(), b.y(), b.z()}));
            }
        std::sort(edges.begin(), edges.end());
        return std::adjacent_find(edges.begin(), edges.end()) != edges.end();
    }

    /// Rings may touch in points but not cross, and every hole is inside its polygon.
    bool finish_polygons() {
        if (has_edge_twice()) return refuse(kRingsCross);
        share_corners();
        if (has_speck() || has_edge_twice()) return refuse(kRingsCross);
        MutableS2ShapeIndex rings;
        rings.Add(std::make_unique<S2LaxPolygonShape>(rings_));
        S2Error error;
        if (s2shapeutil::FindSelfIntersection(rings, &error)) return refuse(kRingsCross);
        std::vector<std::unique_ptr<S2Loop>> loops;
        std::vector<std::pair<const S2Loop*, bool>> holes;
        for (size_t i = 0; i < rings_.size(); ++i) {
            auto loop = std::make_unique<S2Loop>(rings_[i], S2Debug::DISABLE);
            if (is_hole_[i]) loop->Normalize();
            holes.emplace_back(loop.get(), is_hole_[i]);
            loops.push_back(std::move(loop));
        }
        auto polygon = std::make_unique<S2Polygon>();
        polygon->set_s2debug_override(S2Debug::DISABLE);
        polygon->InitNested(std::move(loops));
        for (int i = 0; i < polygon->num_loops(); ++i) {
            const S2Loop* loop = polygon->loop(i);
            const auto known = std::find_if(holes.begin(), holes.end(),
                                            [&](const auto& entry) { return entry.first == loop; });
            if (known == holes.end() || known->second != loop->is_hole())
                return refuse(kRingMisplaced);
        }
        if (polygon->FindValidationError(&error))
            return refuse(
                "The Polygon input is not valid because its rings do not enclose an "
                "area.");
        shape_->edges.Add(std::make_unique<S2Polygon::OwningShape>(std::move(polygon)));
        return true;
    }

    /// To be put behind a corner of a ring.
    struct Corner {
        size_t ring;
        size_t edge;
        S1ChordAngle along;
        size_t from_ring;  ///< the corner that is shared
        size_t from;
        S2Point point;
    };

    std::string& reason_;
    std::unique_ptr<Shape> shape_;
    std::vector<std::vector<S2Point>> rings_;
    std::vector<bool> is_hole_;  ///< as `rings_`
};

}  // namespace

std::unique_ptr<const Shape> read_shape(const Value& geojson, std::string& reason) {
    const auto coordinates = read_coordinates(geojson, check_position, reason);
    return coordinates ? Builder(reason).build(*coordinates) : nullptr;
}

}  // namespace orrery::index::detail
