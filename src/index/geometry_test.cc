#include "index/geometry.h"
#include "base/rounds_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "index/geometry_test_support.h"
#include "json/parse.h"

namespace orrery::index {
namespace {

using testing::geometry;
using ::testing::HasSubstr;
using testing::line;
using testing::point;
using testing::polygon;

std::string reason_of(std::string_view text) {
    json::Arena arena;
    auto value = json::parse(text, arena);
    CHECK(value.ok());
    std::string reason;
    return Geometry::parse(*value, &reason) ? "" : reason;
}

TEST(Geometry, ReadsTheFourTypes) {
    EXPECT_EQ(geometry(R"({"type":"Point","coordinates":[20,10]})").type(), GeometryType::kPoint);
    EXPECT_EQ(geometry(R"({"type":"Point","coordinates":[20,10,300.5],"crs":1})").type(),
              GeometryType::kPoint);
    EXPECT_EQ(geometry(line({{0, 0}, {1, 1}})).type(), GeometryType::kLineString);
    EXPECT_EQ(geometry(polygon({{0, 0}, {1, 0}, {1, 1}})).type(), GeometryType::kPolygon);
    EXPECT_EQ(geometry(R"({"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],)"
                       R"([[[5,5],[6,5],[6,6],[5,5]]]]})")
                  .type(),
              GeometryType::kMultiPolygon);
}

TEST(Geometry, SaysWhyItIsInvalid) {
    EXPECT_EQ(reason_of(R"({"type":"Point","coordinates":[133.7,-184.4]})"),
              "Latitude values must be between -90 and 90 degrees.");
    EXPECT_EQ(reason_of(R"({"type":"Point","coordinates":[180.5,4]})"),
              "Longitude values must be between -180 and 180 degrees.");
    EXPECT_EQ(
        reason_of(R"({"type":"Polygon","coordinates":)"
                  R"([[[31.8,-5],[31.8,-4.7],[32,-4.7],[32,-5]]]})"),
        "The Polygon input is not valid because the start and end points of the ring number "
        "1 are not the same. Each ring of a polygon must have the same start and end points.");
    const struct {
        const char* text;
        const char* part;
    } kCases[] = {
        {"42", "not a GeoJSON object"},
        {"null", "not a GeoJSON object"},
        {"{}", "'type'"},
        {R"({"type":7,"coordinates":[1,2]})", "'type'"},
        {R"({"type":"point","coordinates":[1,2]})", "GeoJSON type"},
        {R"({"type":"MultiPoint","coordinates":[[1,2]]})", "GeoJSON type"},
        {R"({"type":"Point"})", "'coordinates'"},
        {R"({"type":"Point","coordinates":"1,2"})", "'coordinates'"},
        {R"({"type":"Point","coordinates":[]})", "two numbers"},
        {R"({"type":"Point","coordinates":[1]})", "two numbers"},
        {R"({"type":"Point","coordinates":["1","2"]})", "two numbers"},
        {R"({"type":"Point","coordinates":[1,2,null]})", "two numbers"},
        {R"({"type":"LineString","coordinates":[1,2]})", "two numbers"},
        {R"({"type":"LineString","coordinates":[]})", "two distinct points"},
        {R"({"type":"LineString","coordinates":[[1,2]]})", "two distinct points"},
        {R"({"type":"LineString","coordinates":[[1,2],[1,2]]})", "two distinct points"},
        {R"({"type":"LineString","coordinates":[[0,0],[180,0]]})", "opposite sides"},
        {R"({"type":"Polygon","coordinates":[]})", "at least one ring"},
        {R"({"type":"Polygon","coordinates":[[]]})", "at least four points"},
        {R"({"type":"Polygon","coordinates":[[[0,0],[1,1],[0,0]]]})", "at least four points"},
        {R"({"type":"Polygon","coordinates":[[[0,0],[1,1],[1,1],[0,0]]]})", "three distinct"},
        {R"({"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]})", "intersects"},
        {R"({"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[20,20],[21,20],[21,21],[20,20]]]})",
         "not where it belongs"},
        {R"({"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[5,5],[15,5],[15,6],[5,6],[5,5]]]})",
         "intersects"},
        // The same edge twice: in one ring, in two, backwards.
        {R"({"type":"Polygon","coordinates":[[[0,0],[1,0],[0,1],[0,0],[1,0],[0,1],[0,0]]]})",
         "intersects"},
        {R"({"type":"Polygon","coordinates":[[[0,0],[1,0],[0,1],[0,0]],[[0,0],[1,0],[0,1],[0,0]]]})",
         "intersects"},
        {R"({"type":"Polygon","coordinates":[[[0,0],[1,0],[0,1],[0,0]],[[0,0],[0,1],[1,0],[0,0]]]})",
         "intersects"},
        {R"({"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[1,0],[0,0]]]})", "intersects"},
        {R"({"type":"MultiPolygon","coordinates":[]})", "at least one polygon"},
        {R"({"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,9],[0,0]]],[[[1,1],[2,1],[2,2],[1,1]]]]})",
         "not where it belongs"},
        {R"({"type":"Polygon","coordinates":[[[-180,-90],[180,-90],[180,90],[-180,90],[-180,-90]]]})",
         "opposite sides"},
    };
    for (const auto& c : kCases) EXPECT_THAT(reason_of(c.text), HasSubstr(c.part)) << c.text;
}

