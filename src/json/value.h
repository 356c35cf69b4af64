#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"
#include "base/check.h"
#include "json/arena.h"
#include "json/types.h"

namespace orrery::json {

/// In the total order of ORDER BY, MIN, MAX and the range index (false before true). Values that
/// JSON lacks, kExtended, come with dialects that have an order of their own (order.h).
enum class Type : uint8_t {
    kUndefined,
    kNull,
    kBool,
    kNumber,
    kString,
    kArray,
    kObject,
    kExtended
};

struct Member;

/// One JSON value, or `undefined`, or a value that JSON lacks (types.h). Trivially copyable, 24
/// bytes; immutable. Strings, bytes, number texts, elements and members are borrowed: from an
/// Arena, or from a source text. The owner must outlive the value.
class Value {
public:
    constexpr Value() : integer_(0) {}  ///< undefined

    static Value null() { return Value(Type::kNull); }
    static Value boolean(bool v) { return Value(Type::kBool, v ? 1 : 0); }
    static Value number(double v) {
        Value out(Type::kNumber);
        out.double_ = v;
        return out;
    }
    /// Exact, also above 2^53.
    static Value integer(int64_t v) {
        Value out(Type::kNumber, v);
        out.is_int64_ = true;
        return out;
    }
    /// A number as a client wrote it: `text` is printed by NumberForm::kAsWritten.
    static Value number_text(double v, std::string_view text) {
        Value out = number(v);
        out.borrow(text);
        return out;
    }
    static Value integer_text(int64_t v, std::string_view text) {
        Value out = integer(v);
        out.borrow(text);
        return out;
    }
    static Value string(std::string_view utf8) {
        Value out(Type::kString);
        out.borrow(utf8);
        return out;
    }
    static Value array(std::span<const Value> elements);
    static Value object(std::span<const Member> members);

    /// An integer of the type int64, where a dialect tells it from other numbers.
    static Value int64(int64_t v) {
        Value out = integer(v);
        out.extended_ = ExtendedType::kInt64;
        return out;
    }
    static Value date(int64_t milliseconds) {  ///< since 1970-01-01 UTC
        Value out(Type::kExtended, milliseconds);
        out.extended_ = ExtendedType::kDate;
        return out;
    }
    static Value object_id(std::string_view bytes) {
        DCHECK(bytes.size() == kObjectIdBytes);
        Value out(Type::kExtended);
        out.extended_ = ExtendedType::kObjectId;
        out.borrow(bytes);
        return out;
    }
    static Value binary(std::string_view bytes, uint8_t subtype) {
        Value out(Type::kExtended, subtype);
        out.extended_ = ExtendedType::kBinary;
        out.borrow(bytes);
        return out;
    }

    Type type() const { return type_; }
    bool is_undefined() const { return type_ == Type::kUndefined; }
    bool is_null() const { return type_ == Type::kNull; }
    bool is_bool() const { return type_ == Type::kBool; }
    bool is_number() const { return type_ == Type::kNumber; }
    bool is_string() const { return type_ == Type::kString; }
    bool is_array() const { return type_ == Type::kArray; }
    bool is_object() const { return type_ == Type::kObject; }
    bool is_extended() const { return type_ == Type::kExtended; }
    bool is_scalar() const {
        return type_ != Type::kUndefined && type_ != Type::kArray && type_ != Type::kObject;
    }

    bool as_bool() const {
        DCHECK(is_bool());
        return integer_ != 0;
    }
    /// Numbers compare, hash and index as doubles.
    double as_double() const {
        DCHECK(is_number());
        return is_int64_ ? static_cast<double>(integer_) : double_;
    }
    /// True when the literal was an integer (no fraction, no exponent) within 64 bits.
    bool is_int64() const { return type_ == Type::kNumber && is_int64_; }
    int64_t as_int64() const {
        DCHECK(is_int64());
        return integer_;
    }
    /// The text of a number as written; empty when computed.
    std::string_view number_text() const {
        DCHECK(is_number());
        return borrowed();
    }
    std::string_view as_string() const {
        DCHECK(is_string());
        return {text_, length_};
    }
    std::span<const Value> elements() const;
    std::span<const Member> members() const;
    /// The member of an object; undefined if absent or if this is no object.
    Value member(std::string_view name) const;

    /// The type of an extended value, kInt64 for an int64; kNone for all else.
    ExtendedType extended_type() const { return extended_; }
    int64_t as_date() const {
        DCHECK(extended_ == ExtendedType::kDate);
        return integer_;
    }
    /// Of an ObjectId or a binary value.
    std::string_view as_bytes() const {
        DCHECK(extended_ == ExtendedType::kObjectId || extended_ == ExtendedType::kBinary);
        return borrowed();
    }
    uint8_t binary_subtype() const {
        DCHECK(extended_ == ExtendedType::kBinary);
        return static_cast<uint8_t>(integer_);
    }

private:
    explicit Value(Type type, int64_t integer = 0) : type_(type), integer_(integer) {}
    void borrow(std::string_view text) {
        text_ = text.data();
        length_ = static_cast<uint32_t>(text.size());
    }
    std::string_view borrowed() const {
        return text_ == nullptr ? std::string_view() : std::string_view(text_, length_);
    }

    Type type_ = Type::kUndefined;
    bool is_int64_ = false;
    ExtendedType extended_ = ExtendedType::kNone;
    uint32_t length_ = 0;
    union {
        int64_t integer_;
        double double_;
        const Value* elements_;
        const Member* members_;
    };
    const char* text_ = nullptr;
};

struct Member {
    std::string_view name;
    Value value;
};

static_assert(sizeof(Value) == 24);
static_assert(std::is_trivially_copyable_v<Value>);

inline Value Value::array(std::span<const Value> elements) {
    Value v(Type::kArray);
    v.elements_ = elements.data();
    v.length_ = static_cast<uint32_t>(elements.size());
    return v;
}
inline Value Value::object(std::span<const Member> members) {
    Value v(Type::kObject);
    v.members_ = members.data();
    v.length_ = static_cast<uint32_t>(members.size());
    return v;
}
inline std::span<const Value> Value::elements() const {
    DCHECK(is_array());
    return {elements_, length_};
}
inline std::span<const Member> Value::members() const {
    DCHECK(is_object());
    return {members_, length_};
}
inline Value Value::member(std::string_view name) const {
    if (is_object()) {
        for (const Member& m : members())
            if (m.name.size() == name.size() && same_bytes(m.name.data(), name.data(), name.size()))
                return m.value;
    }
    return {};
}

/// The same value with everything it borrows copied into `arena`.
Value copy_value(const Value& value, Arena& arena);

}  // namespace orrery::json
