#include "base/find_bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace orrery {
namespace {

/// Every place, length and alignment, in a text without a byte to spare behind it: a read beyond it
/// is one that the address sanitizer sees.
TEST(FindBytes, FindsEveryPlaceInTextsOfEveryLength) {
    for (size_t size = 0; size <= 140; ++size) {
        const std::unique_ptr<char[]> bytes(new char[size]);
        for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + i % 3);
        const std::string_view text(bytes.get(), size);
        for (size_t length : {1, 2, 3, 5, 31, 32, 33, 40}) {
            if (length > size) continue;
            for (size_t at = 0; at + length <= size; ++at) {
                const char before = bytes[at + length - 1];
                bytes[at + length - 1] = 'Z';
                const std::string part(text.substr(at, length));
                for (size_t from : {size_t{0}, at / 2, at})
                    EXPECT_EQ(find_bytes(text, part, from), at);
                EXPECT_EQ(find_bytes(text, part, at + 1), std::string_view::npos);
                bytes[at + length - 1] = before;
            }
        }
    }
}

TEST(FindBytes, AgreesWithTheSearchByteByByte) {
    uint64_t seed = 7;
    const auto draw = [&](size_t bound) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        return static_cast<size_t>((seed >> 33) % bound);
    };
    for (int round = 0; round < 20'000; ++round) {
        std::string text(draw(200), ' ');
        for (char& c : text) c = "ab\xFF\0"[draw(4)];
        std::string part(draw(draw(2) == 0 ? 5 : 60), ' ');
        for (char& c : part) c = "ab\xFF\0"[draw(4)];
        const size_t from = draw(text.size() + 3);
        ASSERT_EQ(find_bytes(text, part, from), text.find(part, from))
            << "from " << from << " in a text of " << text.size() << " bytes";
    }
}

TEST(FindBytes, NothingAndOutside) {
    EXPECT_EQ(find_bytes("", ""), 0u);
    EXPECT_EQ(find_bytes("abc", "", 3), 3u);
    EXPECT_EQ(find_bytes("abc", "", 4), std::string_view::npos);
    EXPECT_EQ(find_bytes("abc", "abcd"), std::string_view::npos);
    EXPECT_EQ(find_bytes("abc", "bc", SIZE_MAX), std::string_view::npos);
}

}  // namespace
}  // namespace orrery
