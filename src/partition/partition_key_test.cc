#include "partition/partition_key.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/encoding.h"
#include "base/ended_test_support.h"
#include "base/limits.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::partition {
namespace {

/// Keeps everything alive that parsed values borrow from.
class PartitionKeyTest : public ::testing::Test {
protected:
    json::Value value(std::string_view text) {
        auto parsed = json::parse(text, arena_);
        EXPECT_TRUE(parsed.ok()) << text;
        return parsed.ok() ? *parsed : json::Value();
    }
    PartitionKeyDefinition definition(std::string_view text) {
        auto parsed = parse_partition_key_definition(value(text));
        EXPECT_TRUE(parsed.ok()) << text << (parsed.ok() ? "" : parsed.error().message);
        return parsed.ok() ? *parsed : PartitionKeyDefinition();
    }
    /// The message of the refusal; empty when accepted.
    std::string definition_error(std::string_view text) {
        auto parsed = parse_partition_key_definition(value(text));
        if (parsed.ok()) return "";
        EXPECT_EQ(ended(parsed.error()), Ended::kBadRequest);
        return parsed.error().message;
    }
    PartitionKeyComponents components(std::string_view header) {
        auto parsed = parse_partition_key_header(header, arena_);
        EXPECT_TRUE(parsed.ok()) << header;
        return parsed.ok() ? *parsed : PartitionKeyComponents();
    }
    std::string epk(const PartitionKeyDefinition& key, std::string_view header) {
        auto result = effective_partition_key(key, components(header));
        EXPECT_TRUE(result.ok()) << header;
        return result.ok() ? hex_encode_upper(*result) : "error";
    }
    /// The data file next to this test.
    json::Value vectors() {
        std::ifstream in(std::string(ORRERY_PARTITION_TESTDATA) + "/epk_vectors.json");
        std::stringstream text;
        text << in.rdbuf();
        return value(text.str());
    }
    static PartitionKeyDefinition make(KeyKind kind, int version, size_t paths) {
        PartitionKeyDefinition key;
        key.kind = kind;
        key.version = version;
        for (size_t i = 0; i < paths; ++i) {
            key.paths.push_back("/p" + std::to_string(i));
            key.member_paths.push_back({"p" + std::to_string(i)});
        }
        return key;
    }

