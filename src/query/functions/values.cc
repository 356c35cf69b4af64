#include "query/functions/values.h"

#include <bit>
#include <cmath>
#include <functional>
#include <string_view>

#include "base/keyed_hash.h"
#include "json/order.h"
#include "query/choices.h"

namespace orrery::query {

using json::Type;
using json::Value;

Truth equals(const Value& a, const Value& b) {
    if (a.is_undefined() || b.is_undefined()) return Truth::kUndefined;
    if (a.type() != b.type())
        return choices::kCrossTypeEqualityIsDefined ? Truth::kFalse : Truth::kUndefined;
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

bool same_value(const Value& a, const Value& b) {
    return a.type() == b.type() && (a.is_undefined() || json::equal(a, b));
}

uint64_t hash_value(const Value& v) {
    const auto type = static_cast<uint64_t>(v.type());
    switch (v.type()) {
        case Type::kUndefined:
        case Type::kNull:
            return keyed_hash(uint64_t{0}, type);
        case Type::kBool:
            return keyed_hash(uint64_t{v.as_bool()}, type);
        case Type::kNumber: {
            const double d = v.as_double();
            return keyed_hash(std::bit_cast<uint64_t>(d == 0 ? 0.0 : d), type);
        }
        case Type::kString:
            return keyed_hash(v.as_string(), type);
        case Type::kArray: {
            uint64_t h = type;
            for (const Value& e : v.elements()) h = keyed_hash_of_both(h, hash_value(e));
            return h;
        }
        case Type::kObject: {
            uint64_t h = type;  // a sum: member order does not matter
            for (const json::Member& m : v.members())
                h += keyed_hash_of_both(keyed_hash(m.name), hash_value(m.value));
            return keyed_hash_of_both(h, type);
        }
        case Type::kExtended:
            break;  // to SQL, values that JSON lacks are objects
    }
    return type;
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

bool ValueSet::has(const Value& v, uint64_t hash) const {
    return positions_.find(hash, [&](uint32_t at) { return same_value(values_[at], v); }) !=
           HashedPositions::kNone;
}

bool ValueSet::insert(const Value& v) {
    const uint64_t hash = hash_value(v);
    if (has(v, hash)) return false;
    positions_.add(hash);
    values_.push_back(v);
    return true;
}

}  // namespace orrery::query
