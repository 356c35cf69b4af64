#include "base/encoding.h"

#include <array>
#include <cstdint>

namespace orrery {
namespace {

constexpr std::string_view kBase64Alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::string_view kRidAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

constexpr std::array<int8_t, 256> make_base64_values() {
    std::array<int8_t, 256> values{};
    for (auto& v : values) v = -1;
    for (size_t i = 0; i < kBase64Alphabet.size(); ++i)
        values[static_cast<uint8_t>(kBase64Alphabet[i])] = static_cast<int8_t>(i);
    return values;
}
constexpr auto kBase64Values = make_base64_values();

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/// Three bytes are four characters; every answer has several rids, so each is written in one go.
void encode_to(char* out, std::string_view bytes, std::string_view alphabet) {
    const char* const letters = alphabet.data();
    const auto* in = reinterpret_cast<const uint8_t*>(bytes.data());
    size_t left = bytes.size();
    for (; left >= 3; left -= 3, in += 3, out += 4) {
        const uint32_t v = static_cast<uint32_t>(in[0]) << 16 | static_cast<uint32_t>(in[1]) << 8 |
                           static_cast<uint32_t>(in[2]);
        out[0] = letters[v >> 18];
        out[1] = letters[(v >> 12) & 63];
        out[2] = letters[(v >> 6) & 63];
        out[3] = letters[v & 63];
    }
    if (left == 0) return;
    const uint32_t v =
        static_cast<uint32_t>(in[0]) << 16 | (left == 2 ? static_cast<uint32_t>(in[1]) << 8 : 0U);
    out[0] = letters[v >> 18];
    out[1] = letters[(v >> 12) & 63];
    out[2] = left == 2 ? letters[(v >> 6) & 63] : '=';
    out[3] = '=';
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

}  // namespace

void base64_encode_to(char* out, std::string_view bytes) {
    encode_to(out, bytes, kBase64Alphabet);
}

std::string base64_encode(std::string_view bytes) {
    std::string out(base64_size(bytes.size()), '\0');
    base64_encode_to(out.data(), bytes);
    return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    if (text.empty()) return std::string();
    size_t padding = 0;
    while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
    std::string out;
    out.reserve(text.size() / 4 * 3);
    for (size_t i = 0; i < text.size(); i += 4) {
        uint32_t v = 0;
        for (size_t k = 0; k < 4; ++k) {
            const bool pad = i + k >= text.size() - padding;
            const int value = pad ? 0 : kBase64Values[static_cast<uint8_t>(text[i + k])];
            if (value < 0) return std::nullopt;
            v = v << 6 | static_cast<uint32_t>(value);
        }
        out.push_back(static_cast<char>(v >> 16));
        out.push_back(static_cast<char>(v >> 8));
        out.push_back(static_cast<char>(v));
    }
    out.resize(out.size() - padding);
    return out;
}

std::string rid_encode(std::string_view bytes) {
    std::string out(base64_size(bytes.size()), '\0');
    rid_encode_to(out.data(), bytes);
    return out;
}

void rid_encode_to(char* out, std::string_view bytes) {
    encode_to(out, bytes, kRidAlphabet);
}

std::optional<std::string> rid_decode(std::string_view text) {
    std::string standard(text);
    for (char& c : standard) {
        if (c == '/') return std::nullopt;
        if (c == '-') c = '/';
    }
    return base64_decode(standard);
}

std::string hex_encode_upper(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        out.push_back(digits[static_cast<uint8_t>(c) >> 4]);
        out.push_back(digits[static_cast<uint8_t>(c) & 15]);
    }
    return out;
}

std::optional<std::string> hex_decode(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    std::string out;
    out.reserve(text.size() / 2);
    for (size_t i = 0; i < text.size(); i += 2) {
        const int high = hex_value(text[i]);
        const int low = hex_value(text[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        out.push_back(static_cast<char>(high << 4 | low));
    }
    return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (;;) {
        const size_t escape = text.find('%');
        out.append(text.substr(0, escape));
        if (escape == std::string_view::npos) return out;
        if (escape + 2 >= text.size()) return std::nullopt;
        const int high = hex_value(text[escape + 1]);
        const int low = hex_value(text[escape + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        out.push_back(static_cast<char>(high << 4 | low));
        text.remove_prefix(escape + 3);
    }
}

void append_percent_encoded(std::string& out, std::string_view bytes) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (const char c : bytes) {
        const bool unreserved = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                                (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
                                c == '~';
        if (unreserved) {
            out.push_back(c);
        } else {
            out.push_back('%');
            out.push_back(digits[static_cast<uint8_t>(c) >> 4]);
            out.push_back(digits[static_cast<uint8_t>(c) & 15]);
        }
    }
}

std::string percent_encode(std::string_view bytes) {
    std::string out;
    append_percent_encoded(out, bytes);
    return out;
}

bool is_valid_utf8(std::string_view bytes) {
    size_t i = 0;
    const size_t n = bytes.size();
    const auto at = [&](size_t k) { return static_cast<uint8_t>(bytes[k]); };
    const auto continuation = [&](size_t k) { return k < n && (at(k) & 0xC0) == 0x80; };
    while (i < n) {
        const uint8_t c = at(i);
        if (c < 0x80) {
            ++i;
        } else if (c >= 0xC2 && c <= 0xDF) {
            if (!continuation(i + 1)) return false;
            i += 2;
        } else if (c >= 0xE0 && c <= 0xEF) {
            if (!continuation(i + 1) || !continuation(i + 2)) return false;
            if (c == 0xE0 && at(i + 1) < 0xA0) return false;
            if (c == 0xED && at(i + 1) >= 0xA0) return false;
            i += 3;
        } else if (c >= 0xF0 && c <= 0xF4) {
            if (!continuation(i + 1) || !continuation(i + 2) || !continuation(i + 3)) return false;
            if (c == 0xF0 && at(i + 1) < 0x90) return false;
            if (c == 0xF4 && at(i + 1) >= 0x90) return false;
            i += 4;
        } else {
            return false;
        }
    }
    return true;
}

bool equals_ignore_case(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}

std::string to_lower_ascii(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = lower(c);
    return out;
}

}  // namespace orrery
