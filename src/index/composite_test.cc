#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "base/encoding.h"
#include "index/terms.h"
#include "json/order.h"
#include "json/parse.h"

namespace orrery::index {
namespace {

using json::Value;

constexpr SipKey kKey = {0x0706050403020100ULL, 0x0F0E0D0C0B0A0908ULL};

PathStep member(std::string name) {
    return {.any_element = false, .name = std::move(name)};
}
CompositeIndex composite(std::initializer_list<std::pair<const char*, bool>> members) {
    CompositeIndex out;
    for (const auto& [name, descending] : members)
        out.members.push_back({{member(name)}, descending, std::string("/") + name});
    return out;
}
IndexingPolicy make_policy(std::string_view text) {
    json::Arena arena;
    auto policy = parse_indexing_policy(json::parse(text, arena).value());
    EXPECT_TRUE(policy.ok()) << (policy.ok() ? "" : policy.error().message);
    return std::move(policy).value();
}
TermSet collect(const IndexingPolicy& policy, std::string_view item) {
    TermCollector collector(policy, kKey);
    EXPECT_TRUE(json::read_item(item, {}, &collector).ok()) << item;
    return collector.take();
}
/// Hexadecimal terms of the entries below one hash, with "!" when partial.
std::vector<std::string> entries_at(const TermSet& set, uint64_t hash) {
    std::string prefix;
    append_u64_be(prefix, hash);
    std::vector<std::string> out;
    for (const auto& entry : set.entries())
        if (set.bytes(entry).starts_with(prefix))
            out.push_back(hex_encode_upper(set.bytes(entry).substr(8)) +
                          (entry.partial ? "!" : ""));
    return out;
}

Value random_scalar(std::mt19937_64& random, json::Arena& arena) {
    switch (random() % 8) {
        case 0:
            return Value();
        case 1:
            return Value::null();
        case 2:
            return Value::boolean(random() % 2 == 0);
        case 3:
            return Value::integer(static_cast<int64_t>(random() % 5) - 2);
        case 4:
            return Value::number(static_cast<double>(static_cast<int64_t>(random() % 9) - 4) / 2);
        default: {
            std::string text(random() % 3, 'a');
            for (char& c : text) c = "\0\x01\xFE\xFF"[random() % 4];
            return Value::string(arena.copy(text));
        }
    }
}

TEST(Composite, GoldenBytes) {
    EXPECT_EQ(composite_hash(kKey, composite({{"a", false}, {"b", false}})), 0xADD506FA521A5204ULL);
    EXPECT_EQ(composite_hash(kKey, composite({{"a", false}, {"b", true}})), 0x94EAC82545B3A4D4ULL);
    EXPECT_EQ(unindexed_path_hash(kKey), 0xBB496F0D862C4307ULL);
    std::string bytes;
    EXPECT_FALSE(append_composite_term(bytes, Value::string("ab"), false));
    EXPECT_FALSE(append_composite_term(bytes, Value::integer(1), true));
    EXPECT_FALSE(append_composite_term(bytes, Value(), true));
    EXPECT_FALSE(append_composite_term(bytes, Value::array({}), false));
    EXPECT_FALSE(append_composite_term(bytes, Value::object({}), true));
    EXPECT_EQ(hex_encode_upper(bytes),
              "5061620000"
              "BF400FFFFFFFFFFFFF"
              "EF"
              "60"
              "8F");
    bytes.clear();
    EXPECT_TRUE(append_composite_term(bytes, Value::string(std::string(300, 'x')), true));
    EXPECT_EQ(bytes, "\xAF" + std::string(256, static_cast<char>(~'x')) + "\xFF\xFE");
}

TEST(Composite, HashesFollowFromPathsAndDirections) {
    std::map<uint64_t, int> hashes;
    int number = 0;
    for (const auto& one :
         {composite({{"a", false}, {"b", false}}), composite({{"a", false}, {"b", true}}),
          composite({{"a", true}, {"b", false}}), composite({{"b", false}, {"a", false}}),
          composite({{"a", false}, {"b", false}, {"c", false}}), composite({{"a", false}})}) {
        EXPECT_TRUE(hashes.emplace(composite_hash(kKey, one), number++).second);
        EXPECT_NE(composite_hash(kKey, one), composite_hash({1, 2}, one));
    }
    EXPECT_FALSE(hashes.contains(unindexed_path_hash(kKey)));
    EXPECT_FALSE(hashes.contains(path_hash(kKey, {member("a")})));
}

/// Byte order of entries is the order of the tuples, each member in its direction.
TEST(Composite, OrderIsTheOrderOfTuples) {
    std::mt19937_64 random(5);
    json::Arena arena;
    for (int directions = 0; directions < 8; ++directions) {
        const auto descending = [&](int i) { return (directions >> i & 1) != 0; };
        std::vector<std::array<Value, 3>> tuples;
        std::vector<std::string> bytes;
        for (int i = 0; i < 150; ++i) {
            tuples.push_back({random_scalar(random, arena), random_scalar(random, arena),
                              random_scalar(random, arena)});
            bytes.emplace_back();
            for (int m = 0; m < 3; ++m)
                append_composite_term(bytes.back(), tuples.back()[static_cast<size_t>(m)],
                                      descending(m));
        }
        for (size_t a = 0; a < tuples.size(); ++a) {
            for (size_t b = 0; b < tuples.size(); ++b) {
                int expected = 0;
                for (int m = 0; m < 3 && expected == 0; ++m) {
                    expected = json::compare(tuples[a][static_cast<size_t>(m)],
                                             tuples[b][static_cast<size_t>(m)]);
                    if (descending(m)) expected = -expected;
                }
                const int actual = bytes[a].compare(bytes[b]);
                ASSERT_EQ(expected < 0, actual < 0);
                ASSERT_EQ(expected > 0, actual > 0);
                ASSERT_TRUE(actual == 0 || !bytes[a].starts_with(bytes[b]));
            }
        }
    }
}

TEST(Composite, TakeReadsBackWhatWasAppended) {
    std::mt19937_64 random(6);
    json::Arena arena;
    for (int round = 0; round < 2000; ++round) {
        std::string bytes;
        std::vector<std::string> plain;
        for (int i = 0; i < 3; ++i) {
            Value value = random_scalar(random, arena);
            if (random() % 20 == 0)
                value = Value::string(arena.copy(std::string(255 + random() % 3, '\0')));
            plain.emplace_back();
            append_term(plain.back(), value);
            append_composite_term(bytes, value, random() % 2 == 0);
        }
        bytes += "docref";
        std::string_view in = bytes;
        std::string term;
        for (const std::string& one : plain) {
            ASSERT_TRUE(take_composite_term(in, term));
            ASSERT_EQ(term, one);
        }
        EXPECT_EQ(in, "docref");
    }
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes(random() % 16, '\0');
        for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? 0xAF : random());
        std::string_view in = bytes;
        std::string term;
        const bool ok = take_composite_term(in, term);
        EXPECT_EQ((ok ? term.size() : 0) + in.size(), bytes.size());
    }
}

