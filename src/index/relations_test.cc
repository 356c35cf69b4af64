#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/rounds_test_support.h"
#include "index/geometry.h"
#include "index/geometry_test_support.h"

// Shapes that touch: what lies on an edge lies on it whatever the last bit of its coordinates says.
namespace orrery::index {
namespace {

using testing::geometry;
using testing::line;
using testing::LngLat;
using testing::on_edge;
using testing::point;
using testing::point_text;
using testing::polygon;

/// All that geometries in this order should answer, and what follows for the other order.
struct Relation {
    bool intersects = false;
    bool within = false;    ///< a in b
    bool contains = false;  ///< b in a
};
constexpr Relation kApart{};
constexpr Relation kTouch{.intersects = true};
constexpr Relation kIn{.intersects = true, .within = true};
constexpr Relation kAround{.intersects = true, .contains = true};
constexpr Relation kEqual{.intersects = true, .within = true, .contains = true};

void expect(const Relation& wanted, const Geometry& a, const Geometry& b, const std::string& what) {
    EXPECT_EQ(a.intersects(b), wanted.intersects) << what;
    EXPECT_EQ(b.intersects(a), wanted.intersects) << what << ", the other way round";
    EXPECT_EQ(a.distance(b) == 0, wanted.intersects) << what << ": " << a.distance(b);
    EXPECT_EQ(b.distance(a) == 0, wanted.intersects) << what << ": " << b.distance(a);
    EXPECT_EQ(a.within(b), wanted.within) << what;
    EXPECT_EQ(b.within(a), wanted.contains) << what << ", the other way round";
}
void expect(const Relation& wanted, const std::string& a, const std::string& b) {
    expect(wanted, geometry(a), geometry(b), a + " and " + b);
}
void at(const Relation& wanted, LngLat p, const std::string& b) {
    expect(wanted, point_text(p), b);
}

std::string with_hole(const std::vector<LngLat>& outer, const std::vector<LngLat>& hole) {
    const std::string a = polygon(outer);
    const std::string b = polygon(hole);
    const std::string coordinates = R"("coordinates":[)";
    const size_t at = b.find(coordinates) + coordinates.size();
    return a.substr(0, a.size() - 2) + "," + b.substr(at, b.size() - at - 2) + "]}";
}
std::string multi(const std::vector<std::vector<LngLat>>& rings) {
    std::string out = R"({"type":"MultiPolygon","coordinates":[)";
    for (std::vector<LngLat> ring : rings) {
        ring.push_back(ring.front());
        if (out.back() == ']') out += ",";
        out += "[" + testing::coordinates(ring) + "]";
    }
    return out + "]}";
}
std::vector<LngLat> box(double west, double south, double east, double north) {
    return {{west, south}, {east, south}, {east, north}, {west, north}};
}

constexpr double kNearby = 1e-10;  // degrees: about a hundredth of a millimetre

TEST(Relations, PointsOnMeridiansAndTheEquator) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> lng(-179, 170);
    std::uniform_real_distribution<double> lat(0.001, 9.999);
    for (int i = 0; i < rounds(200); ++i) {
        const double west = i % 2 == 0 ? std::round(lng(random)) : lng(random);
        const double x = west + lat(random) / 2;
        const double y = i % 3 == 0 ? std::round(lat(random) * 10) / 10 : lat(random);
        const std::string area = polygon(box(west, 0, west + 5, 10));
        for (const LngLat& p :
             {LngLat{west, y}, LngLat{west + 5, y}, LngLat{x, 0}, LngLat{x, -0.0}})
            at(kTouch, p, area);
        at(kApart, {west - kNearby, y}, area);
        at(kIn, {west + kNearby, y}, area);
        at(kApart, {x, -kNearby}, area);
        at(kIn, {x, kNearby}, area);
        at(kIn, {west, y}, line({{west, 0}, {west, 10}}));
        at(kApart, {west + kNearby, y}, line({{west, 0}, {west, 10}}));
        at(kIn, {x, 0}, line({{west, 0}, {west + 5, 0}}));
        at(kApart, {x, kNearby}, line({{west, 0}, {west + 5, 0}}));
        at(kApart, {west, 10 + kNearby}, line({{west, 0}, {west, 10}}));
    }
    at(kIn, {180, 3.3}, line({{-180, -7}, {180, 11}}));
    at(kTouch, {-180, 3.3}, polygon(box(170, 1, 180, 7)));
    at(kIn, {-180, 3.3}, polygon(box(170, 1, -170, 7)));
    at(kIn, {77, 90}, line({{0, 80}, {180, 80}}));  // over the pole
    at(kIn, {180, 85}, line({{0, 80}, {180, 80}}));
}

TEST(Relations, Points) {
    expect(kEqual, point(3, 4), point(3, 4), "one point");
    expect(kEqual, point(3, 4), point(3 + 1e-13, 4), "a hundredth of a micrometre");
    expect(kApart, point(3, 4), point(3 + kNearby, 4), "ten micrometres");
    expect(kEqual, point(180, 4), point(-180, 4), "the antimeridian");
    expect(kEqual, point(0, 90), point(123.4, 90), "a pole");
}

TEST(Relations, ParallelsAreNotEdges) {
    // The edge between two places of one latitude leads past it towards the pole.
    const std::string area = polygon(box(10, 40, 20, 50));
    at(kApart, {15, 40}, area);
    at(kIn, {15, 50}, area);
    at(kTouch, on_edge({10, 40}, {20, 40}, 0.5), area);
    at(kTouch, on_edge({10, 50}, {20, 50}, 0.5), area);
    expect(kApart, polygon(box(12, 30, 18, 40)), area);
    expect(kTouch, polygon({{11, 30}, {20, 40}, {10, 40}}), area);  // the same edge
}

TEST(Relations, Lines) {
    const std::string way = line({{5, -5}, {5, 5}, {9, 5}});
    expect(kTouch, line({{0, 1}, {5, 1}}), way);                               // ends on it
    expect(kTouch, line({{0, 1.1}, {9, 1.1}}), way);                           // crosses it
    expect(kTouch, line({{0, 0}, {5, 5}, {0, 9}}), way);                       // by its corner
    expect(kTouch, line({{5, 5}, {5, 9}}), way);                               // from its corner on
    expect(kTouch, line({{5, 3}, {5, 8}}), way);                               // along it and on
    expect(kIn, line({{5, -1.3}, {5, 2.7}}), way);                             // a stretch
    expect(kIn, line({{5, 2.7}, {5, -1.3}}), way);                             // backwards
    expect(kIn, line({{5, 4.9}, {5, 5}, on_edge({5, 5}, {9, 5}, 0.3)}), way);  // round the corner
    expect(kEqual, line({{9, 5}, {5, 5}, {5, 0.1}, {5, -5}}), way);            // a corner more
    expect(kApart, line({{5 + kNearby, -4}, {5 + kNearby, 4}}), way);
    expect(kTouch, line({{5 - 1e-6, 0}, {5 + 1e-6, 0.5}, {7, 0}}), way);
    at(kIn, {5, 4.99}, way);
    // On the way to and fro, and across itself.
    expect(kEqual, line({{5, -5}, {5, 5}, {9, 5}, {5, 5}, {5, -5}}), way);
    expect(kEqual, line({{0, 0}, {0, 2}, {1, 1}, {-1, 1}}),
           line({{-1, 1}, {1, 1}, {0, 2}, {0, 0}}));
}

TEST(Relations, LinesAndAreas) {
    const std::string area = polygon(box(10, -10, 20, 0));
    expect(kTouch, line({{10, -7.7}, {10, -3.1}}), area);          // on a side
    expect(kTouch, line({{11.3, 0}, {18.7, 0}}), area);            // on the equator
    expect(kTouch, line({{10, -3.1}, {10, 0}, {13.7, 0}}), area);  // round a corner
    expect(kTouch, line({{10, -5}, {10, 5}}), area);               // on and beyond
    expect(kTouch, line({{5, -5}, {10, -5.5}}), area);             // up to a side
    expect(kTouch, line({{5, 5}, {10, 0}, {15, 5}}), area);        // by a corner
    expect(kTouch, line({{5, -5}, {25, -5}}), area);               // across
    expect(kIn, line({{10, -5.5}, {20, -4.4}}), area);             // from side to side
    expect(kIn, line({{10, -5.5}, {10, -4.4}, {12, -3}}), area);
    expect(kIn, line({{10, -5.5}, {12, -3}, {13.3, 0}, {14.4, 0}}), area);
    expect(kIn, line({{10, 0}, {20, -10}}), area);
    expect(kIn, line({{11, -1}, {19, -9}}), area);
    expect(kTouch, line({{10, -5.5}, {9.9, -5}, {10, -4.4}}), area);  // a way round outside
    expect(kApart, line({{10 - kNearby, -7}, {10 - kNearby, -3}}), area);
    expect(kIn, line({{10 + kNearby, -7}, {10 + kNearby, -3}}), area);
    // Outside is where a clockwise ring has its area.
    const std::string rest = polygon({{10, -10}, {10, 0}, {20, 0}, {20, -10}});
    expect(kTouch, line({{10, -7.7}, {10, -3.1}}), rest);
    expect(kTouch, line({{10, -5.5}, {20, -4.4}}), rest);
    expect(kIn, line({{5, -5}, {10, -5.5}}), rest);
    expect(kTouch, area, rest);
}

TEST(Relations, Areas) {
    const std::string area = polygon(box(10, -10, 20, 0));
    expect(kTouch, polygon(box(20, -7.7, 25, -3.3)), area);  // beside a part of a side
    expect(kTouch, polygon(box(12.1, 0, 17.9, 3)), area);
    expect(kTouch, polygon(box(20, 0, 25, 3)), area);                // at a corner
    expect(kTouch, polygon(box(20, -12, 25, 3)), area);              // more than a side
    expect(kTouch, polygon({{20, -5.5}, {25, -9}, {25, 0}}), area);  // with a corner on a side
    expect(kTouch, polygon(box(15, -5, 25, 5)), area);               // in part
    expect(kIn, polygon(box(10, -7.7, 15, -3.3)), area);             // inside, on a side
    expect(kIn, polygon({{10, -7.7}, {20, -6}, {12.3, 0}}), area);   // corners on three sides
    expect(kIn, polygon({{10, -7.7}, {20, -6}, {20, -5}, {12.3, 0}}), area);
    expect(kAround, polygon(box(10, -12, 20, 0)), area);
    expect(kEqual, polygon({{10, -10}, {20, -10}, {20, -1.1}, {20, 0}, {10, 0}, {10, -3.3}}), area);
    expect(kApart, polygon(box(20 + kNearby, -7.7, 25, -3.3)), area);
    expect(kIn, polygon(box(10 + kNearby, -7.7, 15, -3.3)), area);
    expect(kTouch, polygon(box(10 - kNearby, -7.7, 15, -3.3)), area);
}

TEST(Relations, Holes) {
    const std::string ring = with_hole(box(10, -10, 20, 10), box(13, -5, 17, 0));
    at(kTouch, {13, -2.2}, ring);
    at(kTouch, {15.1, 0}, ring);
    at(kTouch, {17, -5}, ring);
    at(kApart, {13 + kNearby, -2.2}, ring);
    at(kIn, {13 - kNearby, -2.2}, ring);
    expect(kTouch, line({{13, -2.2}, {13, -1.1}}), ring);
    expect(kTouch, line({{13, -2.2}, {17, -3.3}}), ring);  // across the hole
    expect(kIn, line({{13, -2.2}, {13, 3}}), ring);
    expect(kIn, line({{13, -2.2}, {11, -3.3}}), ring);
    expect(kTouch, polygon(box(13, -5, 17, 0)), ring);  // fills it
    expect(kTouch, polygon(box(13, -4, 14, -3)), ring);
    expect(kApart, polygon(box(14, -4, 15, -3)), ring);
    expect(kIn, polygon(box(11, -3, 13, -2)), ring);
    expect(kIn, polygon(box(13, 0, 17, 3)), ring);
    expect(kAround, polygon(box(10, -10, 20, 10)), ring);
    // A larger hole, on two sides of the smaller one.
    expect(kIn, with_hole(box(10, -10, 20, 10), box(13, -6, 17, 0)),
           with_hole(box(10, -10, 20, 10), {{13, -5}, {17, -5}, {17, -1.1}, {17, 0}, {13, 0}}));
}

TEST(Relations, SeveralAreas) {
    const std::string two = multi({box(10, -10, 20, 0), box(30, -10, 40, 0)});
    at(kTouch, {30, -3.3}, two);
    at(kIn, {31, -3.3}, two);
    expect(kTouch, line({{20, -3.3}, {30, -4.4}}), two);  // from one to the other
    expect(kTouch, line({{15, -3.3}, {35, -4.4}}), two);
    expect(kIn, line({{30, -3.3}, {35, -4.4}}), two);
    expect(kIn, polygon(box(30, -5, 33, -2.2)), two);
    expect(kTouch, polygon(box(20, -5, 30, -2.2)), two);
    expect(kAround, polygon(box(10, -20, 40, 0)), two);
    expect(kIn, multi({box(10, -5, 15, -2.2), box(35, -5, 40, -2.2)}), two);
    expect(kTouch, multi({box(10, -5, 15, -2.2), box(40, -5, 45, -2.2)}), two);
    expect(kEqual,
           multi({box(30, -10, 40, 0),
                  {{10, -10}, {20, -10}, {20, -7.7}, {20, 0}, {10, 0}, {10, -1.1}}}),
           two);
}

/// Whether rings touch or cross is no matter of the last bit either.
TEST(Relations, RingsThatTouch) {
    for (double west = -170; west < 160; west += 23.3)
        for (double y = 1; y < 9; y += 1.7) {
            const auto outer = box(west, 0, west + 10, 10);
            for (const double side : {west, west + 10}) {
                const std::string ring =
                    with_hole(outer, {{side, y}, {west + 5, y - 1}, {west + 5, y + 1}});
                ASSERT_TRUE(testing::parsed(ring).has_value()) << ring;
                at(kTouch, {side, y}, ring);
                at(kApart, {west + 5 + (side - west - 5) / 2, y}, ring);
                at(kIn, {west + 5, y > 5 ? 0.5 : 9.5}, ring);
                expect(kAround, polygon(outer), ring);
            }
            const std::string two =
                multi({outer, {{west + 10, y}, {west + 15, y - 1}, {west + 15, y + 1}}});
            ASSERT_TRUE(testing::parsed(two).has_value()) << two;
            at(kTouch, {west + 10, y}, two);
            expect(kIn, line({{west + 5, y}, {west + 10, y}, {west + 13, y}}), two);
            // Areas of one geometry that share a stretch, or overlap.
            for (const double x : {west + 10, west + 9})
                EXPECT_FALSE(testing::parsed(multi({outer, box(x, y, west + 15, y + 1)})));
            EXPECT_FALSE(testing::parsed(with_hole(outer, box(west, y, west + 5, y + 1))));
        }
}

TEST(Relations, SmallerThanTheTolerance) {
    const double tiny = 1e-13;
    const Geometry speck = geometry(polygon({{10, -5}, {10 + tiny, -5}, {10, -5 + tiny}}));
    const Geometry area = geometry(polygon(box(10, -10, 20, 0)));
    EXPECT_TRUE(speck.intersects(area));
    EXPECT_FALSE(area.within(speck));
    EXPECT_EQ(speck.distance(point(10, -5)), 0);
    EXPECT_TRUE(geometry(polygon({{15, -5}, {15 + tiny, -5}, {15, -5 + tiny}})).within(area));
    EXPECT_TRUE(geometry(line({{15, -5}, {15 + tiny, -5}})).within(area));
    EXPECT_TRUE(speck.within(speck));
    EXPECT_FALSE(testing::parsed(
        with_hole(box(10, -10, 20, 0), {{10, -10}, {10 + tiny, -10}, {10, -10 + tiny}})));
}

// --- edges of all directions ---------------------------------------------------------------------

class RandomRelations : public ::testing::Test {
protected:
    double between(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random_);
    }
    /// Corners of a convex ring, seen from above the place anticlockwise.
    std::vector<LngLat> ring() {
        const LngLat at{between(-160, 160), between(-60, 60)};
        const double size = std::pow(10, between(-4, 1));
        const size_t corners = 3 + random_() % 5;
        std::vector<LngLat> out;
        for (size_t i = 0; i < corners; ++i) {
            const double angle = 2 * M_PI * (static_cast<double>(i) + between(0, 0.5)) /
                                 static_cast<double>(corners);
            out.push_back({at.first + size * std::cos(angle), at.second + size * std::sin(angle)});
        }
        return out;
    }
    /// The same with corners added on its sides, some of them close together.
    std::vector<LngLat> subdivided(const std::vector<LngLat>& ring) {
        std::vector<LngLat> out;
        for (size_t i = 0; i < ring.size(); ++i) {
            const LngLat& a = ring[i];
            const LngLat& b = ring[(i + 1) % ring.size()];
            out.push_back(a);
            double share = 0;
            for (size_t k = random_() % 4; k > 0; --k) {
                share += (1 - share) * between(0.01, 0.7);
                out.push_back(on_edge(a, b, share));
            }
        }
        return out;
    }
    std::mt19937_64 random_{20260103};
};

