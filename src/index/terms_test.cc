#include "index/terms.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/encoding.h"
#include "base/rounds_test_support.h"
#include "json/order.h"

namespace orrery::index {
namespace {

using json::Value;

/// 00 01 .. 0F, as in the reference vectors of SipHash.
constexpr SipKey kKey = {0x0706050403020100ULL, 0x0F0E0D0C0B0A0908ULL};

struct Term {
    std::string bytes;
    bool partial = false;
};
Term term(const Value& value) {
    Term out;
    out.partial = append_term(out.bytes, value);
    return out;
}
std::string hex(const Value& value) {
    return hex_encode_upper(term(value).bytes);
}
PathStep member(std::string name) {
    return {.any_element = false, .name = std::move(name)};
}
const PathStep kAny = {.any_element = true, .name = ""};

TEST(Terms, GoldenBytes) {
    EXPECT_EQ(hex(Value()), "10");
    EXPECT_EQ(hex(Value::null()), "20");
    EXPECT_EQ(hex(Value::boolean(false)), "30");
    EXPECT_EQ(hex(Value::boolean(true)), "38");
    EXPECT_EQ(hex(Value::number(0.0)), "408000000000000000");
    EXPECT_EQ(hex(Value::number(-0.0)), "408000000000000000");
    EXPECT_EQ(hex(Value::integer(1)), "40BFF0000000000000");
    EXPECT_EQ(hex(Value::number(1.0)), "40BFF0000000000000");
    EXPECT_EQ(hex(Value::number(-1.0)), "40400FFFFFFFFFFFFF");
    EXPECT_EQ(hex(Value::number(1.5)), "40BFF8000000000000");
    EXPECT_EQ(hex(Value::number(5e-324)), "408000000000000001");
    EXPECT_EQ(hex(Value::number(-5e-324)), "407FFFFFFFFFFFFFFE");
    EXPECT_EQ(hex(Value::string("")), "500000");
    EXPECT_EQ(hex(Value::string("ab")), "5061620000");
    EXPECT_EQ(hex(Value::string("é")), "50C3A90000");
    EXPECT_EQ(hex(Value::string(std::string_view("a\0b", 3))), "506100FF620000");
    EXPECT_EQ(hex(Value::array({})), "60");
    EXPECT_EQ(hex(Value::object({})), "70");
    EXPECT_EQ(hex(Value::number(std::numeric_limits<double>::quiet_NaN())), "10");
    const std::string long_text(300, 'x');
    EXPECT_EQ(term(Value::string(long_text)).bytes,
              "\x50" + std::string(256, 'x') + std::string("\0\x01", 2));
}

TEST(Terms, GoldenPathHashes) {
    EXPECT_EQ(path_hash(kKey, {}), 0x726fdb47dd0e0e31ULL);
    EXPECT_EQ(path_hash(kKey, {member("a")}), 0x894443a9a4ed8676ULL);
    EXPECT_EQ(path_hash(kKey, {member("a"), kAny}), 0x461321517e630834ULL);
    EXPECT_EQ(path_hash(kKey, {member("a"), kAny, member("b")}), 0xab7feaf2cd3edb5fULL);
    EXPECT_EQ(path_hash(kKey, {member("a"), member("[]")}), 0x408a375f6fe1fd21ULL);
    EXPECT_EQ(path_hash(kKey, {member(std::string(200, 'n'))}), 0x20c547a2255cecadULL);
    EXPECT_EQ(hex_encode_upper(ts_entry(kKey, 1'700'000'000)),
              "ADE85C0BF0987A3240C1D954FC40000000");
}

TEST(Terms, GoldenHashesOfDialects) {
    const auto hex_of = [](uint64_t hash) {
        std::string bytes;
        append_u64_be(bytes, hash);
        return hex_encode_upper(bytes);
    };
    EXPECT_EQ(hex_of(ts_path_hash(kKey)), "ADE85C0BF0987A32");
    EXPECT_EQ(hex_of(ts_path_hash(kKey, json::rules(json::Dialect::kMongo))), "0B092A2EFBE12098");
    EXPECT_EQ(hex_of(multikey_path_hash(kKey, path_hash(kKey, {member("a")}))), "044FCA0B3D223A7C");
}

TEST(Terms, PathHashesDiffer) {
    const std::vector<std::vector<PathStep>> paths = {{member("a")},
                                                      {member("b")},
                                                      {member("ab")},
                                                      {member("")},
                                                      {member("a"), member("b")},
                                                      {member("a/b")},
                                                      {kAny},
                                                      {member("[]")},
                                                      {member("a"), kAny},
                                                      {kAny, member("a")},
                                                      {member(""), member("")},
                                                      {member(std::string("\0", 1))}};
    for (size_t i = 0; i < paths.size(); ++i) {
        EXPECT_NE(path_hash(kKey, paths[i]), path_hash({1, 2}, paths[i]));
        for (size_t j = 0; j < i; ++j)
            EXPECT_NE(path_hash(kKey, paths[i]), path_hash(kKey, paths[j])) << i << " " << j;
    }
}

TEST(Terms, Partial) {
    constexpr int64_t kExact = int64_t{1} << 53;
    for (const int64_t i : {int64_t{0}, kExact - 1, kExact, -kExact})
        EXPECT_FALSE(term(Value::integer(i)).partial) << i;
    for (const int64_t i : {kExact + 1, -kExact - 1, std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min()})
        EXPECT_TRUE(term(Value::integer(i)).partial) << i;
    EXPECT_FALSE(term(Value::number(1e300)).partial);
    EXPECT_FALSE(term(Value::string(std::string(256, 'x'))).partial);
    EXPECT_TRUE(term(Value::string(std::string(257, 'x'))).partial);
    EXPECT_FALSE(term(Value::string(std::string(256, '\0'))).partial);
    // A whole string of 256 bytes is told apart from the start of a longer one, and is before it.
    EXPECT_LT(term(Value::string(std::string(256, 'x'))).bytes,
              term(Value::string(std::string(257, 'x'))).bytes);
}

/// Scalars where order is easily got wrong, and random ones.
class Scalars {
public:
    Value next() {
        switch (random_() % 10) {
            case 0:
                return pick({Value(), Value::null(), Value::boolean(false), Value::boolean(true)});
            case 1:
                return Value::integer(static_cast<int64_t>(random_()) >> (random_() % 64));
            case 2:
                return Value::number(std::bit_cast<double>(finite(random_())));
            case 3:
                return Value::integer((int64_t{1} << 53) + static_cast<int64_t>(random_() % 7) - 3);
            case 4:
                return pick({Value::number(0.0), Value::number(-0.0), Value::number(5e-324),
                             Value::number(-5e-324), Value::number(2.2250738585072014e-308),
                             Value::number(std::numeric_limits<double>::max()),
                             Value::number(std::numeric_limits<double>::lowest()),
                             Value::integer(std::numeric_limits<int64_t>::max()),
                             Value::integer(std::numeric_limits<int64_t>::min())});
            case 5:
                return Value::number(static_cast<double>(static_cast<int64_t>(random_() % 9) - 4) /
                                     2);
            default:
                return string();
        }
    }
    std::mt19937_64& random() { return random_; }

private:
    Value pick(std::initializer_list<Value> values) {
        return *(values.begin() + random_() % values.size());
    }
    static uint64_t finite(uint64_t bits) {
        return std::isfinite(std::bit_cast<double>(bits)) ? bits : bits & ~(uint64_t{1} << 62);
    }
    Value string() {
        constexpr size_t kSizes[] = {0, 1, 2, 3, 255, 256, 257, 258, 300};
        constexpr std::string_view kBytes(
            "\0\x01\x02"
            "ab\x7F\xC3\xFF",
            8);
        std::string text(kSizes[random_() % std::size(kSizes)], 'a');
        // Strings that differ late, or in bytes that are escaped.
        for (int i = 0; i < 2 && !text.empty(); ++i) {
            const size_t from_end = random_() % std::min<size_t>(text.size(), 6);
            text[text.size() - 1 - from_end] = kBytes[random_() % kBytes.size()];
        }
        return Value::string(arena_.copy(text));
    }

    std::mt19937_64 random_{20240607};
    json::Arena arena_;
};

int sign(int v) {
    return v < 0 ? -1 : v > 0 ? 1 : 0;
}

TEST(Terms, OrderIsTheOrderOfValues) {
    Scalars scalars;
    std::vector<Value> values;
    for (int i = 0; i < rounds(1500); ++i) values.push_back(scalars.next());
    std::vector<Term> terms;
    for (const Value& value : values) terms.push_back(term(value));
    size_t cut_alike = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        for (size_t j = 0; j < values.size(); ++j) {
            const int expected = sign(json::compare(values[i], values[j]));
            const int actual = sign(terms[i].bytes.compare(terms[j].bytes));
            if (actual == 0 && expected != 0) {
                ASSERT_TRUE(terms[i].partial && terms[j].partial);
                ++cut_alike;
                continue;
            }
            ASSERT_EQ(actual, expected) << i << " " << j;
            // No term is a prefix of another.
            ASSERT_TRUE(actual == 0 || !terms[i].bytes.starts_with(terms[j].bytes));
        }
    }
    EXPECT_GT(cut_alike, 0U);
}

TEST(Terms, TypesInOrder) {
    const json::Value ascending[] = {Value(),
                                     Value::null(),
                                     Value::boolean(false),
                                     Value::boolean(true),
                                     Value::number(-std::numeric_limits<double>::infinity()),
                                     Value::number(std::numeric_limits<double>::infinity()),
                                     Value::string(""),
                                     Value::string("\xFF\xFF"),
                                     Value::array({}),
                                     Value::object({})};
    for (size_t i = 1; i < std::size(ascending); ++i)
        EXPECT_LT(term(ascending[i - 1]).bytes, term(ascending[i]).bytes) << i;
}

TEST(Terms, TakeReadsBackWhatWasAppended) {
    Scalars scalars;
    for (int round = 0; round < 500; ++round) {
        std::string bytes;
        std::vector<std::string> expected;
        for (int i = 0; i < 5; ++i) {
            expected.push_back(term(scalars.next()).bytes);
            bytes += expected.back();
        }
        bytes += "docref";
        std::string_view in = bytes;
        for (const std::string& one : expected) {
            std::string_view taken;
            ASSERT_TRUE(take_term(in, taken));
            EXPECT_EQ(taken, one);
        }
        EXPECT_EQ(in, "docref");
        // Cut anywhere, a term is malformed.
        const std::string& first = expected.front();
        for (size_t size = 0; size < first.size(); ++size) {
            std::string_view part(first.data(), size);
            std::string_view taken;
            EXPECT_FALSE(take_term(part, taken));
            EXPECT_EQ(part.size(), size);
        }
    }
}

TEST(Terms, TakeRefusesOtherBytes) {
    for (const std::string_view bad : {std::string_view(""), std::string_view("\0", 1),
                                       std::string_view("\x11"), std::string_view("\xFF"),
                                       std::string_view("\x50"
                                                        "a\0\x02",
                                                        4),
                                       std::string_view("\x50"
                                                        "abc"),
                                       std::string_view("\x50"
                                                        "a\0",
                                                        3),
                                       std::string_view("\x50\0\xFF", 3)}) {
        std::string_view in = bad;
        std::string_view taken;
        EXPECT_FALSE(take_term(in, taken));
        EXPECT_EQ(in, bad);
    }
    std::mt19937_64 random(7);
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes(random() % 16, '\0');
        for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? 0x50 : random());
        std::string_view in = bytes;
        std::string_view taken;
        const bool ok = take_term(in, taken);
        EXPECT_EQ((ok ? taken.size() : 0) + in.size(), bytes.size());
    }
}

}  // namespace
}  // namespace orrery::index
