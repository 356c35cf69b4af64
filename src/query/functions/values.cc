#include "query/functions/values.h"

#include <cmath>
#include <functional>
#include <string_view>

#include "json/order.h"

namespace orrery::query {

using json::Type;
using json::Value;

Truth equals(const Value& a, const Value& b) {
    if (a.is_undefined() || b.is_undefined()) return Truth::kUndefined;
    if (a.type() != b.type()) return Truth::kFalse;
    switch (a.type()) {
        case Type::kString:
            return a.as_string() == b.as_string() ? Truth::kTrue : Truth::kFalse;
        case Type::kNumber:
            return a.as_double() == b.as_double() ? Truth::kTrue : Truth::kFalse;
        default:
            return json::equal(a, b) ? Truth::kTrue : Truth::kFalse;
    }
}

int order(const Value& a, const Value& b) {
    if (a.type() != b.type()) return kUnordered;
    switch (a.type()) {
        case Type::kNumber: {
            const double x = a.as_double();
            const double y = b.as_double();
            if (std::isnan(x) || std::isnan(y)) return kUnordered;
            return x < y ? -1 : x > y ? 1 : 0;
        }
        case Type::kString: {
            const int c = a.as_string().compare(b.as_string());
            return c < 0 ? -1 : c > 0 ? 1 : 0;
        }
        case Type::kBool:
            return static_cast<int>(a.as_bool()) - static_cast<int>(b.as_bool());
        default:
            return kUnordered;
    }
}

size_t bounded_size(const Value& v, size_t cap) {
    switch (v.type()) {
        case Type::kString:
            return v.as_string().size() + 2;
        case Type::kArray: {
            size_t total = 2;
            for (const Value& e : v.elements()) {
                if (total > cap) break;
                total += bounded_size(e, cap - total) + 1;
            }
            return total;
        }
        case Type::kObject: {
            size_t total = 2;
            for (const json::Member& m : v.members()) {
                if (total > cap) break;
                total += m.name.size() + 4;
                if (total <= cap) total += bounded_size(m.value, cap - total);
            }
            return total;
        }
        default:
            return 8;
    }
}

}  // namespace orrery::query
