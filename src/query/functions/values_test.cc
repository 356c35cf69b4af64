#include "query/functions/values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "json/parse.h"

namespace orrery::query {
namespace {

using json::Value;

/// Texts of 16 bytes to which the standard library gives one hash: its function (MurmurHash2 with a
/// fixed seed) can be undone, so that the second half makes up for any first half.
std::vector<std::string> texts_with_one_standard_hash(size_t count) {
    constexpr uint64_t kFactor = 0xc6a4a7935bd1e995ULL;
    uint64_t inverse = 1;
    for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
    const auto shifted = [](uint64_t v) { return v ^ (v >> 47); };  // undoes itself
    std::vector<std::string> out;
    uint64_t second_of_first = 0;
    uint64_t target = 0;
    for (uint64_t first = 1; first <= count; ++first) {
        uint64_t state = 0xc70f6907ULL ^ (16 * kFactor);
        state = (state ^ (shifted(first * kFactor) * kFactor)) * kFactor;
        if (first == 1) target = state ^ (shifted(second_of_first * kFactor) * kFactor);
        const uint64_t second = shifted((state ^ target) * inverse) * inverse;
        std::string text(16, '\0');
        std::memcpy(text.data(), &first, 8);
        std::memcpy(text.data() + 8, &second, 8);
        out.push_back(std::move(text));
    }
    return out;
}

TEST(ValuesTest, TextsThatWereMadeToCollideDoNot) {
    constexpr size_t kTexts = 20'000;
    const std::vector<std::string> texts = texts_with_one_standard_hash(kTexts);
    std::set<size_t> standard;
    std::set<uint64_t> keyed;
    ValueSet set;
    for (const std::string& text : texts) {
        standard.insert(std::hash<std::string_view>()(text));
        keyed.insert(hash_value(Value::string(text)));
        EXPECT_TRUE(set.insert(Value::string(text)));
    }
    EXPECT_EQ(standard.size(), 1U) << "the premise";
    EXPECT_EQ(keyed.size(), kTexts);
    for (const std::string& text : texts) EXPECT_TRUE(set.contains(Value::string(text)));
}

TEST(ValuesTest, HashesFollowEquality) {
    json::Arena arena;
    const auto hash = [&](std::string_view text) { return hash_value(*json::parse(text, arena)); };
    EXPECT_EQ(hash("1"), hash("1.0"));
    EXPECT_EQ(hash("0"), hash("-0.0"));
    EXPECT_EQ(hash(R"({"a":1,"b":[2,"x"]})"), hash(R"({"b":[2,"x"],"a":1})"));
    const char* const different[] = {"null",
                                     "false",
                                     "true",
                                     "0",
                                     "1",
                                     R"("")",
                                     R"("1")",
                                     "[]",
                                     "{}",
                                     "[0]",
                                     "[1]",
                                     "[[1]]",
                                     "[1,2]",
                                     "[2,1]",
                                     R"({"a":1})",
                                     R"({"b":1})",
                                     R"({"a":1,"b":2})",
                                     R"({"a":2,"b":1})"};
    std::set<uint64_t> seen{hash_value(Value())};
    for (const char* text : different) EXPECT_TRUE(seen.insert(hash(text)).second) << text;
}

}  // namespace
}  // namespace orrery::query
