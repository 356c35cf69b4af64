#include "lab/rules/cost.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace orrery::lab {
namespace {

TEST(Cost, PublishedVectors) {
    EXPECT_EQ(manual_cost(1000, 720, 1, false, false), 57'600'000);
    EXPECT_EQ(manual_cost(2500, 24, 1, false, false), 4'800'000);
    EXPECT_EQ(serverless_cost(500'000), 125'000);
    EXPECT_EQ(manual_cost(1200, 500, 1, false, false) + manual_cost(22'200, 220, 1, false, false),
              438'720'000);
    EXPECT_EQ(manual_cost(10'000, 720, 4, false, false) + storage_cost(250 << 10, 4),
              2'554'000'000);
    EXPECT_EQ(manual_cost(10'000, 720, 4, true, false) + storage_cost(250 << 10, 4), 4'858'000'000);
    EXPECT_EQ(manual_cost(500, 730, 1, false, false), 29'200'000);
    EXPECT_EQ(serverless_cost(20'000'000), 5'000'000);
    EXPECT_EQ(serverless_cost(250'000'000), 62'500'000);
    EXPECT_EQ(manual_cost(30'000, 3, 1, false, false), 7'200'000);
    EXPECT_EQ(autoscale_cost(30'000, {1800, 30'000, 3300}, 1, false), 4'356'000);
    EXPECT_EQ(manual_cost(1000, 1, 1, false, true), 100'000);
    EXPECT_EQ(manual_cost(1000, 1, 1, true, true), 160'000);  // multi-write pays nothing for zones
}

TEST(Cost, ReservationsAreMarginal) {
    EXPECT_EQ(reserved_cost(100'000, 1, 1, false, 1), 100'000 * 80 * 8 / 10);
    EXPECT_EQ(reserved_cost(200'000, 1, 1, false, 1), 100'000 * 80 * 8 / 10 + 100'000 * 60);
    EXPECT_EQ(reserved_cost(50'000, 1, 2, true, 3), 100'000 * 160 * 65 / 100);
}

TEST(Cost, ServerlessBreakEven) {
    CostInput input;
    input.peak_ru_per_second = 1000;
    input.hourly_peak_percent = 100;
    input.ru_per_month = 1000 * 233'600 - 4;
    CostComparison at = compare_costs(input);
    EXPECT_LT(at.options[2].total(), at.options[0].total());
    input.ru_per_month = 1000 * 233'600 + 4;
    at = compare_costs(input);
    EXPECT_GT(at.options[2].total(), at.options[0].total());
}

TEST(Cost, AutoscaleIsCheaperBelowTwoThirds) {
    CostInput input;
    input.peak_ru_per_second = 10'000;
    input.ru_per_month = 1'000'000'000'000;
    input.hourly_peak_percent = 66;
    CostComparison at = compare_costs(input);
    EXPECT_LT(at.options[1].total(), at.options[0].total());
    input.hourly_peak_percent = 67;
    at = compare_costs(input);
    EXPECT_GT(at.options[1].total(), at.options[0].total());
}

TEST(Cost, WhatServerlessCannotDoIsNotCheapest) {
    CostInput input;
    input.peak_ru_per_second = 6000;
    input.ru_per_month = 1000;
    CostComparison at = compare_costs(input);
    EXPECT_FALSE(at.options[2].possible);
    EXPECT_NE(at.options[at.cheapest].name, "serverless");
    input.peak_ru_per_second = 100;
    input.regions = 2;
    at = compare_costs(input);
    EXPECT_FALSE(at.options[2].possible);
    EXPECT_EQ(at.saves, at.options[0].total() - at.options[at.cheapest].total());
    EXPECT_GT(at.options[0].total(), 0);
}

TEST(Cost, FreeTierAndMinimum) {
    CostInput input;
    input.free_tier = true;
    input.peak_ru_per_second = 700;
    input.storage_mb = 20 << 10;
    const CostComparison at = compare_costs(input);
    EXPECT_EQ(at.options[0].total(), 0);
    input.free_tier = false;
    input.peak_ru_per_second = 0;
    input.storage_mb = 2000 << 10;
    EXPECT_EQ(compare_costs(input).options[0].throughput_ru, 2000);    // 1 RU/s per GB
    EXPECT_EQ(compare_costs(input).options[1].throughput_ru, 20'000);  // 10 per GB
}

TEST(Cost, FormIsChecked) {
    json::Arena arena;
    EXPECT_EQ(
        read_cost_input(*json::parse(R"({"peakRuPerSecond":1500,"regions":2})", arena))->regions,
        2);
    const auto wrong = read_cost_input(*json::parse(R"({"regions":0})", arena));
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().message.find("'regions'"), std::string::npos);
    EXPECT_FALSE(read_cost_input(*json::parse(R"({"backup":"never"})", arena)).ok());
    EXPECT_FALSE(read_cost_input(*json::parse("[]", arena)).ok());
}

TEST(Cost, Dollars) {
    EXPECT_EQ(dollars(0), "$0.00");
    EXPECT_EQ(dollars(4'999), "$0.00");
    EXPECT_EQ(dollars(5'000), "$0.01");
    EXPECT_EQ(dollars(1'234'567'890'000), "$1,234,567.89");
    EXPECT_EQ(dollars(-58'000'000), "-$58.00");
}

}  // namespace
}  // namespace orrery::lab
