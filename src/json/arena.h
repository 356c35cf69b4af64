#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace orrery::json {

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
    template <typename T, size_t N>
    std::span<const T> copy(std::span<const T, N> things) {
        static_assert(std::is_trivially_copyable_v<T>);
        if (things.empty()) return {};
        char* out = allocate(things.size_bytes(), alignof(T));
        std::memcpy(out, things.data(), things.size_bytes());
        return {reinterpret_cast<const T*>(out), things.size()};
    }
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

}  // namespace orrery::json
