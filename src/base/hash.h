#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace orrery {

/// MurmurHash3 x86, 32 bit: the hash of V1 partition keys.
uint32_t murmur3_32(std::string_view bytes, uint32_t seed);

/// MurmurHash3 x64, 128 bit: the hash of V2 and hierarchical partition keys. {h1, h2}.
std::array<uint64_t, 2> murmur3_128(std::string_view bytes, uint64_t seed);

/// A 128-bit secret for SipHash.
struct SipKey {
    uint64_t k0 = 0;
    uint64_t k1 = 0;
};

/// SipHash-2-4: a keyed hash for names that clients choose (index paths, cache shards), so that
/// nobody can aim for collisions.
uint64_t siphash(SipKey key, std::string_view bytes);

/// SipHash-1-3, as hash tables of other systems use it: half the time, for what is never stored.
uint64_t siphash_1_3(SipKey key, std::string_view bytes);

}  // namespace orrery
