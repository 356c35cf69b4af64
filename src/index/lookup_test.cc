#include "index/lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "index/terms.h"
#include "json/order.h"
#include "json/parse.h"

namespace orrery::index {
namespace {

using json::Value;
namespace ranges = term_ranges;

std::string term_of(const Value& value) {
    std::string out;
    append_term(out, value);
    return out;
}

bool in(const TermRange& range, const Value& value) {
    const std::string term = term_of(value);
    return term >= range.begin && term < range.end;
}

bool in(const std::vector<TermRange>& list, const Value& value) {
    return std::any_of(list.begin(), list.end(), [&](const TermRange& r) { return in(r, value); });
}

/// Values of every type, neighbours among them.
std::vector<Value> samples(json::Arena& arena) {
    std::vector<Value> out{Value(), Value::null(), Value::boolean(false), Value::boolean(true)};
    for (const double d : {-1e300, -2.5, -1.0, 0.0, 1e-300, 1.0, 1.0000001, 3.0, 1e300})
        out.push_back(Value::number(d));
    for (const char* s : {"", "a", "aa", "ab", "b", "\xC3\xA9", "z"})
        out.push_back(Value::string(arena.copy(std::string_view(s))));
    out.push_back(Value::string(arena.copy(std::string("a\0b", 3))));
    out.push_back(Value::array({}));
    out.push_back(Value::object({}));
    return out;
}

TEST(TermRanges, ComparisonsHoldWithinAType) {
    json::Arena arena;
    const auto values = samples(arena);
    for (const Value& bound : values) {
        if (!bound.is_scalar() || bound.is_null()) continue;
        for (const Value& value : values) {
            const bool same_type = value.type() == bound.type();
            const int sign = json::compare(value, bound);
            EXPECT_EQ(in(ranges::equal(bound), value), same_type && sign == 0);
            EXPECT_EQ(in(ranges::above(bound, false), value), same_type && sign > 0);
            EXPECT_EQ(in(ranges::above(bound, true), value), same_type && sign >= 0);
            EXPECT_EQ(in(ranges::below(bound, false), value), same_type && sign < 0);
            EXPECT_EQ(in(ranges::below(bound, true), value), same_type && sign <= 0);
        }
    }
}

TEST(TermRanges, TypesPartTheDefinedValues) {
    json::Arena arena;
    for (const Value& value : samples(arena)) {
        EXPECT_EQ(in(ranges::defined(), value), !value.is_undefined());
        EXPECT_EQ(in(ranges::undefined(), value), value.is_undefined());
        EXPECT_EQ(in(ranges::scalars(), value), value.is_scalar());
        for (const json::Type type : {json::Type::kNull, json::Type::kBool, json::Type::kNumber,
                                      json::Type::kString, json::Type::kArray, json::Type::kObject})
            EXPECT_EQ(in(ranges::type(type), value), value.type() == type);
    }
}

TEST(TermRanges, Prefixes) {
    json::Arena arena;
    for (const char* prefix : {"", "a", "ab", "\xC3"})
        for (const Value& value : samples(arena))
            EXPECT_EQ(in(ranges::prefix(prefix), value),
                      value.is_string() && value.as_string().starts_with(prefix))
                << prefix;
}

/// Strings beyond the indexed bytes share a term: the ranges keep every candidate.
TEST(TermRanges, CutStringsStayCandidates) {
    const std::string shared(300, 'k');
    const std::string first = shared + "a";
    const std::string last = shared + "z";
    const Value low = Value::string(first);
    const Value high = Value::string(last);
    EXPECT_TRUE(in(ranges::above(low, false), high));
    EXPECT_TRUE(in(ranges::below(high, false), low));
    EXPECT_TRUE(in(ranges::equal(low), high));  // partial: the item decides
    EXPECT_TRUE(in(ranges::prefix(shared), high));
}

TEST(TermRanges, SetsOfRanges) {
    json::Arena arena;
    const auto values = samples(arena);
    std::mt19937 random(7);
    const auto pick = [&] { return values[random() % values.size()]; };
    for (int round = 0; round < 500; ++round) {
        const auto list = [&] {
            std::vector<TermRange> out;
            for (size_t i = random() % 4; i > 0; --i) {
                const Value v = pick();
                if (!v.is_scalar() || v.is_null()) continue;
                out.push_back(random() % 2 ? ranges::equal(v) : ranges::above(v, random() % 2));
            }
            return out;
        };
        const auto first = list();
        const auto second = list();
        auto a = first;
        auto b = second;
        ranges::normalize(a);
        ranges::normalize(b);
        for (size_t i = 1; i < a.size(); ++i) EXPECT_LE(a[i - 1].end, a[i].begin);
        const auto both = ranges::intersect(a, b);
        const auto others = ranges::complement(a);
        for (const Value& value : values) {
            EXPECT_EQ(in(a, value), in(first, value));
            EXPECT_EQ(in(both, value), in(first, value) && in(second, value));
            EXPECT_EQ(in(others, value), !value.is_undefined() && !in(first, value));
        }
    }
}

}  // namespace
}  // namespace orrery::index
