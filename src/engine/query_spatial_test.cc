#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/rounds_test_support.h"
#include "engine/query_test_support.h"

// Spatial queries with and without the index must give the same rows, whatever happens to items and
// policies.
namespace orrery::engine {
namespace {

using testing_support::QueryContainer;
using testing_support::QueryContainerSpec;
using testing_support::QueryOptions;
using testing_support::QueryOutcome;
using testing_support::TestEngine;

class SpatialWorld {
public:
    SpatialWorld(TestEngine& engine, uint64_t seed, bool planar) : random_(seed), planar_(planar) {
        QueryContainerSpec spec;
        spec.planar = planar;
        spec.indexing_policy = policy();
        spec.several_partitions = random_() % 2 == 0;
        container_ = QueryContainer::create(engine, spec);
        CHECK(container_.has_value());
        for (int i = 0; i < 300; ++i) change();
    }
    ~SpatialWorld() { container_->drop(); }

    void change() {
        const std::string id = std::to_string(random_() % 200);
        if (random_() % 5 == 0) {
            container_->remove(R"({"id":")" + id + "\"}");
            return;
        }
        EXPECT_TRUE(container_->upsert(
            R"({"id":")" + id + R"(","n":)" + std::to_string(random_() % 5) + R"(,"g":)" +
            geometry() + R"(,"deep":{"list":[)" + geometry() + "," + geometry() + "]}}"));
    }
    void change_policy() { EXPECT_TRUE(container_->set_policy(policy())); }

