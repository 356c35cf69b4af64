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
    }
    return 0;
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
