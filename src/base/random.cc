#include "base/random.h"

#include <sys/random.h>

#include <cstring>

#include "base/check.h"

namespace orrery {

void random_bytes(char* out, size_t count) {
    while (count > 0) {
        const ssize_t n = ::getrandom(out, count, 0);
        CHECK(n > 0);
        out += n;
        count -= static_cast<size_t>(n);
    }
}

uint64_t random_u64() {
    // splitmix64 over a seed of the operating system's, one per thread.
    thread_local uint64_t state = [] {
        uint64_t seed;
        random_bytes(reinterpret_cast<char*>(&seed), sizeof seed);
        return seed;
    }();
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

namespace {

constexpr std::array<std::array<char, 2>, 256> make_hex_pairs() {
    constexpr char digits[] = "0123456789abcdef";
    std::array<std::array<char, 2>, 256> pairs{};
    for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = {digits[i >> 4], digits[i & 15]};
    return pairs;
}
constexpr auto kHexPairs = make_hex_pairs();

}  // namespace

void guid_text_to(char* out, const std::array<uint8_t, 16>& bytes) {
    const auto put = [&](size_t first, size_t end) {
        for (size_t i = first; i < end; ++i, out += 2)
            std::memcpy(out, kHexPairs[bytes[i]].data(), 2);
    };
    put(0, 4);
    *out++ = '-';
    put(4, 6);
    *out++ = '-';
    put(6, 8);
    *out++ = '-';
    put(8, 10);
    *out++ = '-';
    put(10, 16);
}

std::string guid_text(const std::array<uint8_t, 16>& bytes) {
    std::string out(kGuidChars, '\0');
    guid_text_to(out.data(), bytes);
    return out;
}

std::string random_guid() {
    std::array<uint8_t, 16> bytes;
    const uint64_t a = random_u64();
    const uint64_t b = random_u64();
    std::memcpy(bytes.data(), &a, 8);
    std::memcpy(bytes.data() + 8, &b, 8);
    bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0F) | 0x40);
    bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3F) | 0x80);
    return guid_text(bytes);
}

}  // namespace orrery