TEST(Geometry, TakesAtMost4096Points) {
    for (const int count : {4096, 4097}) {
        std::vector<testing::LngLat> points;
        for (int i = 0; i < count; ++i) points.push_back({i * 0.01, i % 2 == 0 ? 1.0 : 1.001});
        EXPECT_EQ(testing::parsed(line(points)).has_value(), count == 4096) << count;
    }
    std::vector<testing::LngLat> ring;
    for (int i = 0; i < 4095; ++i)  // closed: 4096
        ring.push_back({10 * std::cos(i * 2 * M_PI / 4095), 10 * std::sin(i * 2 * M_PI / 4095)});
    EXPECT_TRUE(testing::parsed(polygon(ring)).has_value());
    ring.insert(ring.begin(), {10, -1e-4});
    EXPECT_FALSE(testing::parsed(polygon(ring)).has_value());
}

TEST(Geometry, DistancesOfPoints) {
    // Published and reference values of WGS-84 geodesics.
    EXPECT_NEAR(point(20, 10).distance(point(22, 11)), 245287.512, 1e-3);
    EXPECT_NEAR(point(0, 0).distance(point(1, 0)), 111319.490793, 1e-5);
    EXPECT_NEAR(point(0, 0).distance(point(0, 1)), 110574.388558, 1e-5);
    EXPECT_NEAR(point(0, 0).distance(point(0, 90)), 10001965.729231, 1e-4);
    EXPECT_NEAR(point(-73.8, 40.6).distance(point(-0.5, 51.6)), 5551759.400, 1e-2);  // JFK, LHR
    EXPECT_EQ(point(180, 5).distance(point(-180, 5)), 0);
    EXPECT_NEAR(point(179.5, 0).distance(point(-179.5, 0)), 111319.490793, 1e-5);
}

/// The least distance to many points of an edge, found by brute force on the same curve.
double brute_force(const Geometry& from, testing::LngLat a, testing::LngLat b) {
    const auto vector = [](testing::LngLat p) {
        const double f = 1 - 1 / 298.257223563;
        const double lat = std::atan(f * std::tan(p.second * M_PI / 180));
        const double lng = p.first * M_PI / 180;
        return std::array<double, 3>{std::cos(lat) * std::cos(lng), std::cos(lat) * std::sin(lng),
                                     std::sin(lat)};
    };
    const auto u = vector(a);
    const auto v = vector(b);
    double low = 0;
    double high = 1;
    double best = INFINITY;
    double at = 0;
    for (int round = 0; round < 12; ++round) {
        constexpr int kParts = 20;
        for (int i = 0; i <= kParts; ++i) {
            const double t = low + (high - low) * i / kParts;
            std::array<double, 3> x{};
            for (size_t k = 0; k < 3; ++k) x[k] = (1 - t) * u[k] + t * v[k];
            const double f = 1 - 1 / 298.257223563;
            const double lat = std::atan2(x[2], f * std::hypot(x[0], x[1])) * 180 / M_PI;
            const double d = from.distance(point(std::atan2(x[1], x[0]) * 180 / M_PI, lat));
            if (d < best) {
                best = d;
                at = t;
            }
        }
        const double width = (high - low) / kParts;
        low = std::max(0.0, at - width);
        high = std::min(1.0, at + width);
    }
    return best;
}