TEST(DecodeTerm, RoundTrip) {
    std::mt19937_64 random(7);
    json::Arena arena;
    const auto check = [&](const Value& value) {
        std::string term;
        const bool partial = append_term(term, value);
        const auto decoded = decode_term(term, arena);
        if (partial && value.is_string()) {
            EXPECT_FALSE(decoded.has_value());
            return;
        }
        ASSERT_TRUE(decoded.has_value()) << hex_encode_upper(term);
        EXPECT_EQ(decoded->type(), value.type());
        EXPECT_EQ(json::compare(*decoded, value), 0) << hex_encode_upper(term);
        std::string again;
        append_term(again, *decoded);
        EXPECT_EQ(again, term);
        // Printed alike: an exact integer comes back as one.
        EXPECT_TRUE(!value.is_int64() || partial || decoded->is_int64());
    };
    for (int i = 0; i < 20'000; ++i) check(random_scalar(random, arena));
    for (int i = 0; i < 20'000; ++i) {
        const uint64_t bits = random();
        const double number = std::bit_cast<double>(bits);
        if (std::isfinite(number)) check(Value::number(number));
        check(Value::integer(static_cast<int64_t>(bits) >> (random() % 64)));
    }
    for (const size_t size : {0U, 1U, 255U, 256U, 257U})
        for (const char c : {'x', '\0', '\xFF'})
            check(Value::string(arena.copy(std::string(size, c))));
    check(Value::array({}));
    check(Value::object({}));
    check(Value::number(-0.0));
    check(Value::number(std::numeric_limits<double>::infinity()));
    for (const std::string_view bad : {std::string_view(""), std::string_view("\x40"),
                                       std::string_view("\x20\x20"), std::string_view("\xEF")})
        EXPECT_FALSE(decode_term(bad, arena).has_value());
}

TEST(CompositeEntries, OneEach) {
    const IndexingPolicy policy = make_policy(
        R"({"excludedPaths":[{"path":"/*"}],"compositeIndexes":[)"
        R"([{"path":"/a"},{"path":"/b/c","order":"descending"}],[{"path":"/a"},{"path":"/id"}]]})");
    const uint64_t first = composite_hash(kKey, policy.composites[0]);
    const uint64_t second = composite_hash(kKey, policy.composites[1]);
    const auto at = [&](std::string_view item, uint64_t hash) {
        const TermSet set = collect(policy, item);
        EXPECT_EQ(set.pair_count(), 3U);  // id and two composites
        EXPECT_EQ(set.entries().size(), 3U);
        return entries_at(set, hash);
    };
    using Hex = std::vector<std::string>;
    EXPECT_EQ(at(R"({"id":"7","a":1,"b":{"c":null}})", first), Hex{"40BFF0000000000000DF"});
    EXPECT_EQ(at(R"({"id":"7","a":1})", first), Hex{"40BFF0000000000000EF"});
    EXPECT_EQ(at(R"({"id":"7"})", first), Hex{"10EF"});
    EXPECT_EQ(at(R"({"id":"7","a":[1],"b":{"c":{"d":1}}})", first), Hex{"608F"});
    EXPECT_EQ(at(R"({"id":"7","a":[1],"b":[{"c":1}]})", first), Hex{"60EF"});
    EXPECT_EQ(at(R"({"id":"7","a":true})", second), Hex{"3850370000"});
    EXPECT_EQ(at(R"({"id":"7","a":9007199254740993})", second), Hex{"40C34000000000000050370000!"});
}

/// A collector keeps nothing of the item before.
TEST(CompositeEntries, ItemsDoNotMix) {
    const IndexingPolicy policy =
        make_policy(R"({"compositeIndexes":[[{"path":"/a"},{"path":"/b"}]]})");
    const uint64_t hash = composite_hash(kKey, policy.composites[0]);
    TermCollector collector(policy, kKey);
    const char* items[] = {R"({"id":"1","a":null,"b":true})", R"({"id":"1","b":false})",
                           R"({"id":"1","a":true})", R"({"id":"1"})"};
    const char* expected[] = {"2038", "1030", "3810", "1010"};
    for (int round = 0; round < 3; ++round)
        for (size_t i = 0; i < 4; ++i) {
            collector.reset();
            ASSERT_TRUE(json::read_item(items[i], {}, &collector).ok());
            EXPECT_EQ(entries_at(collector.take(), hash), std::vector<std::string>{expected[i]});
        }
}

TEST(CompositeEntries, Changes) {
    const IndexingPolicy policy = make_policy(
        R"({"excludedPaths":[{"path":"/*"}],"compositeIndexes":[[{"path":"/a"},{"path":"/b"}]]})");
    const auto change = [&](const std::string& before, const std::string& after) {
        storage::IndexDelta delta;
        const TermChange out = append_changes(collect(policy, R"({"id":"1",)" + before + "}"),
                                              collect(policy, R"({"id":"1",)" + after + "}"), 7,
                                              storage::Docref("ABCDEFGH", 1), delta);
        return std::tuple(out.pairs_removed, out.pairs_added, delta.entries().size());
    };
    EXPECT_EQ(change(R"("a":1,"b":2)", R"("a":1,"b":2,"c":3)"), std::tuple(0U, 0U, 0U));
    EXPECT_EQ(change(R"("a":1,"b":2)", R"("a":1,"b":3)"), std::tuple(1U, 1U, 2U));
    EXPECT_EQ(change(R"("a":1,"b":2)", R"("a":1)"), std::tuple(1U, 1U, 2U));
    EXPECT_EQ(change(R"("a":1)", R"("a":1,"b":[])"), std::tuple(1U, 1U, 2U));
    // Tuples that share a cut term are told apart by their values.
    const std::string cut(300, 'x');
    EXPECT_EQ(change(R"("a":")" + cut + R"(1","b":2)", R"("a":")" + cut + R"(2","b":2)"),
              std::tuple(1U, 1U, 0U));
    EXPECT_EQ(change(R"("a":")" + cut + R"(1","b":2)", R"("a":")" + cut + R"(1","b":3)"),
              std::tuple(1U, 1U, 2U));
    EXPECT_EQ(change(R"("a":")" + cut + R"(1","b":2)", R"("a":")" + cut + R"(1","b":2)"),
              std::tuple(0U, 0U, 0U));
}

TEST(CompositeEntries, WithTs) {
    const IndexingPolicy policy =
        make_policy(R"({"excludedPaths":[{"path":"/*"}],"compositeIndexes":[)"
                    R"([{"path":"/a"},{"path":"/_ts","order":"descending"},{"path":"/b"}]]})");
    const TermSet set = collect(policy, R"({"id":"1","a":null,"b":true})");
    EXPECT_EQ(set.entries().size(), 1U);  // id
    EXPECT_EQ(set.pair_count(), 2U);
    ASSERT_EQ(set.ts_entry_count(), 2U);
    EXPECT_EQ(set.ts_entry(0, 1'700'000'000), ts_entry(kKey, 1'700'000'000));
    std::string expected;
    append_u64_be(expected, composite_hash(kKey, policy.composites[0]));
    append_composite_term(expected, Value::null(), false);
    append_composite_term(expected, Value::integer(1'700'000'000), true);
    append_composite_term(expected, Value::boolean(true), false);
    EXPECT_EQ(set.ts_entry(1, 1'700'000'000), expected);
    EXPECT_FALSE(set.ts_entry_partial(1));

    // What is charged does not depend on the clock.
    storage::IndexDelta delta;
    const storage::Docref docref("ABCDEFGH", 1);
    EXPECT_EQ(append_changes(set, set, 7, docref, delta).pairs_added, 0U);
    const TermSet other = collect(policy, R"({"id":"1","a":null,"b":false})");
    const TermChange change = append_changes(set, other, 7, docref, delta);
    EXPECT_EQ(change.pairs_added, 1U);
    EXPECT_EQ(change.pairs_removed, 1U);
    EXPECT_TRUE(delta.empty());
    append_ts_changes(set, 5, set, 5, 7, docref, delta);
    EXPECT_TRUE(delta.empty());
    append_ts_changes(set, 5, other, 5, 7, docref, delta);
    EXPECT_EQ(delta.entries().size(), 2U);
    append_ts_changes(set, 5, set, 6, 7, docref, delta);
    EXPECT_EQ(delta.entries().size(), 6U);
    append_ts_changes(unindexed_terms(policy, kKey), 5, set, 6, 7, docref, delta);
    EXPECT_EQ(delta.entries().size(), 8U);
}

TEST(Unindexed, Marker) {
    const IndexingPolicy policy = make_policy("{}");
    const TermSet marker = unindexed_terms(policy, kKey);
    EXPECT_EQ(entries_at(marker, unindexed_path_hash(kKey)), std::vector<std::string>{"10"});
    EXPECT_EQ(marker.entries().size(), 1U);
    EXPECT_EQ(marker.pair_count(), 0U);
    EXPECT_EQ(marker.ts_entry_count(), 0U);
    EXPECT_TRUE(unindexed_terms(make_policy(R"({"indexingMode":"none"})"), kKey).empty());
}

}  // namespace
}  // namespace orrery::index
