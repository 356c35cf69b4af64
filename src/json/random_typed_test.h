#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "json/random_json_test.h"
#include "json/typed_text.h"

/// Random values of all types, for property tests over dialects with typed values.
namespace orrery::json::test {

class RandomTyped {
public:
    explicit RandomTyped(uint64_t seed) : json_(seed) {}

    RandomJson& json() { return json_; }

    /// Small domains on purpose, so that equal values and neighbours occur.
    Value number() {
        static constexpr int64_t kIntegers[] = {0,
                                                1,
                                                -1,
                                                5,
                                                int64_t{1} << 53,
                                                (int64_t{1} << 53) + 1,
                                                (int64_t{1} << 53) + 2,
                                                -(int64_t{1} << 53) - 1,
                                                std::numeric_limits<int64_t>::max(),
                                                std::numeric_limits<int64_t>::max() - 1,
                                                std::numeric_limits<int64_t>::min(),
                                                std::numeric_limits<int64_t>::min() + 1};
        static const double kDoubles[] = {0.0,
                                          -0.0,
                                          0.5,
                                          5.0,
                                          -1.0,
                                          0x1p53,
                                          0x1p53 + 2,
                                          0x1p63,
                                          -0x1p63,
                                          1e300,
                                          5e-324,
                                          std::numeric_limits<double>::infinity(),
                                          -std::numeric_limits<double>::infinity(),
                                          std::numeric_limits<double>::quiet_NaN(),
                                          std::bit_cast<double>(uint64_t{0xFFF8000000000001})};
        switch (json_.below(4)) {
            case 0:
                return Value::int64(kIntegers[json_.below(std::size(kIntegers))]);
            case 1:
                return Value::int64(static_cast<int64_t>(json_.engine()()));
            case 2:
                return Value::integer(static_cast<int64_t>(json_.below(12)) - 6);
            default:
                return Value::number(kDoubles[json_.below(std::size(kDoubles))]);
        }
    }

    Value extended(Arena& arena) {
        switch (json_.below(4)) {
            case 0:
                return Value::date(static_cast<int64_t>(json_.below(5)) - 2);
            case 1:
                return Value::date(static_cast<int64_t>(json_.engine()()));
            case 2: {
                std::string bytes(kObjectIdBytes, 'x');
                bytes.back() = static_cast<char>(json_.below(256));
                return Value::object_id(arena.copy(bytes));
            }
            default: {
                std::string bytes(json_.chance(5) ? 250 + json_.below(12) : json_.below(4), 'b');
                if (!bytes.empty()) bytes.back() = static_cast<char>(json_.below(3));
                const auto subtype = static_cast<uint8_t>(json_.chance(30) ? json_.below(256) : 0);
                return Value::binary(arena.copy(bytes), subtype);
            }
        }
    }

    Value value(Arena& arena, int depth) {
        switch (json_.below(depth > 0 ? 7 : 5)) {
            case 0:
                return number();
            case 1:
            case 2:
                return extended(arena);
            case 3:
            case 4:
                return json_.value(arena, 0);
            case 5: {
                std::vector<Value> elements;
                for (uint64_t n = json_.below(4); n > 0; --n)
                    elements.push_back(value(arena, depth - 1));
                return Value::array(arena.copy(std::span<const Value>(elements)));
            }
            default:
                return object(arena, depth);
        }
    }

    /// With names that wrappers use among its own.
    Value object(Arena& arena, int depth) {
        static constexpr std::string_view kNames[] = {"$t", "$v", "id", "_ts", "ttl", "a", "b", ""};
        std::vector<Member> members;
        for (const std::string_view name : kNames)
            if (json_.chance(30)) members.push_back({name, value(arena, depth - 1)});
        if (json_.chance(30)) std::reverse(members.begin(), members.end());
        return Value::object(arena.copy(std::span<const Member>(members)));
    }

private:
    RandomJson json_;
};

/// Same types, same bits, same texts of numbers: more than any order tells.
inline bool identical(const Value& a, const Value& b) {
    std::string left;
    std::string right;
    write_typed(left, a);
    write_typed(right, b);
    return a.type() == b.type() && a.extended_type() == b.extended_type() && left == right;
}

}  // namespace orrery::json::test