    /// Rows with and without index; `used` counts queries that the index answered.
    void check(size_t& used) {
        const std::string text = query();
        QueryOptions options;
        options.page_rows = random_() % 2 == 0 ? 7 : testing_support::kUnlimitedPage;
        options.parameters = R"([{"name":"@g","value":)" + geometry() +
                             R"(},{"name":"@d","value":)" +
                             number(std::pow(10, planar_ ? real(-4, 2) : real(0, 7))) + "}]";
        QueryOutcome indexed = container_->query(text, options);
        options.use_index = false;
        QueryOutcome scanned = container_->query(text, options);
        ASSERT_FALSE(indexed.error.has_value()) << text << ": " << *indexed.error;
        ASSERT_FALSE(scanned.error.has_value()) << text << ": " << *scanned.error;
        std::sort(indexed.rows.begin(), indexed.rows.end());
        std::sort(scanned.rows.begin(), scanned.rows.end());
        EXPECT_EQ(indexed.rows, scanned.rows) << text << "   " << options.parameters;
        used += indexed.accesses.contains("index") ? 1 : 0;
    }

private:
    double real(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random_);
    }
    static std::string number(double value) {
        char text[32];
        std::snprintf(text, sizeof(text), "%.9g", value);
        return text;
    }
    std::string position(double lng, double lat) {
        if (planar_) return "[" + number(lng) + "," + number(lat) + "]";
        return "[" + number(std::clamp(lng, -180.0, 180.0)) + "," +
               number(std::clamp(lat, -90.0, 90.0)) + "]";
    }
    std::string square(double lng, double lat, double size) {
        const std::string first = position(lng, lat);
        return "[" + first + "," + position(lng + size, lat) + "," +
               position(lng + size, lat + size) + "," + position(lng, lat + size) + "," + first +
               "]";
    }
    /// Mostly around two places, so that there are matches; sometimes invalid or no geometry.
    std::string geometry() {
        const double lng = random_() % 3 == 0 ? real(-180, 180) : random_() % 2 == 0 ? 179.9 : 10;
        const double lat = random_() % 3 == 0 ? real(-90, 90) : 48;
        const double size = std::pow(10, real(-4, 1));
        const auto near = [&] {
            return position(lng + real(-size, size), lat + real(-size, size));
        };
        // On the same meridian as the west sides below.
        const auto beside = [&] { return position(lng, lat + real(0, size)); };
        switch (random_() % 9) {
            case 0:
                return R"({"type":"LineString","coordinates":[)" +
                       (random_() % 2 == 0 ? near() + "," + near() : beside() + "," + beside()) +
                       "]}";
            case 1:
                return R"({"type":"Polygon","coordinates":[)" + square(lng, lat, size) + "," +
                       square(lng + size / 4, lat + size / 4, size / 2) + "]}";
            case 2: {
                const std::string first = position(lng, lat);
                return R"({"type":"Polygon","coordinates":[[)" + first + "," +
                       position(lng + size, lat) + "," + position(lng + size, lat + size) + "," +
                       first + "]]}";
            }
            case 3:
                return random_() % 4 == 0 ? R"({"type":"Point","coordinates":[0,91]})" : "null";
            case 4:
                return R"({"type":"Point","coordinates":)" + beside() + "}";
            default:
                return R"({"type":"Point","coordinates":)" + near() + "}";
        }
    }
    std::string policy() { return planar_ ? planar_policy() : geographic_policy(); }
    /// Boxes of several sizes: some geometries are in none.
    std::string planar_policy() {
        const std::string box =
            random_() % 2 == 0
                ? R"(,"boundingBox":{"xmin":-200,"ymin":-100,"xmax":200,"ymax":100}})"
                : R"(,"boundingBox":{"xmin":5,"ymin":40,"xmax":12.5,"ymax":50}})";
        switch (random_() % 4) {
            case 0:
                return R"({"spatialIndexes":[{"path":"/*")" + box + "]}";
            case 1:
                return R"({"spatialIndexes":[{"path":"/g/?","types":["Point"])" + box +
                       R"(,{"path":"/deep/*")" + box + "]}";
            case 2:
                return R"({"excludedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/g/*")" +
                       box + "]}";
            default:
                return R"({})";
        }
    }
    std::string geographic_policy() {
        switch (random_() % 5) {
            case 0:
                return R"({"spatialIndexes":[{"path":"/*"}]})";
            case 1:
                return R"({"spatialIndexes":[{"path":"/g/?","types":["Point"]},{"path":"/deep/*"}]})";
            case 2:
                return R"({"excludedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/g/*"}]})";
            case 3:
                return R"({"spatialIndexes":[{"path":"/deep/list/[]/?","types":["Polygon","LineString"]}]})";
            default:
                return R"({})";
        }
    }
    std::string query() {
        static const char* const kFilters[] = {
            "ST_DISTANCE(c.g, @g) < @d",
            "@d >= ST_DISTANCE(@g, c.g)",
            "ST_WITHIN(c.g, @g)",
            "ST_WITHIN(@g, c.g)",
            "ST_INTERSECTS(c.g, @g)",
            "ST_INTERSECTS(c.g, @g) AND c.n > 2",
            "ST_INTERSECTS(c.g, @g) OR c.n = 2",
            "ST_DISTANCE(c.g, @g) <= @d OR ST_WITHIN(c.g, @g)",
            "NOT (ST_DISTANCE(c.g, @g) > @d)",
            "ST_DISTANCE(c.deep.list[1], @g) < @d",
            "EXISTS(SELECT VALUE p FROM p IN c.deep.list WHERE ST_INTERSECTS(p, @g))",
        };
        const char* const filter = kFilters[random_() % std::size(kFilters)];
        switch (random_() % 4) {
            case 0:
                return std::string("SELECT VALUE COUNT(1) FROM c WHERE ") + filter;
            case 1:
                return std::string("SELECT VALUE c.id FROM c WHERE ") + filter + " ORDER BY c.id";
            case 2:
                return "SELECT c.id, p FROM c JOIN p IN c.deep.list WHERE ST_DISTANCE(p, @g) < @d";
            default:
                return std::string("SELECT c.id FROM c WHERE ") + filter;
        }
    }

    std::mt19937_64 random_;
    const bool planar_;
    std::optional<QueryContainer> container_;
};

constexpr uint64_t kWorlds = sized(5u, 4u);
constexpr int kQueries = sized(40, 20);  // of a world
constexpr int kQueriesOfPolicy = kQueries / 4;
// Some, or the test means nothing. How many depends on how soon the index follows its policy.
constexpr size_t kAnsweredByIndexMin = kWorlds * kQueries / 80;

/// Returns how many queries the index answered.
size_t compare(bool planar) {
    TestEngine engine;
    size_t used = 0;
    for (uint64_t seed = 1; seed <= kWorlds; ++seed) {
        SpatialWorld world(engine, seed, planar);
        for (int i = 0; i < kQueries && !::testing::Test::HasFailure(); ++i) {
            if (i % kQueriesOfPolicy == kQueriesOfPolicy - 1) world.change_policy();
            for (int k = 0; k < 5; ++k) world.change();
            world.check(used);
        }
        if (::testing::Test::HasFailure()) {
            ADD_FAILURE() << "seed " << seed;
            break;
        }
    }
    return used;
}

TEST(QuerySpatial, IndexAndScanAgreeOnTheEarth) {
    EXPECT_GT(compare(false), kAnsweredByIndexMin);
}

TEST(QuerySpatial, IndexAndScanAgreeInAPlane) {
    EXPECT_GT(compare(true), kAnsweredByIndexMin);
}

}  // namespace
}  // namespace orrery::engine
