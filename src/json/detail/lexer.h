#pragma once

#include <cstdint>
#include <string_view>

#include "json/value.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace orrery::json::detail {

/// Where and why a text is not JSON.
struct Fault {
    const char* what = nullptr;
    const char* at = nullptr;
};

/// First byte in [p, end) that ends a run of plain string bytes: '"', '\' or a control character.
inline const char* skip_plain(const char* p, const char* end) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1F);
    while (end - p >= 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        const __m128i special = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
            _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
        const int mask = _mm_movemask_epi8(special);
        if (mask != 0) return p + __builtin_ctz(static_cast<unsigned>(mask));
        p += 16;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && static_cast<unsigned char>(*p) >= 0x20) ++p;
    return p;
}

inline bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
inline bool is_digit(char c) {
    return static_cast<unsigned char>(c - '0') <= 9;
}

/// A string token: its value without quotes and escapes.
struct StringToken {
    std::string_view value;
    const char* end = nullptr;  ///< behind the closing quote
    bool escaped = false;       ///< the value was decoded into the arena, else it lies in the text
};

/// Decodes a string from its first escape on; `begin` is behind the opening quote, `escape` is
/// where skip_plain() stopped. The value is put into `arena`. False: fault is set.
bool lex_escaped_string(const char* begin, const char* escape, const char* end, Arena& arena,
                        StringToken& token, Fault& fault);

/// Lexes the string whose opening quote is at `p`.
inline bool lex_string(const char* p, const char* end, Arena& arena, StringToken& token,
                       Fault& fault) {
    const char* begin = p + 1;
    const char* stop = skip_plain(begin, end);
    if (stop < end && *stop == '"') [[likely]] {
        token.value = {begin, static_cast<size_t>(stop - begin)};
        token.end = stop + 1;
        token.escaped = false;
        return true;
    }
    return lex_escaped_string(begin, stop, end, arena, token, fault);
}

inline constexpr double kPowersOfTen[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                          1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};

/// Converts a literal that lex_number() found well-formed and that is no small integer.
bool convert_number(std::string_view literal, bool integer, Value& value);

/// Lexes the number at `p` (a digit or '-'). Returns the byte behind it, or null with fault set.
/// The value borrows the literal's text.
inline const char* lex_number(const char* p, const char* end, Value& value, Fault& fault) {
    const char* const begin = p;
    const bool negative = *p == '-';
    if (negative) ++p;
    const char* const digits = p;
    uint64_t magnitude = 0;
    while (p < end && is_digit(*p)) magnitude = magnitude * 10 + static_cast<uint64_t>(*p++ - '0');
    const auto count = p - digits;
    if (count == 0 || (count > 1 && *digits == '0')) {
        fault = {count == 0 ? "a number needs a digit" : "a number must not start with 0", p};
        return nullptr;
    }
    bool integer = true;
    bool exponent = false;
    const char* fraction = p;
    if (p < end && *p == '.') {
        integer = false;
        fraction = ++p;
        while (p < end && is_digit(*p))
            magnitude = magnitude * 10 + static_cast<uint64_t>(*p++ - '0');
        if (p == fraction) {
            fault = {"a digit is missing behind the decimal point", p};
            return nullptr;
        }
    }
    const auto fraction_count = p - fraction;
    if (p < end && (*p == 'e' || *p == 'E')) {
        integer = false;
        exponent = true;
        ++p;
        if (p < end && (*p == '+' || *p == '-')) ++p;
        const char* const first = p;
        while (p < end && is_digit(*p)) ++p;
        if (p == first) {
            fault = {"a digit is missing in the exponent", p};
            return nullptr;
        }
    }
    const std::string_view literal(begin, static_cast<size_t>(p - begin));
    if (integer && count <= 18 && !(negative && magnitude == 0)) [[likely]] {
        const auto whole = static_cast<int64_t>(magnitude);
        value = Value::integer_text(negative ? -whole : whole, literal);
        return p;
    }
    // Both operands are exact, so the one division rounds correctly.
    if (!integer && !exponent && count + fraction_count <= 15) {
        const double v = static_cast<double>(magnitude) / kPowersOfTen[fraction_count];
        value = Value::number_text(negative ? -v : v, literal);
        return p;
    }
    if (!convert_number(literal, integer, value)) {
        fault = {"a number is beyond the range of a 64-bit float", begin};
        return nullptr;
    }
    return p;
}

/// The first byte that is not well-formed UTF-8; null when the whole text is.
const char* find_bad_utf8(std::string_view text);

}  // namespace orrery::json::detail
