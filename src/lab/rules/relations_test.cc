#include "lab/rules/relations.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace orrery::lab {
namespace {

/// Orders with lines, 1,000 reads; so many updates, of which `changes` of 100 sampled ones touch
/// the lines.
Relation lines(int64_t median, int64_t longest, double bytes, double mean_bytes, int updates,
               int changes, int rises) {
    const auto observation = read_observation(fmt::format(
        R"({{"observedSeconds":3600,"keyPaths":["/pk"],"throughput":{{"mode":"serverless"}},
            "itemUse":{{"samples":200,"meanBytes":{},"updates":100}},
            "paths":[{{"path":"/lines","samples":200,"meanBytes":{},"changes":{},
                      "array":{{"samples":200,"p50":{},"p99":{},"max":{},"ofObjects":true,"rises":{}}}}}],
            "operations":[{{"operation":"read","requests":1000,"ru":1000}},{{"operation":"replace","requests":{},"ru":10000}}]}})",
        mean_bytes, bytes, changes, median, longest, longest, rises, updates));
    EXPECT_TRUE(observation.ok()) << observation.error().message;
    const auto found = relations_of(*observation);
    EXPECT_EQ(found.size(), 1u);
    return found.at(0);
}

TEST(Relations, FewElementsThatAreReadWithTheirItemStay) {
    const Relation found = lines(3, 10, 200, 900, 20, 5, 0);
    EXPECT_EQ(found.advice, Relation::Advice::kEmbed);
    EXPECT_LT(found.embedded_ru_month, found.referenced_ru_month);
    EXPECT_EQ(found.saved_month, 0);
    EXPECT_EQ(found.elements_p99, 10);
    EXPECT_NEAR(found.element_bytes, 200.0 / 3, 1);
    EXPECT_NEAR(found.rest_bytes, 700, 1);
    EXPECT_EQ(found.reads, 1000);
    EXPECT_EQ(found.updates, 20);
    EXPECT_EQ(found.relation_updates, 1);
}

TEST(Relations, ElementsThatChangeOftenInLargeItemsGo) {
    const Relation found = lines(200, 400, 60'000, 64'000, 100'000, 100, 0);
    EXPECT_EQ(found.advice, Relation::Advice::kReference);
    EXPECT_GT(found.embedded_ru_month, found.referenced_ru_month);
    EXPECT_GT(found.saved_month, 0);
}

TEST(Relations, WhatOnlyGrowsDoesNotStay) {
    EXPECT_EQ(lines(800, 1200, 40'000, 50'000, 10, 100, 50).advice, Relation::Advice::kMixed);
    EXPECT_EQ(lines(800, 1200, 40'000, 50'000, 5000, 100, 50).advice, Relation::Advice::kReference);
    EXPECT_EQ(lines(800, 900, 4'000, 5'000, 10, 1, 50).advice, Relation::Advice::kEmbed);
}

TEST(Relations, ItemsNearTheLimitAreNoPlaceForMore) {
    const Relation found = lines(20'000, 20'000, 1'900'000, 1'900'100, 0, 0, 0);
    EXPECT_EQ(found.advice, Relation::Advice::kMixed);
    EXPECT_NE(found.why.find("2 MB"), std::string::npos) << found.why;
}

TEST(Relations, NothingIsSaidWithoutSamples) {
    EXPECT_TRUE(relations_of(Observation()).empty());
}

}  // namespace
}  // namespace orrery::lab
