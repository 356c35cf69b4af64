#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"

/// Byte coding. Big-endian integers keep their order under memcmp and are used in keys;
/// little-endian ones and varints are used in values.
namespace orrery {

inline void store_u64_be(char* out, uint64_t v) {
    v = __builtin_bswap64(v);
    std::memcpy(out, &v, 8);
}
inline void store_u32_be(char* out, uint32_t v) {
    v = __builtin_bswap32(v);
    std::memcpy(out, &v, 4);
}
inline uint64_t load_u64_be(const char* in) {
    uint64_t v;
    std::memcpy(&v, in, 8);
    return __builtin_bswap64(v);
}
inline uint32_t load_u32_be(const char* in) {
    uint32_t v;
    std::memcpy(&v, in, 4);
    return __builtin_bswap32(v);
}
inline void store_u64_le(char* out, uint64_t v) {
    std::memcpy(out, &v, 8);
}
inline uint64_t load_u64_le(const char* in) {
    uint64_t v;
    std::memcpy(&v, in, 8);
    return v;
}
inline uint32_t load_u32_le(const char* in) {
    uint32_t v;
    std::memcpy(&v, in, 4);
    return v;
}

/// True if two texts of one length are equal. Short texts, such as names, are compared without a
/// call.
inline bool same_bytes(const char* a, const char* b, size_t size) {
    if (size > 16) return std::memcmp(a, b, size) == 0;
    if (size >= 8)
        return ((load_u64_le(a) ^ load_u64_le(b)) |
                (load_u64_le(a + size - 8) ^ load_u64_le(b + size - 8))) == 0;
    if (size >= 4)
        return ((load_u32_le(a) ^ load_u32_le(b)) |
                (load_u32_le(a + size - 4) ^ load_u32_le(b + size - 4))) == 0;
    return size == 0 || (a[0] == b[0] && a[size / 2] == b[size / 2] && a[size - 1] == b[size - 1]);
}

inline void append_u64_be(std::string& out, uint64_t v) {
    char b[8];
    store_u64_be(b, v);
    out.append(b, 8);
}
inline void append_u32_be(std::string& out, uint32_t v) {
    char b[4];
    store_u32_be(b, v);
    out.append(b, 4);
}
inline void append_u64_le(std::string& out, uint64_t v) {
    out.append(reinterpret_cast<const char*>(&v), 8);
}
inline void append_u32_le(std::string& out, uint32_t v) {
    out.append(reinterpret_cast<const char*>(&v), 4);
}
inline void append_varint(std::string& out, uint64_t v) {
    while (v >= 0x80) {
        out.push_back(static_cast<char>(v | 0x80));
        v >>= 7;
    }
    out.push_back(static_cast<char>(v));
}
inline void append_bytes(std::string& out, std::string_view bytes) {
    append_varint(out, bytes.size());
    out.append(bytes);
}

/// Reads encoded bytes front to back. Every read checks its bounds; after a failed read ok() is
/// false, every further read returns zero or empty, and the caller reports damage once at the end.
class ByteReader {
public:
    explicit ByteReader(std::string_view in) : in_(in) {}

    bool ok() const { return ok_; }
    bool at_end() const { return in_.empty(); }
    std::string_view rest() const { return in_; }

    uint8_t u8() { return take(1) ? static_cast<uint8_t>(last_[0]) : 0; }
    uint32_t u32_le() { return take(4) ? load_u32_le(last_) : 0; }
    uint64_t u64_le() { return take(8) ? load_u64_le(last_) : 0; }
    uint32_t u32_be() { return take(4) ? load_u32_be(last_) : 0; }
    uint64_t u64_be() { return take(8) ? load_u64_be(last_) : 0; }
    uint64_t varint() {
        uint64_t v = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const uint8_t byte = u8();
            if (!ok_) return 0;
            v |= static_cast<uint64_t>(byte & 0x7F) << shift;
            if ((byte & 0x80) == 0) return v;
        }
        ok_ = false;
        return 0;
    }
    std::string_view fixed(size_t count) {
        return take(count) ? std::string_view(last_, count) : std::string_view();
    }
    std::string_view bytes() {
        const uint64_t count = varint();
        if (count > in_.size()) ok_ = false;
        return ok_ ? fixed(static_cast<size_t>(count)) : std::string_view();
    }

private:
    bool take(size_t count) {
        if (!ok_ || in_.size() < count) {
            ok_ = false;
            return false;
        }
        last_ = in_.data();
        in_.remove_prefix(count);
        return true;
    }

    std::string_view in_;
    const char* last_ = nullptr;
    bool ok_ = true;
};

/// Order-preserving, self-delimiting form of arbitrary bytes: 00 becomes 00 FF, the end is 00 00.
/// append_delimited(a) < append_delimited(b) exactly when a < b, and neither is a prefix of the
/// other.
void append_delimited(std::string& out, std::string_view bytes);
/// Reads one delimited string from the front of `in` and removes it; nullopt when malformed.
std::optional<std::string> take_delimited(std::string_view& in);

/// The smallest byte string greater than every string that starts with `prefix`;
/// empty when there is none (prefix is empty or all FF).
std::string prefix_successor(std::string_view prefix);

}  // namespace orrery
