#include <s2/s2boolean_operation.h>
#include <s2/s2builder.h>
#include <s2/s2builderutil_lax_polygon_layer.h>
#include <s2/s2builderutil_lax_polyline_layer.h>
#include <s2/s2builderutil_snap_functions.h>
#include <s2/s2closest_edge_query.h>
#include <s2/s2contains_point_query.h>
#include <s2/s2shapeutil_count_edges.h>

#include "index/detail/shape.h"

// How shapes on the sphere lie to each other. S2 decides exactly, that is, by the last bit of
// coordinates that were rounded. So whether borders touch is asked of their distance, and where
// they do, the shapes are put on common corners before S2 compares them.
namespace orrery::index::detail {
namespace {

using PolygonModel = S2BooleanOperation::PolygonModel;
using Edges = MutableS2ShapeIndex;

S1ChordAngle touch() {
    return S1ChordAngle(S1Angle::Radians(kTouchAngle));
}
/// Edges that are farther apart than this share no corner once they are put on common ones.
S1ChordAngle apart() {
    return S1ChordAngle(S1Angle::Radians(4 * kTouchAngle));
}

S2BooleanOperation::Options models(PolygonModel polygons) {
    S2BooleanOperation::Options options;
    options.set_polygon_model(polygons);
    options.set_polyline_model(S2BooleanOperation::PolylineModel::CLOSED);
    return options;
}

template <typename Target>
bool is_near(const Edges& edges, Target& target, S1ChordAngle limit) {
    S2ClosestEdgeQuery query(&edges);
    query.mutable_options()->set_include_interiors(false);
    return query.IsDistanceLessOrEqual(&target, limit);
}

bool touches_edge(const S2Point& point, const Edges& edges) {
    S2ClosestEdgeQuery::PointTarget target(point);
    return is_near(edges, target, touch());
}

bool edges_near(const Edges& a, const Edges& b, S1ChordAngle limit) {
    S2ClosestEdgeQuery::ShapeIndexTarget target(&b);
    target.set_include_interiors(false);
    return is_near(a, target, limit);
}

bool has_inside(const Shape& shape, const S2Point& point) {
    return shape.is_polygonal() && MakeS2ContainsPointQuery(&shape.edges).Contains(point);
}

bool point_meets(const S2Point& point, const Shape& shape) {
    return has_inside(shape, point) || touches_edge(point, shape.edges);
}

bool point_within(const S2Point& point, const Shape& shape) {
    return touches_edge(point, shape.edges) ? !shape.is_polygonal() : has_inside(shape, point);
}

/// Every point of a is in b, and of an area not all of them on the border. Exact.
bool is_inside(const Edges& a, const Edges& b, bool area) {
    if (!S2BooleanOperation::Contains(b, a, models(PolygonModel::CLOSED))) return false;
    return !area || S2BooleanOperation::Intersects(b, a, models(PolygonModel::OPEN));
}

void add_to(S2Builder& builder, const Shape& shape, Edges& out) {
    using s2builderutil::IndexedLaxPolygonLayer;
    using s2builderutil::IndexedLaxPolylineLayer;
    if (shape.is_polygonal()) {
        IndexedLaxPolygonLayer::Options options;
        options.set_degenerate_boundaries(
            s2builderutil::LaxPolygonLayer::Options::DegenerateBoundaries::DISCARD);
        builder.StartLayer(std::make_unique<IndexedLaxPolygonLayer>(&out, options));
        builder.AddIsFullPolygonPredicate(S2Builder::IsFullPolygon(false));
    } else {
        builder.StartLayer(std::make_unique<IndexedLaxPolylineLayer>(&out));
    }
    for (const S2Shape* part : shape.edges) builder.AddShape(*part);
}

/// Moves corners and edges by about a micrometre at most, so that corners that touch are one, and
/// edges that touch a corner or cross have a corner there. False: a shape is too small for that.
bool put_together(const Shape& a, const Shape& b, Edges& out_a, Edges& out_b) {
    S2Builder::Options options{s2builderutil::IdentitySnapFunction(S1Angle::Radians(kTouchAngle))};
    options.set_split_crossing_edges(true);
    S2Builder builder(options);
    add_to(builder, a, out_a);
    add_to(builder, b, out_b);
    S2Error error;
    return builder.Build(&error) && s2shapeutil::CountEdges(out_a) > 0 &&
           s2shapeutil::CountEdges(out_b) > 0;
}

}  // namespace

bool shapes_meet(const Shape& a, const Shape& b) {
    if (a.is_point() && b.is_point()) return S1ChordAngle(a.point, b.point) <= touch();
    if (a.is_point()) return point_meets(a.point, b);
    if (b.is_point()) return point_meets(b.point, a);
    return S2BooleanOperation::Intersects(a.edges, b.edges, models(PolygonModel::CLOSED)) ||
           edges_near(a.edges, b.edges, touch());
}

bool shape_within(const Shape& a, const Shape& b) {
    if (b.is_point()) return a.is_point() && shapes_meet(a, b);
    if (a.is_point()) return point_within(a.point, b);
    if (a.is_polygonal() && !b.is_polygonal()) return false;
    if (!shapes_meet(a, b)) return false;
    if (!edges_near(a.edges, b.edges, apart()))
        return is_inside(a.edges, b.edges, b.is_polygonal());
    Edges near_a;
    Edges near_b;
    return put_together(a, b, near_a, near_b) ? is_inside(near_a, near_b, b.is_polygonal())
                                              : is_inside(a.edges, b.edges, b.is_polygonal());
}

}  // namespace orrery::index::detail
