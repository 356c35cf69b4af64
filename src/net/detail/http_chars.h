#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

/// The character classes of HTTP (RFC 9110 §5.6) and comparisons without case.
namespace orrery::net::detail {

constexpr std::array<bool, 256> make_set(std::string_view extra) {
    std::array<bool, 256> set{};
    for (int c = '0'; c <= '9'; ++c) set[static_cast<size_t>(c)] = true;
    for (int c = 'a'; c <= 'z'; ++c) set[static_cast<size_t>(c)] = true;
    for (int c = 'A'; c <= 'Z'; ++c) set[static_cast<size_t>(c)] = true;
    for (char c : extra) set[static_cast<uint8_t>(c)] = true;
    return set;
}

inline constexpr auto kTokenSet = make_set("!#$%&'*+-.^_`|~");
inline constexpr auto kHostSet = make_set("-._~%!$&'()*+,;=:[]");

inline bool all_in(const std::array<bool, 256>& set, std::string_view text) {
    for (char c : text) {
        if (!set[static_cast<uint8_t>(c)]) return false;
    }
    return true;
}

inline bool is_token(std::string_view text) {
    return !text.empty() && all_in(kTokenSet, text);
}

/// Any byte below `limit` (<= 0x80), except HTAB where allowed, or DEL. Eight bytes at a time.
inline bool has_control(std::string_view text, uint8_t limit, bool tab_allowed) {
    constexpr uint64_t kOnes = 0x0101010101010101ull;
    constexpr uint64_t kHigh = 0x8080808080808080ull;
    const auto bad = [=](uint8_t c) {
        return (c < limit && !(tab_allowed && c == '\t')) || c == 0x7f;
    };
    size_t i = 0;
    for (; i + 8 <= text.size(); i += 8) {
        uint64_t word;
        std::memcpy(&word, text.data() + i, 8);
        const uint64_t below = (word - kOnes * limit) & ~word & kHigh;
        const uint64_t flipped = word ^ (kOnes * 0x7f);
        const uint64_t del = (flipped - kOnes) & ~flipped & kHigh;
        if ((below | del) == 0) [[likely]]
            continue;
        for (size_t k = i; k < i + 8; ++k) {
            if (bad(static_cast<uint8_t>(text[k]))) return true;
        }
    }
    for (; i < text.size(); ++i) {
        if (bad(static_cast<uint8_t>(text[i]))) return true;
    }
    return false;
}

inline char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

/// `lower_case` must be lower case.
inline bool equals_lower(std::string_view text, std::string_view lower_case) {
    if (text.size() != lower_case.size()) return false;
    for (size_t i = 0; i < text.size(); ++i) {
        if (lower(text[i]) != lower_case[i]) return false;
    }
    return true;
}

inline bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

inline std::string_view trim(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

inline int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char l = lower(c);
    return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

}  // namespace orrery::net::detail
