#include "json/detail/structure.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orrery::json::detail {
namespace {

/// Where certain bytes are in one block.
struct ByteMasks {
    uint64_t quote;
    uint64_t backslash;
    uint64_t open;
    uint64_t close;
    uint64_t colon;
};

/// The bytes behind an odd number of backslashes. Backslashes are rare.
[[gnu::always_inline]] inline uint64_t escaped_bytes(uint64_t backslash, uint64_t& carry) {
    uint64_t escaped = carry;
    carry = 0;
    if (backslash == 0) [[likely]]
        return escaped;
    backslash &= ~escaped;
    while (backslash != 0) {
        const uint64_t bit = backslash & (~backslash + 1);
        const uint64_t next = bit << 1;
        if (next == 0) carry = 1;
        escaped |= next;
        backslash &= ~(bit | next);
    }
    return escaped;
}

/// Colons that stand `distance` behind a quote and two behind a name's last byte.
[[gnu::always_inline]] inline uint64_t colons_behind(uint64_t quote, uint64_t quote_before,
                                                     unsigned distance, uint64_t last,
                                                     uint64_t last_before) {
    return ((quote << distance) | (quote_before >> (64 - distance))) &
           ((last << 2) | (last_before >> 62));
}

/// Keeps the candidates at depth 1, up to the end of the object.
[[gnu::always_inline]] inline StructureBlock own_members(uint64_t candidates, uint64_t open,
                                                         uint64_t close, int64_t depth) {
    const auto depth_at = [&](uint64_t below) {
        return depth + __builtin_popcountll(open & below) - __builtin_popcountll(close & below);
    };
    StructureBlock out{0, false};
    if (depth - __builtin_popcountll(close) <= 0) [[unlikely]] {
        for (uint64_t rest = close; rest != 0; rest &= rest - 1) {
            const uint64_t below = (rest & (~rest + 1)) - 1;
            if (depth_at(below) > 1) continue;
            out.ended = true;
            candidates &= below;
            break;
        }
    }
    for (; candidates != 0; candidates &= candidates - 1) {
        const uint64_t bit = candidates & (~candidates + 1);
        if (depth_at(bit - 1) == 1) out.candidates |= bit;
    }
    return out;
}

/// The state of a scan, in registers while it runs.
struct Running {
    explicit Running(const StructureState& state)
        : in_string(state.in_string),
          escape(state.escape),
          quotes(state.quotes),
          depth(state.depth) {}
    void save(StructureState& state) const {
        state.in_string = in_string;
        state.escape = escape;
        state.quotes = quotes;
        state.depth = depth;
    }

    uint64_t in_string;
    uint64_t escape;
    uint64_t quotes;
    int64_t depth;
};

/// `parity` is that of the quotes.
[[gnu::always_inline]] inline StructureBlock finish_block(const ByteMasks& bytes, uint64_t parity,
                                                          uint64_t behind_names, Running& running) {
    const uint64_t in_string = parity ^ running.in_string;
    running.in_string = static_cast<uint64_t>(static_cast<int64_t>(in_string) >> 63);
    running.quotes = bytes.quote;
    const uint64_t open = bytes.open & ~in_string;
    const uint64_t close = bytes.close & ~in_string;
    const int64_t depth = running.depth;
    running.depth += __builtin_popcountll(open) - __builtin_popcountll(close);
    return own_members(bytes.colon & ~in_string & behind_names, open, close, depth);
}

/// Bit n is the parity of the bits 0..n.
inline uint64_t running_parity(uint64_t bits) {
    for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
}

#if defined(__x86_64__)

uint64_t mask_of(const __m128i* bytes, __m128i same) {
    uint64_t mask = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const int part = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes[i], same));
        mask |= static_cast<uint64_t>(static_cast<uint32_t>(part)) << (16 * i);
    }
    return mask;
}

class PortableBlock {
public:
    explicit PortableBlock(const char* text) {
        for (unsigned i = 0; i < 4; ++i) {
            bytes_[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text) + i);
            folded_[i] = _mm_or_si128(bytes_[i], _mm_set1_epi8(0x20));
        }
    }
    uint64_t equal(char c) const { return mask_of(bytes_, _mm_set1_epi8(c)); }
    uint64_t equal_folded(char c) const { return mask_of(folded_, _mm_set1_epi8(c)); }