    json::Arena arena_;
};

TEST_F(PartitionKeyTest, EveryVector) {
    size_t count = 0;
    size_t negative_zeros = 0;
    for (const json::Value& row : vectors().member("vectors").elements()) {
        const bool multi = row.member("kind").as_string() == "MultiHash";
        const json::Value values = row.member("values");
        const std::string header = json::to_text(values);
        SCOPED_TRACE(header);
        const auto key =
            make(multi ? KeyKind::kMultiHash : KeyKind::kHash,
                 static_cast<int>(row.member("version").as_double()), values.elements().size());
        ++count;
        if (header == "[-0.0]") {
            // The one deviation: clients hash -0 apart from 0, here equal numbers are one key.
            EXPECT_EQ(epk(key, header), epk(key, "[0]"));
            ++negative_zeros;
            continue;
        }
        EXPECT_EQ(epk(key, header), row.member("epk").as_string());
    }
    EXPECT_EQ(count, 106U);
    EXPECT_EQ(negative_zeros, 2U);
}

TEST_F(PartitionKeyTest, PrefixRanges) {
    size_t count = 0;
    for (const json::Value& row : vectors().member("prefix_ranges").elements()) {
        const std::string header = json::to_text(row.member("prefix"));
        SCOPED_TRACE(header);
        const auto key =
            make(KeyKind::kMultiHash, 2, static_cast<size_t>(row.member("paths").as_double()));
        auto prefix = effective_partition_key(key, components(header));
        ASSERT_TRUE(prefix.ok());
        const EpkRange range = range_of_key(*prefix);
        EXPECT_EQ(range.is_of_key(), !prefix->empty());
        EXPECT_FALSE((EpkRange{range.min, range.min + "\xFE"}).is_of_key());
        EXPECT_FALSE((EpkRange{range.min, range.min + "\xFF\xFF"}).is_of_key());
        EXPECT_FALSE((EpkRange{range.min, "\xFF"}).is_of_key());
        EXPECT_EQ(hex_encode_upper(range.min), row.member("min").as_string());
        EXPECT_EQ(hex_encode_upper(range.max), row.member("max").as_string());
        ++count;
    }
    EXPECT_EQ(count, 11U);
}

TEST_F(PartitionKeyTest, RangeOfPrefixHoldsItsKeysOnly) {
    const auto key = make(KeyKind::kMultiHash, 2, 3);
    const auto full = [&](std::string_view header) {
        return *effective_partition_key(key, components(header));
    };
    const EpkRange tenant = range_of_key(full(R"(["tenant1"])"));
    EXPECT_TRUE(tenant.contains(full(R"(["tenant1"])")));
    EXPECT_TRUE(tenant.contains(full(R"(["tenant1","user1"])")));
    EXPECT_TRUE(tenant.contains(full(R"(["tenant1",{},null])")));
    EXPECT_FALSE(tenant.contains(full(R"(["tenant2","user1"])")));
    const EpkRange all = range_of_key(full("[]"));
    EXPECT_EQ(all, EpkRange());
    EXPECT_TRUE(all.contains(full(R"(["tenant1","user1",5])")));
}

TEST_F(PartitionKeyTest, EvenSplits) {
    size_t count = 0;
    for (const json::Value& row : vectors().member("even_splits").elements()) {
        const auto n = static_cast<size_t>(row.member("n").as_double());
        const auto check = [&](const PartitionKeyDefinition& key, const json::Value& borders) {
            const std::vector<EpkRange> ranges = even_ranges(key, n);
            ASSERT_EQ(ranges.size() + 1, borders.elements().size());
            for (size_t i = 0; i < n; ++i) {
                EXPECT_EQ(hex_encode_upper(ranges[i].min), borders.elements()[i].as_string());
                EXPECT_EQ(hex_encode_upper(ranges[i].max), borders.elements()[i + 1].as_string());
            }
        };
        check(make(KeyKind::kHash, 1, 1), row.member("v1"));
        check(make(KeyKind::kHash, 2, 1), row.member("v2_and_multihash"));
        check(make(KeyKind::kMultiHash, 2, 3), row.member("v2_and_multihash"));
        ++count;
    }
    EXPECT_EQ(count, 6U);
}

/// Splits lie where docrefs are separated as EPKs are, in the middle of what is there.
TEST_F(PartitionKeyTest, MiddleOfRanges) {
    const auto middle = [](const PartitionKeyDefinition& key, const EpkRange& range) {
        const auto epk = middle_of_range(key, range);
        return epk ? hex_encode_upper(*epk) : "none";
    };
    const auto v2 = make(KeyKind::kHash, 2, 1);
    const auto v1 = make(KeyKind::kHash, 1, 1);
    const auto multi = make(KeyKind::kMultiHash, 2, 3);
    const auto hex = [](std::string_view text) { return *hex_decode(text); };
    EXPECT_EQ(middle(v2, {}), "1FFFFFFFFFFFFFFF0000000000000000");
    EXPECT_EQ(middle(v2, {"", hex("1FFFFFFFFFFFFFFF0000000000000000")}),
              "0FFFFFFFFFFFFFFF0000000000000000");
    EXPECT_EQ(middle(v2, {hex("1FFFFFFFFFFFFFFF0000000000000000"), "\xFF"}),
              "2FFFFFFFFFFFFFFF0000000000000000");
    EXPECT_EQ(middle(v1, {}), "05C1DFFFFFFFFC");
    EXPECT_EQ(middle(v1, {"", hex("05C1DFFFFFFFFC")}), "05C1CFFFFFFFF8");
    // Too narrow on the first level: inside the lower bound's value.
    const std::string h1 = "0102030405060708090A0B0C0D0E0F10";
    EXPECT_EQ(middle(v2, {hex(h1), hex("0102030405060708090A0B0C0D0E0F11")}), "none");
    EXPECT_EQ(middle(multi, {hex(h1), hex("0102030405060708090A0B0C0D0E0F11")}),
              h1 + "1FFFFFFFFFFFFFFF0000000000000000");
    EXPECT_EQ(middle(multi, {hex(h1 + "1FFFFFFFFFFFFFFF0000000000000000"),
                             hex("0102030405060708090A0B0C0D0E0F11")}),
              h1 + "2FFFFFFFFFFFFFFF0000000000000000");
    EXPECT_EQ(hex_encode_upper(docref_border(v2, hex(h1))), "01020304050607080000000000000000");
    EXPECT_EQ(hex_encode_upper(docref_border(multi, hex(h1 + h1))),
              h1 + "01020304050607080000000000000000");
    EXPECT_EQ(hex_encode_upper(docref_border(v1, hex("05C1DFFFFFFFFC0801020300"))),
              "05C1DFFFFFFFFC08");
    EXPECT_EQ(docref_border(v2, ""), "");
    EXPECT_DOUBLE_EQ(width_of_range(v2, {}), 1.0);
    EXPECT_NEAR(width_of_range(v2, {"", hex("1FFFFFFFFFFFFFFF0000000000000000")}), 0.5, 1e-9);
    EXPECT_NEAR(width_of_range(v1, {hex("05C1DFFFFFFFFC"), "\xFF"}), 0.5, 1e-6);
}

/// The border of any key separates docrefs as it separates EPKs.
TEST_F(PartitionKeyTest, DocrefBordersSeparate) {
    for (const int version : {1, 2}) {
        const auto key = make(KeyKind::kHash, version, 1);
        std::vector<std::string> epks;
        for (int i = 0; i < 300; ++i)
            epks.push_back(
                *effective_partition_key(key, components("[\"key" + std::to_string(i) + "\"]")));
        for (const std::string& at : epks) {
            const std::string border = docref_border(key, at);
            EXPECT_LE(border, at);
            for (const std::string& epk : epks)
                EXPECT_EQ(epk < border, docref_prefix(key, epk) < docref_prefix(key, border));
        }
    }
}

TEST_F(PartitionKeyTest, EvenRangesCoverEverything) {
    for (const int version : {1, 2}) {
        const auto key = make(KeyKind::kHash, version, 1);
        for (const size_t n : {size_t{1}, size_t{25}, size_t{100}}) {
            const auto ranges = even_ranges(key, n);
            EXPECT_EQ(ranges.front().min, "");
            EXPECT_EQ(ranges.back().max, "\xFF");
            std::vector<int> hits(n);
            for (int i = 0; i < 2000; ++i) {
                const std::string text = "[\"key" + std::to_string(i) + "\"]";
                const std::string hash = *effective_partition_key(key, components(text));
                int found = 0;
                for (size_t r = 0; r < n; ++r) {
                    if (!ranges[r].contains(hash)) continue;
                    ++found;
                    ++hits[r];
                }
                ASSERT_EQ(found, 1);
            }
            // Even ranges get keys; V1's are even in the hash, so all of them do there, too.
            for (const int hit : hits) EXPECT_GT(hit, 0);
        }
    }
}

TEST_F(PartitionKeyTest, DefinitionDefaults) {
    auto key = definition(R"({"paths":["/pk"]})");
    EXPECT_EQ(key.kind, KeyKind::kHash);
    EXPECT_EQ(key.version, 1);
    EXPECT_FALSE(key.version_given);
    EXPECT_EQ(partition_key_definition_json(key), R"({"paths":["/pk"],"kind":"Hash"})");

    key = definition(R"({"paths":["/a/b"],"kind":"Hash","version":2})");
    EXPECT_EQ(key.version, 2);
    EXPECT_EQ(key.member_paths, (std::vector<json::MemberPath>{{"a", "b"}}));
    EXPECT_EQ(partition_key_definition_json(key),
              R"({"paths":["/a/b"],"kind":"Hash","version":2})");

    key = definition(R"({"paths":["/pk"],"kind":"Hash","version":1})");
    EXPECT_EQ(partition_key_definition_json(key), R"({"paths":["/pk"],"kind":"Hash","version":1})");

    key = definition(R"({"paths":["/t","/u","/s"],"kind":"MultiHash"})");
    EXPECT_EQ(key.version, 2);
    EXPECT_EQ(key.level_count(), 3U);
    EXPECT_EQ(partition_key_definition_json(key),
              R"({"paths":["/t","/u","/s"],"kind":"MultiHash","version":2})");
    EXPECT_EQ(definition(R"({"paths":["/t"],"kind":"MultiHash","version":2})").level_count(), 1U);

    key = definition(R"({"paths":["/_partitionKey"],"kind":"Hash","systemKey":true})");
    EXPECT_TRUE(key.system_key);
    EXPECT_EQ(partition_key_definition_json(key),
              R"({"paths":["/_partitionKey"],"kind":"Hash","systemKey":true})");
    key = definition(R"({"paths":["/pk"],"kind":null,"version":null,"systemKey":false})");
    EXPECT_EQ(partition_key_definition_json(key), R"({"paths":["/pk"],"kind":"Hash"})");
}

TEST_F(PartitionKeyTest, DefinitionRoundTrip) {
    for (const char* text :
         {R"({"paths":["/pk"],"kind":"Hash"})", R"({"paths":["/\"x-y\"/z"],"kind":"Hash"})",
          R"({"paths":["/id"],"kind":"Hash","version":2})",
          R"({"paths":["/a","/b"],"kind":"MultiHash","version":2})"})
        EXPECT_EQ(partition_key_definition_json(definition(text)), text);
}