TEST(Geometry, DistancesToEdges) {
    // A meridian and the equator are geodesics: the foot is known.
    EXPECT_NEAR(point(5, 1).distance(geometry(line({{0, 0}, {10, 0}}))), 110574.388558, 1e-5);
    EXPECT_NEAR(point(1, 0).distance(geometry(line({{0, -5}, {0, 5}}))), 111319.490793, 1e-5);
    // Beyond the end.
    EXPECT_NEAR(point(11, 0).distance(geometry(line({{0, 0}, {10, 0}}))), 111319.490793, 1e-5);
    std::mt19937 random(11);
    std::uniform_real_distribution<double> lng(-180, 180);
    std::uniform_real_distribution<double> lat(-89, 89);
    std::uniform_real_distribution<double> near(-20, 20);
    for (int i = 0; i < rounds(300); ++i) {
        const testing::LngLat a{lng(random) * 0.8, lat(random) * 0.7};
        const testing::LngLat b{a.first + near(random), a.second + near(random)};
        const bool local = i % 3 != 0;
        const testing::LngLat p =
            local ? testing::LngLat{a.first + near(random) / 9, a.second + near(random) / 9}
                  : testing::LngLat{lng(random), lat(random)};
        const Geometry from = point(p.first, p.second);
        const double found = from.distance(geometry(line({a, b})));
        const double wanted = brute_force(from, a, b);
        EXPECT_NEAR(found, wanted, 1e-4 + wanted * 1e-9)
            << a.first << ' ' << a.second << ", " << b.first << ' ' << b.second << " from "
            << p.first << ' ' << p.second;
        EXPECT_EQ(found, geometry(line({a, b})).distance(from));
    }
}

TEST(Geometry, DistancesOfPolygons) {
    const Geometry box = geometry(polygon({{0, 0}, {10, 0}, {10, 10}, {0, 10}}));
    EXPECT_EQ(point(5, 5).distance(box), 0);
    EXPECT_EQ(point(0, 0).distance(box), 0);
    EXPECT_NEAR(point(5, -1).distance(box), 110574.388558, 1e-5);
    EXPECT_NEAR(geometry(polygon({{11, 0}, {12, 0}, {12, 1}, {11, 1}})).distance(box),
                point(11, 1).distance(geometry(line({{10, 0}, {10, 10}}))), 1e-4);
    EXPECT_EQ(geometry(line({{-5, 5}, {15, 5}})).distance(box), 0);
    // In a hole one is outside.
    const Geometry ring =
        geometry(R"({"type":"Polygon","coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]],)"
                 R"([[2,2],[2,8],[8,8],[8,2],[2,2]]]})");
    EXPECT_NEAR(point(5, 5).distance(ring), point(5, 5).distance(geometry(line({{2, 2}, {2, 8}}))),
                5000);
    EXPECT_GT(point(5, 5).distance(ring), 300000);
}

TEST(Geometry, Areas) {
    EXPECT_NEAR(geometry(polygon({{20, 10}, {20.5, 10}, {20.5, 10.5}, {20, 10.5}})).area(),
                3.0294493e9, 3e2);
    EXPECT_NEAR(geometry(polygon({{31.8, -5}, {32, -5}, {32, -4.7}, {31.8, -4.7}})).area(),
                735970283.0522614, 735970283.0 * 1e-7);
    EXPECT_EQ(point(1, 2).area(), 0);
    EXPECT_EQ(geometry(line({{0, 0}, {1, 1}})).area(), 0);
    const double whole = geometry(polygon({{0, 0}, {10, 0}, {10, 10}, {0, 10}})).area();
    const double hole = geometry(polygon({{2, 2}, {8, 2}, {8, 8}, {2, 8}})).area();
    for (const char* inner : {"[2,2],[2,8],[8,8],[8,2],[2,2]", "[2,2],[8,2],[8,8],[2,8],[2,2]"}) {
        const Geometry ring =
            geometry(R"({"type":"Polygon","coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]],[)" +
                     std::string(inner) + "]]}");
        EXPECT_NEAR(ring.area(), whole - hole, 1);
    }
    // Clockwise: the rest of the Earth.
    EXPECT_NEAR(geometry(polygon({{0, 0}, {0, 10}, {10, 10}, {10, 0}})).area(),
                510065621724088.0 - whole, 1e6);
}

