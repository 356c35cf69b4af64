#include "index/spatial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/encoding.h"
#include "base/ended_test_support.h"
#include "base/rounds_test_support.h"
#include "index/geometry_test_support.h"
#include "index/terms.h"
#include "json/item.h"

namespace orrery::index {
namespace {

using ::testing::ElementsAre;
using testing::geometry;
using ::testing::HasSubstr;
using testing::line;
using testing::LngLat;
using testing::point;
using testing::polygon;

/// Every type, on the Earth.
const SpatialGrid kEarth{.types = 0x0F, .box = std::nullopt};

constexpr SipKey kKey = {0x0706050403020100ULL, 0x0F0E0D0C0B0A0908ULL};

PathStep member(std::string name) {
    return {.any_element = false, .name = std::move(name)};
}
const PathStep kElement{.any_element = true, .name = ""};

Result<IndexingPolicy> read_policy(const std::string& text) {
    json::Arena arena;
    return parse_indexing_policy(json::parse(text, arena).value());
}
IndexingPolicy make_policy(const std::string& spatials) {
    auto policy = read_policy(R"({"spatialIndexes":)" + spatials + "}");
    EXPECT_TRUE(policy.ok()) << (policy.ok() ? "" : policy.error().message);
    return std::move(policy).value();
}
TermSet collect(const IndexingPolicy& policy, const std::string& item) {
    TermCollector collector(policy, kKey);
    EXPECT_TRUE(json::read_item(item, {}, &collector).ok()) << item;
    return collector.take();
}
/// Hexadecimal terms of the entries of the spatial index at a path.
std::vector<std::string> spatial_entries(const TermSet& set, const std::vector<PathStep>& path) {
    std::string prefix;
    append_u64_be(prefix, spatial_hash(kKey, path_hash(kKey, path), kEarth));
    std::vector<std::string> out;
    for (const auto& entry : set.entries())
        if (set.bytes(entry).starts_with(prefix)) {
            EXPECT_FALSE(entry.partial);
            out.push_back(hex_encode_upper(set.bytes(entry).substr(8)));
        }
    return out;
}
std::vector<std::string> cell_terms(const Geometry& shape) {
    std::vector<std::string> out;
    for (const uint64_t cell : covering_cells(shape, kEarth)) {
        std::string term;
        append_cell_term(term, cell);
        out.push_back(hex_encode_upper(term));
    }
    return out;
}

TEST(SpatialPolicy, IsReadAndAnswered) {
    const IndexingPolicy policy = make_policy(
        R"([{"path":"/loc/*","types":["Polygon","Point","Point"]},{"path":"/a/\"x-y\"/?","boundingBox":null}])");
    EXPECT_THAT(
        policy.json,
        HasSubstr(
            R"(,"spatialIndexes":[{"path":"/loc/*","types":["Point","Polygon"]},)"
            R"({"path":"/a/\"x-y\"/?","types":["Point","LineString","Polygon","MultiPolygon"]}]})"));
    EXPECT_EQ(read_policy(policy.json)->json, policy.json);
    EXPECT_EQ(read_policy(policy.json)->spatials, policy.spatials);
    EXPECT_NE(spatial_grid(policy, {member("loc")}), nullptr);
    EXPECT_NE(spatial_grid(policy, {member("loc"), kElement, member("at")}), nullptr);
    EXPECT_NE(spatial_grid(policy, {member("a"), member("x-y")}), nullptr);
    EXPECT_EQ(spatial_grid(policy, {member("a"), member("x-y"), member("z")}), nullptr);
    EXPECT_EQ(spatial_grid(policy, {member("a")}), nullptr);
    EXPECT_EQ(spatial_grid(policy, {}), nullptr);
    const IndexingPolicy all = make_policy(R"([{"path":"/*"}])");
    EXPECT_NE(spatial_grid(all, {member("a")}), nullptr);
    EXPECT_EQ(spatial_grid(all, {member("_self")}), nullptr);
    EXPECT_EQ(spatial_grid(make_policy("[]"), {member("a")}), nullptr);
}

TEST(SpatialPolicy, MistakesAreNamed) {
    const struct {
        const char* list;
        const char* part;
    } kCases[] = {
        {"7", "not an array"},
        {"[7]", "not an object"},
        {"[{}]", "'path'"},
        {R"([{"path":7}])", "'path'"},
        {R"([{"path":"loc/*"}])", "begin with '/'"},
        {R"([{"path":"/loc"}])", "/*"},
        {R"([{"path":"/loc/*","kind":"Range"}])", "'kind'"},
        {R"([{"path":"/loc/*","types":[]}])", "'types'"},
        {R"([{"path":"/loc/*","types":"Point"}])", "'types'"},
        {R"([{"path":"/loc/*","types":["point"]}])", "MultiPolygon"},
        {R"([{"path":"/loc/*","types":["Circle"]}])", "MultiPolygon"},
        {R"([{"path":"/_self/?"}])", "system property"},
        {R"([{"path":"/loc/*","boundingBox":7}])", "must be an object"},
        {R"([{"path":"/loc/*","boundingBox":{"xmin":0,"ymin":0,"xmax":1}}])", "must be an object"},
        {R"([{"path":"/loc/*","boundingBox":{"xmin":0,"ymin":0,"xmax":1,"top":1}}])", "'ymax'"},
        {R"([{"path":"/loc/*","boundingBox":{"xmin":0,"ymin":0,"xmax":1,"ymax":"1"}}])", "'ymax'"},
        {R"([{"path":"/loc/*","boundingBox":{"xmin":1,"ymin":0,"xmax":1,"ymax":1}}])", "is empty"},
        {R"([{"path":"/loc/*","boundingBox":{"xmin":0,"ymin":2,"xmax":1,"ymax":1}}])", "is empty"},
        {R"([{"path":"/loc/*","boundingBox":{"xmin":-1e308,"ymin":2,"xmax":1e308,"ymax":3}}])",
         "is too large: xmax - xmin and ymax - ymin must be at most 1.79e308"},
        {R"([{"path":"/loc/*","boundingBox":{"xmin":0,"ymin":-1e308,"xmax":1,"ymax":1e308}}])",
         "is too large"},
        {R"([{"path":"/loc/*","boundingBox":{"xmin":1e308,"ymin":0,"xmax":-1e308,"ymax":1}}])",
         "is empty"},
        {R"([{"path":"/loc/*"},{"path":"/\"loc\"/*"}])", "listed twice"},
    };
    for (const auto& c : kCases) {
        const auto policy = read_policy(R"({"spatialIndexes":)" + std::string(c.list) + "}");
        ASSERT_FALSE(policy.ok()) << c.list;
        EXPECT_EQ(ended(policy.error()), Ended::kBadRequest) << c.list;
        EXPECT_THAT(policy.error().message, HasSubstr(c.part)) << c.list;
    }
    EXPECT_FALSE(read_policy(R"({"indexingMode":"none","spatialIndexes":[{"path":"/l/*"}]})").ok());
}

TEST(SpatialPolicy, BoxesAreForPlanes) {
    const IndexingPolicy earth = make_policy(R"([{"path":"/loc/*","types":["Point"]}])");
    const IndexingPolicy plane = make_policy(
        R"([{"path":"/loc/*","types":["Point"],"boundingBox":{"ymax":2,"xmin":-1.5,"ymin":0,"xmax":1e3}}])");
    EXPECT_THAT(plane.json,
                HasSubstr(R"("boundingBox":{"xmin":-1.5,"ymin":0,"xmax":1000,"ymax":2}})"));
    EXPECT_EQ(read_policy(plane.json)->spatials, plane.spatials);
    EXPECT_FALSE(earth.spatials == plane.spatials);
    EXPECT_TRUE(check_boxes(earth, GeometrySpace::kEarth).ok());
    EXPECT_TRUE(check_boxes(plane, GeometrySpace::kPlane).ok());
    EXPECT_THAT(check_boxes(earth, GeometrySpace::kPlane).error().message,
                HasSubstr("add 'boundingBox'"));
    EXPECT_THAT(check_boxes(plane, GeometrySpace::kEarth).error().message,
                HasSubstr("planar coordinates only"));
}

TEST(SpatialEntries, Bytes) {
    // docs/formats/index.md
    std::string hash;
    append_u64_be(hash, spatial_hash(kKey, path_hash(kKey, {member("loc")}), kEarth));
    EXPECT_EQ(hex_encode_upper(hash), "4C15F1CD03F17CA8");
    EXPECT_THAT(cell_terms(point(20, 10)), ElementsAre("7810D7DF0A35CBF000"));
    EXPECT_THAT(cell_terms(point(0, 90)), ElementsAre("785000000000001000"));
    const auto box = cell_terms(geometry(polygon({{0, 0}, {10, 0}, {10, 10}, {0, 10}})));
    EXPECT_GT(box.size(), 3U);
    EXPECT_LE(box.size(), size_t{kGeometryCellsMax});
}

TEST(SpatialEntries, AreThoseOfOtherVersions) {
    // If this fails, S2 covers differently than it did, and indexes on disk must be made anew.
    std::string cells;
    for (const std::string& text :
         {polygon({{2.1, 48.3}, {2.9, 48.2}, {2.7, 49.1}}), line({{-70.3, -33.1}, {-58.4, -34.6}}),
          line({{103.81, 1.351}, {103.82, 1.353}}), polygon({{-1.3, 51.2}, {0.4, 51.3}, {0.1, 52}}),
          polygon({{12.1, 41.7}, {12.3, 42.2}, {12.8, 41.6}}),  // clockwise
          polygon({{20.11, 10.21}, {20.12, 10.21}, {20.12, 10.22}, {20.115, 10.23}})})
        for (const std::string& term : cell_terms(geometry(text))) cells += term;
    EXPECT_EQ(siphash(kKey, cells), 3266007269823796229U) << cells;
}

TEST(SpatialEntries, OfItems) {
    const IndexingPolicy policy =
        make_policy(R"([{"path":"/loc/*","types":["Point","Polygon"]},{"path":"/one/?"}])");
    const std::string here = R"({"type":"Point","coordinates":[20,10]})";
    const auto entries = cell_terms(point(20, 10));
    for (const std::string& item : std::vector<std::string>{
             R"({"id":"1","loc":)" + here + "}",
             R"({"id":"1","loc":{"coordinates":[20,10,7],"crs":{"a":[1]},"type":"Point"}})"}) {
        const TermSet set = collect(policy, item);
        EXPECT_EQ(spatial_entries(set, {member("loc")}), entries) << item;
        EXPECT_EQ(set.cell_count(), 1U);
    }
    // Below the path, in arrays and in other objects.
    const TermSet nested =
        collect(policy, R"({"id":"1","loc":{"type":"Point","x":[)" + here + "," + here +
                            R"(,{"type":"Point","coordinates":[21,10]}],"coordinates":{"y":)" +
                            here + "}}}");
    EXPECT_THAT(spatial_entries(nested, {member("loc"), member("x"), kElement}),
                ::testing::UnorderedElementsAre(entries[0], cell_terms(point(21, 10))[0]));
    EXPECT_EQ(spatial_entries(nested, {member("loc"), member("coordinates"), member("y")}),
              entries);
    EXPECT_THAT(spatial_entries(nested, {member("loc")}), ElementsAre());
    EXPECT_EQ(nested.cell_count(), 3U);
    // A path that ends in /? is that path alone.
    const TermSet one = collect(policy, R"({"id":"1","one":)" + here + R"(,"two":)" + here +
                                            R"(,"three":{"one":)" + here + "}}");
    EXPECT_EQ(spatial_entries(one, {member("one")}), entries);
    EXPECT_EQ(one.cell_count(), 1U);
    // What is no geometry has no entry, a type that is not listed an uncharged one.
    for (const char* other :
         {R"("Point")", "[20,10]", "{}", R"({"type":"Point"})", R"({"coordinates":[20,10]})",
          R"({"type":"Point","coordinates":[20,100]})", R"({"type":"Point","coordinates":20})",
          R"({"type":"Point","coordinates":["20",10]})",
          R"({"type":"Point","coordinates":[20,{}]})",
          R"({"type":["Point"],"coordinates":[20,10]})"}) {
        const TermSet set = collect(policy, R"({"id":"1","loc":)" + std::string(other) + "}");
        EXPECT_THAT(spatial_entries(set, {member("loc")}), ElementsAre()) << other;
        EXPECT_EQ(set.cell_count(), 0U) << other;
    }
    const TermSet unlisted = collect(policy, R"({"id":"1","loc":)" + line({{0, 0}, {1, 1}}) + "}");
    EXPECT_THAT(spatial_entries(unlisted, {member("loc")}), ElementsAre("10"));
    EXPECT_EQ(unlisted.cell_count(), 0U);
    // Coordinates beyond what is kept may be valid.
    std::string many = R"({"id":"1","loc":{"type":"Point","coordinates":[20,10)";
    for (int i = 0; i < 40'000; ++i) many += ",1";
    EXPECT_THAT(spatial_entries(collect(policy, many + "]}}"), {member("loc")}), ElementsAre("10"));
}

TEST(SpatialEntries, WhereNothingElseIsIndexed) {
    auto policy = read_policy(
        R"({"excludedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/loc/?"},{"path":"/sub/*"}]})");
    ASSERT_TRUE(policy.ok());
    const std::string here = R"({"type":"Point","coordinates":[20,10]})";
    const TermSet set = collect(*policy, R"({"id":"1","n":1,"loc":)" + here + R"(,"sub":{"a":[)" +
                                             here + R"(]},"other":)" + here + "}");
    const auto entries = cell_terms(point(20, 10));
    EXPECT_EQ(spatial_entries(set, {member("loc")}), entries);
    EXPECT_EQ(spatial_entries(set, {member("sub"), member("a"), kElement}), entries);
    EXPECT_EQ(set.entries().size(), 3U);  // with the id
    EXPECT_EQ(set.cell_count(), 2U);
    EXPECT_EQ(set.pair_count(), 1U);
}

TEST(SpatialEntries, ChangesAreCounted) {
    const IndexingPolicy policy = make_policy(R"([{"path":"/loc/*"}])");
    const TermSet a = collect(policy, R"({"id":"1","loc":{"type":"Point","coordinates":[20,10]}})");
    const TermSet b = collect(policy, R"({"id":"1","loc":{"type":"Point","coordinates":[20,11]}})");
    storage::IndexDelta delta;
    const storage::Docref docref("ABCDEFGH", 1);
    const TermChange same = append_changes(a, a, 7, docref, delta);
    EXPECT_EQ(same.cells_removed + same.cells_added, 0U);
    EXPECT_TRUE(delta.empty());
    const TermChange change = append_changes(a, b, 7, docref, delta);
    EXPECT_EQ(change.cells_removed, 1U);
    EXPECT_EQ(change.cells_added, 1U);
    EXPECT_EQ(change.pairs_removed, 1U);  // the latitude
    EXPECT_EQ(change.pairs_added, 1U);
    EXPECT_EQ(delta.entries().size(), 4U);
    const TermChange gone = append_changes(b, {}, 7, docref, delta);
    EXPECT_EQ(gone.cells_removed, 1U);
}

// --- searches never lose a match ----------------------------------------------------------------

class SpatialSearch : public ::testing::Test {
protected:
    double between(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random_);
    }
    /// Anywhere, with a liking for poles, the antimeridian and round numbers.
    LngLat place() {
        LngLat p{between(-180, 180), std::asin(between(-1, 1)) * 180 / M_PI};
        switch (random_() % 8) {
            case 0:
                p = {std::round(p.first / 10) * 10, std::round(p.second / 10) * 10};
                break;
            case 1:
                p.first = random_() % 2 == 0 ? 180 - between(0, 1) : -180 + between(0, 1);
                break;
            case 2:
                p.second = random_() % 2 == 0 ? 90 - between(0, 2) : -90 + between(0, 2);
                break;
            default:
                break;
        }
        return p;
    }
    LngLat near(LngLat from, double degrees) {
        return {std::clamp(from.first + between(-degrees, degrees), -180.0, 180.0),
                std::clamp(from.second + between(-degrees, degrees), -90.0, 90.0)};
    }
    /// A geometry of random type about a place.
    std::optional<Geometry> shape(LngLat at, double degrees) {
        switch (random_() % 4) {
            case 0:
                return testing::parsed(testing::point_text(near(at, degrees)));
            case 1:
                return testing::parsed(
                    line({near(at, degrees), near(at, degrees), near(at, degrees)}));
            case 2: {
                std::vector<LngLat> ring;
                const size_t corners = 3 + random_() % 9;
                for (size_t i = 0; i < corners; ++i) {
                    const double angle =
                        2 * M_PI * static_cast<double>(i) / static_cast<double>(corners);
                    ring.push_back(
                        {std::clamp(at.first + degrees * std::cos(angle), -180.0, 180.0),
                         std::clamp(at.second + degrees * std::sin(angle), -90.0, 90.0)});
                }
                if (random_() % 10 == 0) std::reverse(ring.begin(), ring.end());
                return testing::parsed(polygon(ring));
            }
            default: {
                std::vector<LngLat> ring;
                for (int i = 0; i < 3; ++i) ring.push_back(near(at, degrees));
                return testing::parsed(polygon(ring));
            }
        }
    }
    static bool found(const Geometry& posted, const std::vector<TermRange>& ranges) {
        for (const uint64_t cell : covering_cells(posted, kEarth)) {
            std::string term;
            append_cell_term(term, cell);
            for (const TermRange& range : ranges)
                if (term >= range.begin && term < range.end) return true;
        }
        return false;
    }
    std::mt19937_64 random_{20260101};
};

TEST_F(SpatialSearch, FindsEveryMatch) {
    int matches = 0;
    int narrowed = 0;
    int pairs = 0;
    for (int round = 0; round < rounds(200); ++round) {
        const LngLat at = place();
        const double scale = std::pow(10, between(-5, 1.5));
        const auto wanted = shape(at, scale);
        if (!wanted) continue;
        const double metres = random_() % 2 == 0 ? 0 : scale * 1e5 * between(0, 3);
        const auto ranges = cells_near(*wanted, metres, kEarth);
        for (int i = 0; i < 25; ++i) {
            const auto other =
                shape(i % 5 == 0 ? place() : near(at, scale * 3), scale * between(0.001, 2));
            if (!other) continue;
            ++pairs;
            const bool hit = found(*other, ranges);
            narrowed += hit ? 0 : 1;
            const bool match = metres == 0 ? other->intersects(*wanted) || other->within(*wanted) ||
                                                 wanted->within(*other)
                                           : other->distance(*wanted) <= metres;
            matches += match ? 1 : 0;
            EXPECT_TRUE(hit || !match) << "round " << round << ", " << at.first << ' ' << at.second
                                       << " scale " << scale << " metres " << metres;
        }
    }
    // The test means something.
    EXPECT_GT(matches, pairs / 10);
    EXPECT_GT(narrowed, pairs / 10);
}

TEST_F(SpatialSearch, FindsWhatTouches) {
    // Across the borders of cells: of faces (the meridian of 45 degrees), of halves of a face (the
    // equator, the meridian of Greenwich) and of smaller ones.
    const LngLat kEdges[][2] = {{{45, -20}, {45, 20}},      {{0, -3}, {0, 4}},
                                {{-20, 0}, {30, 0}},        {{180, -10}, {180, 10}},
                                {{12.3, 45.6}, {23.4, 48}}, {{12.3, 45.6}, {12.30001, 45.60001}}};
    for (const auto& [a, b] : kEdges) {
        const LngLat left{a.first - (b.second - a.second), a.second + (b.first - a.first)};
        struct Other {
            Geometry geometry;
            std::vector<TermRange> touched;
            std::vector<TermRange> near;
        };
        std::vector<Other> others;
        for (const std::string& text :
             {line({a, b}), polygon({a, b, left}), polygon({b, a, left})}) {
            Geometry other = geometry(text);
            auto touched = cells_near(other, 0, kEarth);
            auto near = cells_near(other, 1e-9, kEarth);
            others.push_back({std::move(other), std::move(touched), std::move(near)});
        }
        for (int i = 0; i < rounds(40); ++i) {
            const double share = between(0, 0.9);
            const LngLat p = testing::on_edge(a, b, share);
            const LngLat q = testing::on_edge(a, b, share + 0.09);
            const LngLat up{p.first + (p.first > 0 ? -1e-7 : 1e-7), p.second + 2e-7};
            for (const std::string& text : {testing::point_text(p), line({p, q}), line({p, up}),
                                            polygon({p, q, up}), polygon({q, p, up})}) {
                const Geometry touching = geometry(text);
                const auto ranges = cells_near(touching, 0, kEarth);
                for (const Other& other : others) {
                    EXPECT_TRUE(touching.intersects(other.geometry)) << text;
                    EXPECT_TRUE(found(touching, other.touched)) << text;
                    EXPECT_TRUE(found(touching, other.near)) << text;
                    EXPECT_TRUE(found(other.geometry, ranges)) << text;
                }
            }
        }
    }
}

TEST_F(SpatialSearch, FindsWhatTouchesAcrossABorderOfCells) {
    // Less than a micrometre apart, each in cells of its own.
    constexpr double kNear = 3e-12;
    for (const double border : {45.0, 0.0, -45.0, -90.0, 135.0}) {
        const double west = border - kNear;
        const double east = border + kNear;
        for (const std::string& a :
             {line({{west, 1}, {west, 2}}), polygon({{border - 1, 1}, {west, 1}, {west, 2}}),
              line({{border - 1, 1.4}, {west, 1.5}}), testing::point_text({west, 1.5})})
            for (const std::string& b :
                 {testing::point_text({east, 1.5}), line({{east, 1.5}, {border + 1, 1.4}}),
                  polygon({{east, 1.5}, {border + 1, 1}, {border + 1, 2}})}) {
                const Geometry x = geometry(a);
                const Geometry y = geometry(b);
                EXPECT_TRUE(x.intersects(y)) << a << b;
                EXPECT_TRUE(found(x, cells_near(y, 0, kEarth))) << a << b;
                EXPECT_TRUE(found(y, cells_near(x, 0, kEarth))) << a << b;
                EXPECT_TRUE(found(y, cells_near(x, 1e-9, kEarth))) << a << b;
            }
    }
}

TEST_F(SpatialSearch, Borders) {
    // A point on a corner, at a pole, on the antimeridian, at a cell's corner.
    for (const LngLat& at : {LngLat{0, 0}, LngLat{45, 0}, LngLat{180, 0}, LngLat{-180, 45},
                             LngLat{90, 90}, LngLat{-13, -90}, LngLat{45, 35.264389682754654}}) {
        const Geometry here = point(at.first, at.second);
        EXPECT_TRUE(found(here, cells_near(here, 0, kEarth)));
        EXPECT_TRUE(found(here, cells_near(here, 1e-6, kEarth)));
        const double far = 2e7;
        EXPECT_TRUE(found(here, cells_near(point(3, 3), far * 2, kEarth)));
        if (std::abs(at.second) == 90) continue;
        const auto triangle = testing::parsed(polygon(
            {at, {at.first == 180 ? -179 : at.first + 1, at.second}, {at.first, at.second + 1}}));
        ASSERT_TRUE(triangle.has_value());
        EXPECT_TRUE(found(here, cells_near(*triangle, 0, kEarth))) << at.first;
        EXPECT_TRUE(found(*triangle, cells_near(here, 0, kEarth))) << at.first;
    }
    // Few ranges, however large the geometry.
    EXPECT_LE(cells_near(geometry(polygon({{0, 0}, {90, 0}, {90, 60}, {0, 60}})), 0, kEarth).size(),
              100U);
    EXPECT_LE(cells_near(point(1, 2), 10, kEarth).size(), 120U);
}

}  // namespace
}  // namespace orrery::index
