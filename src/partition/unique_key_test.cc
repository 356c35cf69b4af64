#include "partition/unique_key.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "json/parse.h"

namespace orrery::partition {
namespace {

std::string name(std::string_view json_text, uint32_t number = 0) {
    json::Arena arena;
    return unique_key_name(number, {json::parse(json_text, arena).value()});
}

std::vector<std::string> names_of(const std::vector<UniqueKey>& keys, std::string_view text,
                                  json::Dialect dialect) {
    json::DocumentHeader header;
    header.dialect = dialect;
    if (dialect != json::Dialect::kNosql) header.id = "\xFF";
    const std::string bytes = json::encode_document(header, text);
    return unique_key_names(keys, json::decode_document(bytes).value()).value();
}

TEST(UniqueKey, EqualValuesHaveEqualNames) {
    EXPECT_EQ(name("1"), name("1.0"));
    EXPECT_EQ(name("0"), name("-0.0"));
    EXPECT_EQ(unique_key_name(0, {json::Value()}), name("null"));
    EXPECT_EQ(name(R"({"a":1,"b":[2]})"), name(R"({"b":[2.0],"a":1})"));
}

TEST(UniqueKey, DifferentValuesHaveDifferentNames) {
    EXPECT_NE(name("1"), name("\"1\""));
    EXPECT_NE(name("\"a\""), name("\"A\""));
    EXPECT_NE(name("null"), name("false"));
    EXPECT_NE(name("[]"), name("{}"));
    EXPECT_NE(name("1", 0), name("1", 1));
    // Tuples are unambiguous.
    const json::Value a = json::Value::string("a");
    const json::Value ab = json::Value::string("ab");
    const json::Value b = json::Value::string("b");
    const json::Value bb = json::Value::string("bb");
    EXPECT_NE(unique_key_name(0, {a, bb}), unique_key_name(0, {ab, b}));
}

TEST(UniqueKey, GoldenBytes) {
    EXPECT_EQ(hex_encode_upper(unique_key_name(
                  1, {json::Value::string("ab"), json::Value::number(1), json::Value()})),
              "01"
              "00"
              "05026162"
              "043FF0000000000000"
              "01");
    const std::string longer(200, 'x');
    const std::string hashed = unique_key_name(0, {json::Value::string(longer)});
    EXPECT_EQ(hashed.size(), 2 + 32U);
    EXPECT_EQ(hashed.substr(0, 2), std::string("\0\1", 2));
    EXPECT_NE(hashed, unique_key_name(0, {json::Value::string(longer + "x")}));
}

TEST(UniqueKey, NamesOfAnItem) {
    const std::vector<UniqueKey> keys = {{0, {{"email"}}}, {1, {{"a", "b"}, {"c"}}}};
    const auto names =
        names_of(keys, R"({"id":"1","email":"e","a":{"b":2}})", json::Dialect::kNosql);
    ASSERT_EQ(names.size(), 2U);
    EXPECT_EQ(names[0], unique_key_name(0, {json::Value::string("e")}));
    EXPECT_EQ(names[1], unique_key_name(1, {json::Value::integer(2), json::Value::null()}));
}

TEST(UniqueKey, TypedValuesAreEqualExactly) {
    const std::vector<UniqueKey> keys = {{0, {{"a"}}}};
    const auto name = [&](std::string_view text) {
        return names_of(keys, text, json::Dialect::kMongo)[0];
    };
    EXPECT_EQ(name(R"({"a":5})"), name(R"({"a":{"$t":18,"$v":"5"}})"));
    EXPECT_EQ(name(R"({"a":5})"), name(R"({"a":5.0})"));
    EXPECT_NE(name(R"({"a":{"$t":18,"$v":"9007199254740993"}})"),
              name(R"({"a":9007199254740992.0})"));
    EXPECT_EQ(name("{}"), name(R"({"a":null})"));
    EXPECT_NE(name(R"({"a":{"$t":7,"$v":"303132333435363738396162"}})"),
              name(R"({"a":"303132333435363738396162"})"));
}

TEST(UniqueKey, NumbersNeedNoOrder) {
    const std::vector<UniqueKey> keys = {{300, {{"a"}}}, {2, {{"a"}}}};
    const auto names = names_of(keys, R"({"id":"1","a":1})", json::Dialect::kNosql);
    EXPECT_EQ(names[0], unique_key_name(300, {json::Value::integer(1)}));
    EXPECT_EQ(names[1], unique_key_name(2, {json::Value::integer(1)}));
    EXPECT_EQ(unique_key_number(names[0]), 300U);
    EXPECT_EQ(unique_key_number(names[1]), 2U);
    EXPECT_EQ(unique_key_number(""), std::nullopt);
}

}  // namespace
}  // namespace orrery::partition
