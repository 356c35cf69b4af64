#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/encoding.h"
#include "base/rounds_test_support.h"
#include "index/lookup.h"
#include "index/terms.h"
#include "json/item.h"
#include "json/order.h"
#include "json/parse.h"
#include "json/random_typed_test.h"

// Terms of values beyond JSON, in every dialect.
namespace orrery::index {
namespace {

using json::Dialect;
using json::DialectRules;
using json::Value;

struct Term {
    std::string bytes;
    bool partial = false;
};
Term term(const Value& value, const DialectRules& rules) {
    Term out;
    out.partial = append_term(out.bytes, value, rules);
    return out;
}
std::string hex(const Value& value, Dialect dialect) {
    return hex_encode_upper(term(value, json::rules(dialect)).bytes);
}
std::string text(const Value& value) {
    std::string out;
    json::write_typed(out, value);
    return out;
}

/// All four dialects; only JSON's own values in the dialect nosql.
std::vector<Value> samples(Dialect dialect, json::Arena& arena, int count) {
    json::test::RandomTyped random(21);
    std::vector<Value> out = {Value()};
    for (int i = 0; i < count; ++i)
        out.push_back(dialect == Dialect::kNosql ? random.json().value(arena, 1)
                                                 : random.value(arena, 1));
    return out;
}
int order_of(const Value& a, const Value& b, const DialectRules& rules) {
    return rules.typed_values ? json::compare(a, b, rules) : json::compare(a, b);
}

TEST(DialectTerms, GoldenBytes) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (const Dialect dialect : {Dialect::kMongo, Dialect::kCassandra, Dialect::kTable}) {
        EXPECT_EQ(hex(Value::int64(1), dialect), "40BFF0000000000000");
        EXPECT_EQ(hex(Value::number(1.0), dialect), "40BFF0000000000000");
        EXPECT_EQ(hex(Value::number(std::nan("")), dialect), "400000000000000000");
        EXPECT_EQ(hex(Value::number(-kInfinity), dialect), "40000FFFFFFFFFFFFF");
        EXPECT_EQ(hex(Value::number(kInfinity), dialect), "40FFF0000000000000");
        EXPECT_EQ(hex(Value::number(-0.0), dialect), "408000000000000000");
        EXPECT_EQ(hex(Value::date(-1), dialect), "597FFFFFFFFFFFFFFF");
        EXPECT_EQ(hex(Value::object_id("0123456789ab"), dialect), "56303132333435363738396162");
    }
    const Value binary = Value::binary(std::string_view("a\0", 2), 4);
    EXPECT_EQ(hex(binary, Dialect::kMongo), "5400000002046100FF0000");
    EXPECT_EQ(hex(binary, Dialect::kTable), "556100FF0000");
    EXPECT_EQ(hex(Value::boolean(false), Dialect::kMongo), "57");
    EXPECT_EQ(hex(Value::boolean(true), Dialect::kMongo), "58");
    EXPECT_EQ(hex(Value::object({}), Dialect::kMongo), "51");
    EXPECT_EQ(hex(Value::array({}), Dialect::kMongo), "52");
    EXPECT_EQ(hex(Value(), Dialect::kMongo), "20");
    EXPECT_EQ(hex(Value(), Dialect::kTable), "10");
    EXPECT_EQ(hex(Value::boolean(true), Dialect::kTable), "38");
}

TEST(DialectTerms, OrderOfValuesIsOrderOfBytesOrTheItemDecides) {
    for (size_t d = 0; d < json::kDialectCount; ++d) {
        const auto dialect = static_cast<Dialect>(d);
        const DialectRules& rules = json::rules(dialect);
        json::Arena arena;
        const std::vector<Value> values = samples(dialect, arena, rounds(900));
        std::vector<Term> terms;
        for (const Value& value : values) terms.push_back(term(value, rules));
        for (size_t a = 0; a < values.size(); ++a) {
            for (size_t b = 0; b < values.size(); ++b) {
                // Arrays and objects have the term of their type.
                if (!values[a].is_scalar() && values[a].type() == values[b].type()) continue;
                const int order = order_of(values[a], values[b], rules);
                const int bytes = terms[a].bytes.compare(terms[b].bytes);
                ASSERT_TRUE(order == 0 ? bytes == 0 : bytes == 0 || (order < 0) == (bytes < 0))
                    << rules.name << ": " << text(values[a]) << " and " << text(values[b]);
                // In the dialect nosql numbers compare as doubles: equal ones have one term.
                if (bytes == 0 && order != 0) {
                    ASSERT_TRUE(terms[a].partial || terms[b].partial)
                        << rules.name << ": " << text(values[a]) << " and " << text(values[b]);
                }
                if (bytes != 0) {
                    ASSERT_FALSE(terms[b].bytes.starts_with(terms[a].bytes));
                }
            }
        }
    }
}

TEST(DialectTerms, TakeAndDecodeReadBack) {
    for (size_t d = 0; d < json::kDialectCount; ++d) {
        const auto dialect = static_cast<Dialect>(d);
        const DialectRules& rules = json::rules(dialect);
        json::Arena arena;
        for (const Value& value : samples(dialect, arena, rounds(3000))) {
            const Term made = term(value, rules);
            const std::string behind = made.bytes + "docref";
            std::string_view rest = behind;
            std::string_view taken;
            ASSERT_TRUE(take_term(rest, taken)) << text(value);
            ASSERT_EQ(taken, made.bytes);
            ASSERT_EQ(rest, "docref");
            for (size_t size = 0; size < made.bytes.size(); ++size) {
                std::string_view cut = std::string_view(made.bytes).substr(0, size);
                ASSERT_FALSE(take_term(cut, taken)) << text(value) << " " << size;
            }
            const bool descending = made.bytes.size() % 2 == 0;
            std::string composite;
            append_composite_term(composite, value, descending, rules);
            std::string plain;
            std::string_view in = composite;
            ASSERT_TRUE(take_composite_term(in, plain));
            ASSERT_EQ(plain, made.bytes);

            const auto decoded = decode_term(made.bytes, arena);
            if (made.partial || !value.is_scalar()) continue;
            ASSERT_TRUE(decoded) << text(value);
            ASSERT_EQ(order_of(*decoded, value, rules), 0) << text(value);
        }
    }
}

TEST(DialectTerms, RangesMissNothing) {
    for (size_t d = 0; d < json::kDialectCount; ++d) {
        const auto dialect = static_cast<Dialect>(d);
        const DialectRules& rules = json::rules(dialect);
        json::Arena arena;
        const std::vector<Value> values = samples(dialect, arena, rounds(500));
        std::vector<Term> terms;
        for (const Value& value : values) terms.push_back(term(value, rules));
        const auto in = [](const TermRange& range, const std::string& bytes) {
            return bytes >= range.begin && bytes < range.end;
        };
        for (size_t b = 0; b < values.size(); ++b) {
            const Value& bound = values[b];
            if (!bound.is_scalar() || bound.is_null()) continue;
            const TermRange equal = term_ranges::equal(bound, rules);
            const TermRange above = term_ranges::above(bound, false, rules);
            const TermRange below = term_ranges::below(bound, false, rules);
            for (size_t v = 0; v < values.size(); ++v) {
                const auto type = [&](const Value& value) {
                    return value.is_bool() ? 0 : static_cast<int>(json::term_class(value, rules));
                };
                const bool same_type = type(values[v]) == type(bound);
                const int order = order_of(values[v], bound, rules);
                const std::string& bytes = terms[v].bytes;
                if (same_type && order == 0) {
                    ASSERT_TRUE(in(equal, bytes));
                }
                if (same_type && order > 0) {
                    ASSERT_TRUE(in(above, bytes)) << text(values[v]) << " " << text(bound);
                }
                if (same_type && order < 0) {
                    ASSERT_TRUE(in(below, bytes)) << text(values[v]) << " " << text(bound);
                }
                // What is wrongly in is flagged, or the bound itself shares its term.
                if (!same_type) {
                    ASSERT_FALSE(in(above, bytes) || in(below, bytes));
                }
                if (in(above, bytes) && order <= 0) {
                    ASSERT_EQ(bytes, terms[b].bytes);
                }
                if (in(below, bytes) && order >= 0) {
                    ASSERT_EQ(bytes, terms[b].bytes);
                }
            }
        }
    }
}

// What the walk over an item makes of it.

constexpr SipKey kKey = {11, 22};

IndexingPolicy policy_of(std::string_view text, Dialect dialect) {
    json::Arena arena;
    return with_dialect(parse_indexing_policy(json::parse(text, arena).value()).value(), dialect);
}

/// Entries as "path=term", names for the hashes of these paths.
std::set<std::string> collect(std::string_view policy_text, std::string_view item,
                              Dialect dialect) {
    static constexpr std::string_view kNames[] = {"id", "_ts", "a", "b", "ttl"};
    std::map<uint64_t, std::string> names;
    const auto name = [&](const std::vector<PathStep>& path, const std::string& text) {
        names[path_hash(kKey, path)] = text;
        names[multikey_path_hash(kKey, path_hash(kKey, path))] = text + "*";
    };
    for (const std::string_view first : kNames) {
        const PathStep step{false, std::string(first)};
        name({step}, std::string(first));
        name({step, PathStep{true, {}}}, std::string(first) + "[]");
        for (const std::string_view second : kNames)
            name({step, PathStep{false, std::string(second)}},
                 std::string(first) + "." + std::string(second));
    }
    const IndexingPolicy policy = policy_of(policy_text, dialect);
    for (const CompositeIndex& composite : policy.composites)
        names[composite_hash(kKey, composite)] = "composite";
    TermCollector collector(policy, kKey);
    std::set<std::string> out;
    // The second time the collector knows the shape.
    for (int i = 0; i < 2; ++i) {
        collector.reset();
        const auto read = json::read_item(item, {nullptr, dialect}, &collector);
        EXPECT_TRUE(read.ok()) << item;
        const TermSet set = collector.take();
        std::set<std::string> found;
        for (const TermSet::Entry& entry : set.entries()) {
            const std::string_view bytes = set.bytes(entry);
            found.insert(names[load_u64_be(bytes.data())] + "=" +
                         hex_encode_upper(bytes.substr(8)) + (entry.partial ? "?" : ""));
        }
        if (i > 0) {
            EXPECT_EQ(found, out);
        }
        out = found;
    }
    return out;
}
using Entries = std::set<std::string>;
constexpr std::string_view kNothing = R"({"includedPaths":[],"excludedPaths":[{"path":"/*"}]})";
const std::string kOne = "40BFF0000000000000";

TEST(DialectEntries, ElementsStandAtTheArraysPath) {
    EXPECT_EQ(collect("{}", R"({"a":["x",1,[1],{"b":true}],"b":1})", Dialect::kMongo),
              (Entries{"a=52", "a=50780000", "a=" + kOne, "a=51", "a*=10", "a.b=58", "a.b*=10",
                       "b=" + kOne}));
    EXPECT_EQ(collect("{}", R"({"a":[]})", Dialect::kMongo), (Entries{"a=52", "a*=10"}));
    EXPECT_EQ(collect("{}", R"({"a":["x"]})", Dialect::kTable), (Entries{"a=60", "a[]=50780000"}));
}

TEST(DialectEntries, MembersOfTheServerAreTheClients) {
    const std::string_view item = R"({"id":1,"_ts":1,"ttl":null})";
    EXPECT_EQ(collect("{}", item, Dialect::kTable),
              (Entries{"id=" + kOne, "_ts=" + kOne, "ttl=20"}));
    EXPECT_EQ(collect(kNothing, item, Dialect::kTable), (Entries{}));
    EXPECT_EQ(collect(kNothing, R"({"id":"1","_ts":1})", Dialect::kNosql),
              (Entries{"id=50310000"}));
    // The server's own has another place.
    const IndexingPolicy policy = policy_of("{}", Dialect::kTable);
    TermCollector collector(policy, kKey);
    ASSERT_TRUE(json::read_item(item, {nullptr, Dialect::kTable}, &collector).ok());
    const TermSet set = collector.take();
    ASSERT_EQ(set.ts_entry_count(), 1u);
    EXPECT_EQ(load_u64_be(set.ts_entry(0, 1).data()),
              ts_path_hash(kKey, json::rules(Dialect::kTable)));
    EXPECT_NE(ts_path_hash(kKey), ts_path_hash(kKey, json::rules(Dialect::kTable)));
    EXPECT_TRUE(path_is_indexed(policy, {PathStep{false, "_rid"}}));
    EXPECT_FALSE(path_is_indexed(policy_of("{}", Dialect::kNosql), {PathStep{false, "_rid"}}));
}

TEST(DialectEntries, MissingIsWhatTheDialectSays) {
    constexpr std::string_view kPolicy =
        R"({"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]})";
    EXPECT_EQ(collect(kPolicy, "{}", Dialect::kMongo), (Entries{"a=20"}));
    EXPECT_EQ(collect(kPolicy, R"({"a":null})", Dialect::kMongo), (Entries{"a=20"}));
    EXPECT_EQ(collect(kPolicy, "{}", Dialect::kTable), (Entries{"a=10"}));
}

TEST(DialectEntries, CompositesOfSeveralValuesLeaveThemToTheItem) {
    constexpr std::string_view kPolicy =
        R"({"includedPaths":[],"excludedPaths":[{"path":"/*"}],)"
        R"("compositeIndexes":[[{"path":"/a/b"},{"path":"/b","order":"descending"}]]})";
    EXPECT_EQ(collect(kPolicy, R"({"a":[{"b":1},{"b":2}],"b":true})", Dialect::kMongo),
              (Entries{"composite=52A7?"}));
    EXPECT_EQ(collect(kPolicy, R"({"a":{"b":{"$t":9,"$v":"0"}}})", Dialect::kMongo),
              (Entries{"composite=598000000000000000DF"}));
}

TEST(DialectEntries, LongBinaryValuesAreCountedByTheirValues) {
    const std::string digits(2 * 300, '0');
    const auto set_of = [&](std::string_view last) {
        const IndexingPolicy policy = policy_of("{}", Dialect::kTable);
        TermCollector collector(policy, kKey);
        const std::string item = R"({"a":{"$t":5,"$v":"00)" + digits + std::string(last) + R"("}})";
        EXPECT_TRUE(json::read_item(item, {nullptr, Dialect::kTable}, &collector).ok());
        return collector.take();
    };
    const TermSet before = set_of("01");
    EXPECT_EQ(before.pair_count(), 1u);
    storage::IndexDelta delta;
    const storage::Docref docref(std::string(8, 'd'), 1);
    EXPECT_EQ(append_changes(before, set_of("02"), 7, docref, delta).pairs_added, 1u);
    EXPECT_EQ(append_changes(before, set_of("01"), 7, docref, delta).pairs_added, 0u);
}

}  // namespace
}  // namespace orrery::index
