#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace orrery::json::detail {

/// A stack whose first N entries live in the object itself, so that an ordinary document is walked
/// without touching the heap. Entries are plain data and are not initialised until pushed.
template <typename T, size_t N>
class InlineStack {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    InlineStack() : data_(reinterpret_cast<T*>(inline_)) {}
    InlineStack(const InlineStack&) = delete;
    InlineStack& operator=(const InlineStack&) = delete;

    size_t size() const { return size_; }
    T& operator[](size_t i) { return data_[i]; }
    T& back() { return data_[size_ - 1]; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    void truncate(size_t size) { size_ = size; }
    void push(const T& v) {
        if (size_ == capacity_) [[unlikely]]
            grow();
        new (data_ + size_++) T(v);
    }

private:
    void grow() {
        const size_t capacity = capacity_ * 4;
        auto bytes = std::make_unique_for_overwrite<std::byte[]>(capacity * sizeof(T));
        std::memcpy(bytes.get(), static_cast<const void*>(data_), size_ * sizeof(T));
        heap_ = std::move(bytes);
        data_ = reinterpret_cast<T*>(heap_.get());
        capacity_ = capacity;
    }

    alignas(T) std::byte inline_[N * sizeof(T)];
    std::unique_ptr<std::byte[]> heap_;
    T* data_;
    size_t size_ = 0;
    size_t capacity_ = N;
};

}  // namespace orrery::json::detail
