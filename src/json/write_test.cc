#include "json/write.h"
#include "base/rounds_test_support.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "json/parse.h"

namespace orrery::json {
namespace {

std::string number(double v) {
    std::string out;
    write_number(out, v);
    return out;
}
std::string string(std::string_view s) {
    std::string out;
    write_string(out, s);
    return out;
}

TEST(WriteNumber, LikeJavaScript) {
    EXPECT_EQ(number(0), "0");
    EXPECT_EQ(number(-0.0), "0");
    EXPECT_EQ(number(1), "1");
    EXPECT_EQ(number(-1), "-1");
    EXPECT_EQ(number(1.5), "1.5");
    EXPECT_EQ(number(100), "100");
    EXPECT_EQ(number(123456.789), "123456.789");
    EXPECT_EQ(number(0.1), "0.1");
    EXPECT_EQ(number(0.1 + 0.2), "0.30000000000000004");
    EXPECT_EQ(number(0.000001), "0.000001");
    EXPECT_EQ(number(0.00000123), "0.00000123");
    EXPECT_EQ(number(1e-7), "1e-7");
    EXPECT_EQ(number(-1.25e-7), "-1.25e-7");
    EXPECT_EQ(number(1e20), "100000000000000000000");
    EXPECT_EQ(number(1.2345e20), "123450000000000000000");
    EXPECT_EQ(number(999999999999999900000.0), "999999999999999900000");
    EXPECT_EQ(number(1e21), "1e+21");
    EXPECT_EQ(number(-1.5e21), "-1.5e+21");
    EXPECT_EQ(number(1e100), "1e+100");
    EXPECT_EQ(number(9007199254740992.0), "9007199254740992");
    EXPECT_EQ(number(16148343671234567.0), "16148343671234568");
    EXPECT_EQ(number(18446744073709551616.0), "18446744073709552000");
    EXPECT_EQ(number(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
    EXPECT_EQ(number(std::numeric_limits<double>::denorm_min()), "5e-324");
    EXPECT_EQ(number(1.0 / 3), "0.3333333333333333");
    std::string out;
    write_number(out, std::numeric_limits<int64_t>::min());
    EXPECT_EQ(out, "-9223372036854775808");
}

TEST(WriteNumber, EveryDoubleReadsBack) {
    std::mt19937_64 engine(7);
    for (int i = 0; i < rounds(50'000); ++i) {
        const auto bits = engine();
        double v;
        std::memcpy(&v, &bits, sizeof(v));
        if (i % 2 == 0)
            v = static_cast<double>(static_cast<int64_t>(bits)) /
                static_cast<double>(1 + engine() % 1000);
        if (!std::isfinite(v)) continue;
        const std::string text = number(v);
        Arena arena;
        const auto back = parse(text, arena);
        ASSERT_TRUE(back.ok()) << text;
        EXPECT_EQ(back->as_double(), v) << text;
        EXPECT_EQ(std::strtod(text.c_str(), nullptr), v) << text;
    }
}

TEST(WriteString, FewestEscapes) {
    EXPECT_EQ(string(""), R"("")");
    EXPECT_EQ(string("a/b'c\x7f é€\U0001F600\u2028"), "\"a/b'c\x7f é€\U0001F600\u2028\"");
    EXPECT_EQ(string("\"\\\b\f\n\r\t"), R"("\"\\\b\f\n\r\t")");
    EXPECT_EQ(string(std::string_view("\0\x01\x1f\x0b", 4)), R"("\u0000\u0001\u001f\u000b")");
    EXPECT_EQ(string("seventeen bytes..\nand then some more bytes\""),
              R"("seventeen bytes..\nand then some more bytes\"")");
}

TEST(Write, NumberForms) {
    Arena arena;
    const Value v = *parse("[1.0,1.50,1E3,-0,9007199254740993,12345678901234567890,0.10]", arena);
    EXPECT_EQ(to_text(v), "[1.0,1.50,1E3,-0,9007199254740993,12345678901234567890,0.10]");
    EXPECT_EQ(to_text(v, NumberForm::kCanonical),
              "[1,1.5,1000,0,9007199254740993,12345678901234567000,0.1]");
    EXPECT_EQ(to_text(Value::integer(5)), "5");
    EXPECT_EQ(to_text(Value::number(2.0)), "2");
}

TEST(Write, LeavesOutWhatJsonCannotHold) {
    const double inf = std::numeric_limits<double>::infinity();
    const Value elements[] = {
        Value(), Value::integer(1), Value::number(inf), Value::number(std::nan("")), Value::null(),
        Value()};
    const Member members[] = {{"a", Value()},
                              {"b", Value::boolean(true)},
                              {"c", Value::number(-inf)},
                              {"d", Value::array(elements)}};
    EXPECT_EQ(to_text(Value::object(members)), R"({"b":true,"d":[1,null]})");
    EXPECT_EQ(to_text(Value()), "");
    EXPECT_EQ(to_text(Value::number(inf)), "");
    EXPECT_EQ(to_text(Value::array({})), "[]");
    EXPECT_EQ(to_text(Value::object({})), "{}");
}

}  // namespace
}  // namespace orrery::json
