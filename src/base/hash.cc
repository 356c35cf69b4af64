#include "base/hash.h"

#include <bit>
#include <cstring>

#include "base/bytes.h"

namespace orrery {
namespace {

uint32_t mix32(uint32_t h) {
    h ^= h >> 16;
    h *= 0x85ebca6bU;
    h ^= h >> 13;
    h *= 0xc2b2ae35U;
    h ^= h >> 16;
    return h;
}

uint64_t mix64(uint64_t k) {
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdULL;
    k ^= k >> 33;
    k *= 0xc4ceb9fe1a85ec53ULL;
    k ^= k >> 33;
    return k;
}

/// Up to 8 trailing bytes as a little-endian number.
uint64_t load_tail(const char* p, size_t count) {
    uint64_t v = 0;
    for (size_t i = 0; i < count; ++i)
        v |= static_cast<uint64_t>(static_cast<uint8_t>(p[i])) << (8 * i);
    return v;
}

}  // namespace

uint32_t murmur3_32(std::string_view bytes, uint32_t seed) {
    constexpr uint32_t c1 = 0xcc9e2d51U;
    constexpr uint32_t c2 = 0x1b873593U;
    uint32_t h = seed;
    const size_t blocks = bytes.size() / 4;
    for (size_t i = 0; i < blocks; ++i) {
        uint32_t k = load_u32_le(bytes.data() + 4 * i);
        k *= c1;
        k = std::rotl(k, 15);
        k *= c2;
        h ^= k;
        h = std::rotl(h, 13);
        h = h * 5 + 0xe6546b64U;
    }
    if (const size_t rest = bytes.size() & 3; rest != 0) {
        auto k = static_cast<uint32_t>(load_tail(bytes.data() + 4 * blocks, rest));
        k *= c1;
        k = std::rotl(k, 15);
        k *= c2;
        h ^= k;
    }
    return mix32(h ^ static_cast<uint32_t>(bytes.size()));
}

std::array<uint64_t, 2> murmur3_128(std::string_view bytes, uint64_t seed) {
    constexpr uint64_t c1 = 0x87c37b91114253d5ULL;
    constexpr uint64_t c2 = 0x4cf5ad432745937fULL;
    uint64_t h1 = seed;
    uint64_t h2 = seed;
    const size_t blocks = bytes.size() / 16;
    for (size_t i = 0; i < blocks; ++i) {
        uint64_t k1 = load_u64_le(bytes.data() + 16 * i);
        uint64_t k2 = load_u64_le(bytes.data() + 16 * i + 8);
        k1 *= c1;
        k1 = std::rotl(k1, 31);
        k1 *= c2;
        h1 ^= k1;
        h1 = std::rotl(h1, 27);
        h1 += h2;
        h1 = h1 * 5 + 0x52dce729;
        k2 *= c2;
        k2 = std::rotl(k2, 33);
        k2 *= c1;
        h2 ^= k2;
        h2 = std::rotl(h2, 31);
        h2 += h1;
        h2 = h2 * 5 + 0x38495ab5;
    }
    const char* tail = bytes.data() + 16 * blocks;
    const size_t rest = bytes.size() & 15;
    if (rest > 8) {
        uint64_t k2 = load_tail(tail + 8, rest - 8);
        k2 *= c2;
        k2 = std::rotl(k2, 33);
        k2 *= c1;
        h2 ^= k2;
    }
    if (rest > 0) {
        uint64_t k1 = load_tail(tail, rest < 8 ? rest : 8);
        k1 *= c1;
        k1 = std::rotl(k1, 31);
        k1 *= c2;
        h1 ^= k1;
    }
    h1 ^= bytes.size();
    h2 ^= bytes.size();
    h1 += h2;
    h2 += h1;
    h1 = mix64(h1);
    h2 = mix64(h2);
    h1 += h2;
    h2 += h1;
    return {h1, h2};
}

namespace {

template <int PerWord, int AtEnd>
uint64_t sip(SipKey key, std::string_view bytes) {
    uint64_t v0 = key.k0 ^ 0x736f6d6570736575ULL;
    uint64_t v1 = key.k1 ^ 0x646f72616e646f6dULL;
    uint64_t v2 = key.k0 ^ 0x6c7967656e657261ULL;
    uint64_t v3 = key.k1 ^ 0x7465646279746573ULL;
    const auto round = [&] {
        v0 += v1;
        v1 = std::rotl(v1, 13);
        v1 ^= v0;
        v0 = std::rotl(v0, 32);
        v2 += v3;
        v3 = std::rotl(v3, 16);
        v3 ^= v2;
        v0 += v3;
        v3 = std::rotl(v3, 21);
        v3 ^= v0;
        v2 += v1;
        v1 = std::rotl(v1, 17);
        v1 ^= v2;
        v2 = std::rotl(v2, 32);
    };
    const size_t blocks = bytes.size() / 8;
    for (size_t i = 0; i < blocks; ++i) {
        const uint64_t m = load_u64_le(bytes.data() + 8 * i);
        v3 ^= m;
        for (int j = 0; j < PerWord; ++j) round();
        v0 ^= m;
    }
    const uint64_t last = (static_cast<uint64_t>(bytes.size()) << 56) |
                          load_tail(bytes.data() + 8 * blocks, bytes.size() & 7);
    v3 ^= last;
    for (int j = 0; j < PerWord; ++j) round();
    v0 ^= last;
    v2 ^= 0xFF;
    for (int j = 0; j < AtEnd; ++j) round();
    return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace

uint64_t siphash(SipKey key, std::string_view bytes) {
    return sip<2, 4>(key, bytes);
}

uint64_t siphash_1_3(SipKey key, std::string_view bytes) {
    return sip<1, 3>(key, bytes);
}

}  // namespace orrery
