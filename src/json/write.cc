#include "json/write.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "json/detail/lexer.h"
#include "json/typed_text.h"

namespace orrery::json {
namespace {

void append_escape(std::string& out, char c) {
    static constexpr char kHex[] = "0123456789abcdef";
    switch (c) {
        case '"':
            out.append("\\\"");
            return;
        case '\\':
            out.append("\\\\");
            return;
        case '\b':
            out.append("\\b");
            return;
        case '\f':
            out.append("\\f");
            return;
        case '\n':
            out.append("\\n");
            return;
        case '\r':
            out.append("\\r");
            return;
        case '\t':
            out.append("\\t");
            return;
        default: {
            const auto byte = static_cast<unsigned char>(c);
            const char escape[] = {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
            out.append(escape, sizeof(escape));
        }
    }
}

/// Undefined values and numbers that JSON cannot hold are left out.
bool is_written(const Value& value) {
    if (value.is_undefined()) return false;
    return !value.is_number() || value.is_int64() || std::isfinite(value.as_double());
}

void write_number_value(std::string& out, const Value& value, NumberForm form) {
    if (form == NumberForm::kAsWritten && !value.number_text().empty()) {
        out.append(value.number_text());
    } else if (value.is_int64()) {
        write_number(out, value.as_int64());
    } else {
        write_number(out, value.as_double());
    }
}

void write_array(std::string& out, const Value& value, NumberForm form) {
    out.push_back('[');
    bool first = true;
    for (const Value& element : value.elements()) {
        if (!is_written(element)) continue;
        if (!first) out.push_back(',');
        first = false;
        write(out, element, form);
    }
    out.push_back(']');
}

void write_object(std::string& out, const Value& value, NumberForm form) {
    out.push_back('{');
    bool first = true;
    for (const Member& member : value.members()) {
        if (!is_written(member.value)) continue;
        if (!first) out.push_back(',');
        first = false;
        write_string(out, member.name);
        out.push_back(':');
        write(out, member.value, form);
    }
    out.push_back('}');
}

}  // namespace

void write_string(std::string& out, std::string_view utf8) {
    const char* p = utf8.data();
    const char* const end = p + utf8.size();
    const char* stop = detail::skip_plain(p, end);
    if (stop == end) [[likely]] {
        const size_t at = out.size();
        out.resize(at + utf8.size() + 2);
        char* const to = out.data() + at;
        to[0] = '"';
        std::copy(p, end, to + 1);
        to[utf8.size() + 1] = '"';
        return;
    }
    out.push_back('"');
    while (true) {
        out.append(p, static_cast<size_t>(stop - p));
        if (stop == end) break;
        append_escape(out, *stop);
        p = stop + 1;
        stop = detail::skip_plain(p, end);
    }
    out.push_back('"');
}

void write_number(std::string& out, int64_t v) {
    char buffer[24];
    const auto result = std::to_chars(buffer, buffer + sizeof(buffer), v);
    out.append(buffer, static_cast<size_t>(result.ptr - buffer));
}

void write_number(std::string& out, double v) {
    if (!std::isfinite(v)) return;
    if (v == 0) {
        out.push_back('0');
        return;
    }
    // The shortest digits, as d.ddde±xx, laid out by the rules of ECMAScript's Number::toString.
    char scientific[40];
    const auto result = std::to_chars(scientific, scientific + sizeof(scientific), std::fabs(v),
                                      std::chars_format::scientific);
    const char* const e = std::find(scientific, result.ptr, 'e');
    int exponent = 0;
    std::from_chars(e[1] == '+' ? e + 2 : e + 1, result.ptr, exponent);
    char digits[32];
    size_t count = 0;
    for (const char* p = scientific; p < e; ++p)
        if (*p != '.') digits[count++] = *p;
    const int point = exponent + 1;  // digits in front of the decimal point
    const auto whole = static_cast<size_t>(point > 0 ? point : 0);

    if (v < 0) out.push_back('-');
    if (point > 21 || point <= -6) {
        out.push_back(digits[0]);
        if (count > 1) out.append(".").append(digits + 1, count - 1);
        out.append(exponent < 0 ? "e-" : "e+");
        write_number(out, static_cast<int64_t>(exponent < 0 ? -exponent : exponent));
    } else if (point <= 0) {
        out.append("0.").append(static_cast<size_t>(-point), '0').append(digits, count);
    } else if (count <= whole) {
        out.append(digits, count).append(whole - count, '0');
    } else {
        out.append(digits, whole).append(".").append(digits + whole, count - whole);
    }
}

void write(std::string& out, const Value& value, NumberForm form) {
    switch (value.type()) {
        case Type::kUndefined:
            return;
        case Type::kNull:
            out.append("null");
            return;
        case Type::kBool:
            out.append(value.as_bool() ? "true" : "false");
            return;
        case Type::kNumber:
            write_number_value(out, value, form);
            return;
        case Type::kString:
            write_string(out, value.as_string());
            return;
        case Type::kArray:
            write_array(out, value, form);
            return;
        case Type::kObject:
            write_object(out, value, form);
            return;
        case Type::kExtended:
            write_extended(out, value);
            return;
    }
}

std::string to_text(const Value& value, NumberForm form) {
    std::string out;
    write(out, value, form);
    return out;
}

}  // namespace orrery::json
