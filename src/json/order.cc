#include "json/order.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace orrery::json {
namespace {

int sign(bool less, bool greater) {
    return less ? -1 : greater ? 1 : 0;
}

/// NaN (never stored, but computable) stands in front of all other numbers, so the order is total.
int compare_numbers(double a, double b) {
    if (std::isnan(a) || std::isnan(b))
        return sign(std::isnan(a) && !std::isnan(b), !std::isnan(a) && std::isnan(b));
    return sign(a<b, a> b);
}

int compare_strings(std::string_view a, std::string_view b) {
    const int order = a.compare(b);
    return sign(order<0, order> 0);
}

int compare_arrays(std::span<const Value> a, std::span<const Value> b) {
    const size_t common = std::min(a.size(), b.size());
    for (size_t i = 0; i < common; ++i)
        if (const int order = compare(a[i], b[i]); order != 0) return order;
    return sign(a.size() < b.size(), a.size() > b.size());
}

std::vector<const Member*> by_name(std::span<const Member> members) {
    std::vector<const Member*> sorted;
    sorted.reserve(members.size());
    for (const Member& m : members) sorted.push_back(&m);
    std::sort(sorted.begin(), sorted.end(),
              [](const Member* a, const Member* b) { return a->name < b->name; });
    return sorted;
}

int compare_objects(std::span<const Member> a, std::span<const Member> b) {
    const auto left = by_name(a);
    const auto right = by_name(b);
    const size_t common = std::min(left.size(), right.size());
    for (size_t i = 0; i < common; ++i) {
        if (const int order = compare_strings(left[i]->name, right[i]->name); order != 0)
            return order;
        if (const int order = compare(left[i]->value, right[i]->value); order != 0) return order;
    }
    return sign(left.size() < right.size(), left.size() > right.size());
}

/// By exact value, whatever the types.
int compare_exact(const Value& a, const Value& b) {
    if (a.is_int64() && b.is_int64())
        return sign(a.as_int64() < b.as_int64(), b.as_int64() < a.as_int64());
    if (!a.is_int64() && !b.is_int64()) return compare_numbers(a.as_double(), b.as_double());
    if (!a.is_int64()) return -compare_exact(b, a);
    constexpr double kEnd = 0x1p63;
    const double number = b.as_double();
    if (std::isnan(number) || number < -kEnd) return 1;
    if (number >= kEnd) return -1;
    const auto whole = static_cast<int64_t>(number);
    if (a.as_int64() != whole) return sign(a.as_int64() < whole, a.as_int64() > whole);
    const double rest = number - static_cast<double>(whole);
    return sign(rest > 0, rest < 0);
}

/// Of one class.
int compare_extended(const Value& a, const Value& b, const DialectRules& rules) {
    if (a.extended_type() != b.extended_type())
        return sign(a.extended_type() < b.extended_type(), a.extended_type() > b.extended_type());
    if (a.extended_type() == ExtendedType::kDate)
        return sign(a.as_date() < b.as_date(), a.as_date() > b.as_date());
    const std::string_view left = a.as_bytes();
    const std::string_view right = b.as_bytes();
    if (a.extended_type() != ExtendedType::kBinary) return compare_strings(left, right);
    const int by_subtype = a.binary_subtype() - b.binary_subtype();
    if (rules.type_order == TypeOrder::kBson) {
        if (left.size() != right.size()) return sign(left.size() < right.size(), true);
        if (by_subtype != 0) return by_subtype;
        return compare_strings(left, right);
    }
    const int by_bytes = compare_strings(left, right);
    return by_bytes != 0 ? by_bytes : by_subtype;
}

int compare_arrays(std::span<const Value> a, std::span<const Value> b, const DialectRules& rules) {
    const size_t common = std::min(a.size(), b.size());
    for (size_t i = 0; i < common; ++i)
        if (const int order = compare(a[i], b[i], rules); order != 0) return order;
    return sign(a.size() < b.size(), a.size() > b.size());
}

int compare_members(const Member& a, const Member& b, const DialectRules& rules) {
    if (rules.type_order == TypeOrder::kBson) {
        const TermClass left = term_class(a.value, rules);
        const TermClass right = term_class(b.value, rules);
        if (left != right) return sign(left<right, left> right);
    }
    const int by_name = compare_strings(a.name, b.name);
    return by_name != 0 ? by_name : compare(a.value, b.value, rules);
}

int compare_objects(std::span<const Member> a, std::span<const Member> b,
                    const DialectRules& rules) {
    std::vector<const Member*> left = by_name(a);
    std::vector<const Member*> right = by_name(b);
    if (rules.type_order == TypeOrder::kBson) {
        for (size_t i = 0; i < a.size(); ++i) left[i] = &a[i];
        for (size_t i = 0; i < b.size(); ++i) right[i] = &b[i];
    }
    const size_t common = std::min(left.size(), right.size());
    for (size_t i = 0; i < common; ++i)
        if (const int order = compare_members(*left[i], *right[i], rules); order != 0) return order;
    return sign(left.size() < right.size(), left.size() > right.size());
}

bool same_name_order(std::span<const Member> a, std::span<const Member> b) {
    for (size_t i = 0; i < a.size(); ++i)
        if (a[i].name != b[i].name) return false;
    return true;
}

bool equal_objects(std::span<const Member> a, std::span<const Member> b) {
    if (a.size() != b.size()) return false;
    if (!same_name_order(a, b)) return compare_objects(a, b) == 0;
    for (size_t i = 0; i < a.size(); ++i)
        if (!equal(a[i].value, b[i].value)) return false;
    return true;
}

}  // namespace

int compare(const Value& a, const Value& b) {
    if (a.type() != b.type()) return sign(a.type() < b.type(), a.type() > b.type());
    switch (a.type()) {
        case Type::kUndefined:
        case Type::kNull:
            return 0;
        case Type::kBool:
            return static_cast<int>(a.as_bool()) - static_cast<int>(b.as_bool());
        case Type::kNumber:
            return compare_numbers(a.as_double(), b.as_double());
        case Type::kString:
            return compare_strings(a.as_string(), b.as_string());
        case Type::kArray:
            return compare_arrays(a.elements(), b.elements());
        case Type::kObject:
            return compare_objects(a.members(), b.members());
        case Type::kExtended:
            return compare_extended(a, b, rules(Dialect::kNosql));
    }
    return 0;
}

int compare(const Value& a, const Value& b, const DialectRules& rules) {
    const TermClass left = term_class(a, rules);
    const TermClass right = term_class(b, rules);
    if (left != right) return sign(left<right, left> right);
    switch (left) {
        case TermClass::kNumber:
            return compare_exact(a, b);
        case TermClass::kString:
            return compare_strings(a.as_string(), b.as_string());
        case TermClass::kArray:
        case TermClass::kBsonArray:
            return compare_arrays(a.elements(), b.elements(), rules);
        case TermClass::kObject:
        case TermClass::kBsonObject:
            return compare_objects(a.members(), b.members(), rules);
        default:
            return a.is_extended() ? compare_extended(a, b, rules) : 0;
    }
}

bool equal(const Value& a, const Value& b) {
    if (a.type() != b.type()) return false;
    switch (a.type()) {
        case Type::kString:
            return a.as_string() == b.as_string();
        case Type::kArray: {
            const auto left = a.elements();
            const auto right = b.elements();
            return std::equal(left.begin(), left.end(), right.begin(), right.end(), equal);
        }
        case Type::kObject:
            return equal_objects(a.members(), b.members());
        default:
            return compare(a, b) == 0;
    }
}

}  // namespace orrery::json
