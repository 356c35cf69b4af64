#include "lab/heavy_hitters.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace orrery::lab {
namespace {

TEST(HeavyHitters, ExactWhileThereIsRoom) {
    HeavyHitters sketch(3);
    sketch.add(1, "a", 5);
    sketch.add(2, "b", 7);
    sketch.add(1, "a", 4);
    const auto top = sketch.top(10);
    ASSERT_EQ(top.size(), 2u);
    EXPECT_EQ(top[0].key, "a");
    EXPECT_EQ(top[0].weight, 9);
    EXPECT_EQ(top[0].error, 0);
    EXPECT_EQ(sketch.error_max(), 0);
    EXPECT_EQ(sketch.total(), 16);
}

/// Checks the promises against exact sums.
void expect_bounds(const HeavyHitters& sketch, const std::map<uint64_t, int64_t>& truth) {
    int64_t total = 0;
    for (const auto& [key, weight] : truth) total += weight;
    EXPECT_EQ(sketch.total(), total);
    std::map<std::string, HeavyHitters::Entry> reported;
    for (auto& entry : sketch.top(1000)) reported[entry.key] = entry;
    for (const auto& [key, weight] : truth) {
        const auto found = reported.find(std::to_string(key));
        if (found == reported.end()) {
            EXPECT_LE(weight, sketch.error_max()) << key;
            continue;
        }
        EXPECT_GE(found->second.weight, weight) << key;
        EXPECT_LE(found->second.weight - found->second.error, weight) << key;
    }
}

TEST(HeavyHitters, BoundsHoldForSkewedStreams) {
    for (const uint64_t seed : {1u, 2u, 3u}) {
        std::mt19937_64 random(seed);
        HeavyHitters sketch(40);
        std::map<uint64_t, int64_t> truth;
        for (int i = 0; i < 20'000; ++i) {
            // A few keys take most of it, thousands share the rest.
            const uint64_t key = random() % 3 == 0 ? random() % 5'000 : random() % 7;
            const auto weight = static_cast<int64_t>(1 + random() % 9);
            sketch.add(key + 1, std::to_string(key + 1), weight);
            truth[key + 1] += weight;
        }
        expect_bounds(sketch, truth);
        EXPECT_LT(sketch.error_max(), sketch.total() / 40 + 1);
    }
}

/// Few slots, many keys that come and go: who is in the sketch is found, and nobody else.
TEST(HeavyHitters, KeysThatShareSlotsAreToldApart) {
    for (const size_t capacity : {1u, 2u, 3u, 8u}) {
        std::mt19937_64 random(capacity);
        HeavyHitters sketch(capacity);
        std::map<uint64_t, int64_t> truth;
        for (int i = 0; i < 30'000; ++i) {
            // Hashes that differ in their highest bits alone, and in their lowest alone.
            const uint64_t number = random() % 24;
            const uint64_t hash = (number < 12 ? number << 60 | number << 40 : number) | 1 << 20;
            sketch.add(hash, std::to_string(hash), 1);
            ++truth[hash];
            const auto top = sketch.top(100);
            ASSERT_EQ(top.size(), std::min(capacity, truth.size()));
            std::map<std::string, int> once;
            int64_t sum = 0;
            for (const auto& entry : top) {
                ASSERT_EQ(++once[entry.key], 1);
                sum += entry.weight;
            }
            // What SpaceSaving keeps: nothing is lost but the names.
            ASSERT_EQ(sum, sketch.total());
        }
        expect_bounds(sketch, truth);
    }
}

TEST(HeavyHitters, MergeKeepsTheBounds) {
    std::mt19937_64 random(9);
    std::map<uint64_t, int64_t> truth;
    HeavyHitters sum(30);
    for (int part = 0; part < 5; ++part) {
        HeavyHitters sketch(30);
        for (int i = 0; i < 5'000; ++i) {
            const uint64_t key = random() % 2 == 0 ? 1 + random() % 4 : 1 + random() % 2'000;
            sketch.add(key, std::to_string(key), 3);
            truth[key] += 3;
        }
        sum.merge(sketch);
    }
    expect_bounds(sum, truth);
    sum.add(77'777, "77777", 1);
    truth[77'777] = 1;
    expect_bounds(sum, truth);
}

}  // namespace
}  // namespace orrery::lab
