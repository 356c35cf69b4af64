#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "index/geometry.h"
#include "json/parse.h"

/// GeoJSON texts and geometries for tests.
namespace orrery::index::testing {

using LngLat = std::pair<double, double>;

inline std::string coordinates(const std::vector<LngLat>& points) {
    std::string out = "[";
    char text[64];
    for (const LngLat& p : points) {
        std::snprintf(text, sizeof(text), "%s[%.17g,%.17g]", out.size() > 1 ? "," : "", p.first,
                      p.second);
        out += text;
    }
    return out + "]";
}
inline std::string point_text(LngLat p) {
    const std::string list = coordinates({p});
    return R"({"type":"Point","coordinates":)" + list.substr(1, list.size() - 2) + "}";
}
inline std::string line(const std::vector<LngLat>& points) {
    return R"({"type":"LineString","coordinates":)" + coordinates(points) + "}";
}
/// Of one ring, which is closed here.
inline std::string polygon(std::vector<LngLat> ring) {
    ring.push_back(ring.front());
    return R"({"type":"Polygon","coordinates":[)" + coordinates(ring) + "]}";
}

/// The point at a share of the way along an edge on the Earth (0 to 1), rounded to doubles.
inline LngLat on_edge(LngLat a, LngLat b, double share) {
    constexpr double kFlat = 1 - 1 / 298.257223563;
    constexpr double kDegree = M_PI / 180;
    const auto vector = [&](LngLat p) {
        const double latitude = std::atan(kFlat * std::tan(p.second * kDegree));
        return std::array<double, 3>{std::cos(latitude) * std::cos(p.first * kDegree),
                                     std::cos(latitude) * std::sin(p.first * kDegree),
                                     std::sin(latitude)};
    };
    const auto u = vector(a);
    const auto v = vector(b);
    std::array<double, 3> x{};
    for (size_t i = 0; i < 3; ++i) x[i] = (1 - share) * u[i] + share * v[i];
    return {std::atan2(x[1], x[0]) / kDegree,
            std::atan2(x[2], kFlat * std::hypot(x[0], x[1])) / kDegree};
}

inline std::optional<Geometry> parsed(std::string_view text) {
    json::Arena arena;
    auto value = json::parse(text, arena);
    CHECK(value.ok());
    return Geometry::parse(*value);
}
inline Geometry geometry(std::string_view text) {
    auto out = parsed(text);
    CHECK(out.has_value());
    return std::move(*out);
}
inline Geometry point(double longitude, double latitude) {
    return geometry(point_text({longitude, latitude}));
}

}  // namespace orrery::index::testing
