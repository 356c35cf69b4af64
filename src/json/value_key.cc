#include "json/value_key.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/bytes.h"
#include "json/order.h"

namespace orrery::json {
namespace {

// In front of a member, and behind the last element or member. All classes are above both.
constexpr char kMemberByte = 0x01;
constexpr char kEndByte = 0x00;

/// The greatest double that is not above `integer`.
double floor_double(int64_t integer) {
    const auto nearest = static_cast<double>(integer);
    const bool above = nearest >= 0x1p63 || static_cast<int64_t>(nearest) > integer;
    return above ? std::nextafter(nearest, -0x1p63) : nearest;
}

/// The double at or below the number, and how far above it the number is: less than 2^11.
void append_number(std::string& out, const Value& value) {
    uint64_t bits = kOrderedNan;
    int64_t rest = 0;
    if (value.is_int64()) {
        const double floor = floor_double(value.as_int64());
        bits = ordered_bits(floor);
        rest = value.as_int64() - static_cast<int64_t>(floor);
    } else if (!std::isnan(value.as_double())) {
        bits = ordered_bits(value.as_double());
    }
    append_u64_be(out, bits);
    out.push_back(static_cast<char>(rest >> 8));
    out.push_back(static_cast<char>(rest));
}

void append_extended(std::string& out, const Value& value, TermClass term) {
    switch (term) {
        case TermClass::kDate:
            append_u64_be(out, ordered_bits(value.as_date()));
            return;
        case TermClass::kObjectId:
            out.append(value.as_bytes());
            return;
        case TermClass::kBsonBinary:
            append_u32_be(out, static_cast<uint32_t>(value.as_bytes().size()));
            out.push_back(static_cast<char>(value.binary_subtype()));
            out.append(value.as_bytes());
            return;
        default:
            append_delimited(out, value.as_bytes());
            out.push_back(static_cast<char>(value.binary_subtype()));
            return;
    }
}

void append_members(std::string& out, std::span<const Member> members, const DialectRules& rules) {
    std::vector<const Member*> order;
    for (const Member& member : members) order.push_back(&member);
    const bool as_they_stand = rules.type_order == TypeOrder::kBson;
    if (!as_they_stand)
        std::sort(order.begin(), order.end(),
                  [](const Member* a, const Member* b) { return a->name < b->name; });
    for (const Member* member : order) {
        out.push_back(as_they_stand ? static_cast<char>(term_class(member->value, rules))
                                    : kMemberByte);
        append_delimited(out, member->name);
        append_value_key(out, member->value, rules);
    }
    out.push_back(kEndByte);
}

}  // namespace

void append_value_key(std::string& out, const Value& value, const DialectRules& rules) {
    const TermClass term = term_class(value, rules);
    out.push_back(static_cast<char>(term));
    switch (value.type()) {
        case Type::kNumber:
            append_number(out, value);
            return;
        case Type::kString:
            append_delimited(out, value.as_string());
            return;
        case Type::kArray:
            for (const Value& element : value.elements()) append_value_key(out, element, rules);
            out.push_back(kEndByte);
            return;
        case Type::kObject:
            append_members(out, value.members(), rules);
            return;
        case Type::kExtended:
            append_extended(out, value, term);
            return;
        default:
            return;
    }
}

}  // namespace orrery::json
