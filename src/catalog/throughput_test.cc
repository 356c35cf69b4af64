#include "catalog/throughput.h"

#include <gtest/gtest.h>

#include "catalog/catalog_test_support.h"

namespace orrery::catalog {
namespace {

Ended check(const ThroughputRequest& request) {
    return ended(check_throughput(request));
}

TEST(Throughput, ManualRangeAndStep) {
    for (int64_t good : {400, 500, 1'000'000}) EXPECT_EQ(check({good, {}, {}}), Ended::kOk) << good;
    for (int64_t bad : {-400, 0, 300, 399, 450, 401, 1'000'100})
        EXPECT_EQ(check({bad, {}, {}}), Ended::kBadRequest) << bad;
}

TEST(Throughput, AutoscaleRangeAndStep) {
    for (int64_t good : {1000, 4000, 1'000'000})
        EXPECT_EQ(check({{}, good, {}}), Ended::kOk) << good;
    for (int64_t bad : {-1000, 0, 900, 1500, 1'001'000})
        EXPECT_EQ(check({{}, bad, {}}), Ended::kBadRequest) << bad;
    EXPECT_EQ(check({{}, 4000, 5}), Ended::kOk);
    EXPECT_EQ(check({{}, 4000, 101}), Ended::kBadRequest);
    EXPECT_EQ(check({{}, 4000, -1}), Ended::kBadRequest);
    EXPECT_EQ(check({400, {}, 5}), Ended::kBadRequest);
}

TEST(Throughput, OneKindOnly) {
    EXPECT_EQ(check({400, 4000, {}}), Ended::kBadRequest);
    EXPECT_EQ(check({}), Ended::kOk);
}

TEST(Throughput, PublishedMinimums) {
    EXPECT_EQ(minimum_manual(400, 0, 0), 400);
    EXPECT_EQ(minimum_manual(50'000, 20, 0), 500);
    EXPECT_EQ(minimum_manual(50'000, 2'000, 0), 2'000);
    EXPECT_EQ(minimum_manual(400, 0, 25), 400);
    EXPECT_EQ(minimum_manual(400, 0, 30), 900);
    EXPECT_EQ(minimum_manual(50'100, 0, 0), 600);  // in steps of 100
    EXPECT_EQ(minimum_autoscale(1'000, 0, 0), 1'000);
    EXPECT_EQ(minimum_autoscale(50'000, 20, 0), 5'000);
    EXPECT_EQ(minimum_autoscale(50'000, 2'000, 0), 20'000);
    EXPECT_EQ(minimum_autoscale(1'000, 0, 30), 6'000);
}

TEST(Throughput, PublishedMigrations) {
    EXPECT_EQ(autoscale_from_manual(400, 400, 0), 1'000);
    EXPECT_EQ(autoscale_from_manual(10'000, 10'000, 25), 10'000);
    EXPECT_EQ(autoscale_from_manual(50'000, 50'000, 25'000), 250'000);
    EXPECT_EQ(autoscale_from_manual(1'100, 400, 0), 2'000);
}

TEST(Throughput, PublishedPartitionCounts) {
    for (const auto& [ru, count] : std::vector<std::pair<int64_t, uint32_t>>{{400, 1},
                                                                             {4'000, 1},
                                                                             {6'000, 1},
                                                                             {6'100, 2},
                                                                             {10'000, 2},
                                                                             {11'000, 2},
                                                                             {12'000, 2},
                                                                             {18'000, 3},
                                                                             {25'100, 5},
                                                                             {30'000, 5},
                                                                             {150'000, 25}})
        EXPECT_EQ(partition_count({ru, {}, {}}), count) << ru;
    for (const auto& [ru, count] : std::vector<std::pair<int64_t, uint32_t>>{
             {1'000, 1}, {10'000, 1}, {11'000, 2}, {30'000, 3}, {250'000, 25}}) {
        EXPECT_EQ(partition_count({{}, ru, {}}), count) << ru;
        Offer offer;
        offer.autoscale_max = ru;
        EXPECT_EQ(shared_partition_count(offer), count) << ru;
    }
}

}  // namespace
}  // namespace orrery::catalog
