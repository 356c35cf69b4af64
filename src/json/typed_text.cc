#include "json/typed_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/encoding.h"
#include "json/write.h"

namespace orrery::json {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

void append_hex(std::string& out, std::string_view bytes) {
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out.push_back(kHexDigits[byte >> 4]);
        out.push_back(kHexDigits[byte & 15]);
    }
}

std::optional<std::string_view> parse_hex(std::string_view digits, Arena& arena) {
    if (digits.find_first_of("ABCDEF") != std::string_view::npos) return std::nullopt;
    const auto bytes = hex_decode(digits);
    if (!bytes) return std::nullopt;
    return arena.copy(*bytes);
}

/// Only as std::to_chars writes it: no plus, no leading zeros, no -0.
std::optional<int64_t> parse_integer(std::string_view digits) {
    int64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc() || result.ptr != digits.data() + digits.size())
        return std::nullopt;
    const bool canonical = value == 0 ? digits == "0" : digits[digits[0] == '-' ? 1 : 0] != '0';
    return canonical ? std::optional(value) : std::nullopt;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void append_special_double(std::string& out, double number) {
    if (std::isinf(number)) {
        out.append(number > 0 ? "Infinity" : "-Infinity");
    } else if (std::bit_cast<uint64_t>(number) == std::bit_cast<uint64_t>(kNan)) {
        out.append("NaN");
    } else {
        std::string bits;
        append_u64_be(bits, std::bit_cast<uint64_t>(number));
        append_hex(out, bits);
    }
}

std::optional<Value> parse_special_double(std::string_view text, Arena& arena) {
    if (text == "NaN") return Value::number(kNan);
    if (text == "Infinity") return Value::number(kInfinity);
    if (text == "-Infinity") return Value::number(-kInfinity);
    const auto bits = parse_hex(text, arena);
    if (!bits || bits->size() != sizeof(double)) return std::nullopt;
    const auto number = std::bit_cast<double>(load_u64_be(bits->data()));
    const bool other_nan =
        std::isnan(number) && std::bit_cast<uint64_t>(number) != std::bit_cast<uint64_t>(kNan);
    return other_nan ? std::optional(Value::number(number)) : std::nullopt;
}

void open_wrapper(std::string& out, ExtendedType type) {
    out.append("{\"$t\":");
    write_number(out, int64_t{static_cast<uint8_t>(type)});
    out.append(",\"$v\":");
}

void write_finite_double(std::string& out, double number) {
    if (number == 0) {
        out.append(std::signbit(number) ? "-0.0" : "0.0");
        return;
    }
    const size_t start = out.size();
    write_number(out, number);
    if (out.find_first_of(".e", start) == std::string::npos) out.append(".0");
}

void write_typed_number(std::string& out, const Value& value) {
    if (value.extended_type() == ExtendedType::kInt64) {
        open_wrapper(out, ExtendedType::kInt64);
        out.push_back('"');
        write_number(out, value.as_int64());
        out.append("\"}");
    } else if (!value.number_text().empty()) {
        out.append(value.number_text());
    } else if (value.is_int64()) {
        write_number(out, value.as_int64());
    } else if (std::isfinite(value.as_double())) {
        write_finite_double(out, value.as_double());
    } else {
        open_wrapper(out, ExtendedType::kDouble);
        out.push_back('"');
        append_special_double(out, value.as_double());
        out.append("\"}");
    }
}

void write_typed_object(std::string& out, std::span<const Member> members) {
    const bool wrapped = std::any_of(members.begin(), members.end(), [](const Member& member) {
        return member.name == kTypeMember;
    });
    if (wrapped) open_wrapper(out, ExtendedType::kObject);
    out.push_back('{');
    bool first = true;
    for (const Member& member : members) {
        if (member.value.is_undefined()) continue;
        if (!first) out.push_back(',');
        first = false;
        write_string(out, member.name);
        out.push_back(':');
        write_typed(out, member.value);
    }
    out.push_back('}');
    if (wrapped) out.push_back('}');
}

void write_typed_array(std::string& out, std::span<const Value> elements) {
    out.push_back('[');
    bool first = true;
    for (const Value& element : elements) {
        if (element.is_undefined()) continue;
        if (!first) out.push_back(',');
        first = false;
        write_typed(out, element);
    }
    out.push_back(']');
}

}  // namespace

void write_extended(std::string& out, const Value& value) {
    open_wrapper(out, value.extended_type());
    out.push_back('"');
    if (value.extended_type() == ExtendedType::kDate) {
        write_number(out, value.as_date());
    } else {
        if (value.extended_type() == ExtendedType::kBinary) {
            const auto subtype = static_cast<char>(value.binary_subtype());
            append_hex(out, {&subtype, 1});
        }
        append_hex(out, value.as_bytes());
    }
    out.append("\"}");
}

void write_typed(std::string& out, const Value& value) {
    switch (value.type()) {
        case Type::kNumber:
            write_typed_number(out, value);
            return;
        case Type::kArray:
            write_typed_array(out, value.elements());
            return;
        case Type::kObject:
            write_typed_object(out, value.members());
            return;
        default:
            write(out, value, NumberForm::kAsWritten);
            return;
    }
}

void write_stored(std::string& out, const Value& value, const DialectRules& rules) {
    if (rules.typed_values)
        write_typed(out, value);
    else
        write(out, value, NumberForm::kAsWritten);
}

std::optional<Value> parse_extended(uint64_t type, std::string_view text, Arena& arena) {
    const TypeRow* const row = type_in_use(type);
    if (row == nullptr) return std::nullopt;
    if (row->text == TextForm::kWord) return parse_special_double(text, arena);
    if (row->text == TextForm::kInteger) {
        const auto integer = parse_integer(text);
        if (!integer) return std::nullopt;
        return static_cast<ExtendedType>(type) == ExtendedType::kDate ? Value::date(*integer)
                                                                      : Value::int64(*integer);
    }
    if (row->text != TextForm::kHex) return std::nullopt;
    const auto bytes = parse_hex(text, arena);
    if (!bytes) return std::nullopt;
    if (static_cast<ExtendedType>(type) == ExtendedType::kBinary) {
        if (bytes->empty()) return std::nullopt;
        return Value::binary(bytes->substr(1), static_cast<uint8_t>(bytes->front()));
    }
    if (bytes->size() != kObjectIdBytes) return std::nullopt;
    return Value::object_id(*bytes);
}

}  // namespace orrery::json