TEST_F(PartitionKeyTest, PathGrammar) {
    const auto names = [&](const std::string& path) {
        std::string text = R"({"paths":[)";
        json::write_string(text, path);
        return definition(text + "]}").member_paths.at(0);
    };
    using Names = json::MemberPath;
    EXPECT_EQ(names("/a"), Names({"a"}));
    EXPECT_EQ(names("/a/b/c"), Names({"a", "b", "c"}));
    EXPECT_EQ(names("/my-key"), Names({"my-key"}));
    EXPECT_EQ(names("/ключ/é"), Names({"ключ", "é"}));
    EXPECT_EQ(names(R"(/"x-y"/z)"), Names({"x-y", "z"}));
    EXPECT_EQ(names(R"(/'a/b'/"*"/'[]')"), Names({"a/b", "*", "[]"}));
    EXPECT_EQ(names(R"(/"it's")"), Names({"it's"}));
    EXPECT_EQ(names("/id"), Names({"id"}));
    EXPECT_EQ(names("/_partitionKey"), Names({"_partitionKey"}));
    EXPECT_EQ(names("/a/_ts"), Names({"a", "_ts"}));  // a system property at the top level only

    for (const char* path : {"",
                             "a",
                             "a/b",
                             "/",
                             "//",
                             "/a/",
                             "/a//b",
                             "/*",
                             "/a/*",
                             "/a/?",
                             "/a?",
                             "/[]",
                             "/a/[]/b",
                             "/a[0]",
                             "/{a}",
                             R"(/"a)",
                             R"(/"a"b)",
                             R"(/"")",
                             R"(/a"b)",
                             "/a'b",
                             R"(/a\b)",
                             R"(/"a\"b")",
                             "/ a",
                             "/a ",
                             "/_ts",
                             "/_rid",
                             "/_self",
                             "/_etag",
                             "/_attachments",
                             "/_lsn",
                             "/_ts/a",
                             R"(/"_ts")"}) {
        std::string text = R"({"paths":[)";
        json::write_string(text, path);
        const std::string message = definition_error(text + "]}");
        EXPECT_NE(message.find("partition key path '" + std::string(path) + "'"), std::string::npos)
            << path << ": " << message;
    }
    std::string deep;
    for (uint32_t i = 0; i < limits::kNestingDepthMax; ++i) deep += "/a";
    EXPECT_EQ(names(deep).size(), limits::kNestingDepthMax);
    EXPECT_NE(definition_error(R"({"paths":[")" + deep + R"(/a"]})"), "");
}

