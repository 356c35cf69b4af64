#pragma once

#include <s2/mutable_s2shape_index.h>
#include <s2/r2rect.h>
#include <s2/s2cap.h>
#include <s2/s2cell.h>
#include <s2/s2edge_clipping.h>
#include <s2/s2region.h>
#include <s2/s2shape_index_region.h>

#include <algorithm>
#include <array>
#include <vector>

namespace orrery::index::detail {

/// A shape and all that is nearer to it than a small angle (far below the size of a cell, so that
/// it may be a little more). For one covering: every edge is compared with every cell that S2 finds
/// empty, which is cheap as both are on a plane.
class RoomyRegion final : public S2Region {
public:
    RoomyRegion(const MutableS2ShapeIndex& edges, double room)
        : edges_(edges), shape_(&edges), room_(room), room_on_face_(kStretchMax * room) {
        for (const S2Shape* part : edges)
            for (int i = 0; i < part->num_edges(); ++i) add(part->edge(i));
    }

    S2Region* Clone() const override { return new RoomyRegion(edges_, room_); }
    S2Cap GetCapBound() const override {
        return shape_.GetCapBound().Expanded(S1Angle::Radians(room_));
    }
    S2LatLngRect GetRectBound() const override { return GetCapBound().GetRectBound(); }
    bool Contains(const S2Cell& cell) const override { return shape_.Contains(cell); }
    bool Contains(const S2Point& point) const override { return shape_.Contains(point); }
    bool MayIntersect(const S2Cell& cell) const override {
        if (shape_.MayIntersect(cell)) return true;
        const R2Rect around = cell.GetBoundUV().Expanded(room_on_face_);
        const auto& segments = faces_[static_cast<size_t>(cell.face())];
        return std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
            return segment.bound.Intersects(around) &&
                   S2::IntersectsRect(segment.a, segment.b, around);
        });
    }

private:
    struct Segment {
        R2Point a;
        R2Point b;
        R2Rect bound;
    };
    /// Projected onto a face of the cube around the sphere, an angle grows by at most this factor.
    static constexpr double kStretchMax = 4;

    void add(const S2Shape::Edge& edge) {
        for (int face = 0; face < S2CellId::kNumFaces; ++face) {
            R2Point a;
            R2Point b;
            if (S2::ClipToPaddedFace(edge.v0, edge.v1, face, room_on_face_, &a, &b))
                faces_[static_cast<size_t>(face)].push_back({a, b, R2Rect::FromPointPair(a, b)});
        }
    }

    const MutableS2ShapeIndex& edges_;
    const S2ShapeIndexRegion<MutableS2ShapeIndex> shape_;
    const double room_;
    const double room_on_face_;
    std::array<std::vector<Segment>, S2CellId::kNumFaces> faces_;
};

}  // namespace orrery::index::detail
