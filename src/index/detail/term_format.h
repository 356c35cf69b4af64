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
#include "json/value.h"
#include "storage/keys.h"

/// Bytes of terms and path hashes: docs/formats/index.md.
namespace orrery::index::detail {

/// First byte of a term. In the order of values; the gaps are for types of other protocol heads.
enum class TermType : uint8_t {
    kUndefined = 0x10,
    kNull = 0x20,
    kFalse = 0x30,
    kTrue = 0x38,
    kNumber = 0x40,
    kString = 0x50,
    kArray = 0x60,
    kObject = 0x70,
    kCell = 0x78,  ///< of a spatial index only
};

inline constexpr size_t kPathHashBytes = 8;
/// Strings are indexed by their first bytes only.
inline constexpr size_t kStringBytesMax = 256;
// Behind a zero byte: end of a whole string, end of a cut one, or a zero byte of the string itself.
inline constexpr char kWholeEnd = 0x00;
inline constexpr char kCutEnd = 0x01;
inline constexpr char kEscapedZero = '\xFF';
/// Type, every byte escaped, end.
inline constexpr size_t kTermBytesMax = 1 + 2 * kStringBytesMax + 2;
/// Beyond this, not every integer is a double.
inline constexpr int64_t kExactIntegerMax = int64_t{1} << 53;

struct EncodedTerm {
    uint32_t size = 0;
    bool partial = false;
};

/// Order-preserving bits of a double; -0 is 0.
inline uint64_t ordered_bits(double number) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    const auto bits = std::bit_cast<uint64_t>(number == 0 ? 0.0 : number);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

inline double number_of_bits(uint64_t ordered) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    return std::bit_cast<double>((ordered & kSign) != 0 ? ordered & ~kSign : ~ordered);
}

inline EncodedTerm encode_string(char* out, std::string_view text) {
    const bool cut = text.size() > kStringBytesMax;
    if (cut) text = text.substr(0, kStringBytesMax);
    char* p = out;
    *p++ = static_cast<char>(TermType::kString);
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

/// `out` has room for kTermBytesMax bytes.
inline EncodedTerm encode_term(char* out, const json::Value& value) {
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
            return type_only(value.as_bool() ? TermType::kTrue : TermType::kFalse);
        case json::Type::kNumber: {
            const double number = value.as_double();
            if (std::isnan(number)) break;
            *out = static_cast<char>(TermType::kNumber);
            store_u64_be(out + 1, ordered_bits(number));
            const bool partial = value.is_int64() && (value.as_int64() > kExactIntegerMax ||
                                                      value.as_int64() < -kExactIntegerMax);
            return {9, partial};
        }
        case json::Type::kString:
            return encode_string(out, value.as_string());
        case json::Type::kArray:
            return type_only(TermType::kArray);
        case json::Type::kObject:
            return type_only(TermType::kObject);
    }
    return type_only(TermType::kUndefined);
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
inline EncodedTerm encode_composite_term(char* out, const json::Value& value, bool descending) {
    const EncodedTerm term = encode_term(out, value);
    if (descending) invert(out, term.size);
    return term;
}

/// The hash of a path is chained step by step, so that a walk pays for each name once.
enum class StepKind : uint8_t {
    kMember = 1,
    kElement = 2,
    // No path of an item has these: composite indexes, the marker of items without entries, and
    // spatial indexes.
    kAscending = 3,
    kDescending = 4,
    kUnindexed = 5,
    kSpatial = 6,
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