TEST(Geometry, Within) {
    const Geometry box = geometry(polygon({{0, 0}, {10, 0}, {10, 10}, {0, 10}}));
    EXPECT_TRUE(point(5, 5).within(box));
    EXPECT_FALSE(point(11, 5).within(box));
    EXPECT_FALSE(point(0, 0).within(box));  // on the border
    EXPECT_TRUE(geometry(line({{1, 1}, {9, 9}})).within(box));
    EXPECT_TRUE(geometry(line({{0, 0}, {9, 9}})).within(box));
    EXPECT_FALSE(geometry(line({{0, 0}, {10, 0}})).within(box));  // on the border
    EXPECT_FALSE(geometry(line({{1, 1}, {19, 9}})).within(box));
    EXPECT_TRUE(box.within(box));
    EXPECT_TRUE(geometry(polygon({{1, 1}, {2, 1}, {2, 2}})).within(box));
    EXPECT_FALSE(box.within(geometry(polygon({{1, 1}, {2, 1}, {2, 2}}))));
    EXPECT_TRUE(point(3, 4).within(point(3, 4)));
    EXPECT_FALSE(point(3, 4).within(point(3, 4.0001)));
    EXPECT_TRUE(point(3, 4).within(geometry(line({{1, 1}, {3, 4}, {5, 5}}))));
    EXPECT_FALSE(box.within(geometry(line({{1, 1}, {3, 4}}))));
    EXPECT_FALSE(box.within(point(5, 5)));
    const Geometry outside = geometry(polygon({{0, 0}, {0, 10}, {10, 10}, {10, 0}}));
    EXPECT_FALSE(point(5, 5).within(outside));
    EXPECT_TRUE(point(15, 5).within(outside));
    EXPECT_TRUE(point(-170, -80).within(outside));
    EXPECT_TRUE(geometry(polygon({{20, 20}, {30, 20}, {30, 30}})).within(outside));
    // Edges bulge towards the pole; recorded behaviour of the service.
    const Geometry degree = geometry(polygon({{19, 49}, {19, 48}, {20, 48}, {20, 49}}));
    EXPECT_FALSE(point(19.59907, 48.00011).within(degree));
    EXPECT_TRUE(point(19.59907, 48.00105).within(degree));
    // Across the antimeridian.
    const Geometry pacific = geometry(polygon({{170, -10}, {-170, -10}, {-170, 10}, {170, 10}}));
    EXPECT_TRUE(point(180, 0).within(pacific));
    EXPECT_TRUE(point(-180, 0).within(pacific));
    EXPECT_FALSE(point(0, 0).within(pacific));
}

TEST(Geometry, Intersects) {
    const Geometry box = geometry(polygon({{0, 0}, {1, 0}, {1, 1}, {0, 1}}));
    EXPECT_TRUE(
        box.intersects(geometry(polygon({{0.5, -0.5}, {1.5, -0.5}, {1.5, 0.5}, {0.5, 0.5}}))));
    EXPECT_TRUE(box.intersects(geometry(polygon({{1, -1}, {2, -1}, {2, 0}, {1, 0}}))));  // a corner
    EXPECT_FALSE(
        box.intersects(geometry(polygon({{1.5, -1.5}, {2.5, -1.5}, {2.5, -0.5}, {1.5, -0.5}}))));
    EXPECT_TRUE(box.intersects(point(1, 1)));
    EXPECT_TRUE(point(0.5, 0.5).intersects(box));
    EXPECT_FALSE(point(1.5, 0.5).intersects(box));
    EXPECT_TRUE(geometry(line({{-1, 0.5}, {2, 0.5}})).intersects(box));
    EXPECT_TRUE(geometry(line({{-1, -1}, {1, 1}})).intersects(geometry(line({{-1, 1}, {1, -1}}))));
    EXPECT_FALSE(geometry(line({{-1, -1}, {1, 1}})).intersects(geometry(line({{5, 1}, {6, -1}}))));
    EXPECT_TRUE(point(3, 4).intersects(point(3, 4)));
    EXPECT_TRUE(geometry(polygon({{-5, -5}, {5, -5}, {5, 5}, {-5, 5}})).intersects(box));
    const Geometry hole =
        geometry(R"({"type":"Polygon","coordinates":[[[-9,-9],[9,-9],[9,9],[-9,9],[-9,-9]],)"
                 R"([[-5,-5],[-5,5],[5,5],[5,-5],[-5,-5]]]})");
    EXPECT_FALSE(hole.intersects(box));
    EXPECT_TRUE(hole.intersects(point(7, 7)));
}

}  // namespace
}  // namespace orrery::index
