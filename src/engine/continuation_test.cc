#include "engine/continuation.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/ended_test_support.h"

namespace orrery::engine {
namespace {

ContinuationPosition position() {
    ContinuationPosition made;
    made.scope_hash = 0x1122334455667788;
    made.docref = std::string("\0\xFF docref 8 bytes", 17);
    return made;
}

TEST(ContinuationTest, RoundTrip) {
    const ContinuationTokens tokens("secret");
    const auto decoded = tokens.decode(tokens.encode(position()), position().scope_hash);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(decoded->docref, position().docref);
}

TEST(ContinuationTest, QueryPositionsAreTheirOwnKind) {
    const ContinuationTokens tokens("secret");
    const partition::EpkRange range{"\x10", "\x20"};
    const std::string token = tokens.encode_query({"where it stands", 99, range, true}, 7);
    EXPECT_EQ(tokens.decode_query(token, 7)->position, "where it stands");
    EXPECT_EQ(tokens.decode_query(token, 7)->pass, 99u);
    EXPECT_EQ(tokens.decode_query(token, 7)->range, range);
    EXPECT_TRUE(tokens.decode_query(token, 7)->whole_range);
    const size_t longest = ContinuationTokens::payload_bytes(1024, range);
    EXPECT_LE(tokens.encode_query({std::string(longest, 'x'), 1, range, false}, 7).size(), 1024u);
    EXPECT_FALSE(tokens.decode_query(token, 8).ok());
    EXPECT_FALSE(tokens.decode(token, 7).ok());
    EXPECT_FALSE(tokens.decode_query(tokens.encode(position()), position().scope_hash).ok());
}

TEST(ContinuationTest, ListingsAreTheirOwnKind) {
    const ContinuationTokens tokens("secret");
    const std::string token = tokens.encode_listing("after:1f", 7);
    EXPECT_EQ(*tokens.decode_listing(token, 7), "after:1f");
    EXPECT_FALSE(tokens.decode_listing(token, 8).ok());
    EXPECT_FALSE(tokens.decode_listing("after:1f", 7).ok());
    EXPECT_FALSE(tokens.decode(token, 7).ok());
    EXPECT_FALSE(tokens.decode_query(token, 7).ok());
    EXPECT_FALSE(tokens.decode_listing(tokens.encode(position()), position().scope_hash).ok());
}

TEST(ContinuationTest, SafeInAHeaderAndShort) {
    auto longest = position();
    longest.docref = std::string(32, '\xFF');
    const std::string text = ContinuationTokens("secret").encode(longest);
    // Clients may limit tokens to 1 KB (responsecontinuationtokenlimitinkb).
    EXPECT_LT(text.size(), 256u);
    for (const char c : text) EXPECT_TRUE(c > ' ' && c < 0x7F);
}

TEST(ContinuationTest, EveryAlterationIsRefused) {
    const ContinuationTokens tokens("secret");
    const std::string bytes = *base64_decode(tokens.encode(position()));
    for (size_t i = 0; i < bytes.size(); ++i) {
        for (const int bit : {0, 7}) {
            std::string altered = bytes;
            altered[i] = static_cast<char>(altered[i] ^ (1 << bit));
            const auto decoded = tokens.decode(base64_encode(altered), position().scope_hash);
            ASSERT_FALSE(decoded.ok()) << i;
            EXPECT_EQ(ended(decoded.error()), Ended::kBadRequest);
        }
        EXPECT_FALSE(tokens.decode(base64_encode(bytes.substr(0, i)), position().scope_hash).ok());
    }
    EXPECT_FALSE(tokens.decode(base64_encode(bytes + "x"), position().scope_hash).ok());
}

TEST(ContinuationTest, ForeignTokensAreRefused) {
    const ContinuationTokens tokens("secret");
    const std::string text = tokens.encode(position());
    EXPECT_FALSE(
        tokens.decode(text, position().scope_hash + 1).ok());  // another query or container
    EXPECT_FALSE(ContinuationTokens("other").decode(text, position().scope_hash).ok());
    for (const auto garbage : {"", "x", "AAAA", "not base64!", "\xFF"})
        EXPECT_FALSE(tokens.decode(garbage, position().scope_hash).ok()) << garbage;
}

}  // namespace
}  // namespace orrery::engine
