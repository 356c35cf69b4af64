#include "base/crc32.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery {
namespace {

TEST(Crc32, KnownSums) {
    EXPECT_EQ(crc32(""), 0u);
    EXPECT_EQ(crc32("123456789"), 0xCBF43926u);  // the check value of the standard
    EXPECT_EQ(crc32("The quick brown fox jumps over the lazy dog"), 0x414FA339u);
    EXPECT_EQ(crc32(std::string(32, '\0')), 0x190A55ADu);
    EXPECT_EQ(crc32(std::string(32, '\xFF')), 0xFF6CAB0Bu);
}

/// Every length and alignment gives what one byte at a time gives.
TEST(Crc32, StrideDoesNotMatter) {
    const auto slow = [](std::string_view bytes) {
        uint32_t sum = 0xFFFFFFFF;
        for (const char c : bytes) {
            sum ^= static_cast<uint8_t>(c);
            for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xEDB88320 : 0);
        }
        return ~sum;
    };
    std::string text;
    for (int i = 0; i < 64; ++i) text.push_back(static_cast<char>(i * 37 + 11));
    for (size_t start = 0; start < 9; ++start)
        for (size_t length = 0; start + length <= text.size(); ++length)
            EXPECT_EQ(crc32(std::string_view(text).substr(start, length)),
                      slow(std::string_view(text).substr(start, length)));
}

}  // namespace
}  // namespace orrery
