#pragma once

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
