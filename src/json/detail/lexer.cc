#include "json/detail/lexer.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/encoding.h"

namespace orrery::json::detail {
namespace {

/// The value of four hexadecimal digits, or -1.
int32_t hex4(const char* p, const char* end) {
    if (end - p < 4) return -1;
    int32_t v = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = p[i];
        int32_t digit = -1;
        if (is_digit(c)) digit = c - '0';
        if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
        if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
        if (digit < 0) return -1;
        v = v * 16 + digit;
    }
    return v;
}

char* put_utf8(char* out, uint32_t c) {
    if (c < 0x80) {
        *out++ = static_cast<char>(c);
    } else if (c < 0x800) {
        *out++ = static_cast<char>(0xC0 | (c >> 6));
        *out++ = static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *out++ = static_cast<char>(0xE0 | (c >> 12));
        *out++ = static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        *out++ = static_cast<char>(0x80 | (c & 0x3F));
    } else {
        *out++ = static_cast<char>(0xF0 | (c >> 18));
        *out++ = static_cast<char>(0x80 | ((c >> 12) & 0x3F));
        *out++ = static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        *out++ = static_cast<char>(0x80 | (c & 0x3F));
    }
    return out;
}

/// Decodes \uXXXX (p is behind the u), with its second half for a surrogate pair.
const char* put_unicode_escape(const char* p, const char* end, char*& out, Fault& fault) {
    const char* const escape = p - 2;
    const int32_t first = hex4(p, end);
    if (first < 0) {
        fault = {"\\u needs four hexadecimal digits", escape};
        return nullptr;
    }
    p += 4;
    auto code = static_cast<uint32_t>(first);
    if (code >= 0xD800 && code <= 0xDFFF) {
        const bool pair = code <= 0xDBFF && end - p >= 6 && p[0] == '\\' && p[1] == 'u';
        const int32_t second = pair ? hex4(p + 2, end) : -1;
        if (second < 0xDC00 || second > 0xDFFF) {
            fault = {"a surrogate stands alone", escape};
            return nullptr;
        }
        p += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (static_cast<uint32_t>(second) - 0xDC00);
    }
    out = put_utf8(out, code);
    return p;
}

char simple_escape(char c) {
    switch (c) {
        case '"':
        case '\\':
        case '/':
            return c;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return 0;
    }
}

/// The closing quote of a string, stepping over escapes without looking into them; null if there is
/// none before a control character or the end.
const char* find_closing_quote(const char* p, const char* end, Fault& fault) {
    while (true) {
        p = skip_plain(p, end);
        if (p == end || (*p == '\\' && end - p < 2)) {
            fault = {"the text ends inside a string", end};
            return nullptr;
        }
        if (*p == '"') return p;
        if (*p != '\\') {
            fault = {"a control character in a string is not escaped", p};
            return nullptr;
        }
        p += 2;
    }
}

}  // namespace

bool lex_escaped_string(const char* begin, const char* escape, const char* end, Arena& arena,
                        StringToken& token, Fault& fault) {
    const char* const quote = find_closing_quote(escape, end, fault);
    if (quote == nullptr) return false;
    // An escape is never shorter than the character it stands for.
    char* const decoded = arena.allocate(static_cast<size_t>(quote - begin), 1);
    char* out = decoded;
    for (const char* p = begin; p < quote;) {
        const char* const stop = skip_plain(p, quote);
        out = std::copy(p, stop, out);
        p = stop;
        if (p == quote) break;
        if (*p != '\\' || p + 1 == quote) {
            fault = {"a control character in a string is not escaped", p};
            return false;
        }
        if (p[1] == 'u') {
            p = put_unicode_escape(p + 2, quote, out, fault);
            if (p == nullptr) return false;
            continue;
        }
        const char c = simple_escape(p[1]);
        if (c == 0) {
            fault = {"unknown escape in a string", p};
            return false;
        }
        *out++ = c;
        p += 2;
    }
    token.value = {decoded, static_cast<size_t>(out - decoded)};
    token.end = quote + 1;
    token.escaped = true;
    return true;
}

namespace {

/// For a literal that from_chars() calls out of range: too small to be told from zero, or too big?
bool is_tiny(std::string_view literal) {
    if (literal.front() == '-') literal.remove_prefix(1);
    const size_t e = std::min(literal.find_first_of("eE"), literal.size());
    const std::string_view mantissa = literal.substr(0, e);
    int64_t exponent = 0;
    if (e < literal.size()) {
        std::string_view digits = literal.substr(e + 1);
        const bool negative = digits.front() == '-';
        if (negative || digits.front() == '+') digits.remove_prefix(1);
        for (const char c : digits)
            exponent = std::min<int64_t>(exponent * 10 + (c - '0'), int64_t{1} << 40);
        if (negative) exponent = -exponent;
    }
    const auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
    const size_t first = mantissa.find_first_of("123456789");
    if (first == std::string_view::npos) return true;
    return point - static_cast<int64_t>(first) + exponent < 0;
}

}  // namespace

bool convert_number(std::string_view literal, bool integer, Value& value) {
    const char* const end = literal.data() + literal.size();
    if (integer && literal != "-0") {
        int64_t whole = 0;
        if (std::from_chars(literal.data(), end, whole).ec == std::errc()) {
            value = Value::integer_text(whole, literal);
            return true;
        }
    }
    double d = 0;
    const auto result = std::from_chars(literal.data(), end, d);
    if (result.ec == std::errc::result_out_of_range) {
        if (!is_tiny(literal)) return false;
        d = literal.front() == '-' ? -0.0 : 0.0;
    } else if (result.ec != std::errc() || result.ptr != end || !std::isfinite(d)) {
        return false;
    }
    value = Value::number_text(d, literal);
    return true;
}

const char* find_bad_utf8(std::string_view text) {
    if (text.empty() || simdjson::validate_utf8(text.data(), text.size())) return nullptr;
    // This is rare: look for the first wrong character.
    const char* p = text.data();
    const char* const end = p + text.size();
    while (p < end) {
        const auto lead = static_cast<unsigned char>(*p);
        const ptrdiff_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if (end - p < length || !is_valid_utf8({p, static_cast<size_t>(length)})) return p;
        p += length;
    }
    return text.data();
}

}  // namespace orrery::json::detail
