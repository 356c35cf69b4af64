#include "json/value_set.h"

#include <bit>

#include "json/order.h"

namespace orrery::json {

bool same_value(const Value& a, const Value& b) {
    return a.type() == b.type() && (a.is_undefined() || equal(a, b));
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
            for (const Member& m : v.members())
                h += keyed_hash_of_both(keyed_hash(m.name), hash_value(m.value));
            return keyed_hash_of_both(h, type);
        }
        case Type::kExtended:
            return v.extended_type() == ExtendedType::kDate
                       ? keyed_hash(static_cast<uint64_t>(v.as_date()), type)
                       : keyed_hash(v.as_bytes(), type);
    }
    return type;
}

bool ValueSet::insert(const Value& v) {
    const uint64_t hash = hash_value(v);
    if (has(v, hash)) return false;
    positions_.add(hash);
    values_.push_back(v);
    return true;
}

bool ValueSet::has(const Value& v, uint64_t hash) const {
    return positions_.find(hash, [&](uint32_t at) { return same_value(values_[at], v); }) !=
           HashedPositions::kNone;
}

}  // namespace orrery::json
