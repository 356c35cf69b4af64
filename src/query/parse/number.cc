#include "query/parse/number.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace orrery::query {

json::Value number_from_text(std::string_view text) {
    const bool negative = !text.empty() && text[0] == '-';
    const std::string_view digits = negative ? text.substr(1) : text;
    if (digits.size() > 2 && (digits[1] == 'x' || digits[1] == 'X')) {
        uint64_t bits = 0;
        const auto parsed =
            std::from_chars(digits.data() + 2, digits.data() + digits.size(), bits, 16);
        if (parsed.ec == std::errc() && bits <= static_cast<uint64_t>(INT64_MAX)) {
            const auto v = static_cast<int64_t>(bits);
            return json::Value::integer(negative ? -v : v);
        }
        double v = 0;
        for (const char c : digits.substr(2)) {
            const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
            v = v * 16 + digit;
        }
        return json::Value::number(negative ? -v : v);
    }
    int64_t integer = 0;
    const char* const end = text.data() + text.size();
    const auto as_integer = std::from_chars(text.data(), end, integer, 10);
    if (as_integer.ec == std::errc() && as_integer.ptr == end && !(negative && integer == 0))
        return json::Value::integer(integer);
    double v = 0;
    const auto as_double = std::from_chars(text.data(), end, v);
    if (as_double.ec ==
        std::errc::result_out_of_range)  // too large or too small: strtod knows which
        v = std::strtod(std::string(text).c_str(), nullptr);
    return json::Value::number(v);
}

std::optional<int64_t> exact_int64(const json::Value& value) {
    if (!value.is_number()) return std::nullopt;
    if (value.is_int64()) return value.as_int64();
    const double v = value.as_double();
    // -2^63 is a double, 2^63 - 1 is not: the upper bound is exclusive.
    if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0) || v != std::trunc(v))
        return std::nullopt;
    return static_cast<int64_t>(v);
}

json::Value number_value(double v) {
    constexpr double kExact = 9007199254740992.0;
    if (v > -kExact && v < kExact && v == std::trunc(v) && !(v == 0 && std::signbit(v)))
        return json::Value::integer(static_cast<int64_t>(v));
    return json::Value::number(v);
}

}  // namespace orrery::query
