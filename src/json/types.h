#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Types of values beyond JSON's own: docs/formats/values.md.
namespace orrery::json {

/// First byte of an index term, and so the order of types. Types that the dialects sort differently
/// have a byte for either order (TypeOrder); no byte has two meanings. All are below 80.
enum class TermClass : uint8_t {
    kMinKey = 0x08,
    kUndefined = 0x10,
    kNull = 0x20,
    kFalse = 0x30,
    kTrue = 0x38,
    kNumber = 0x40,
    kString = 0x50,
    kBsonObject = 0x51,
    kBsonArray = 0x52,
    kBsonBinary = 0x54,  ///< by length, subtype, bytes
    kBinary = 0x55,      ///< by bytes
    kObjectId = 0x56,
    kBsonFalse = 0x57,
    kBsonTrue = 0x58,
    kDate = 0x59,
    kTimestamp = 0x5A,
    kRegex = 0x5B,
    kDbPointer = 0x5C,
    kCode = 0x5D,
    kCodeWithScope = 0x5E,
    kArray = 0x60,
    kFineDate = 0x62,
    kDays = 0x63,
    kTime = 0x64,
    kUuid = 0x65,
    kTimeUuid = 0x66,
    kInet = 0x67,
    kObject = 0x70,
    kCell = 0x78,  ///< of a spatial index only
    kMaxKey = 0x7C,
};

/// The types in use that JSON lacks, by the number that `$t` has.
enum class ExtendedType : uint8_t {
    kNone = 0,
    kDouble = 1,
    kObject = 3,
    kBinary = 5,
    kObjectId = 7,
    kDate = 9,
    kInt64 = 18,
};
inline constexpr size_t kObjectIdBytes = 12;

/// How stored JSON has a value of a type.
enum class TextForm : uint8_t {
    kPlain,    ///< as JSON; no `$t`
    kWord,     ///< `$v` is "NaN", "Infinity", "-Infinity", or the bits of another NaN in hex digits
    kInteger,  ///< `$v` is the decimal digits, in quotes
    kHex,      ///< `$v` is the bytes in lower-case hex digits; of binary values the subtype first
    kObject,   ///< `$v` is an object with a member `$t`, as it is
};

struct TypeRow {
    uint8_t number = 0;  ///< BSON's up to 127, then MinKey; from 32 on those that BSON lacks
    std::string_view name;
    TextForm text = TextForm::kPlain;
    TermClass term = TermClass::kUndefined;  ///< in SQL's order of types
    bool in_use = false;                     ///< false: reserved, refused like an unknown one
};

inline constexpr TypeRow kTypes[] = {
    {1, "double", TextForm::kWord, TermClass::kNumber, true},
    {3, "object", TextForm::kObject, TermClass::kObject, true},
    {5, "binary", TextForm::kHex, TermClass::kBinary, true},
    {6, "undefined", TextForm::kHex, TermClass::kUndefined},
    {7, "ObjectId", TextForm::kHex, TermClass::kObjectId, true},
    {9, "date", TextForm::kInteger, TermClass::kDate, true},
    {11, "regex", TextForm::kHex, TermClass::kRegex},
    {12, "DBPointer", TextForm::kHex, TermClass::kDbPointer},
    {13, "code", TextForm::kHex, TermClass::kCode},
    {14, "symbol", TextForm::kHex, TermClass::kString},
    {15, "code with scope", TextForm::kHex, TermClass::kCodeWithScope},
    {16, "int32", TextForm::kPlain, TermClass::kNumber},
    {17, "timestamp", TextForm::kInteger, TermClass::kTimestamp},
    {18, "int64", TextForm::kInteger, TermClass::kNumber, true},
    {19, "decimal128", TextForm::kHex, TermClass::kNumber},
    {32, "float32", TextForm::kHex, TermClass::kNumber},
    {33, "decimal", TextForm::kHex, TermClass::kNumber},
    {34, "varint", TextForm::kHex, TermClass::kNumber},
    {35, "date of 100 ns", TextForm::kInteger, TermClass::kFineDate},
    {36, "days", TextForm::kInteger, TermClass::kDays},
    {37, "time", TextForm::kInteger, TermClass::kTime},
    {38, "UUID", TextForm::kHex, TermClass::kUuid},
    {39, "timeuuid", TextForm::kHex, TermClass::kTimeUuid},
    {40, "inet", TextForm::kHex, TermClass::kInet},
    {127, "max key", TextForm::kHex, TermClass::kMaxKey},
    {255, "min key", TextForm::kHex, TermClass::kMinKey},
};

/// The row of a type in use; null for every other number.
constexpr const TypeRow* type_in_use(uint64_t number) {
    for (const TypeRow& row : kTypes)
        if (row.number == number) return row.in_use ? &row : nullptr;
    return nullptr;
}

}  // namespace orrery::json
