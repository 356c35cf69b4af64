#include <s2/s2lax_polygon_shape.h>
#include <s2/s2lax_polyline_shape.h>
#include <s2/s2loop.h>
#include <s2/s2polygon.h>
#include <s2/s2shapeutil_visit_crossing_edge_pairs.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "index/detail/shape.h"

namespace orrery::index::detail {
namespace {

using json::Value;

/// Reads one geometry front to back; the first mistake ends it.
class Reader {
public:
    explicit Reader(std::string& reason) : reason_(reason) {}

    std::unique_ptr<const Shape> read(const Value& geojson) {
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
        shape_ = std::make_unique<Shape>();
        shape_->type = *known;
        if (!read_coordinates(coordinates)) return nullptr;
        shape_->edges.ForceBuild();
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
                if (!read_position(coordinates, shape_->position)) return false;
                shape_->point = to_sphere(shape_->position);
                return true;
            case GeometryType::kLineString:
                return read_line(coordinates);
            case GeometryType::kPolygon:
                return read_polygon(coordinates) && finish_polygons();
            case GeometryType::kMultiPolygon:
                if (coordinates.elements().empty())
                    return refuse("A MultiPolygon must have at least one polygon.");
                for (const Value& polygon : coordinates.elements())
                    if (!read_polygon(polygon)) return false;
                return finish_polygons();
        }
        return false;
    }

    /// Longitude and latitude; further numbers (a height) have no meaning here.
    bool read_position(const Value& value, Position& out) {
        const bool plausible = value.is_array() && value.elements().size() >= 2 &&
                               std::all_of(value.elements().begin(), value.elements().end(),
                                           [](const Value& number) { return number.is_number(); });
        if (!plausible)
            return refuse(
                "Every position must be an array of at least two numbers: longitude and "
                "latitude.");
        if (++positions_ > limits::kGeometryPointsMax)
            return refuse("A geometry can have at most " +
                          std::to_string(limits::kGeometryPointsMax) + " points.");
        out = {value.elements()[0].as_double(), value.elements()[1].as_double()};
        // NaN is between nothing.
        if (!(out.longitude >= -180 && out.longitude <= 180))
            return refuse("Longitude values must be between -180 and 180 degrees.");
        if (!(out.latitude >= -90 && out.latitude <= 90))
            return refuse("Latitude values must be between -90 and 90 degrees.");
        return true;
    }

    bool read_positions(const Value& list, std::vector<Position>& out) {
        if (!list.is_array())
            return refuse("The coordinates of a line or ring must be an array of positions.");
        for (const Value& position : list.elements())
            if (!read_position(position, out.emplace_back())) return false;
        return true;
    }

    /// On the sphere; a position that repeats the one before it adds nothing.
    bool to_vertices(const std::vector<Position>& positions, std::vector<S2Point>& out) {
        for (const Position& position : positions) {
            const S2Point point = to_sphere(position);
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

    bool read_line(const Value& coordinates) {
        std::vector<Position> positions;
        if (!read_positions(coordinates, positions)) return false;
        std::vector<S2Point> vertices;
        if (!to_vertices(positions, vertices)) return false;
        if (vertices.size() < 2)
            return refuse(
                "The LineString input is not valid because it does not have enough distinct "
                "points. A LineString must have at least two distinct points.");
        shape_->edges.Add(std::make_unique<S2LaxPolylineShape>(vertices));
        return true;
    }

    bool read_polygon(const Value& rings) {
        if (!rings.is_array() || rings.elements().empty())
            return refuse("A polygon must have at least one ring.");
        std::vector<Ring>& out = shape_->polygons.emplace_back();
        for (size_t i = 0; i < rings.elements().size(); ++i)
            if (!read_ring(rings.elements()[i], i, out.emplace_back())) return false;
        return true;
    }

    bool read_ring(const Value& list, size_t index, Ring& out) {
        if (!read_positions(list, out)) return false;
        const std::string number = std::to_string(index + 1);
        if (out.size() < 4)
            return refuse(
                "The Polygon input is not valid because the ring number " + number +
                " does not have enough points. Each ring of a polygon must contain at least "
                "four points.");
        if (out.front().longitude != out.back().longitude ||
            out.front().latitude != out.back().latitude)
            return refuse(
                "The Polygon input is not valid because the start and end points of the ring "
                "number " +
                number +
                " are not the same. Each ring of a polygon must have the same start and end "
                "points.");
        out.pop_back();
        std::vector<S2Point> vertices;
        if (!to_vertices(out, vertices)) return false;
        while (vertices.size() > 1 && is_same(vertices.front(), vertices.back()))
            vertices.pop_back();
        if (vertices.size() < 3)
            return refuse(
                "The Polygon input is not valid because the ring number " + number +
                " does not have enough distinct points. Each ring of a polygon must have at "
                "least three distinct points.");
        if (is_antipodal(vertices.front(), vertices.back())) return refuse(kAntipodal);
        is_hole_.push_back(index > 0);
        rings_.push_back(std::move(vertices));
        return true;
    }

    /// Rings may touch in points but not cross, and every hole is inside its polygon.
    bool finish_polygons() {
        MutableS2ShapeIndex rings;
        rings.Add(std::make_unique<S2LaxPolygonShape>(rings_));
        S2Error error;
        if (s2shapeutil::FindSelfIntersection(rings, &error))
            return refuse(
                "The Polygon input is not valid because a ring intersects itself or "
                "another ring.");
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
                return refuse(
                    "The Polygon input is not valid because a ring is not where it "
                    "belongs: holes lie inside their outer ring, and the polygons of a "
                    "MultiPolygon do not overlap.");
        }
        if (polygon->FindValidationError(&error))
            return refuse(
                "The Polygon input is not valid because its rings do not enclose an "
                "area.");
        shape_->edges.Add(std::make_unique<S2Polygon::OwningShape>(std::move(polygon)));
        return true;
    }

    std::string& reason_;
    std::unique_ptr<Shape> shape_;
    size_t positions_ = 0;
    std::vector<std::vector<S2Point>> rings_;
    std::vector<bool> is_hole_;  ///< as `rings_`
};

}  // namespace

std::unique_ptr<const Shape> read_shape(const Value& geojson, std::string& reason) {
    return Reader(reason).read(geojson);
}

}  // namespace orrery::index::detail