TEST_F(RandomRelations, OnAnEdge) {
    for (int i = 0; i < rounds(300); ++i) {
        const auto corners = ring();
        const std::string area = polygon(corners);
        const LngLat a = corners[0];
        const LngLat b = corners[1];
        const double share = between(0.1, 0.5);
        const LngLat p = on_edge(a, b, share);
        const LngLat q = on_edge(a, b, share + 0.3);
        const LngLat inner = on_edge(p, corners[2], 0.5);
        const LngLat outer{2 * p.first - inner.first, 2 * p.second - inner.second};
        at(kTouch, p, area);
        at(kIn, p, line({a, b}));
        at(kIn, p, line({b, a, corners[2]}));
        expect(kIn, line({p, q}), line({a, b}));
        expect(kIn, line({q, p}), line({a, b, corners[2]}));
        expect(kTouch, line({q, p}), area);
        expect(kIn, line({p, inner}), area);
        expect(kIn, line({q, p, inner}), area);
        expect(kTouch, line({p, outer}), area);
        expect(kIn, polygon({p, q, inner}), area);
        expect(kTouch, polygon({q, p, outer}), area);
        if (HasFailure()) break;
    }
}

TEST_F(RandomRelations, CornersOnSidesChangeNothing) {
    for (int i = 0; i < rounds(80); ++i) {
        const auto corners = ring();
        expect(kEqual, polygon(subdivided(corners)), polygon(corners));
        expect(kEqual, polygon(subdivided(corners)), polygon(subdivided(corners)));
        const auto finer = subdivided(subdivided(corners));
        expect(kEqual, line(finer), line(finer));
        std::vector<LngLat> back(finer.rbegin(), finer.rend());
        expect(kEqual, line(back), line(finer));
        // The rest of the Earth touches it all around.
        expect(kTouch, polygon(back), polygon(corners));
        expect(kTouch, line(subdivided(corners)), polygon(corners));
        if (HasFailure()) break;
    }
}

