#include "json/item_id.h"

#include <gtest/gtest.h>

#include <set>

#include "base/encoding.h"
#include "base/rounds_test_support.h"
#include "json/order.h"
#include "json/random_typed_test.h"
#include "json/value_key.h"

namespace orrery::json {
namespace {

constexpr const DialectRules& kMongo = rules(Dialect::kMongo);
constexpr const DialectRules& kNosql = rules(Dialect::kNosql);

std::string id_of(const Value& value, const DialectRules& rules = kMongo) {
    return make_item_id(value, rules).value();
}
std::string hex(const Value& value) {
    return hex_encode_upper(id_of(value));
}

TEST(ItemId, GoldenBytes) {
    EXPECT_EQ(id_of(Value::string("ab"), kNosql), "ab");
    EXPECT_EQ(hex(Value::string("ab")), "FF5061620000");
    EXPECT_EQ(hex(Value::string("")), "FF500000");
    EXPECT_EQ(hex(Value::object_id("0123456789ab")), "FF56303132333435363738396162");
    EXPECT_EQ(hex(Value::integer(1)), "FF40BFF00000000000000000");
    EXPECT_EQ(hex(Value::int64((int64_t{1} << 53) + 1)), "FF40C3400000000000000001");
    EXPECT_EQ(hex(Value::date(1)), "FF598000000000000001");
    EXPECT_EQ(hex(Value::binary("ab", 4)), "FF5400000002046162");
    EXPECT_EQ(hex(Value::boolean(true)), "FF58");
    EXPECT_EQ(hex(Value::null()), "FF20");
    const std::vector<Member> members = {{"b", Value::null()}, {"a", Value::string("x")}};
    EXPECT_EQ(hex(Value::object(members)), "FF512062000020506100005078000000");
}

TEST(ItemId, FourIds) {
    const std::string bytes("\x66\xA1\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B", 12);
    const std::set<std::string> ids = {id_of(Value::object_id(bytes)),
                                       id_of(Value::string("66a102030405060708090a0b")),
                                       id_of(Value::string("")), id_of(Value::string("a/b"))};
    EXPECT_EQ(ids.size(), 4u);
    // No string of the dialect nosql is among them.
    for (const std::string& id : ids) EXPECT_FALSE(check_item_id(id).ok());
}

TEST(ItemId, EqualNumbersAreOneId) {
    EXPECT_EQ(id_of(Value::integer(5)), id_of(Value::int64(5)));
    EXPECT_EQ(id_of(Value::integer(5)), id_of(Value::number(5.0)));
    EXPECT_NE(id_of(Value::number(0x1p53)), id_of(Value::int64((int64_t{1} << 53) + 1)));
}

TEST(ItemId, WhatCannotBeOne) {
    EXPECT_FALSE(make_item_id(Value::integer(1), kNosql).ok());
    EXPECT_FALSE(make_item_id(Value::string("a/b"), kNosql).ok());
    EXPECT_FALSE(make_item_id(Value(), kMongo).ok());
    EXPECT_FALSE(make_item_id(Value::array({}), kMongo).ok());
    EXPECT_FALSE(make_item_id(Value::object({}), rules(Dialect::kTable)).ok());
    EXPECT_TRUE(make_item_id(Value::string(std::string(kCoreIdBytesMax - 4, 'x')), kMongo).ok());
    EXPECT_FALSE(make_item_id(Value::string(std::string(kCoreIdBytesMax - 3, 'x')), kMongo).ok());
}

TEST(ItemId, Texts) {
    EXPECT_EQ(item_id_text("a$b", kNosql), "a$b");
    EXPECT_EQ(item_id_text(id_of(Value::string("ab")), kMongo), "ab");
    EXPECT_EQ(item_id_text(id_of(Value::string("")), kMongo), "$500000");
    EXPECT_EQ(item_id_text(id_of(Value::string("a/b")), kMongo), "$50612f620000");
    EXPECT_EQ(item_id_text(id_of(Value::string("$1")), kMongo), "$5024310000");
    EXPECT_EQ(item_id_text(id_of(Value::object_id("0123456789ab")), kMongo),
              "$56303132333435363738396162");
    for (const std::string_view wrong : {"", "$", "$5", "$5061620000", "$56AB", "a/b"})
        EXPECT_FALSE(item_id_of_text(wrong, kMongo).ok()) << wrong;
}

TEST(ItemId, TextsTellIdsApart) {
    test::RandomTyped random(13);
    for (int i = 0; i < rounds(5000); ++i) {
        Arena arena;
        const auto id = make_item_id(random.value(arena, 1), kMongo);
        if (!id.ok()) continue;
        const std::string text = item_id_text(*id, kMongo);
        const auto again = item_id_of_text(text, kMongo);
        ASSERT_TRUE(again.ok()) << text;
        ASSERT_EQ(*again, *id);
    }
}

TEST(ValueKey, SortsAsTheValuesDo) {
    test::RandomTyped random(14);
    Arena arena;
    std::vector<Value> values = {Value()};
    for (int i = 0; i < rounds(600); ++i) values.push_back(random.value(arena, i % 4));
    for (size_t d = 0; d < kDialectCount; ++d) {
        const DialectRules& by = rules(static_cast<Dialect>(d));
        std::vector<std::string> keys;
        for (const Value& value : values) append_value_key(keys.emplace_back(), value, by);
        for (size_t a = 0; a < values.size(); ++a) {
            for (size_t b = 0; b < values.size(); ++b) {
                const int order = compare(values[a], values[b], by);
                const int bytes = keys[a].compare(keys[b]);
                ASSERT_EQ(order < 0, bytes < 0) << to_text(values[a]) << " " << to_text(values[b]);
                ASSERT_EQ(order == 0, bytes == 0);
                if (bytes != 0) {
                    ASSERT_FALSE(keys[b].starts_with(keys[a]));
                }
            }
        }
    }
}

}  // namespace
}  // namespace orrery::json
