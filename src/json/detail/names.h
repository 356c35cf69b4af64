#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "json/detail/inline_stack.h"

namespace orrery::json::detail {

/// A hash of the name's length, head and tail. Cheap, and good enough for member names.
inline uint32_t name_hash(std::string_view name) {
    const char* p = name.data();
    const size_t n = name.size();
    uint64_t head = 0;
    uint64_t tail = 0;
    if (n >= 8) {
        std::memcpy(&head, p, 8);
        std::memcpy(&tail, p + n - 8, 8);
    } else if (n >= 4) {
        uint32_t a;
        uint32_t b;
        std::memcpy(&a, p, 4);
        std::memcpy(&b, p + n - 4, 4);
        head = a;
        tail = b;
    } else if (n > 0) {
        head = static_cast<uint8_t>(p[0]) |
               static_cast<uint32_t>(static_cast<uint8_t>(p[n / 2])) << 8 |
               static_cast<uint32_t>(static_cast<uint8_t>(p[n - 1])) << 16;
    }
    const uint64_t mixed = (head ^ (tail * 0x9E3779B97F4A7C15u) ^ n) * 0xD6E8FEB86659FD93u;
    return static_cast<uint32_t>(mixed >> 32);
}

/// Finds members with the same (unescaped) name in one object. Small objects are checked name by
/// name behind a 64-bit filter; large ones are sorted once at their end, so no choice of names
/// makes the check quadratic.
class NameTracker {
public:
    struct Scope {
        uint32_t first = 0;
        uint64_t filter = 0;
    };

    Scope open() const { return {static_cast<uint32_t>(names_.size()), 0}; }

    /// False when `name` is known to be in the scope already. `offset` is where it stands.
    bool add(Scope& scope, std::string_view name, uint32_t offset) {
        const uint32_t hash = name_hash(name);
        const uint64_t bit = uint64_t{1} << (hash & 63);
        const size_t count = names_.size() - scope.first;
        if ((scope.filter & bit) != 0 && count <= kCheckedAtOnce) {
            if (contains(scope.first, name, hash)) return false;
        }
        scope.filter |= bit;
        names_.push({name.data(), static_cast<uint32_t>(name.size()), hash, offset});
        return true;
    }

    /// Ends the innermost scope; false when a name occurred twice, then duplicate() tells which.
    bool close(const Scope& scope) {
        const bool unique =
            names_.size() - scope.first <= kCheckedAtOnce || unique_from(scope.first);
        names_.truncate(scope.first);
        return unique;
    }

    std::string_view duplicate() const { return duplicate_; }
    uint32_t duplicate_offset() const { return duplicate_offset_; }

private:
    struct Name {
        const char* data;
        uint32_t size;
        uint32_t hash;
        uint32_t offset;
        std::string_view view() const { return {data, size}; }
    };
    static constexpr size_t kCheckedAtOnce = 48;

    bool contains(size_t first, std::string_view name, uint32_t hash);
    bool unique_from(size_t first);

    InlineStack<Name, 128> names_;
    std::string_view duplicate_;
    uint32_t duplicate_offset_ = 0;
};

}  // namespace orrery::json::detail
