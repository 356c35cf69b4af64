#include "json/typed_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "base/rounds_test_support.h"
#include "json/order.h"
#include "json/parse.h"
#include "json/random_typed_test.h"

namespace orrery::json {
namespace {

std::string typed(const Value& value) {
    std::string out;
    write_typed(out, value);
    return out;
}
Result<Value> parse_stored(std::string_view text, Arena& arena) {
    return parse(text, arena, {.typed_values = true});
}

TEST(TypedText, GoldenTexts) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(typed(Value::integer(5)), "5");
    EXPECT_EQ(typed(Value::number(5.0)), "5.0");
    EXPECT_EQ(typed(Value::number(1e300)), "1e+300");
    EXPECT_EQ(typed(Value::number(-0.0)), "-0.0");
    EXPECT_EQ(typed(Value::int64(5)), R"({"$t":18,"$v":"5"})");
    EXPECT_EQ(typed(Value::int64(std::numeric_limits<int64_t>::min())),
              R"({"$t":18,"$v":"-9223372036854775808"})");
    EXPECT_EQ(typed(Value::date(-1)), R"({"$t":9,"$v":"-1"})");
    EXPECT_EQ(typed(Value::object_id("0123456789ab")),
              R"({"$t":7,"$v":"303132333435363738396162"})");
    EXPECT_EQ(typed(Value::binary(std::string_view("\0\xFF", 2), 4)), R"({"$t":5,"$v":"0400ff"})");
    EXPECT_EQ(typed(Value::number(kInfinity)), R"({"$t":1,"$v":"Infinity"})");
    EXPECT_EQ(typed(Value::number(-kInfinity)), R"({"$t":1,"$v":"-Infinity"})");
    EXPECT_EQ(typed(Value::number(std::nan(""))), R"({"$t":1,"$v":"NaN"})");
    EXPECT_EQ(typed(Value::number(std::bit_cast<double>(uint64_t{0xFFF8000000000000}))),
              R"({"$t":1,"$v":"fff8000000000000"})");
    const std::vector<Member> members = {{"a", Value::date(0)}, {"$t", Value::integer(1)}};
    EXPECT_EQ(typed(Value::object(members)), R"({"$t":3,"$v":{"a":{"$t":9,"$v":"0"},"$t":1}})");
}

TEST(TypedText, EveryValueSurvives) {
    test::RandomTyped random(11);
    for (int i = 0; i < rounds(20'000); ++i) {
        Arena arena;
        const Value value = random.value(arena, 4);
        const std::string text = typed(value);
        const auto again = parse_stored(text, arena);
        ASSERT_TRUE(again.ok()) << text << ": " << again.error().message;
        ASSERT_TRUE(test::identical(value, *again)) << text;
        ASSERT_EQ(typed(copy_value(*again, arena)), text);
        // To everybody else it is JSON.
        ASSERT_TRUE(parse(text, arena).ok()) << text;
    }
}

TEST(TypedText, WhatIsNoValueIsRefused) {
    static constexpr std::string_view kWrong[] = {
        R"({"$t":18})",
        R"({"$t":18,"$v":5})",
        R"({"$t":18,"$v":"05"})",
        R"({"$t":18,"$v":"-0"})",
        R"({"$t":18,"$v":"+5"})",
        R"({"$t":18,"$v":""})",
        R"({"$t":18,"$v":"-"})",
        R"({"$t":18,"$v":"9223372036854775808"})",
        R"({"$t":18,"$v":"5","x":1})",
        R"({"$t":18,"x":1,"$v":"5"})",
        R"({"$t":18.0,"$v":"5"})",
        R"({"$t":"18","$v":"5"})",
        R"({"$t":-18,"$v":"5"})",
        R"({"$t":1,"$v":"1.5"})",
        R"({"$t":1,"$v":"7ff8000000000000"})",
        R"({"$t":1,"$v":"3ff0000000000000"})",
        R"({"$t":5,"$v":""})",
        R"({"$t":5,"$v":"0"})",
        R"({"$t":5,"$v":"0A"})",
        R"({"$t":7,"$v":"00"})",
        R"({"$t":3,"$v":{}})",
        R"({"$t":3,"$v":[]})",
        R"({"$t":3,"$v":{"a":1}})",
        R"({"$t":2,"$v":"text"})",
        R"({"$t":274877906962,"$v":"5"})",
        R"([1,{"a":{"$t":0,"$v":""}}])",
    };
    for (const std::string_view text : kWrong) {
        Arena arena;
        EXPECT_FALSE(parse_stored(text, arena).ok()) << text;
        EXPECT_TRUE(parse(text, arena).ok()) << text;
    }
}

TEST(TypedText, OnlyTheFirstMemberMakesAWrapper) {
    Arena arena;
    const auto value = parse_stored(R"({"a":1,"$t":18})", arena);
    ASSERT_TRUE(value.ok());
    EXPECT_TRUE(value->is_object());
    EXPECT_EQ(typed(*value), R"({"$t":3,"$v":{"a":1,"$t":18}})");
}

TEST(Types, EveryNumberHasOneRow) {
    std::set<uint8_t> numbers;
    std::set<std::string_view> names;
    for (const TypeRow& row : kTypes) {
        EXPECT_TRUE(numbers.insert(row.number).second) << row.name;
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_EQ(type_in_use(row.number), row.in_use ? &row : nullptr);
        // A reserved type is refused whatever its value looks like.
        Arena arena;
        if (!row.in_use) {
            EXPECT_FALSE(parse_extended(row.number, "00", arena)) << row.name;
            EXPECT_FALSE(parse_extended(row.number, "0", arena)) << row.name;
        }
    }
}

TEST(TypedOrder, IsTotalInEveryDialect) {
    test::RandomTyped random(12);
    Arena arena;
    std::vector<Value> values = {Value()};
    for (int i = 0; i < 150; ++i) values.push_back(random.value(arena, i % 3));
    const auto sign = [](int order) { return (order > 0) - (order < 0); };
    for (const Dialect dialect : {Dialect::kMongo, Dialect::kCassandra, Dialect::kTable}) {
        const DialectRules& by = rules(dialect);
        for (const Value& a : values) {
            ASSERT_EQ(compare(a, a, by), 0) << typed(a);
            for (const Value& b : values) {
                const int ab = sign(compare(a, b, by));
                ASSERT_EQ(ab, -sign(compare(b, a, by))) << typed(a) << " " << typed(b);
                if (ab > 0) continue;
                for (const Value& c : values) {
                    const int bc = sign(compare(b, c, by));
                    if (bc > 0) continue;
                    const int ac = sign(compare(a, c, by));
                    ASSERT_LE(ac, ab < 0 || bc < 0 ? -1 : 0)
                        << typed(a) << " " << typed(b) << " " << typed(c);
                }
            }
        }
    }
}

TEST(TypedOrder, NumbersMeetByValue) {
    const DialectRules& by = rules(Dialect::kMongo);
    EXPECT_EQ(compare(Value::integer(5), Value::int64(5), by), 0);
    EXPECT_EQ(compare(Value::number(5.0), Value::int64(5), by), 0);
    EXPECT_EQ(compare(Value::number(-0.0), Value::integer(0), by), 0);
    EXPECT_LT(compare(Value::number(0x1p53), Value::int64((int64_t{1} << 53) + 1), by), 0);
    EXPECT_GT(compare(Value::number(0x1p63), Value::int64(INT64_MAX), by), 0);
    EXPECT_GT(compare(Value::integer(-5), Value::number(-5.5), by), 0);
    EXPECT_LT(compare(Value::number(std::nan("")), Value::int64(INT64_MIN), by), 0);
}

TEST(TypedOrder, TypesSortAsTheDialectSays) {
    const Value bson[] = {Value::null(),
                          Value::integer(1),
                          Value::string("a"),
                          Value::object({}),
                          Value::array({}),
                          Value::binary("", 0),
                          Value::object_id("0123456789ab"),
                          Value::boolean(false),
                          Value::boolean(true),
                          Value::date(0)};
    for (size_t i = 1; i < std::size(bson); ++i)
        EXPECT_LT(compare(bson[i - 1], bson[i], rules(Dialect::kMongo)), 0) << i;
    EXPECT_EQ(compare(Value(), Value::null(), rules(Dialect::kMongo)), 0);
    EXPECT_LT(compare(Value(), Value::null(), rules(Dialect::kTable)), 0);
    EXPECT_LT(compare(Value::boolean(true), Value::integer(1), rules(Dialect::kTable)), 0);
    // By length first, or by bytes.
    EXPECT_LT(compare(Value::binary("b", 0), Value::binary("aa", 0), rules(Dialect::kMongo)), 0);
    EXPECT_GT(compare(Value::binary("b", 0), Value::binary("aa", 0), rules(Dialect::kTable)), 0);
    // The order of members counts, or it does not.
    const std::vector<Member> ab = {{"a", Value::integer(1)}, {"b", Value::integer(2)}};
    const std::vector<Member> ba = {{"b", Value::integer(2)}, {"a", Value::integer(1)}};
    EXPECT_LT(compare(Value::object(ab), Value::object(ba), rules(Dialect::kMongo)), 0);
    EXPECT_EQ(compare(Value::object(ab), Value::object(ba), rules(Dialect::kTable)), 0);
}

TEST(Dialects, NumbersAreStored) {
    EXPECT_EQ(static_cast<int>(Dialect::kNosql), 0);
    EXPECT_EQ(static_cast<int>(Dialect::kMongo), 1);
    EXPECT_EQ(static_cast<int>(Dialect::kCassandra), 2);
    EXPECT_EQ(static_cast<int>(Dialect::kTable), 3);
    for (size_t i = 0; i < kDialectCount; ++i) {
        EXPECT_EQ(dialect_of_number(i), static_cast<Dialect>(i));
        EXPECT_EQ(rules(static_cast<Dialect>(i)).dialect, static_cast<Dialect>(i));
    }
    EXPECT_EQ(dialect_of_number(kDialectCount), std::nullopt);
}

}  // namespace
}  // namespace orrery::json
