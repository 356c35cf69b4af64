#include "base/find_bytes.h"

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orrery {
namespace {

/// Parts up to this length are compared at every place where their first and last byte fit.
constexpr size_t kShortPartBytes = 32;

size_t find_portable(std::string_view text, std::string_view part, size_t from) {
    return text.find(part, from);
}

#if defined(__x86_64__)

#define ORRERY_AVX2 __attribute__((target("avx2,bmi")))

/// For parts of at least two bytes.
ORRERY_AVX2 size_t find_avx2(std::string_view text, std::string_view part, size_t from) {
    constexpr size_t kStride = 32;
    const size_t last_at = part.size() - 1;
    const __m256i first = _mm256_set1_epi8(part.front());
    const __m256i last = _mm256_set1_epi8(part.back());
    const char* const begin = text.data();
    size_t at = from;
    for (; at + last_at + kStride <= text.size(); at += kStride) {
        const __m256i heads = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(begin + at));
        const __m256i tails =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(begin + at + last_at));
        auto fits = static_cast<uint32_t>(_mm256_movemask_epi8(
            _mm256_and_si256(_mm256_cmpeq_epi8(heads, first), _mm256_cmpeq_epi8(tails, last))));
        for (; fits != 0; fits &= fits - 1) {
            const size_t place = at + static_cast<size_t>(std::countr_zero(fits));
            if (std::memcmp(begin + place + 1, part.data() + 1, part.size() - 2) == 0) return place;
        }
    }
    return find_portable(text, part, at);
}

using Find = size_t (*)(std::string_view, std::string_view, size_t);

Find fastest() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") ? find_avx2
                                                                           : find_portable;
}

const Find find_short = fastest();

#else

constexpr auto find_short = find_portable;

#endif

}  // namespace

size_t find_bytes(std::string_view text, std::string_view part, size_t from) {
    if (from >= text.size() || part.size() > text.size() - from || part.size() < 2)
        return text.find(part, from);
    if (part.size() < kShortPartBytes) return find_short(text, part, from);
    const void* const found =
        memmem(text.data() + from, text.size() - from, part.data(), part.size());
    if (found == nullptr) return std::string_view::npos;
    return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace orrery
