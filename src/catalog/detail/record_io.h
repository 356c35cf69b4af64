#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/bytes.h"

/// What writes the fields of a record and what reads them. The fields are named once, in functions
/// `fields(v, record)` that take either. Signed numbers of a record are -1 or more.
namespace orrery::catalog::detail {

class Writer {
public:
    explicit Writer(uint8_t version) : version_(version), out_(1, static_cast<char>(version)) {}

    uint8_t version() const { return version_; }
    /// Whether fields at the end of a record, which may be left out, are there.
    bool present(bool present) const { return present; }
    void byte(uint8_t v) { out_.push_back(static_cast<char>(v)); }
    template <typename Enum>
    void choice(Enum v) {
        byte(static_cast<uint8_t>(v));
    }
    void flag(bool v) { byte(v ? 1 : 0); }
    void small(int v) { byte(static_cast<uint8_t>(v)); }
    void fixed(uint32_t v) { append_u32_be(out_, v); }
    void fixed(uint64_t v) { append_u64_le(out_, v); }
    void count(uint64_t v) { append_varint(out_, v); }
    void number(int64_t v) { append_varint(out_, static_cast<uint64_t>(v + 1)); }
    void optional(const std::optional<int64_t>& v) {
        flag(v.has_value());
        if (v) number(*v);
    }
    void optional(const std::optional<std::string>& v) {
        flag(v.has_value());
        if (v) bytes(*v);
    }
    void bytes(std::string_view v) { append_bytes(out_, v); }
    void real(double v) { append_u64_le(out_, std::bit_cast<uint64_t>(v)); }
    template <typename List, typename Each>
    void list(const List& all, Each each) {
        count(all.size());
        for (const auto& one : all) each(one);
    }
    template <typename Key, typename Value>
    void map(const std::map<Key, Value>& all) {
        count(all.size());
        for (const auto& [key, value] : all) {
            count(key);
            count(value);
        }
    }
    std::string take() { return std::move(out_); }

private:
    const uint8_t version_;
    std::string out_;
};

/// One value while it is read.
class Reader {
public:
    explicit Reader(std::string_view value) : value_(value), version_(value_.u8()) {}

    uint8_t version() const { return version_; }
    bool present(bool) const { return !value_.at_end(); }
    void byte(uint8_t& v) { v = value_.u8(); }
    template <typename Enum>
    void choice(Enum& v) {
        v = static_cast<Enum>(value_.u8());
    }
    void flag(bool& v) {
        const uint8_t found = value_.u8();
        v = found == 1;
        sound_ = sound_ && found <= 1;
    }
    void small(int& v) { v = value_.u8(); }
    void fixed(uint32_t& v) { v = value_.u32_be(); }
    void fixed(uint64_t& v) { v = value_.u64_le(); }
    template <std::unsigned_integral T>
    void count(T& v) {
        v = static_cast<T>(value_.varint());
    }
    void number(int64_t& v) { v = static_cast<int64_t>(value_.varint()) - 1; }
    void optional(std::optional<int64_t>& v) {
        bool there = false;
        flag(there);
        if (there) number(v.emplace());
    }
    void optional(std::optional<std::string>& v) {
        bool there = false;
        flag(there);
        if (there) bytes(v.emplace());
    }
    void bytes(std::string& v) { v = value_.bytes(); }
    void real(double& v) { v = std::bit_cast<double>(value_.u64_le()); }
    template <typename List, typename Each>
    void list(List& all, Each each) {
        const uint64_t size = value_.varint();
        for (uint64_t i = 0; i < size && value_.ok(); ++i) {
            typename List::value_type one{};
            each(one);
            all.push_back(std::move(one));
        }
    }
    template <typename Key, typename Value>
    void map(std::map<Key, Value>& all) {
        const uint64_t size = value_.varint();
        for (uint64_t i = 0; i < size && value_.ok(); ++i) {
            const Key key_of_one = static_cast<Key>(value_.varint());
            all[key_of_one] = static_cast<Value>(value_.varint());
        }
    }

    /// What was read must have been so.
    void accept(bool sound) { sound_ = sound_ && sound; }

    /// After the last field: all was there and nothing is left.
    bool complete() const { return sound_ && version_ != 0 && value_.ok() && value_.at_end(); }

private:
    ByteReader value_;
    uint8_t version_ = 0;
    bool sound_ = true;
};

/// A record that is written, or one that is read.
template <typename T, typename Record>
concept Either = std::same_as<std::remove_const_t<T>, Record>;

}  // namespace orrery::catalog::detail
