#include "json/text.h"

#include <algorithm>

#include "base/find_bytes.h"
#include "json/case_table.h"

namespace orrery::json {

bool is_ascii(std::string_view text) {
    unsigned char all = 0;
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return all < 0x80;
}

char32_t next_code_point(std::string_view text, size_t& at) {
    const auto byte = [&](size_t i) -> uint32_t {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    };
    const uint32_t first = byte(at);
    if (first < 0x80) {
        ++at;
        return first;
    }
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    uint32_t code = first & (0x7Fu >> length);
    for (size_t i = 1; i < length; ++i) {
        const uint32_t next = byte(at + i);
        if ((next & 0xC0) != 0x80 || first < 0xC0) {
            ++at;
            return 0xFFFD;
        }
        code = (code << 6) | (next & 0x3F);
    }
    at += length;
    return code;
}

void append_utf8(std::string& out, char32_t c) {
    const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | (c >> 6));
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | (c >> 12));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | (c >> 18));
        put(0x80 | ((c >> 12) & 0x3F));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

std::u32string decode_utf8(std::string_view text) {
    std::u32string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) out += next_code_point(text, at);
    return out;
}

namespace {

constexpr size_t units_of(char32_t c) {
    return c >= 0x10000 ? 2 : 1;
}

template <typename Map>
std::string_view map_characters(std::string_view text, Arena& arena, Map map) {
    if (is_ascii(text)) {
        char* out = arena.allocate(text.size(), 1);
        for (size_t i = 0; i < text.size(); ++i)
            out[i] = static_cast<char>(map(static_cast<unsigned char>(text[i])));
        return {out, text.size()};
    }
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) append_utf8(out, map(next_code_point(text, at)));
    return arena.copy(out);
}

char32_t mapped(std::span<const CaseRange> table, char32_t c) {
    const auto it = std::upper_bound(table.begin(), table.end(), c,
                                     [](char32_t x, const CaseRange& r) { return x < r.first; });
    if (it == table.begin()) return c;
    const CaseRange& range = *(it - 1);
    if (c > range.last || (c - range.first) % range.stride != 0) return c;
    return static_cast<char32_t>(static_cast<int64_t>(c) + range.delta);
}

template <typename Strip>
std::string_view trim(std::string_view text, TrimEnds ends, Strip strip) {
    size_t begin = 0;
    if (ends != TrimEnds::kEnd) {
        for (size_t at = 0; at < text.size(); begin = at)
            if (!strip(next_code_point(text, at))) break;
    }
    size_t end = text.size();
    while (ends != TrimEnds::kStart && end > begin) {
        size_t at = end - 1;
        while (at > begin && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
        size_t next = at;
        if (!strip(next_code_point(text.substr(0, end), next))) break;
        end = at;
    }
    return text.substr(begin, end - begin);
}

}  // namespace

size_t text_length(std::string_view text) {
    size_t units = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
    }
    return units;
}

size_t text_position(std::string_view text, size_t byte_offset) {
    return text_length(text.substr(0, byte_offset));
}

size_t text_offset(std::string_view text, size_t position) {
    if (is_ascii(text)) return std::min(position, text.size());
    size_t at = 0;
    for (size_t units = 0; at < text.size() && units < position;)
        units += units_of(next_code_point(text, at));
    return at;
}

std::string_view text_slice(std::string_view text, size_t start, size_t count, Arena& arena) {
    if (is_ascii(text)) {
        start = std::min(start, text.size());
        return text.substr(start, count);
    }
    const size_t end = count > SIZE_MAX - start ? SIZE_MAX : start + count;
    std::string out;
    size_t units = 0;
    for (size_t at = 0; at < text.size() && units < end;) {
        const char32_t c = next_code_point(text, at);
        const size_t from = units;
        units += units_of(c);
        if (units <= start) continue;
        append_utf8(out, from < start || units > end ? U'\xFFFD' : c);
    }
    return arena.copy(out);
}

size_t find_last_text(std::string_view text, std::string_view part) {
    // Up to here a search that compares the part at every place is good enough.
    constexpr size_t kShortPartBytes = 32;
    if (part.size() < kShortPartBytes) return text.rfind(part);
    const std::string backwards(text.rbegin(), text.rend());
    const size_t at = find_bytes(backwards, std::string(part.rbegin(), part.rend()));
    return at == std::string_view::npos ? at : text.size() - at - part.size();
}

char32_t upper_case(char32_t c) {
    if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
    return mapped(kToUpper, c);
}

char32_t lower_case(char32_t c) {
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    return mapped(kToLower, c);
}

std::string_view upper_case(std::string_view text, Arena& arena) {
    return map_characters(text, arena, [](char32_t c) { return upper_case(c); });
}

std::string_view lower_case(std::string_view text, Arena& arena) {
    return map_characters(text, arena, [](char32_t c) { return lower_case(c); });
}

std::string_view reverse(std::string_view text, Arena& arena) {
    char* const out = arena.allocate(text.size(), 1);
    char* to = out + text.size();
    for (size_t at = 0; at < text.size();) {
        const size_t from = at;
        next_code_point(text, at);
        to -= at - from;
        std::copy(text.begin() + static_cast<ptrdiff_t>(from),
                  text.begin() + static_cast<ptrdiff_t>(at), to);
    }
    return {out, text.size()};
}

bool is_white_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

std::string_view trim_white_space(std::string_view text, TrimEnds ends) {
    return trim(text, ends, is_white_space);
}

std::string_view trim_characters(std::string_view text, std::string_view set, TrimEnds ends) {
    std::u32string characters = decode_utf8(set);
    std::sort(characters.begin(), characters.end());
    return trim(text, ends, [&](char32_t c) {
        return std::binary_search(characters.begin(), characters.end(), c);
    });
}

}  // namespace orrery::json