private:
    __m128i bytes_[4];
    __m128i folded_[4];
};

#else

class PortableBlock {
public:
    explicit PortableBlock(const char* text) : text_(text) {}
    uint64_t equal(char c) const {
        uint64_t mask = 0;
        for (unsigned i = 0; i < kBlockBytes; ++i) mask |= uint64_t{text_[i] == c} << i;
        return mask;
    }
    uint64_t equal_folded(char c) const {
        uint64_t mask = 0;
        for (unsigned i = 0; i < kBlockBytes; ++i) mask |= uint64_t{(text_[i] | 0x20) == c} << i;
        return mask;
    }

private:
    const char* text_;
};

#endif

}  // namespace

// '{' and '[', '}' and ']' differ in bit 0x20 only: with it set they are found together.
void scan_structure_portable(const char* text, size_t count, const WantedNames& names,
                             StructureState& state, StructureBlock* out) {
    Running running(state);
    for (size_t i = 0; i < count; ++i, text += kBlockBytes) {
        const PortableBlock block(text);
        ByteMasks bytes{block.equal('"'), block.equal('\\'), block.equal_folded('{'),
                        block.equal_folded('}'), block.equal(':')};
        bytes.quote &= ~escaped_bytes(bytes.backslash, running.escape);
        uint64_t behind = names.count == 0 ? ~uint64_t{0} : 0;
        for (size_t n = 0; n < names.count; ++n) {
            const uint64_t last = block.equal(names.last[n]);
            behind |=
                colons_behind(bytes.quote, running.quotes, names.distance[n], last, state.last[n]);
            state.last[n] = last;
        }
        out[i] = finish_block(bytes, running_parity(bytes.quote), behind, running);
    }
    running.save(state);
}

#if defined(__x86_64__)
namespace {

#define ORRERY_AVX2 __attribute__((target("avx2,pclmul,bmi,popcnt")))

[[gnu::always_inline]] inline ORRERY_AVX2 uint64_t mask_avx2(__m256i low, __m256i high, char c) {
    const __m256i same = _mm256_set1_epi8(c);
    const auto l = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, same)));
    const auto h = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, same)));
    return l | (static_cast<uint64_t>(h) << 32);
}

ORRERY_AVX2 void scan_structure_avx2(const char* text, size_t count, const WantedNames& names,
                                     StructureState& state, StructureBlock* out) {
    const __m256i bit = _mm256_set1_epi8(0x20);
    const __m128i ones = _mm_set1_epi8(-1);
    Running running(state);
    for (size_t i = 0; i < count; ++i, text += kBlockBytes) {
        const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text));
        const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text) + 1);
        const __m256i low_folded = _mm256_or_si256(low, bit);
        const __m256i high_folded = _mm256_or_si256(high, bit);
        ByteMasks bytes{mask_avx2(low, high, '"'), mask_avx2(low, high, '\\'),
                        mask_avx2(low_folded, high_folded, '{'),
                        mask_avx2(low_folded, high_folded, '}'), mask_avx2(low, high, ':')};
        bytes.quote &= ~escaped_bytes(bytes.backslash, running.escape);
        uint64_t behind = names.count == 0 ? ~uint64_t{0} : 0;
        for (size_t n = 0; n < names.count; ++n) {
            const uint64_t last = mask_avx2(low, high, names.last[n]);
            behind |=
                colons_behind(bytes.quote, running.quotes, names.distance[n], last, state.last[n]);
            state.last[n] = last;
        }
        // A carry-less product with all ones gives the running parity.
        const __m128i parity =
            _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(bytes.quote)), ones, 0);
        out[i] =
            finish_block(bytes, static_cast<uint64_t>(_mm_cvtsi128_si64(parity)), behind, running);
    }
    running.save(state);
}

StructureScan fastest() {
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
    return avx2 ? scan_structure_avx2 : scan_structure_portable;
}

}  // namespace

const StructureScan scan_structure = fastest();
#else
const StructureScan scan_structure = scan_structure_portable;
#endif

}  // namespace orrery::json::detail