/// Corners on a coarse grid, nearly: many edges touch, run along each other or are there twice.
TEST_F(RandomRelations, LawsOnAGrid) {
    int meetings = 0;
    for (int round = 0; round < rounds(60); ++round) {
        const LngLat origin{std::round(between(-170, 160)),
                            random_() % 2 == 0 ? 0 : std::round(between(-80, 75))};
        const double unit = std::pow(10, std::round(between(-6, 0)));
        const auto corner = [&] {
            constexpr double kOff[] = {0, 0, 0, 1e-14, 1e-13, 1e-12, 6e-12, 1e-11, 1e-10};
            const auto place = [&](double from) {
                return from + unit * static_cast<double>(random_() % 4) +
                       kOff[random_() % std::size(kOff)];
            };
            return LngLat{place(origin.first), place(origin.second)};
        };
        const auto corners = [&](size_t count) {
            std::vector<LngLat> out;
            while (out.size() < count)
                out.push_back(random_() % 3 == 0 ? on_edge(corner(), corner(), 0.25) : corner());
            return out;
        };
        std::vector<std::string> texts;
        std::vector<Geometry> shapes;
        while (shapes.size() < 7) {
            const size_t kind = random_() % 5;
            const std::string text = kind == 0   ? point_text(corners(1)[0])
                                     : kind == 1 ? line(corners(2 + random_() % 3))
                                     : kind == 2 ? polygon(corners(3 + random_() % 4))
                                     : kind == 3 ? with_hole(corners(4), corners(3))
                                                 : multi({corners(3), corners(3)});
            auto shape = testing::parsed(text);
            if (!shape) continue;
            texts.push_back(text);
            shapes.push_back(std::move(*shape));
        }
        for (size_t i = 0; i < shapes.size(); ++i)
            for (size_t j = 0; j < shapes.size(); ++j) {
                const std::string what = texts[i] + " and " + texts[j];
                const bool meet = shapes[i].intersects(shapes[j]);
                meetings += meet ? 1 : 0;
                EXPECT_EQ(meet, shapes[j].intersects(shapes[i])) << what;
                EXPECT_EQ(meet, shapes[i].distance(shapes[j]) == 0) << what;
                EXPECT_TRUE(meet || !shapes[i].within(shapes[j])) << what;
                EXPECT_TRUE(i != j || shapes[i].within(shapes[j])) << what;
            }
    }
    EXPECT_GT(meetings, 0);
}

}  // namespace
}  // namespace orrery::index
