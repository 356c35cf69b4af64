#include "json/order.h"

#include <gtest/gtest.h>

#include <limits>

#include "json/parse.h"
#include "json/random_json_test.h"
#include "json/write.h"

namespace orrery::json {
namespace {

TEST(Order, TypesThenValues) {
    Arena arena;
    // Strictly ascending.
    std::vector<Value> ascending = {Value()};
    for (const char* text : {"null",
                             "false",
                             "true",
                             "-1e308",
                             "-1.5",
                             "-1",
                             "0",
                             "0.1",
                             "1",
                             "9223372036854775807",
                             "1e308",
                             "\"\"",
                             "\"A\"",
                             "\"B\"",
                             "\"a\"",
                             "\"aa\"",
                             "\"b\"",
                             "\"é\"",
                             "\"\xEF\xBF\xBF\"",
                             "\"\U0001F600\"",
                             "[]",
                             "[null]",
                             "[null,1]",
                             "[1]",
                             "[[]]",
                             "{}",
                             "{\"a\":1}",
                             "{\"b\":0,\"a\":1}",
                             "{\"a\":2}",
                             "{\"b\":0}"})
        ascending.push_back(*parse(text, arena));
    for (size_t i = 0; i < ascending.size(); ++i) {
        for (size_t j = 0; j < ascending.size(); ++j) {
            const int order = compare(ascending[i], ascending[j]);
            EXPECT_EQ((order > 0) - (order < 0), (i > j) - (i < j))
                << to_text(ascending[i]) << " and " << to_text(ascending[j]);
            EXPECT_EQ(equal(ascending[i], ascending[j]), i == j);
        }
    }
}

TEST(Order, EqualInDifferentForms) {
    Arena arena;
    const char* const pairs[][2] = {
        {"1", "1.0"},
        {"0", "-0"},
        {"100", "1e2"},
        {"9007199254740993", "9007199254740992"},  // one double
        {"{\"a\":1,\"b\":[{\"x\":1,\"y\":2}]}", "{\"b\":[{\"y\":2.0,\"x\":1}],\"a\":1}"}};
    for (const auto& pair : pairs) {
        EXPECT_TRUE(equal(*parse(pair[0], arena), *parse(pair[1], arena))) << pair[0];
        EXPECT_EQ(compare(*parse(pair[0], arena), *parse(pair[1], arena)), 0) << pair[0];
    }
    const char* const unequal[][2] = {{"1", "\"1\""},
                                      {"[1]", "[1,1]"},
                                      {"{\"a\":1}", "{\"a\":1,\"b\":1}"},
                                      {"{\"a\":1}", "{\"b\":1}"},
                                      {"[]", "{}"}};
    for (const auto& pair : unequal)
        EXPECT_FALSE(equal(*parse(pair[0], arena), *parse(pair[1], arena))) << pair[0];
}

TEST(Order, NonFiniteNumbers) {
    const double inf = std::numeric_limits<double>::infinity();
    const Value ascending[] = {Value::number(std::nan("")), Value::number(-inf), Value::integer(0),
                               Value::number(inf)};
    for (size_t i = 0; i < std::size(ascending); ++i)
        for (size_t j = 0; j < std::size(ascending); ++j)
            EXPECT_EQ(compare(ascending[i], ascending[j]), (i > j) - (i < j));
}

TEST(Order, TotalOrderLawsOnRandomValues) {
    test::RandomJson random(2);
    Arena arena;
    std::vector<Value> values = {Value()};
    for (int i = 0; i < 250; ++i) values.push_back(random.value(arena, i % 4));
    const auto sign = [](int order) { return (order > 0) - (order < 0); };
    for (const Value& a : values) {
        EXPECT_EQ(compare(a, a), 0);
        for (const Value& b : values) {
            const int ab = sign(compare(a, b));
            EXPECT_EQ(ab, -sign(compare(b, a)));
            EXPECT_EQ(ab == 0, equal(a, b)) << to_text(a) << " and " << to_text(b);
            if (ab > 0) continue;
            for (size_t k = 0; k < values.size(); k += 3) {
                const int bc = sign(compare(b, values[k]));
                if (bc > 0) continue;
                const int ac = sign(compare(a, values[k]));
                ASSERT_LE(ac, 0) << to_text(a) << " " << to_text(b) << " " << to_text(values[k]);
                if (ab < 0 || bc < 0) {
                    ASSERT_LT(ac, 0);
                }
            }
        }
    }
}

TEST(Order, ManyMembersInAnotherOrder) {
    std::vector<std::string> names;
    for (int i = 0; i < 20'000; ++i) names.push_back("name" + std::to_string(i));
    std::vector<Member> forward;
    for (const std::string& name : names) forward.push_back({name, Value::integer(1)});
    std::vector<Member> backward(forward.rbegin(), forward.rend());
    EXPECT_TRUE(equal(Value::object(forward), Value::object(backward)));
    backward[5].value = Value::integer(2);
    EXPECT_FALSE(equal(Value::object(forward), Value::object(backward)));
}

}  // namespace
}  // namespace orrery::json
