#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "index/geometry.h"
#include "index/geometry_test_support.h"
#include "json/parse.h"

namespace orrery::index {
namespace {

class PlaneTest : public ::testing::Test {
protected:
    std::optional<Geometry> parse(const std::string& text, std::string* reason = nullptr) {
        texts_.push_back(std::make_unique<std::string>(text));
        const auto value = json::parse(*texts_.back(), arena_);
        EXPECT_TRUE(value.ok()) << text;
        return Geometry::parse(*value, reason, GeometrySpace::kPlane);
    }
    Geometry shape(const std::string& type, const std::string& coordinates) {
        std::string reason;
        auto out =
            parse(R"({"type":")" + type + R"(","coordinates":)" + coordinates + "}", &reason);
        EXPECT_TRUE(out.has_value()) << coordinates << ": " << reason;
        return std::move(*out);
    }
    Geometry point(const std::string& xy) { return shape("Point", xy); }
    Geometry line(const std::string& list) { return shape("LineString", list); }
    Geometry polygon(const std::string& rings) { return shape("Polygon", rings); }
    std::string why(const std::string& type, const std::string& coordinates) {
        std::string reason;
        const auto out =
            parse(R"({"type":")" + type + R"(","coordinates":)" + coordinates + "}", &reason);
        EXPECT_FALSE(out.has_value()) << coordinates;
        return reason;
    }
    json::Arena arena_;
    std::vector<std::unique_ptr<std::string>> texts_;
};

constexpr auto kSquare = "[[[0,0],[10,0],[10,10],[0,10],[0,0]]]";
constexpr auto kFrame = "[[[0,0],[10,0],[10,10],[0,10],[0,0]],[[2,2],[8,2],[8,8],[2,8],[2,2]]]";

TEST_F(PlaneTest, CoordinatesHaveNoLimits) {
    EXPECT_EQ(point("[1000,4000]").distance(point("[1003,3996]")), 5);
    EXPECT_EQ(point("[1e200,0]").distance(point("[1e200,0]")), 0);
    EXPECT_EQ(polygon("[[[-1000,1000],[1000,1000],[1000,4000],[-1000,4000],[-1000,1000]]]").area(),
              6e6);
}

TEST_F(PlaneTest, Areas) {
    EXPECT_EQ(polygon(kSquare).area(), 100);
    EXPECT_EQ(polygon("[[[0,0],[0,10],[10,10],[10,0],[0,0]]]").area(), 100) << "clockwise";
    EXPECT_EQ(polygon(kFrame).area(), 64);
    EXPECT_EQ(line("[[0,0],[1,1]]").area(), 0);
    EXPECT_EQ(
        shape("MultiPolygon", "[[[[0,0],[1,0],[1,1],[0,1],[0,0]]],[[[5,5],[7,5],[7,7],[5,5]]]]")
            .area(),
        3);
}

TEST_F(PlaneTest, Distances) {
    EXPECT_EQ(point("[5,5]").distance(polygon(kSquare)), 0);
    EXPECT_EQ(point("[5,5]").distance(polygon(kFrame)), 3) << "from the middle of the hole";
    EXPECT_EQ(point("[13,14]").distance(polygon(kSquare)), 5);
    EXPECT_EQ(polygon(kSquare).distance(point("[13,14]")), 5);
    EXPECT_EQ(line("[[0,12],[10,12]]").distance(polygon(kSquare)), 2);
    EXPECT_EQ(line("[[-5,5],[15,5]]").distance(polygon(kSquare)), 0);
    EXPECT_EQ(line("[[0,0],[1,0]]").distance(line("[[3,-1],[3,1]]")), 2);
    EXPECT_EQ(polygon(kSquare).distance(polygon("[[[20,0],[30,0],[30,10],[20,0]]]")), 10);
}

TEST_F(PlaneTest, Within) {
    EXPECT_TRUE(point("[5,5]").within(polygon(kSquare)));
    EXPECT_FALSE(point("[0,5]").within(polygon(kSquare))) << "on the border";
    EXPECT_FALSE(point("[5,5]").within(polygon(kFrame)));
    EXPECT_TRUE(point("[1,5]").within(polygon(kFrame)));
    EXPECT_TRUE(point("[1,1]").within(line("[[0,0],[3,3]]")));
    EXPECT_FALSE(point("[1,1.5]").within(line("[[0,0],[3,3]]")));
    EXPECT_TRUE(line("[[1,1],[9,1]]").within(polygon(kFrame)));
    EXPECT_FALSE(line("[[1,5],[9,5]]").within(polygon(kFrame))) << "through the hole";
    EXPECT_FALSE(line("[[0,0],[10,0]]").within(polygon(kSquare))) << "all on the border";
    EXPECT_TRUE(line("[[0,0],[10,10]]").within(polygon(kSquare)));
    EXPECT_TRUE(line("[[1,1],[2,2]]").within(line("[[0,0],[1.5,1.5],[3,3]]")));
    EXPECT_FALSE(line("[[1,1],[4,4]]").within(line("[[0,0],[3,3]]")));
    EXPECT_TRUE(polygon(kSquare).within(polygon(kSquare)));
    EXPECT_TRUE(polygon(kFrame).within(polygon(kSquare)));
    EXPECT_FALSE(polygon(kSquare).within(polygon(kFrame)));
    EXPECT_FALSE(polygon("[[[2,2],[8,2],[8,8],[2,8],[2,2]]]").within(polygon(kFrame)))
        << "the hole itself";
    EXPECT_TRUE(polygon("[[[0,0],[2,0],[2,2],[0,2],[0,0]]]").within(polygon(kFrame)));
    EXPECT_FALSE(polygon("[[[5,5],[15,5],[15,6],[5,5]]]").within(polygon(kSquare)));
    EXPECT_FALSE(polygon(kSquare).within(line("[[0,0],[1,1]]")));
}

TEST_F(PlaneTest, Intersects) {
    EXPECT_TRUE(point("[0,5]").intersects(polygon(kSquare)));
    EXPECT_FALSE(point("[5,5]").intersects(polygon(kFrame)));
    EXPECT_TRUE(polygon(kSquare).intersects(polygon("[[[10,10],[20,10],[20,20],[10,10]]]")))
        << "a corner";
    EXPECT_FALSE(polygon("[[[3,3],[7,3],[7,7],[3,3]]]").intersects(polygon(kFrame)))
        << "in the hole";
    EXPECT_TRUE(
        polygon("[[[-5,-5],[20,-5],[20,20],[-5,20],[-5,-5]]]").intersects(polygon(kSquare)));
    EXPECT_TRUE(line("[[0,0],[2,2]]").intersects(line("[[0,2],[2,0]]")));
    EXPECT_TRUE(line("[[0,0],[2,0]]").intersects(line("[[1,0],[5,0]]"))) << "a shared stretch";
    EXPECT_FALSE(line("[[0,0],[2,0]]").intersects(line("[[0,1],[2,1]]")));
}

TEST_F(PlaneTest, WhatIsOnASlantingEdge) {
    // None of these decimals is exact.
    const Geometry way = line("[[0,0],[1,3]]");
    EXPECT_TRUE(point("[0.1,0.3]").intersects(way));
    EXPECT_TRUE(point("[0.1,0.3]").within(way));
    EXPECT_EQ(point("[0.1,0.3]").distance(way), 0);
    EXPECT_FALSE(point("[0.1,0.30000000001]").intersects(way));
    EXPECT_GT(point("[0.1,0.30000000001]").distance(way), 0);
    EXPECT_FALSE(point("[1.1,3.3]").intersects(way));
    EXPECT_TRUE(line("[[0.1,0.3],[5,0]]").intersects(way));
    EXPECT_TRUE(line("[[0.7,2.1],[0.1,0.3]]").within(way));
    EXPECT_TRUE(line("[[0.1,0.3],[0.7,2.1]]").within(line("[[0,0],[0.3,0.9],[1,3]]")));
    EXPECT_FALSE(line("[[0.1,0.3],[1.1,3.3]]").within(way));
    const Geometry area = polygon("[[[0,0],[0.1,0.3],[0.3,0],[0,0]]]");
    EXPECT_FALSE(line("[[0,0],[0.2,0.6]]").within(area)) << "half on its side, half beyond";
    EXPECT_FALSE(line("[[0.01,0.03],[0.07,0.21]]").within(area)) << "on its side";
    EXPECT_TRUE(line("[[0.01,0.03],[0.07,0.21],[0.1,0.1]]").within(area));
    EXPECT_TRUE(polygon("[[[0.01,0.03],[0.07,0.21],[0.1,0.1],[0.01,0.03]]]").within(area));
    const Geometry beside = polygon("[[[0.01,0.03],[0.07,0.21],[0,0.3],[0.01,0.03]]]");
    EXPECT_TRUE(beside.intersects(area));
    EXPECT_FALSE(beside.within(area));
    EXPECT_EQ(beside.distance(area), 0);
}

TEST_F(PlaneTest, WhatIsOnEdgesOfAllSizes) {
    std::mt19937_64 random(5);
    const auto real = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    const auto of = [&](const std::string& text) { return std::move(*parse(text)); };
    using testing::LngLat;
    for (int i = 0; i < 500; ++i) {
        const double size = std::pow(10, real(-6, 6));
        const LngLat a{real(-size, size), real(-size, size)};
        const LngLat b{real(-size, size), real(-size, size)};
        const auto along = [&](double share) {
            return LngLat{a.first + share * (b.first - a.first),
                          a.second + share * (b.second - a.second)};
        };
        const LngLat p = along(real(0.1, 0.5));
        const LngLat q = along(real(0.6, 0.9));
        const LngLat left{p.first - (b.second - a.second), p.second + (b.first - a.first)};
        const LngLat right{p.first + (b.second - a.second), p.second - (b.first - a.first)};
        const Geometry way = of(testing::line({a, b}));
        const Geometry area = of(testing::polygon({a, b, left}));
        for (const Geometry* other : {&way, &area}) {
            EXPECT_TRUE(of(testing::point_text(p)).intersects(*other));
            EXPECT_EQ(other->distance(of(testing::point_text(p))), 0);
            EXPECT_TRUE(of(testing::line({p, right})).intersects(*other));
            EXPECT_TRUE(other->intersects(of(testing::polygon({p, right, q}))));
        }
        EXPECT_TRUE(of(testing::point_text(p)).within(way));
        EXPECT_TRUE(of(testing::line({q, p})).within(way));
        EXPECT_FALSE(of(testing::point_text(p)).within(area));
        EXPECT_FALSE(of(testing::line({q, p})).within(area));
        EXPECT_FALSE(of(testing::line({p, q, right})).within(area));
        const LngLat inner{(a.first + b.first + left.first) / 3,
                           (a.second + b.second + left.second) / 3};
        EXPECT_TRUE(of(testing::line({p, q, inner})).within(area));
        EXPECT_TRUE(of(testing::polygon({p, q, inner})).within(area));
        EXPECT_FALSE(of(testing::polygon({p, q, right})).within(area));
        EXPECT_TRUE(of(testing::polygon({a, p, q, b, left})).within(area));
        EXPECT_TRUE(area.within(of(testing::polygon({a, p, q, b, left}))));
        if (HasFailure()) {
            ADD_FAILURE() << testing::line({a, b}) << testing::line({p, q});
            break;
        }
    }
}

/// Against a grid of points: what relations say of polygons follows from their points.
TEST_F(PlaneTest, PolygonsAgreeWithTheirPoints) {
    const std::vector<std::string> shapes = {kSquare,
                                             kFrame,
                                             "[[[1,1],[9,1],[5,9],[1,1]]]",
                                             "[[[3,3],[7,3],[7,7],[3,7],[3,3]]]",
                                             "[[[-2,4],[12,4],[12,6],[-2,6],[-2,4]]]",
                                             "[[[0,0],[5,5],[0,10],[0,0]]]"};
    for (const auto& a : shapes)
        for (const auto& b : shapes) {
            const Geometry left = polygon(a);
            const Geometry right = polygon(b);
            bool common = false;
            bool all = true;
            for (double x = -2.95; x < 13; x += 0.3)
                for (double y = -2.85; y < 13; y += 0.3) {
                    const Geometry p =
                        point("[" + std::to_string(x) + "," + std::to_string(y) + "]");
                    if (!p.within(left)) continue;
                    common = common || p.within(right);
                    all = all && p.within(right);
                }
            if (common) {
                EXPECT_TRUE(left.intersects(right)) << a << b;
                EXPECT_EQ(left.distance(right), 0) << a << b;
            }
            EXPECT_EQ(left.within(right), all) << a << b;
        }
}

TEST_F(PlaneTest, WhatIsNotValid) {
    EXPECT_NE(why("Polygon", "[[[0,0],[2,2],[2,0],[0,2],[0,0]]]").find("intersects"),
              std::string::npos);
    EXPECT_NE(why("Polygon", "[[[0,0],[1,0],[1,1],[0,1]]]").find("start and end"),
              std::string::npos);
    EXPECT_NE(why("Polygon", "[[[0,0],[1,0],[0,0]]]").find("enough points"), std::string::npos);
    EXPECT_NE(why("Polygon", "[[[0,0],[1,0],[1,0],[0,0]]]").find("distinct"), std::string::npos);
    EXPECT_NE(why("Polygon", "[[[0,0],[9,0],[9,9],[0,0]],[[20,20],[21,20],[21,21],[20,20]]]")
                  .find("belongs"),
              std::string::npos);
    EXPECT_NE(why("MultiPolygon", "[[[[0,0],[9,0],[9,9],[0,0]]],[[[2,1],[3,1],[3,2],[2,1]]]]")
                  .find("overlap"),
              std::string::npos);
    EXPECT_NE(why("LineString", "[[1,1],[1,1]]").find("distinct"), std::string::npos);
    EXPECT_NE(why("Point", "[1]").find("two numbers"), std::string::npos);
    EXPECT_NE(why("Point", "[\"a\",1]").find("two numbers"), std::string::npos);
    EXPECT_NE(why("Circle", "[1,2]").find("type"), std::string::npos);
    // A hole may touch its ring in a point.
    polygon("[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[0,0],[3,1],[1,3],[0,0]]]");
    // Forth and back on one line encloses nothing.
    why("Polygon", "[[[0,0],[5,0],[3,0],[0,0]]]");
}

}  // namespace
}  // namespace orrery::index
