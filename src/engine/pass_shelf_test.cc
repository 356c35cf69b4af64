#include "engine/pass_shelf.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::engine {
namespace {

class SizedPass final : public query::ParkedPass {
public:
    explicit SizedPass(size_t bytes) : bytes_(bytes) {}
    size_t bytes() const override { return bytes_; }

private:
    size_t bytes_;
};

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(PassShelfTest, TheOldestGiveWayToBytes) {
    const SystemClock clock;
    PassShelf shelf(clock);
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 4; ++i)
        numbers.push_back(shelf.put(std::make_unique<SizedPass>(100 * kMegabyte)));
    EXPECT_EQ(shelf.take(numbers[0]), nullptr);
    EXPECT_EQ(shelf.take(numbers[1]), nullptr);
    EXPECT_NE(shelf.take(numbers[2]), nullptr);
    EXPECT_NE(shelf.take(numbers[3]), nullptr);
    // What was taken has left room.
    numbers = {shelf.put(std::make_unique<SizedPass>(100 * kMegabyte)),
               shelf.put(std::make_unique<SizedPass>(100 * kMegabyte))};
    EXPECT_NE(shelf.take(numbers[0]), nullptr);
    EXPECT_NE(shelf.take(numbers[1]), nullptr);
}

TEST(PassShelfTest, ALargeOneIsThereAlone) {
    const SystemClock clock;
    PassShelf shelf(clock);
    const uint64_t small = shelf.put(std::make_unique<SizedPass>(kMegabyte));
    const uint64_t large = shelf.put(std::make_unique<SizedPass>(500 * kMegabyte));
    EXPECT_EQ(shelf.take(small), nullptr);
    EXPECT_NE(shelf.take(large), nullptr);
}

TEST(PassShelfTest, ThereAreThirtyTwoAtMost) {
    const SystemClock clock;
    PassShelf shelf(clock);
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 33; ++i) numbers.push_back(shelf.put(std::make_unique<SizedPass>(1)));
    EXPECT_EQ(shelf.take(numbers[0]), nullptr);
    for (size_t i = 1; i < 33; ++i) EXPECT_NE(shelf.take(numbers[i]), nullptr) << i;
}

}  // namespace
}  // namespace orrery::engine
