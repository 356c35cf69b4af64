#include "index/detail/coordinates.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace orrery::index::detail {
namespace {

using json::Value;

/// Reads one geometry front to back; the first mistake ends it.
class Reader {
public:
    Reader(PairCheck check, std::string& reason) : check_(check), reason_(reason) {}

    bool read(const Value& geojson) {
        if (!geojson.is_object()) return refuse("The input is not a GeoJSON object.");
        const Value type = geojson.member("type");
        if (!type.is_string()) return refuse("The GeoJSON input has no string member 'type'.");
        const auto known = geometry_type(type.as_string());
        if (!known)
            return refuse("The GeoJSON type must be Point, LineString, Polygon or MultiPolygon.");
        const Value coordinates = geojson.member("coordinates");
        if (!coordinates.is_array())
            return refuse("The " + std::string(type.as_string()) +
                          " input has no array member 'coordinates'.");
        out_.type = *known;
        switch (out_.type) {
            case GeometryType::kPoint:
                return read_pair(coordinates, out_.point);
            case GeometryType::kLineString:
                return read_pairs(coordinates, out_.line);
            case GeometryType::kPolygon:
                return read_polygon(coordinates);
            case GeometryType::kMultiPolygon:
                if (coordinates.elements().empty())
                    return refuse("A MultiPolygon must have at least one polygon.");
                return std::all_of(coordinates.elements().begin(), coordinates.elements().end(),
                                   [&](const Value& polygon) { return read_polygon(polygon); });
        }
        return false;
    }
    Coordinates take() { return std::move(out_); }

private:
    bool refuse(std::string why) {
        reason_ = std::move(why);
        return false;
    }

    /// Numbers beyond the second (a height) have no meaning here.
    bool read_pair(const Value& value, Pair& out) {
        const bool plausible = value.is_array() && value.elements().size() >= 2 &&
                               std::all_of(value.elements().begin(), value.elements().end(),
                                           [](const Value& number) { return number.is_number(); });
        if (!plausible)
            return refuse(
                "Every position must be an array of at least two numbers: longitude and latitude, "
                "or x and y.");
        if (++pairs_ > limits::kGeometryPointsMax)
            return refuse("A geometry can have at most " +
                          std::to_string(limits::kGeometryPointsMax) + " points.");
        out = {value.elements()[0].as_double(), value.elements()[1].as_double()};
        const char* wrong = check_(out);
        return wrong == nullptr || refuse(wrong);
    }

    bool read_pairs(const Value& list, std::vector<Pair>& out) {
        if (!list.is_array())
            return refuse("The coordinates of a line or ring must be an array of positions.");
        return std::all_of(list.elements().begin(), list.elements().end(),
                           [&](const Value& pair) { return read_pair(pair, out.emplace_back()); });
    }

    bool read_polygon(const Value& rings) {
        if (!rings.is_array() || rings.elements().empty())
            return refuse("A polygon must have at least one ring.");
        auto& out = out_.polygons.emplace_back();
        for (size_t i = 0; i < rings.elements().size(); ++i)
            if (!read_ring(rings.elements()[i], i + 1, out.emplace_back())) return false;
        return true;
    }

    bool read_ring(const Value& list, size_t number, PairRing& out) {
        if (!read_pairs(list, out)) return false;
        if (out.size() < 4)
            return refuse("The Polygon input is not valid because the ring number " +
                          std::to_string(number) +
                          " does not have enough points. Each ring of a polygon must contain at "
                          "least four points.");
        if (out.front() != out.back())
            return refuse(
                "The Polygon input is not valid because the start and end points of the "
                "ring number " +
                std::to_string(number) +
                " are not the same. Each ring of a polygon must have the same start and "
                "end points.");
        out.pop_back();
        return true;
    }

    const PairCheck check_;
    std::string& reason_;
    Coordinates out_;
    size_t pairs_ = 0;
};

}  // namespace

std::optional<Coordinates> read_coordinates(const Value& geojson, PairCheck check,
                                            std::string& reason) {
    Reader reader(check, reason);
    if (!reader.read(geojson)) return std::nullopt;
    return reader.take();
}

std::string too_few_line_points() {
    return "The LineString input is not valid because it does not have enough distinct points. A "
           "LineString must have at least two distinct points.";
}

std::string too_few_ring_points(size_t ring) {
    return "The Polygon input is not valid because the ring number " + std::to_string(ring + 1) +
           " does not have enough distinct points. Each ring of a polygon must have at least three "
           "distinct points.";
}

}  // namespace orrery::index::detail
