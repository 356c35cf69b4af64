#include "query/values.h"

#include <bit>
#include <cmath>
#include <functional>
#include <string_view>

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

namespace {

uint64_t mix(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

uint64_t hash_text(std::string_view text) {
    return std::hash<std::string_view>{}(text);
}

}  // namespace

uint64_t hash_value(const Value& v) {
    const auto seed = static_cast<uint64_t>(v.type()) * 0x9E3779B97F4A7C15ULL;
    switch (v.type()) {
        case Type::kUndefined:
        case Type::kNull:
            return mix(seed);
        case Type::kBool:
            return mix(seed + (v.as_bool() ? 1 : 0));
        case Type::kNumber: {
            const double d = v.as_double();
            return mix(seed ^ std::bit_cast<uint64_t>(d == 0 ? 0.0 : d));
        }
        case Type::kString:
            return mix(seed ^ hash_text(v.as_string()));
        case Type::kArray: {
            uint64_t h = seed;
            for (const Value& e : v.elements()) h = mix(h * 31 + hash_value(e));
            return h;
        }
        case Type::kObject: {
            uint64_t h = seed;  // a sum: member order does not matter
            for (const json::Member& m : v.members())
                h += mix(hash_text(m.name) * 31 + hash_value(m.value));
            return mix(h);
        }
    }
    return seed;
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
