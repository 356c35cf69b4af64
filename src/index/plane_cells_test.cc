#include "index/detail/plane_cells.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/bytes.h"
#include "base/encoding.h"
#include "index/geometry_test_support.h"
#include "index/spatial.h"
#include "index/terms.h"
#include "json/item.h"

namespace orrery::index {
namespace {

using testing::LngLat;

constexpr SipKey kKey = {0x0706050403020100ULL, 0x0F0E0D0C0B0A0908ULL};
constexpr PlaneBox kBox{-100, -50, 300, 150};
const SpatialGrid kGrid{.types = 0x0F, .box = kBox};

std::optional<Geometry> parsed(const std::string& text) {
    json::Arena arena;
    return parse_in(kGrid, json::parse(text, arena).value());
}
Geometry geometry(const std::string& text) {
    auto out = parsed(text);
    CHECK(out.has_value());
    return std::move(*out);
}
Geometry point(double x, double y) {
    return geometry(testing::point_text({x, y}));
}
bool found(const Geometry& posted, const std::vector<TermRange>& ranges) {
    const auto in = [&](const std::string& term) {
        return std::any_of(ranges.begin(), ranges.end(), [&](const TermRange& range) {
            return term >= range.begin && term < range.end;
        });
    };
    const auto cells = covering_cells(posted, kGrid);
    std::string term;
    if (cells.empty()) {
        append_uncovered_term(term);
        return in(term);
    }
    return std::any_of(cells.begin(), cells.end(), [&](uint64_t cell) {
        term.clear();
        append_cell_term(term, cell);
        return in(term);
    });
}

TEST(PlaneCells, Numbers) {
    // docs/formats/index.md
    EXPECT_EQ(covering_cells(point(-100, -50), kGrid), std::vector<uint64_t>{0x8000});
    EXPECT_EQ(covering_cells(point(300, 150), kGrid), std::vector<uint64_t>{0xFFFFFFFFFFFF8000});
    EXPECT_EQ(covering_cells(point(300, -50), kGrid), std::vector<uint64_t>{0x5555555555558000});
    EXPECT_EQ(covering_cells(point(-100, 150), kGrid), std::vector<uint64_t>{0xAAAAAAAAAAAA8000});
    // The box: its four quarters would be as good, and are smaller.
    const auto all = covering_cells(
        geometry(testing::polygon({{-100, -50}, {300, -50}, {300, 150}, {-100, 150}})), kGrid);
    EXPECT_LE(all.size(), size_t{kGeometryCellsMax});
    EXPECT_GE(all.size(), 4U);
    EXPECT_EQ(detail::plane_cell_around(0x8000), 0x20000U);
    EXPECT_EQ(detail::plane_cell_around(0xE000000000000000), 0x8000000000000000);
    EXPECT_EQ(detail::plane_cell_around(0x8000000000000000), 0U);
    EXPECT_EQ(detail::plane_cells_inside(0x8000000000000000),
              (std::pair<uint64_t, uint64_t>{1, UINT64_MAX}));
    EXPECT_EQ(detail::plane_cells_inside(0x2000000000000000),
              (std::pair<uint64_t, uint64_t>{1, 0x3FFFFFFFFFFFFFFF}));
}

TEST(PlaneCells, BoxesHaveEntriesOfTheirOwn) {
    const uint64_t path = path_hash(kKey, {PathStep{false, "loc"}});
    const auto hash = [&](const SpatialGrid& grid) {
        std::string out;
        append_u64_be(out, spatial_hash(kKey, path, grid));
        return hex_encode_upper(out);
    };
    SpatialGrid other = kGrid;
    other.types = 1;
    EXPECT_EQ(hash(other), hash(kGrid));
    other.box->ymax = 151;
    EXPECT_NE(hash(other), hash(kGrid));
    EXPECT_NE(hash({.types = 1, .box = std::nullopt}), hash(kGrid));
}

TEST(PlaneCells, WhatIsNotInTheBoxIsFoundByEverySearch) {
    for (const Geometry& outside :
         {point(-100.001, 0), point(0, 151), point(1e300, -1e300),
          geometry(testing::line({{0, 0}, {301, 0}})),
          geometry(testing::polygon({{-1e6, -1e6}, {1e6, -1e6}, {1e6, 1e6}, {-1e6, 1e6}}))}) {
        EXPECT_TRUE(covering_cells(outside, kGrid).empty());
        EXPECT_TRUE(found(outside, cells_near(point(5, 5), 0, kGrid)));
    }
    SpatialGrid points = kGrid;
    points.types = 1U << static_cast<unsigned>(GeometryType::kPoint);
    EXPECT_TRUE(covering_cells(geometry(testing::line({{0, 0}, {1, 0}})), points).empty());
    EXPECT_EQ(covering_cells(point(0, 0), points).size(), 1U);
}

TEST(PlaneCells, EntriesOfItems) {
    json::Arena arena;
    const auto policy =
        parse_indexing_policy(
            json::parse(R"({"spatialIndexes":[{"path":"/loc/?","types":["Point","Polygon"],)"
                        R"("boundingBox":{"xmin":-100,"ymin":-50,"xmax":300,"ymax":150}}]})",
                        arena)
                .value())
            .value();
    const auto cells = [&](const std::string& item) {
        TermCollector collector(policy, kKey);
        EXPECT_TRUE(json::read_item(item, {}, &collector).ok()) << item;
        const TermSet set = collector.take();
        std::string prefix;
        append_u64_be(prefix, spatial_hash(kKey, path_hash(kKey, {PathStep{false, "loc"}}), kGrid));
        std::vector<std::string> out;
        for (const auto& entry : set.entries())
            if (set.bytes(entry).starts_with(prefix))
                out.push_back(hex_encode_upper(set.bytes(entry).substr(8)));
        EXPECT_EQ(set.cell_count(), out == std::vector<std::string>{"10"} ? 0 : out.size());
        return out;
    };
    using Terms = std::vector<std::string>;
    EXPECT_EQ(cells(R"({"id":"1","loc":{"type":"Point","coordinates":[300,150]}})"),
              Terms{"78FFFFFFFFFFFF8000"});
    EXPECT_EQ(cells(R"({"id":"1","loc":{"type":"Point","coordinates":[300,151]}})"), Terms{"10"});
    EXPECT_EQ(cells(R"({"id":"1","loc":{"type":"LineString","coordinates":[[0,0],[1,1]]}})"),
              Terms{"10"});
    EXPECT_EQ(cells(R"({"id":"1","loc":{"type":"Point","coordinates":[300]}})"), Terms{});
    EXPECT_GT(
        cells(R"({"id":"1","loc":{"type":"Polygon","coordinates":[[[0,0],[99,0],[0,99],[0,0]]]}})")
            .size(),
        2U);
}

// --- searches never lose a match ----------------------------------------------------------------

class PlaneSearch : public ::testing::Test {
protected:
    double between(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random_);
    }
    /// In the box mostly, with a liking for the borders of cells and of the box.
    LngLat place() {
        switch (random_() % 6) {
            case 0:  // a corner of cells
                return {-100 + 400.0 * static_cast<double>(random_() % 65) / 64,
                        -50 + 200.0 * static_cast<double>(random_() % 65) / 64};
            case 1:
                return {random_() % 2 == 0 ? -100 : 300, between(-60, 160)};
            case 2:
                return {between(-500, 500), between(-500, 500)};
            default:
                return {between(-100, 300), between(-50, 150)};
        }
    }
    LngLat near(LngLat from, double size) {
        return {from.first + between(-size, size), from.second + between(-size, size)};
    }
    static std::string square(LngLat at, double size) {
        return testing::coordinates({at,
                                     {at.first + size, at.second},
                                     {at.first + size, at.second + size},
                                     {at.first, at.second + size},
                                     at});
    }
    std::optional<Geometry> shape(LngLat at, double size) {
        switch (random_() % 6) {
            case 0:
                return parsed(testing::point_text(random_() % 2 == 0 ? at : near(at, size)));
            case 1:
                return parsed(testing::line({at, near(at, size), near(at, size)}));
            case 2:  // along borders
                return parsed(testing::polygon({at,
                                                {at.first + size, at.second},
                                                {at.first + size, at.second + size},
                                                {at.first, at.second + size}}));
            case 4:
                return parsed(R"({"type":"Polygon","coordinates":[)" + square(at, size) + "," +
                              square({at.first + size / 4, at.second + size / 4}, size / 2) + "]}");
            case 3: {
                std::vector<LngLat> ring;
                const size_t corners = 3 + random_() % 30;
                for (size_t i = 0; i < corners; ++i) {
                    const double angle =
                        2 * M_PI * static_cast<double>(i) / static_cast<double>(corners);
                    ring.push_back(
                        {at.first + size * std::cos(angle), at.second + size * std::sin(angle)});
                }
                return parsed(testing::polygon(ring));
            }
            default:
                return parsed(testing::polygon({near(at, size), near(at, size), near(at, size)}));
        }
    }
    std::mt19937_64 random_{20260102};
};

TEST_F(PlaneSearch, FindsEveryMatch) {
    int matches = 0;
    int narrowed = 0;
    int pairs = 0;
    for (int round = 0; round < 400; ++round) {
        const LngLat at = place();
        const double scale = std::pow(10, between(-5, 2.5));
        const auto wanted = shape(at, scale);
        if (!wanted) continue;
        const double distance = random_() % 2 == 0 ? 0 : scale * between(0, 3);
        const auto ranges = cells_near(*wanted, distance, kGrid);
        EXPECT_LE(ranges.size(), 200U);
        for (int i = 0; i < 25; ++i) {
            const auto other =
                shape(i % 5 == 0 ? place() : near(at, scale * 3), scale * between(0.001, 2));
            if (!other) continue;
            ++pairs;
            const bool hit = found(*other, ranges);
            narrowed += hit ? 0 : 1;
            const bool match = distance == 0 ? other->intersects(*wanted) ||
                                                   other->within(*wanted) || wanted->within(*other)
                                             : other->distance(*wanted) <= distance;
            matches += match ? 1 : 0;
            EXPECT_TRUE(hit || !match) << "round " << round << ", " << at.first << ' ' << at.second
                                       << " scale " << scale << " distance " << distance;
        }
    }
    // The test means something.
    EXPECT_GT(matches, pairs / 10);
    EXPECT_GT(narrowed, pairs / 10);
}

TEST_F(PlaneSearch, BordersAndExtremes) {
    for (const LngLat& at : {LngLat{100, 50}, LngLat{-100, -50}, LngLat{300, 150}, LngLat{0, 0},
                             LngLat{112.5, 56.25}}) {
        const Geometry here = point(at.first, at.second);
        EXPECT_TRUE(found(here, cells_near(here, 0, kGrid)));
        for (const double dx : {-10.0, 10.0})
            for (const double dy : {-10.0, 10.0}) {
                const auto triangle = parsed(
                    testing::polygon({at, {at.first + dx, at.second}, {at.first, at.second + dy}}));
                ASSERT_TRUE(triangle.has_value());
                EXPECT_TRUE(found(here, cells_near(*triangle, 0, kGrid)));
                EXPECT_TRUE(found(*triangle, cells_near(here, 0, kGrid)));
            }
        EXPECT_TRUE(found(here, cells_near(point(0, 0), 1e300, kGrid)));
        EXPECT_TRUE(found(here, cells_near(point(0, 0), INFINITY, kGrid)));
        EXPECT_TRUE(found(here, cells_near(point(1e300, 0), 2e300, kGrid)));
    }
}

}  // namespace
}  // namespace orrery::index
