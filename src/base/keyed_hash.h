#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/hash.h"

/// Hashes for tables whose keys clients choose. They depend on secrets of this process, drawn at
/// its start, so that nobody can prepare keys that share a place. Never for anything that outlives
/// the process, nor for anything whose order a client sees.
namespace orrery {

/// For SipHash, where a caller adds to the key.
SipKey process_hash_key();

namespace detail {

/// Factors of a sum: two different tuples of words share a hash with a probability of 2^-64.
struct HashFactors {
    unsigned __int128 word[3];
    unsigned __int128 added;
};
const HashFactors& hash_factors();

inline uint64_t mixed(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}
inline uint64_t hash_words(uint64_t a, uint64_t b, uint64_t c) {
    const HashFactors& f = hash_factors();
    const unsigned __int128 sum = f.word[0] * a + f.word[1] * b + f.word[2] * c + f.added;
    // Mixing is needed: without it the sum of hashes would depend on the sum of the words alone.
    return mixed(static_cast<uint64_t>(sum >> 64));
}
uint64_t hash_long(std::string_view bytes, uint64_t domain);

}  // namespace detail

/// `domain` keeps apart values that have the same bytes and are not equal.
inline uint64_t keyed_hash(uint64_t word, uint64_t domain = 0) {
    return detail::hash_words(word, 0, domain << 8);
}

inline uint64_t keyed_hash(std::string_view bytes, uint64_t domain = 0) {
    const size_t size = bytes.size();
    if (size > 16) return detail::hash_long(bytes, domain);
    const char* const p = bytes.data();
    uint64_t head = 0;
    uint64_t tail = 0;
    if (size >= 8) {
        std::memcpy(&head, p, 8);
        std::memcpy(&tail, p + size - 8, 8);
    } else if (size >= 4) {
        std::memcpy(&head, p, 4);
        std::memcpy(&tail, p + size - 4, 4);
    } else if (size > 0) {
        head = static_cast<uint8_t>(p[0]) |
               static_cast<uint64_t>(static_cast<uint8_t>(p[size / 2])) << 8 |
               static_cast<uint64_t>(static_cast<uint8_t>(p[size - 1])) << 16;
    }
    return detail::hash_words(head, tail, domain << 8 | size);
}

/// Of a sequence whose parts so far have `hash`, and whose next part has `next`.
inline uint64_t keyed_hash_of_both(uint64_t hash, uint64_t next) {
    return detail::hash_words(hash, next, ~uint64_t{0});
}

/// For maps and sets by text.
struct KeyedHash {
    using is_transparent = void;
    size_t operator()(std::string_view bytes) const { return keyed_hash(bytes); }
};

/// For tables whose keys are such hashes already.
struct HashedAlready {
    size_t operator()(uint64_t hash) const { return hash; }
};

}  // namespace orrery
