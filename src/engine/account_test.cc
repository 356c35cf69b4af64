#include "engine/account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/encoding.h"
#include "base/ended_test_support.h"

namespace orrery::engine {
namespace {

TEST(AccountTest, DefaultIsTheWellKnownKey) {
    const auto account = Account::create({});
    ASSERT_TRUE(account.ok());
    EXPECT_TRUE(account->uses_well_known_key());
    ASSERT_EQ(account->keys().size(), 4u);
    EXPECT_EQ(account->keys()[0].text, kWellKnownKey);
    EXPECT_NE(account->id(), "localhost");  // the JavaScript SDK treats that id specially
}

TEST(AccountTest, DerivedKeysAreStableDistinctAndBase64) {
    const auto first = Account::create({});
    const auto second = Account::create({});
    std::set<std::string> texts;
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(first->keys()[i].text, second->keys()[i].text);
        EXPECT_EQ(base64_decode(first->keys()[i].text)->size(), 64u);
        EXPECT_EQ(first->keys()[i].read_only, i >= 2);
        texts.insert(first->keys()[i].text);
    }
    EXPECT_EQ(texts.size(), 4u);
    AccountKeyTexts own;
    own.primary = base64_encode(std::string(64, 'k'));
    const auto other = Account::create(own);
    ASSERT_TRUE(other.ok());
    EXPECT_FALSE(other->uses_well_known_key());
    for (size_t i = 0; i < 4; ++i) EXPECT_NE(other->keys()[i].text, first->keys()[i].text);
}

TEST(AccountTest, GivenKeysWin) {
    AccountKeyTexts keys;
    keys.secondary = base64_encode(std::string(64, 's'));
    keys.secondary_read_only = base64_encode(std::string(64, 'r'));
    const auto account = Account::create(keys);
    ASSERT_TRUE(account.ok());
    EXPECT_EQ(account->keys()[1].text, keys.secondary);
    EXPECT_EQ(account->keys()[3].text, keys.secondary_read_only);
}

TEST(AccountTest, BadKeysAreRefused) {
    for (const std::string& text : {std::string(), std::string("not base64!"),
                                    base64_encode("short"), base64_encode(std::string(15, 'x'))}) {
        AccountKeyTexts keys;
        keys.primary = text;
        EXPECT_EQ(ended(Account::create(keys).error()), Ended::kBadRequest) << text;
    }
    AccountKeyTexts keys;
    keys.primary_read_only = "%%%";
    EXPECT_THAT(Account::create(keys).error().message, ::testing::HasSubstr("read-only key"));
}

TEST(HmacTest, PublishedVectors) {
    // RFC 4231, cases 1, 2 and 6 (a key longer than a block).
    const auto hex = [](const HmacKey::Signature& s) {
        return to_lower_ascii(hex_encode_upper({s.data(), s.size()}));
    };
    EXPECT_EQ(hex(HmacKey(std::string(20, '\x0b')).sign("Hi There")),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(hex(HmacKey("Jefe").sign("what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(hex(HmacKey(std::string(131, '\xaa'))
                      .sign("Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    EXPECT_TRUE(equal_constant_time("abc", "abc"));
    EXPECT_FALSE(equal_constant_time("abc", "abd"));
    EXPECT_FALSE(equal_constant_time("abc", "ab"));
    EXPECT_TRUE(equal_constant_time("", ""));
}

}  // namespace
}  // namespace orrery::engine