TEST_F(PartitionKeyTest, DefinitionRefusals) {
    for (const char* text : {"null",
                             "[]",
                             "5",
                             "{}",
                             R"({"paths":[]})",
                             R"({"paths":"/a"})",
                             R"({"paths":[5]})",
                             R"({"paths":["/a","/b"]})",
                             R"({"paths":["/a","/b"],"kind":"Hash"})",
                             R"({"paths":["/a","/b","/c","/d"],"kind":"MultiHash"})",
                             R"({"paths":["/a","/a"],"kind":"MultiHash"})",
                             R"({"paths":["/a","/\"a\""],"kind":"MultiHash"})",
                             R"({"paths":["/a"],"kind":"MultiHash","version":1})",
                             R"({"paths":["/a"],"kind":"Range"})",
                             R"({"paths":["/a"],"kind":5})",
                             R"({"paths":["/a"],"version":3})",
                             R"({"paths":["/a"],"version":0})",
                             R"({"paths":["/a"],"version":1.5})",
                             R"({"paths":["/a"],"version":"3"})",
                             R"({"paths":["/a"],"version":"2 "})",
                             R"({"paths":["/a"],"kind":"MultiHash","version":"1"})",
                             R"({"paths":["/a"],"systemKey":true})",
                             R"({"paths":["/a"],"systemKey":"yes"})",
                             R"({"paths":["/a"],"verison":2})"})
        EXPECT_NE(definition_error(text), "") << text;
}

