#pragma once

#include "json/dialect.h"
#include "json/value.h"

namespace orrery::json {

/// The total order of ORDER BY, MIN, MAX and the range index: by type first (value.h), false before
/// true, numbers as doubles (-0 = 0), strings by UTF-8 bytes. Arrays among arrays: element by
/// element, then by length; objects among objects: by sorted (name, value) pairs. <0, 0, >0.
int compare(const Value& a, const Value& b);

/// The total order of a dialect with typed values: by class (term_class), numbers of all types by
/// their exact values with NaN in front of them (-0 = 0), dates by time, ObjectIds by bytes, binary
/// values as their class says. In BSON's order objects compare member by member as they stand, by
/// class, name and value. Index terms follow this order (docs/formats/index.md).
int compare(const Value& a, const Value& b, const DialectRules& rules);

/// The class by which a value sorts first. Also the first byte of its index term.
inline TermClass term_class(const Value& value, const DialectRules& rules) {
    const bool bson = rules.type_order == TypeOrder::kBson;
    switch (value.type()) {
        case Type::kUndefined:
            return rules.missing_is_null ? TermClass::kNull : TermClass::kUndefined;
        case Type::kNull:
            return TermClass::kNull;
        case Type::kBool:
            if (bson) return value.as_bool() ? TermClass::kBsonTrue : TermClass::kBsonFalse;
            return value.as_bool() ? TermClass::kTrue : TermClass::kFalse;
        case Type::kNumber:
            return TermClass::kNumber;
        case Type::kString:
            return TermClass::kString;
        case Type::kArray:
            return bson ? TermClass::kBsonArray : TermClass::kArray;
        case Type::kObject:
            return bson ? TermClass::kBsonObject : TermClass::kObject;
        case Type::kExtended:
            break;
    }
    if (bson && value.extended_type() == ExtendedType::kBinary) return TermClass::kBsonBinary;
    return type_in_use(static_cast<uint8_t>(value.extended_type()))->term;
}

/// Equality of values of one type: numbers by value, objects without regard to member order, at any
/// depth. Values of different types are not equal.
bool equal(const Value& a, const Value& b);

}  // namespace orrery::json
