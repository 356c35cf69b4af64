#include "json/parse.h"
#include "base/ended_test_support.h"
#include "base/rounds_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "json/order.h"
#include "json/random_json_test.h"
#include "json/write.h"

namespace orrery::json {
namespace {

using ::testing::HasSubstr;

/// The message of a refusal; empty when the text was accepted.
std::string refusal(std::string_view text, const ParseOptions& options = {}) {
    Arena arena;
    const auto result = parse(text, arena, options);
    if (result.ok()) return "";
    EXPECT_EQ(result.error().code, Code::kBadJson);
    return result.error().message;
}

std::string nested(size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
}

TEST(Parse, ScalarsAtTheTop) {
    Arena arena;
    EXPECT_TRUE(parse("null", arena)->is_null());
    EXPECT_TRUE(parse(" true\n", arena)->as_bool());
    EXPECT_FALSE(parse("\tfalse\r", arena)->as_bool());
    EXPECT_EQ(parse("\"x\"", arena)->as_string(), "x");
    EXPECT_EQ(parse("\"\"", arena)->as_string(), "");
    EXPECT_EQ(parse("12", arena)->as_int64(), 12);
}

TEST(Parse, Containers) {
    Arena arena;
    const Value v = *parse(R"( { "a" : [ 1 , {"b":[]} , {} ] , "" : null } )", arena);
    ASSERT_TRUE(v.is_object());
    ASSERT_EQ(v.members().size(), 2u);
    EXPECT_EQ(v.members()[0].name, "a");
    EXPECT_EQ(v.member("a").elements().size(), 3u);
    EXPECT_TRUE(v.member("a").elements()[1].member("b").is_array());
    EXPECT_TRUE(v.member("").is_null());
    EXPECT_TRUE(v.member("missing").is_undefined());
    EXPECT_EQ(to_text(v), R"({"a":[1,{"b":[]},{}],"":null})");
}

TEST(Parse, NothingIsBorrowedFromTheText) {
    Arena arena;
    std::string text = R"({"name":["value",1.50,"esc\n"]})";
    const Value v = *parse(text, arena);
    std::fill(text.begin(), text.end(), 'x');
    EXPECT_EQ(to_text(v), R"({"name":["value",1.50,"esc\n"]})");
}

TEST(Parse, NumbersKeepTextAndExactness) {
    Arena arena;
    struct Case {
        const char* text;
        bool whole;
        double value;
    };
    const Case cases[] = {
        {"0", true, 0},
        {"-1", true, -1},
        {"-0", false, -0.0},
        {"-0.0", false, -0.0},
        {"1.50", false, 1.5},
        {"1E2", false, 100},
        {"1e+2", false, 100},
        {"1e-2", false, 0.01},
        {"0e5", false, 0},
        {"999999999999999999", true, 999999999999999999.0},
        {"9223372036854775807", true, 9223372036854775807.0},
        {"-9223372036854775808", true, -9223372036854775808.0},
        {"9223372036854775808", false, 9223372036854775808.0},
        {"-9223372036854775809", false, -9223372036854775808.0},
        {"18446744073709551617", false, 18446744073709551616.0},
        {"123456789012345678901234567890", false, 123456789012345678901234567890.0},
        {"1.7976931348623157e308", false, 1.7976931348623157e308},
        {"4.9e-324", false, 4.9e-324},
        {"2e-324", false, 0},
        {"-1e-400", false, -0.0},
        {"1e-99999999999999999999", false, 0},
        {"0e99999999999999999999", false, 0},
        {"0.1", false, 0.1},
        {"9007199254740993", true, 9007199254740992.0},
        {"2.2250738585072011e-308", false, 2.2250738585072011e-308}};
    for (const Case& c : cases) {
        const auto v = parse(c.text, arena);
        ASSERT_TRUE(v.ok()) << c.text;
        EXPECT_EQ(v->number_text(), c.text);
        EXPECT_EQ(v->is_int64(), c.whole) << c.text;
        EXPECT_EQ(v->as_double(), c.value) << c.text;
        EXPECT_EQ(std::signbit(v->as_double()), std::signbit(c.value)) << c.text;
    }
    EXPECT_EQ(parse("9223372036854775807", arena)->as_int64(), INT64_MAX);
    EXPECT_EQ(parse("-9223372036854775808", arena)->as_int64(), INT64_MIN);
}

TEST(Parse, DecimalsAreRoundedCorrectly) {
    test::RandomJson random(6);
    for (int i = 0; i < rounds(50'000); ++i) {
        std::string text = random.chance(30) ? "-" : "";
        const uint64_t whole_digits = 1 + random.below(random.chance(80) ? 8 : 25);
        for (uint64_t n = 0; n < whole_digits; ++n)
            text.push_back(static_cast<char>(
                '0' + (n == 0 && whole_digits > 1 ? 1 + random.below(9) : random.below(10))));
        text.push_back('.');
        for (uint64_t n = 1 + random.below(random.chance(80) ? 8 : 25); n > 0; --n)
            text.push_back(static_cast<char>('0' + random.below(10)));
        if (random.chance(20))
            text += "e" + std::to_string(static_cast<int>(random.below(40)) - 20);
        Arena arena;
        const auto v = parse(text, arena);
        ASSERT_TRUE(v.ok()) << text;
        ASSERT_EQ(v->as_double(), std::strtod(text.c_str(), nullptr)) << text;
    }
}

TEST(Parse, BadNumbers) {
    for (const char* text : {"01",        "-01", "00",   "1.",   "-",   "-.5",   ".5",  "+1",
                             "1e",        "1e+", "1.e5", "0x10", "1_0", "NaN",   "nan", "Infinity",
                             "-Infinity", "inf", "1,",   "1 2",  "--1", "1e5.5", "1f"})
        EXPECT_NE(refusal(text), "") << text;
    for (const char* text :
         {"1e999", "-1e999", "1e309", "1.7976931348623159e308", "1e99999999999999999999"})
        EXPECT_THAT(refusal(text), HasSubstr("beyond the range")) << text;
    EXPECT_THAT(refusal("1" + std::string(400, '0')), HasSubstr("beyond the range"));
    EXPECT_EQ(refusal("0." + std::string(400, '0') + "1"), "");
    EXPECT_EQ(refusal("1" + std::string(400, '0') + "e-200"), "");
}

TEST(Parse, Strings) {
    Arena arena;
    EXPECT_EQ(parse(R"("\"\\\/\b\f\n\r\t")", arena)->as_string(), "\"\\/\b\f\n\r\t");
    EXPECT_EQ(parse(R"("\u0041\u00e9\u20AC\ud83d\uDE00")", arena)->as_string(), "Aé€\U0001F600");
    EXPECT_EQ(parse(R"("\u0000")", arena)->as_string(), std::string_view("\0", 1));
    EXPECT_EQ(parse("\"é€\U0001F600\x7f\"", arena)->as_string(), "é€\U0001F600\x7f");
    EXPECT_EQ(parse(R"("\uffff")", arena)->as_string(), "\xEF\xBF\xBF");
    // Every length around the width of a vector, with the escape at every place.
    for (size_t length = 1; length < 40; ++length) {
        for (size_t at = 0; at < length; ++at) {
            std::string plain(length, 'x');
            std::string text = "\"" + plain + "\"";
            EXPECT_EQ(parse(text, arena)->as_string(), plain);
            text.replace(at + 1, 1, "\\n");
            plain[at] = '\n';
            EXPECT_EQ(parse(text, arena)->as_string(), plain);
        }
    }
}

TEST(Parse, BadStrings) {
    for (const char* text :
         {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\n")", R"("\ud800\ud800")",
          R"("\udfff\ud800")", R"("\ud83d\u0041")", R"(["\ud800","\udc00"])"})
        EXPECT_THAT(refusal(text), HasSubstr("surrogate")) << text;
    for (const char* text :
         {R"("\x")", R"("\u12")", R"("\u12g4")", R"("\u")", R"("\)", R"(")", R"("abc)", R"("abc\")",
          R"('a')", R"("\U0041")", R"("\a")", R"("\v")", R"("\0")", R"("\u00 0")", R"("\ud83d\u")"})
        EXPECT_NE(refusal(text), "") << text;
    for (int c = 0; c < 0x20; ++c) {
        const std::string text = std::string("\"ab") + static_cast<char>(c) + "c\"";
        EXPECT_THAT(refusal(text), HasSubstr("control character")) << c;
        const std::string escaped = std::string("\"\\n") + static_cast<char>(c) + "c\"";
        EXPECT_THAT(refusal(escaped), HasSubstr("control character")) << c;
        EXPECT_NE(refusal(std::string("\"\\") + static_cast<char>(c) + "\""), "") << c;
    }
}

TEST(Parse, InvalidUtf8) {
    // Stray continuation, cut sequences, overlong forms, surrogates, beyond U+10FFFF, never-valid
    // bytes.
    for (const char* bad :
         {"\x80", "\xC3", "\xC3(", "\xE2\x82", "\xE2(\xA1", "\xF0\x9F\x98", "\xC0\xAF", "\xC1\xBF",
          "\xE0\x80\xAF", "\xF0\x80\x80\xAF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF4\x90\x80\x80",
          "\xF5\x80\x80\x80", "\xFE", "\xFF"}) {
        EXPECT_THAT(refusal("{\"a\":\"xyz" + std::string(bad) + "\"}"),
                    HasSubstr("UTF-8 at byte 9"));
        EXPECT_THAT(refusal("{\"" + std::string(bad) + "\":1}"), HasSubstr("UTF-8 at byte 2"));
        EXPECT_THAT(refusal("[1]" + std::string(bad)), HasSubstr("UTF-8 at byte 3"));
    }
}

TEST(Parse, MalformedStructure) {
    for (const char* text : {"",           " ",          "{",
                             "}",          "[",          "]",
                             "[1,]",       "[,1]",       "[1 2]",
                             "{,}",        "{\"a\"}",    "{\"a\":}",
                             "{\"a\":1,}", "{a:1}",      "{'a':1}",
                             "{\"a\" 1}",  "{1:1}",      "{\"a\":1 \"b\":2}",
                             "[}",         "{]",         "[1}",
                             "{\"a\":1]",  "nul",        "nulll",
                             "tru",        "falsy",      "True",
                             "NULL",       "undefined",  "[1]]",
                             "{}{}",       "1 1",        "[1]x",
                             "/**/1",      "[1]//c",     "{\"a\":1}}",
                             "[\"a\":1]",  ":",          ",",
                             "\"a\":1",    "[[]",        "{\"a\":{}",
                             "[1,,2]",     "{\"a\"::1}", "{\"a\":1,,\"b\":2}"})
        EXPECT_NE(refusal(text), "") << text;
    EXPECT_NE(refusal(std::string_view("1\0", 2)), "");
    EXPECT_NE(refusal(std::string_view("\0", 1)), "");
    EXPECT_NE(refusal("\f1"), "");
    EXPECT_NE(refusal("\v1"), "");
    EXPECT_NE(refusal("\xC2\xA0"
                      "1"),
              "");
}

TEST(Parse, ByteOrderMark) {
    EXPECT_THAT(refusal("\xEF\xBB\xBF{}"), HasSubstr("byte order mark"));
    EXPECT_NE(refusal("{}\xEF\xBB\xBF"), "");
}

TEST(Parse, TruncatedAtEveryByte) {
    const std::string sample =
        R"({"id":"a\u00e9\ud83d\ude00b","n":[-1.5e+10,true,false,null,{"é":{}}],"o":{"k":"v"}})";
    EXPECT_EQ(refusal(sample), "");
    for (size_t length = 0; length < sample.size(); ++length)
        EXPECT_NE(refusal(std::string_view(sample).substr(0, length)), "") << length;
    for (size_t from = 1; from < sample.size(); ++from) {
        Arena arena;  // any outcome but a crash; a suffix may be a text of its own
        (void)parse(std::string_view(sample).substr(from), arena).ok();
    }
}

TEST(Parse, ErrorsNameTheOffset) {
    EXPECT_THAT(refusal(R"({"a":1,"b":tru})"), HasSubstr("at byte 11"));
    EXPECT_THAT(refusal("[1,2"), HasSubstr("ends too early at byte 4"));
    EXPECT_THAT(refusal("[1] x"), HasSubstr("at byte 4"));
}

TEST(Parse, Depth) {
    EXPECT_EQ(refusal(nested(128, '[', ']')), "");
    EXPECT_THAT(refusal(nested(129, '[', ']')), HasSubstr("nesting"));
    std::string objects = "1";
    for (int i = 0; i < 128; ++i) objects = "{\"a\":" + objects + "}";
    EXPECT_EQ(refusal(objects), "");
    EXPECT_THAT(refusal("[" + objects + "]"), HasSubstr("nesting"));
    EXPECT_NE(refusal(std::string(1'000'000, '[')), "");
    ParseOptions shallow;
    shallow.depth_max = 1;
    EXPECT_EQ(refusal("[1]", shallow), "");
    EXPECT_NE(refusal("[[]]", shallow), "");
    shallow.depth_max = 0;
    EXPECT_EQ(refusal("1", shallow), "");
    EXPECT_NE(refusal("[]", shallow), "");
    ParseOptions deep;
    deep.depth_max = UINT32_MAX;
    EXPECT_EQ(refusal(nested(1024, '[', ']'), deep), "");
    EXPECT_NE(refusal(nested(1025, '[', ']'), deep), "");
}

TEST(Parse, DuplicateNames) {
    EXPECT_THAT(refusal(R"({"a":1,"a":2})"), HasSubstr("duplicate member name 'a' at byte 7"));
    EXPECT_THAT(refusal(R"({"a":1,"\u0061":2})"), HasSubstr("'a' at byte 7"));
    EXPECT_THAT(refusal(R"([{"x":{"long member name":1,"b":2,"long member name":3}}])"),
                HasSubstr("'long member name'"));
    EXPECT_THAT(refusal(R"({"":1,"":2})"), HasSubstr("''"));
    EXPECT_THAT(
        refusal("{\"" + std::string(500, 'k') + "\":1,\"" + std::string(500, 'k') + "\":1}"),
        HasSubstr(std::string(100, 'k') + "…'"));
    EXPECT_EQ(refusal(R"({"a":{"a":{"a":1}},"b":{"a":1},"c":[{"a":1},{"a":2}]})"), "");
    EXPECT_EQ(refusal(R"({"a":1,"A":2,"a ":3,"aa":4})"), "");
}

TEST(Parse, DuplicateNamesInObjectsOfEverySize) {
    for (const size_t count : {2u, 10u, 47u, 48u, 49u, 50u, 64u, 128u, 129u, 1000u}) {
        std::string unique = "{";
        for (size_t i = 0; i < count; ++i)
            unique += (i > 0 ? ",\"key" : "\"key") + std::to_string(i) + "\":0";
        EXPECT_EQ(refusal(unique + "}"), "") << count;
        for (const size_t repeated : {size_t{0}, count / 2, count - 1})
            EXPECT_THAT(refusal(unique + ",\"key" + std::to_string(repeated) + "\":1}"),
                        HasSubstr("'key" + std::to_string(repeated) + "' at byte " +
                                  std::to_string(unique.size() + 1)))
                << count;
    }
}

TEST(Parse, ManyMembersAreNotQuadratic) {
    // 200,000 names that agree in length and in their first and last eight bytes.
    std::string text = "{";
    for (int i = 0; i < 200'000; ++i) {
        const std::string digits = std::to_string(1'000'000 + i);
        text += (i > 0 ? ",\"prefixpr" : "\"prefixpr") + digits + "suffixsu\":0";
    }
    EXPECT_EQ(refusal(text + "}"), "");
    EXPECT_THAT(refusal(text + ",\"prefixpr1100000suffixsu\":1}"),
                HasSubstr("'prefixpr1100000suffixsu'"));
    ParseOptions last_wins;
    last_wins.refuse_duplicate_names = false;
    EXPECT_EQ(refusal(text + ",\"prefixpr1100000suffixsu\":1}", last_wins), "");
}

TEST(Parse, LastNameWinsWhenAsked) {
    Arena arena;
    ParseOptions options;
    options.refuse_duplicate_names = false;
    const Value v =
        *parse(R"({"b":0,"a":1,"b":2,"c":{"x":1,"x":[2]},"a":3,"b":4})", arena, options);
    EXPECT_EQ(to_text(v), R"({"b":4,"a":3,"c":{"x":[2]}})");
}

TEST(Parse, RandomValuesSurviveBothWays) {
    test::RandomJson random(1);
    for (int i = 0; i < rounds(3000); ++i) {
        Arena arena;
        const Value v = random.value(arena, 5);
        const std::string text = to_text(v);
        const auto back = parse(text, arena);
        ASSERT_TRUE(back.ok()) << text << ": " << back.error().message;
        EXPECT_TRUE(equal(v, *back)) << text;
        EXPECT_EQ(to_text(*back), text);
        const std::string sloppy = random.sloppy_text(v);
        const auto from_sloppy = parse(sloppy, arena);
        ASSERT_TRUE(from_sloppy.ok()) << sloppy << ": " << from_sloppy.error().message;
        EXPECT_EQ(to_text(*from_sloppy), text) << sloppy;
    }
}

TEST(Arena, KeepsAndForgets) {
    Arena arena;
    std::vector<std::pair<std::string_view, std::string>> copies;
    for (size_t i = 0; i < 2000; ++i) {
        std::string bytes(i % 300, static_cast<char>('a' + i % 26));
        copies.emplace_back(arena.copy(bytes), bytes);
        const auto aligned = reinterpret_cast<uintptr_t>(arena.allocate(8));
        EXPECT_EQ(aligned % 8, 0u);
    }
    for (const auto& [view, bytes] : copies) EXPECT_EQ(view, bytes);
    const std::string_view huge = arena.copy(std::string(3 << 20, 'h'));
    EXPECT_EQ(huge.size(), size_t{3} << 20);
    EXPECT_GT(arena.bytes_used(), huge.size());
    arena.clear();
    EXPECT_EQ(arena.bytes_used(), 0u);
    EXPECT_EQ(arena.copy(std::string_view("again")), "again");
    Arena moved = std::move(arena);
    EXPECT_EQ(moved.copy(std::string_view("more")), "more");
    Arena fresh;
    arena = std::move(fresh);
    EXPECT_EQ(arena.copy(std::string_view("reused")), "reused");
}

TEST(CopyValue, OwnsEverything) {
    Arena copies;
    Value copy;
    {
        Arena arena;
        copy = copy_value(*parse(R"({"a":["x",1.50,2,true,null,{}],"b":"y"})", arena), copies);
    }
    EXPECT_EQ(to_text(copy), R"({"a":["x",1.50,2,true,null,{}],"b":"y"})");
}

}  // namespace
}  // namespace orrery::json