TEST_F(PartitionKeyTest, Header) {
    const auto round = [&](std::string_view header) {
        return partition_key_json(components(header));
    };
    EXPECT_EQ(round(R"(["é"])"), R"(["é"])");
    EXPECT_EQ(round(R"(["\u00e9"])"), R"(["é"])");
    EXPECT_EQ(round(R"([ "x" , 5 ])"), R"(["x",5])");
    EXPECT_EQ(round("[null]"), "[null]");
    EXPECT_EQ(round("[true]"), "[true]");
    EXPECT_EQ(round("[5.0]"), "[5]");
    EXPECT_EQ(round("[{}]"), "[{}]");
    EXPECT_EQ(round("[]"), "[]");
    EXPECT_EQ(round(R"(["x",{}])"), R"(["x",{}])");
    EXPECT_EQ(round(R"(["a\"b\\c\n"])"), R"(["a\"b\\c\n"])");
    for (std::string_view header :
         {std::string_view(""), std::string_view("x"), std::string_view(R"("x")"),
          std::string_view("{}"), std::string_view("5"), std::string_view("null"),
          std::string_view("[[]]"), std::string_view("[[1]]"), std::string_view(R"([{"a":1}])"),
          std::string_view("[1,2,3,4]"), std::string_view("[1"), std::string_view("[1]]"),
          std::string_view("[1,]"), std::string_view("[1e999]"), std::string_view("[\"\xFF\"]"),
          std::string_view("[\"\\ud800\"]"), std::string_view("[undefined]"),
          std::string_view("[NaN]"), std::string_view("[\"a\0\"]", 6)}) {
        auto parsed = parse_partition_key_header(header, arena_);
        ASSERT_FALSE(parsed.ok()) << header;
        EXPECT_EQ(ended(parsed.error()), Ended::kBadRequest);
        EXPECT_TRUE(is_valid_utf8(parsed.error().message));
        EXPECT_LT(parsed.error().message.size(), 500U);
    }
    // A long bad header is shown in part, cut between characters.
    std::string bad = "[\"";
    for (int i = 0; i < 5000; ++i) bad += "é";
    auto parsed = parse_partition_key_header(bad, arena_);
    ASSERT_FALSE(parsed.ok());
    EXPECT_LT(parsed.error().message.size(), 500U);
    EXPECT_TRUE(is_valid_utf8(parsed.error().message));
}

TEST_F(PartitionKeyTest, NumberOfComponents) {
    const auto status = [&](const PartitionKeyDefinition& key, std::string_view header) {
        auto result = effective_partition_key(key, components(header));
        return ended(result);
    };
    const auto hash = make(KeyKind::kHash, 2, 1);
    EXPECT_EQ(status(hash, "[1]"), Ended::kOk);
    EXPECT_EQ(status(hash, "[]"), Ended::kBadRequest);
    EXPECT_EQ(status(hash, "[1,2]"), Ended::kBadRequest);
    const auto multi = make(KeyKind::kMultiHash, 2, 2);
    EXPECT_EQ(status(multi, "[]"), Ended::kOk);
    EXPECT_EQ(status(multi, "[1]"), Ended::kOk);
    EXPECT_EQ(status(multi, "[1,2]"), Ended::kOk);
    EXPECT_EQ(status(multi, "[1,2,3]"), Ended::kBadRequest);
}

TEST_F(PartitionKeyTest, SystemKeyHasOneEmptyKey) {
    const auto key = definition(R"({"paths":["/_partitionKey"],"kind":"Hash","systemKey":true})");
    EXPECT_EQ(epk(key, "[]"), "");
    EXPECT_EQ(epk(key, "[{}]"), "");
    EXPECT_EQ(epk(key, R"(["a"])"), "05C1D78593652C086200");
}

