#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/hash.h"
#include "json/order.h"
#include "json/value.h"
#include "json/value_key.h"
#include "storage/keys.h"

/// Bytes of terms and path hashes: docs/formats/index.md.
namespace orrery::index::detail {

/// First byte of a term.
using TermType = json::TermClass;

inline constexpr size_t kPathHashBytes = 8;
/// Strings and binary values are indexed by their first bytes only.
inline constexpr size_t kStringBytesMax = 256;
// Behind a zero byte: end of a whole string, end of a cut one, or a zero byte of the string itself.
inline constexpr char kWholeEnd = 0x00;
inline constexpr char kCutEnd = 0x01;
inline constexpr char kEscapedZero = '\xFF';
/// In front of a binary value that sorts by length first: the length and the subtype.
inline constexpr size_t kBinaryFrontBytes = 5;
/// Type, front, every byte escaped, end.
inline constexpr size_t kTermBytesMax = 1 + kBinaryFrontBytes + 2 * kStringBytesMax + 2;
inline constexpr size_t kIntegerTermBytes = 9;
inline constexpr size_t kObjectIdTermBytes = 1 + json::kObjectIdBytes;
/// Beyond this, not every integer is a double.
inline constexpr int64_t kExactIntegerMax = int64_t{1} << 53;

struct EncodedTerm {
    uint32_t size = 0;
    bool partial = false;
};

using json::ordered_bits;

inline double number_of_bits(uint64_t ordered) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    return std::bit_cast<double>((ordered & kSign) != 0 ? ordered & ~kSign : ~ordered);
}

/// Bytes and end of a string; `p` is behind what stands in front of them.
inline EncodedTerm encode_bytes(char* out, char* p, std::string_view text) {
    const bool cut = text.size() > kStringBytesMax;
    if (cut) text = text.substr(0, kStringBytesMax);
    if (text.find('\0') == std::string_view::npos) [[likely]] {
        p += text.copy(p, text.size());
    } else {
        for (const char c : text) {
            *p++ = c;
            if (c == 0) *p++ = kEscapedZero;
        }
    }
    *p++ = 0;
    *p++ = cut ? kCutEnd : kWholeEnd;
    return {static_cast<uint32_t>(p - out), cut};
}

inline EncodedTerm encode_string(char* out, std::string_view text) {
    *out = static_cast<char>(TermType::kString);
    return encode_bytes(out, out + 1, text);
}

/// The term of a value that JSON lacks.
EncodedTerm encode_extended(char* out, const json::Value& value, const json::DialectRules& rules);

/// `out` has room for kTermBytesMax bytes.
inline EncodedTerm encode_term(char* out, const json::Value& value,
                               const json::DialectRules& rules) {
    const auto type_only = [&](TermType type) -> EncodedTerm {
        *out = static_cast<char>(type);
        return {1, false};
    };
    switch (value.type()) {
        case json::Type::kUndefined:
            break;
        case json::Type::kNull:
            return type_only(TermType::kNull);
        case json::Type::kBool:
        case json::Type::kArray:
        case json::Type::kObject:
            return type_only(json::term_class(value, rules));
        case json::Type::kNumber: {
            const double number = value.as_double();
            const bool nan = std::isnan(number);
            if (nan && !rules.typed_values) break;
            *out = static_cast<char>(TermType::kNumber);
            store_u64_be(out + 1, nan ? json::kOrderedNan : ordered_bits(number));
            const bool partial = value.is_int64() && (value.as_int64() > kExactIntegerMax ||
                                                      value.as_int64() < -kExactIntegerMax);
            return {kIntegerTermBytes, partial};
        }
        case json::Type::kString:
            return encode_string(out, value.as_string());
        case json::Type::kExtended:
            return encode_extended(out, value, rules);
    }
    return type_only(rules.missing_is_null ? TermType::kNull : TermType::kUndefined);
}

/// All bytes inverted: the order of values turned round. First bytes of plain terms are below 80,
/// so that the direction of a composite's member can be seen.
inline void invert(char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(~bytes[i]);
}
inline bool is_inverted(char first) {
    return (static_cast<uint8_t>(first) & 0x80) != 0;
}
/// A composite's member.
inline EncodedTerm encode_composite_term(char* out, const json::Value& value, bool descending,
                                         const json::DialectRules& rules) {
    const EncodedTerm term = encode_term(out, value, rules);
    if (descending) invert(out, term.size);
    return term;
}

/// The hash of a path is chained step by step, so that a walk pays for each name once.
enum class StepKind : uint8_t {
    kMember = 1,
    kElement = 2,
    // No path of an item has these.
    kAscending = 3,
    kDescending = 4,
    kUnindexed = 5,
    kSpatial = 6,
    kMultikey = 7,  ///< marker of items with an array at or above a path
    kSystem = 8,    ///< a system property, where clients may have a member of its name
};

inline uint64_t unreserved(uint64_t hash) {
    return hash < storage::keys::kReservedPathHashes ? hash + storage::keys::kReservedPathHashes
                                                     : hash;
}
inline uint64_t root_hash(SipKey key) {
    return siphash(key, {});
}
inline uint64_t step_hash(SipKey key, uint64_t parent, StepKind kind, std::string_view name) {
    constexpr size_t kShort = 128;
    char buffer[9 + kShort];
    if (name.size() <= kShort) [[likely]] {
        store_u64_be(buffer, parent);
        buffer[8] = static_cast<char>(kind);
        if (!name.empty()) std::memcpy(buffer + 9, name.data(), name.size());
        return unreserved(siphash(key, {buffer, 9 + name.size()}));
    }
    std::string longer;
    longer.reserve(9 + name.size());
    append_u64_be(longer, parent);
    longer.push_back(static_cast<char>(kind));
    longer.append(name);
    return unreserved(siphash(key, longer));
}
inline uint64_t member_hash(SipKey key, uint64_t parent, std::string_view name) {
    return step_hash(key, parent, StepKind::kMember, name);
}
inline uint64_t element_hash(SipKey key, uint64_t parent) {
    return step_hash(key, parent, StepKind::kElement, {});
}

}  // namespace orrery::index::detail
