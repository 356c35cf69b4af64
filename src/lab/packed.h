#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.h"

/// Values as bytes and back by one description: `Packed::fields(a, value)` names a structure's
/// fields in order, to a PackWriter or to a PackReader.
namespace orrery::lab {

struct Packed;

/// Unsigned integers are varints, signed ones zigzag varints, doubles their 8 bytes, texts and
/// lists begin with their count, arrays have none.
class PackWriter {
public:
    static constexpr bool kReads = false;
    template <typename T>
    using Ref = const T&;

    PackWriter& operator()(const auto& value) {
        put(value);
        return *this;
    }
    std::string take() { return std::move(out_); }

private:
    void put(double value) { append_u64_le(out_, std::bit_cast<uint64_t>(value)); }
    void put(const std::string& text) { append_bytes(out_, text); }
    template <std::integral T>
    void put(T value) {
        if constexpr (std::is_signed_v<T>) {
            const auto wide = static_cast<int64_t>(value);
            append_varint(out_,
                          (static_cast<uint64_t>(wide) << 1) ^ static_cast<uint64_t>(wide >> 63));
        } else {
            append_varint(out_, static_cast<uint64_t>(value));
        }
    }
    template <typename A, typename B>
    void put(const std::pair<A, B>& value) {
        put(value.first);
        put(value.second);
    }
    void put(const std::unordered_set<uint64_t>& set) {
        std::vector<uint64_t> sorted(set.begin(), set.end());
        std::sort(sorted.begin(), sorted.end());
        put(sorted);
    }
    template <typename T, size_t N>
    void put(const std::array<T, N>& values) {
        for (const auto& value : values) put(value);
    }
    template <typename T>
    requires requires(const T& list) {
        list.begin();
        list.size();
    }
    void put(const T& list) {
        append_varint(out_, list.size());
        for (const auto& value : list) put(value);
    }
    template <typename T>
    requires(std::is_class_v<T> &&
             !requires(const T& list) { list.begin(); }) void put(const T& value);

    std::string out_;
};

/// What a PackWriter wrote. After a failed read ok() is false and values are what they were or
/// zero; a list is never longer than there are bytes for.
class PackReader {
public:
    static constexpr bool kReads = true;
    template <typename T>
    using Ref = T&;

    explicit PackReader(std::string_view in) : in_(in) {}
    PackReader& operator()(auto& value) {
        get(value);
        return *this;
    }
    bool ok() const { return ok_ && in_.ok(); }
    bool at_end() const { return in_.at_end(); }
    /// Something that was read cannot be.
    void refuse() { ok_ = false; }

private:
    void get(double& value) { value = std::bit_cast<double>(in_.u64_le()); }
    void get(std::string& text) { text = std::string(in_.bytes()); }
    template <std::integral T>
    void get(T& value) {
        const uint64_t raw = in_.varint();
        if constexpr (std::is_signed_v<T>) {
            const auto wide = static_cast<int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
            value = static_cast<T>(wide);
            if (wide != static_cast<int64_t>(value)) refuse();
        } else {
            value = static_cast<T>(raw);
            if (raw != static_cast<uint64_t>(value)) refuse();
        }
    }
    template <typename A, typename B>
    void get(std::pair<A, B>& value) {
        get(value.first);
        get(value.second);
    }
    template <typename T, size_t N>
    void get(std::array<T, N>& values) {
        for (auto& value : values) get(value);
    }
    template <typename T>
    void get(std::vector<T>& list) {
        for (size_t n = count(); n > 0 && ok(); --n) get(list.emplace_back());
    }
    template <typename T>
    void get(std::deque<T>& list) {
        for (size_t n = count(); n > 0 && ok(); --n) get(list.emplace_back());
    }
    template <typename K, typename V>
    void get(std::map<K, V>& map) {
        for (size_t n = count(); n > 0 && ok(); --n) {
            K key{};
            get(key);
            get(map[std::move(key)]);
        }
    }
    void get(std::unordered_set<uint64_t>& set) {
        for (size_t n = count(); n > 0 && ok(); --n) {
            uint64_t value = 0;
            get(value);
            set.insert(value);
        }
    }
    template <typename T>
    requires(std::is_class_v<T> && !requires(const T& list) { list.begin(); }) void get(T& value);

    size_t count() {
        const uint64_t n = in_.varint();
        if (n > in_.rest().size()) refuse();
        return ok() ? static_cast<size_t>(n) : 0;
    }

    ByteReader in_;
    bool ok_ = true;
};

}  // namespace orrery::lab
