#include "base/crc32.h"

#include <array>
#include <cstddef>

#include "base/bytes.h"

namespace orrery {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;
constexpr size_t kStride = 8;  ///< bytes taken at a time, one table for each

/// kTables[k][b]: what byte b does to the sum when k more bytes follow it.
constexpr auto kTables = [] {
    std::array<std::array<uint32_t, 256>, kStride> tables{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
        tables[0][byte] = sum;
    }
    for (size_t k = 1; k < kStride; ++k)
        for (size_t byte = 0; byte < 256; ++byte)
            tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xFF];
    return tables;
}();

}  // namespace

uint32_t crc32(std::string_view bytes) {
    uint32_t sum = 0xFFFFFFFF;
    while (bytes.size() >= kStride) {
        const uint64_t word = load_u64_le(bytes.data()) ^ sum;
        sum = 0;
        for (size_t k = 0; k < kStride; ++k)
            sum ^= kTables[kStride - 1 - k][(word >> (8 * k)) & 0xFF];
        bytes.remove_prefix(kStride);
    }
    for (const char c : bytes)
        sum = (sum >> 8) ^ kTables[0][(sum ^ static_cast<uint8_t>(c)) & 0xFF];
    return ~sum;
}

}  // namespace orrery
