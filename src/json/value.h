#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"

namespace orrery::json {

/// In the total order of ORDER BY, MIN, MAX and the range index (false before true).
enum class Type : uint8_t { kUndefined, kNull, kBool, kNumber, kString, kArray, kObject };

struct Member;

/// One JSON value, or `undefined`. Trivially copyable, 24 bytes; immutable. Strings, number texts,
/// elements and members are borrowed: from an Arena, or from a source text. The owner must outlive
/// the value.
class Value {
public:
    constexpr Value() : integer_(0) {}  ///< undefined

    static Value null();
    static Value boolean(bool v);
    static Value number(double v);
    static Value integer(int64_t v);  ///< exact, also above 2^53
    /// A number as a client wrote it: `text` is printed by NumberForm::kAsWritten.
    static Value number_text(double v, std::string_view text);
    static Value integer_text(int64_t v, std::string_view text);
    static Value string(std::string_view utf8);
    static Value array(std::span<const Value> elements);
    static Value object(std::span<const Member> members);

    Type type() const { return type_; }
    bool is_undefined() const { return type_ == Type::kUndefined; }
    bool is_null() const { return type_ == Type::kNull; }
    bool is_bool() const { return type_ == Type::kBool; }
    bool is_number() const { return type_ == Type::kNumber; }
    bool is_string() const { return type_ == Type::kString; }
    bool is_array() const { return type_ == Type::kArray; }
    bool is_object() const { return type_ == Type::kObject; }
    bool is_scalar() const { return type_ >= Type::kNull && type_ <= Type::kString; }

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
        return text_ == nullptr ? std::string_view() : std::string_view(text_, length_);
    }
    std::string_view as_string() const {
        DCHECK(is_string());
        return {text_, length_};
    }
    std::span<const Value> elements() const;
    std::span<const Member> members() const;
    /// The member of an object; undefined if absent or if this is no object.
    Value member(std::string_view name) const;

private:
    Type type_ = Type::kUndefined;
    bool is_int64_ = false;
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

inline Value Value::null() {
    Value v;
    v.type_ = Type::kNull;
    return v;
}
inline Value Value::boolean(bool b) {
    Value v;
    v.type_ = Type::kBool;
    v.integer_ = b ? 1 : 0;
    return v;
}
inline Value Value::number(double d) {
    Value v;
    v.type_ = Type::kNumber;
    v.double_ = d;
    return v;
}
inline Value Value::integer(int64_t i) {
    Value v;
    v.type_ = Type::kNumber;
    v.is_int64_ = true;
    v.integer_ = i;
    return v;
}
inline Value Value::number_text(double d, std::string_view text) {
    Value v = number(d);
    v.text_ = text.data();
    v.length_ = static_cast<uint32_t>(text.size());
    return v;
}
inline Value Value::integer_text(int64_t i, std::string_view text) {
    Value v = integer(i);
    v.text_ = text.data();
    v.length_ = static_cast<uint32_t>(text.size());
    return v;
}
inline Value Value::string(std::string_view s) {
    Value v;
    v.type_ = Type::kString;
    v.text_ = s.data();
    v.length_ = static_cast<uint32_t>(s.size());
    return v;
}
inline Value Value::array(std::span<const Value> elements) {
    Value v;
    v.type_ = Type::kArray;
    v.elements_ = elements.data();
    v.length_ = static_cast<uint32_t>(elements.size());
    return v;
}
inline Value Value::object(std::span<const Member> members) {
    Value v;
    v.type_ = Type::kObject;
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

/// Bump allocator for values and their strings; freed as a whole. Owned by one thread at a time.
class Arena {
public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    Arena(Arena&&) = default;
    Arena& operator=(Arena&&) = default;

    char* allocate(size_t bytes, size_t alignment = 8);
    std::string_view copy(std::string_view bytes);
    std::span<const Value> copy(std::span<const Value> values);
    std::span<const Member> copy(std::span<const Member> members);
    /// Forgets everything; keeps one block for reuse.
    void clear();
    size_t bytes_used() const { return used_total_; }

private:
    struct Block {
        std::unique_ptr<char[]> bytes;
        size_t size;
    };
    std::vector<Block> blocks_;
    size_t current_used_ = 0;  // of the last block
    size_t used_total_ = 0;
};

/// The same value with everything it borrows copied into `arena`.
Value copy_value(const Value& value, Arena& arena);

}  // namespace orrery::json