TEST_F(PartitionKeyTest, LengthLimit) {
    const std::string at_limit = "[\"" + std::string(limits::kPartitionKeyBytesMax, 'x') + "\"]";
    const std::string above = "[\"" + std::string(limits::kPartitionKeyBytesMax + 1, 'x') + "\"]";
    const auto v2 = make(KeyKind::kHash, 2, 1);
    EXPECT_TRUE(effective_partition_key(v2, components(at_limit)).ok());
    auto refused = effective_partition_key(v2, components(above));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(ended(refused.error()), Ended::kBadRequest);
    EXPECT_FALSE(effective_partition_key(make(KeyKind::kMultiHash, 2, 2), components(above)).ok());
    // V1 hashes the start only: longer strings are one logical partition.
    const auto v1 = make(KeyKind::kHash, 1, 1);
    EXPECT_EQ(epk(v1, above), epk(v1, "[\"" + std::string(100, 'x') + "\"]"));
    EXPECT_NE(epk(v1, above), epk(v1, "[\"" + std::string(99, 'x') + "\"]"));
}

TEST_F(PartitionKeyTest, NegativeZeroIsZero) {
    for (const auto& key : {make(KeyKind::kHash, 1, 1), make(KeyKind::kHash, 2, 1)}) {
        EXPECT_EQ(epk(key, "[-0]"), epk(key, "[0]"));
        EXPECT_EQ(epk(key, "[-0.0]"), epk(key, "[0]"));
        EXPECT_NE(epk(key, "[-1]"), epk(key, "[1]"));
    }
}

TEST_F(PartitionKeyTest, V1CutsPairsLikeClients) {
    const auto v1 = make(KeyKind::kHash, 1, 1);
    // 99 units, then a pair: its first half alone becomes U+FFFD.
    const std::string ninety_nine(99, 'x');
    EXPECT_EQ(epk(v1, "[\"" + ninety_nine + "🙂🙂\"]"),
              epk(v1, "[\"" + ninety_nine + "\uFFFD\"]"));
    EXPECT_NE(epk(v1, "[\"" + ninety_nine + "🙂\"]"), epk(v1, "[\"" + ninety_nine + "\"]"));
}

TEST_F(PartitionKeyTest, ArraysAndObjectsAreNoComponents) {
    const auto key = make(KeyKind::kHash, 2, 1);
    EXPECT_FALSE(effective_partition_key(key, {value("[1]")}).ok());
    EXPECT_FALSE(effective_partition_key(key, {value("{}")}).ok());
}

TEST_F(PartitionKeyTest, DocrefPrefix) {
    const auto v1 = make(KeyKind::kHash, 1, 1);
    const auto v2 = make(KeyKind::kHash, 2, 1);
    const auto multi = make(KeyKind::kMultiHash, 2, 3);
    const auto prefix = [&](const PartitionKeyDefinition& key, std::string_view header) {
        return hex_encode_upper(
            docref_prefix(key, *effective_partition_key(key, components(header))));
    };
    EXPECT_EQ(prefix(v1, R"(["a"])"), "05C1D78593652C08");
    EXPECT_EQ(hex_encode_upper(docref_prefix(v1, "\x05\xC1")), "05C1000000000000");
    EXPECT_EQ(prefix(v2, R"(["a"])"), "3A5381E1114EB8D3");
    EXPECT_EQ(prefix(multi, R"(["tenant1","user1","session1"])"),
              "0DAE0B8467B011E9236A5BE3329A7AD53968A88FC4D9F7E8");
    EXPECT_EQ(prefix(multi, R"(["tenant1"])"), "0DAE0B8467B011E9");
    EXPECT_EQ(hex_encode_upper(docref_prefix(v1, "")), "0000000000000000");
    EXPECT_EQ(docref_prefix(multi, ""), std::string(24, '\0'));
}

TEST(PartitionKeyHeaderTest, LongEscapesOfTheGoSdk) {
    json::Arena arena;
    const auto parsed = parse_partition_key_header("[\"\\U0001fa90 \\u00e9\\\\U\"]", arena);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->front().as_string(), "\xF0\x9F\xAA\x90 \xC3\xA9\\U");
    EXPECT_FALSE(parse_partition_key_header("[\"\\U0001fa9\"]", arena).ok());
    EXPECT_FALSE(parse_partition_key_header("[\"\\UFFFFFFFF\"]", arena).ok());
}

TEST(PartitionKeyDefinitionTest, VersionAsText) {
    json::Arena arena;
    const auto value = json::parse(R"({"paths":["/a"],"kind":"Hash","version":"V2"})", arena);
    const auto definition = parse_partition_key_definition(*value);
    ASSERT_TRUE(definition.ok());
    EXPECT_EQ(definition->version, 2);
    EXPECT_NE(partition_key_definition_json(*definition).find("\"version\":2"), std::string::npos);
}

}  // namespace
}  // namespace orrery::partition
