#include "json/select.h"
#include "base/ended_test_support.h"
#include "base/rounds_test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "json/detail/structure.h"
#include "json/parse.h"
#include "json/random_json_test.h"
#include "json/write.h"

namespace orrery::json {
namespace {

using test::RandomJson;

/// What parse_selected() must give, from the complete value.
std::string reduced(const Value& object, const std::vector<MemberPath>& paths, size_t depth = 0) {
    std::string out = "{";
    for (const Member& member : object.members()) {
        std::vector<MemberPath> below;
        bool whole = false;
        for (const MemberPath& path : paths) {
            if (path.size() <= depth || path[depth] != member.name) continue;
            below.push_back(path);
            whole = whole || path.size() == depth + 1;
        }
        if (below.empty() || (!whole && !member.value.is_object())) continue;
        if (out.size() > 1) out.push_back(',');
        write_string(out, member.name);
        out.push_back(':');
        out += whole ? to_text(member.value) : reduced(member.value, below, depth + 1);
    }
    return out + "}";
}

std::string expected(const Value& object, const std::vector<MemberPath>& paths) {
    for (const MemberPath& path : paths)
        if (path.empty()) return to_text(object);
    return reduced(object, paths);
}

std::string selected(std::string_view text, const std::vector<MemberPath>& paths) {
    // A copy of the exact size, so that reading beyond it is noticed.
    const std::vector<char> exact(text.begin(), text.end());
    Arena arena;
    const Selection selection(paths);
    auto value = parse_selected({exact.data(), exact.size()}, selection, arena);
    return value.ok() ? to_text(*value) : "error: " + value.error().message;
}

TEST(Select, KeepsTheSelectedMembersInTextOrder) {
    const std::string text =
        R"({"id":"1","a":{"b":5,"c":[1,2,{"b":9}],"d":"x"},"t":"x\ny","n":1.0,"b":7,"u":null})";
    EXPECT_EQ(selected(text, {{"t"}, {"a", "b"}}), R"({"a":{"b":5},"t":"x\ny"})");
    EXPECT_EQ(selected(text, {{"b"}}), R"({"b":7})");
    EXPECT_EQ(selected(text, {{"n"}, {"u"}}), R"({"n":1.0,"u":null})");
    EXPECT_EQ(selected(text, {{"a"}, {"a", "b"}}), R"({"a":{"b":5,"c":[1,2,{"b":9}],"d":"x"}})");
    EXPECT_EQ(selected(text, {{"a", "b", "x"}, {"a", "d"}}), R"({"a":{"d":"x"}})");
    EXPECT_EQ(selected(text, {{"t", "x"}, {"z"}}), "{}");
    EXPECT_EQ(selected(text, {{"a", "z"}}), R"({"a":{}})");
    EXPECT_EQ(selected(text, {}), "{}");
    EXPECT_EQ(selected(text, {{}}), text);
    EXPECT_EQ(selected(text, {{"a", "b"}, {}}), text);
}

TEST(Select, LooksForNamesAsWritten) {
    const std::string text =
        R"({"x\"b":1,"b":2,"":3,"\\":4,"\"":5,"a\\\\":6,"ä":7,"c\\":8,"\u0001":9,"s":"\"b\":10"})";
    EXPECT_EQ(selected(text, {{"b"}}), R"({"b":2})");
    EXPECT_EQ(selected(text, {{""}, {"\\"}, {"\""}}), R"({"":3,"\\":4,"\"":5})");
    EXPECT_EQ(selected(text, {{"ä"}, {"\x01"}, {"c\\"}}), R"({"ä":7,"c\\":8,"\u0001":9})");
    EXPECT_EQ(selected(text, {{"x\"b"}}), R"({"x\"b":1})");
    std::vector<MemberPath> many = {{"b"}, {"x\"b"}, {"a\\\\"}, {"s"}};
    for (int i = 0; i < 20; ++i) many.push_back({"absent" + std::to_string(i)});
    EXPECT_EQ(selected(text, many), R"({"x\"b":1,"b":2,"a\\\\":6,"s":"\"b\":10"})");
}

TEST(Select, NamesOfAnyLengthAtAnyOffset) {
    for (size_t length = 0; length < 140; ++length) {
        for (size_t shift = 0; shift < 70; shift += 3) {
            const std::string name(length, 'n');
            const std::string text = R"({"p":")" + std::string(shift, ':') + R"(","q":{")" + name +
                                     R"(":1},")" + name + R"(":2,"r":3})";
            ASSERT_EQ(selected(text, {{name}}), "{\"" + name + "\":2}");
            ASSERT_EQ(selected(text, {{"q", name}, {"r"}}), R"({"q":{")" + name + R"(":1},"r":3})");
        }
    }
}

TEST(Select, SaysWhatItSelects) {
    EXPECT_TRUE(Selection().selects_nothing());
    EXPECT_TRUE(Selection(std::vector<MemberPath>{}).selects_nothing());
    EXPECT_TRUE(Selection({MemberPath{}}).selects_all());
    EXPECT_TRUE(Selection({MemberPath{}}).includes("x"));
    const Selection selection({{"a", "b"}, {"_ts"}});
    EXPECT_FALSE(selection.selects_all());
    EXPECT_FALSE(selection.selects_nothing());
    EXPECT_TRUE(selection.includes("a"));
    EXPECT_TRUE(selection.includes("_ts"));
    EXPECT_FALSE(selection.includes("b"));
}

TEST(Select, AppendsMembersThatAreNotInTheText) {
    Arena arena;
    const std::vector<Member> more = {{"_ts", Value::integer(5)}, {"_rid", Value::string("r")}};
    const auto select = [&](const std::vector<MemberPath>& paths) {
        const Selection selection(paths);
        auto value = parse_selected(R"({"id":"1","a":2})", selection, arena, more);
        return value.ok() ? to_text(*value) : value.error().message;
    };
    EXPECT_EQ(select({{"_ts"}, {"a"}}), R"({"a":2,"_ts":5})");
    EXPECT_EQ(select({{"_ts", "x"}, {"a"}}), R"({"a":2})");
    EXPECT_EQ(select({{"_rid"}}), R"({"_rid":"r"})");
    EXPECT_EQ(select({{}}), R"({"id":"1","a":2,"_ts":5,"_rid":"r"})");
}

/// An object with a few names on all levels, so that paths meet and miss.
Value random_object(RandomJson& random, Arena& arena, int depth) {
    static const char* const kNames[] = {"a",   "b",   "ab",     "b\"a",
                                         "\\",  "a\\", "",       "a name that is longer than most",
                                         "äöü", "x:y", "{\"a\"", "id"};
    std::vector<Member> members;
    for (const char* name : kNames) {
        if (random.chance(40)) continue;
        Value value;
        if (depth > 0 && random.chance(35)) {
            value = random_object(random, arena, depth - 1);
        } else {
            value = random.value(arena, 2);
        }
        members.push_back({name, value});
    }
    for (uint64_t n = random.chance(10) ? random.below(40) : 0; n > 0; --n)
        members.push_back({arena.copy("extra" + std::to_string(n)), random.value(arena, 1)});
    std::shuffle(members.begin(), members.end(), random.engine());
    return Value::object(arena.copy(std::span<const Member>(members)));
}

std::vector<MemberPath> random_paths(RandomJson& random) {
    static const char* const kNames[] = {"a",
                                         "b",
                                         "ab",
                                         "b\"a",
                                         "\\",
                                         "a\\",
                                         "",
                                         "äöü",
                                         "x:y",
                                         "{\"a\"",
                                         "id",
                                         "absent",
                                         "a name that is longer than most"};
    std::vector<MemberPath> paths;
    for (uint64_t n = random.chance(15) ? random.below(24) : random.below(4) + 1; n > 0; --n) {
        MemberPath path;
        for (uint64_t k = random.below(3) + 1; k > 0; --k)
            path.push_back(kNames[random.below(std::size(kNames))]);
        if (random.chance(10)) path = {"extra" + std::to_string(random.below(40))};
        if (random.chance(1)) path.clear();
        paths.push_back(path);
    }
    return paths;
}

TEST(Select, AgreesWithParse) {
    for (uint64_t seed = 0; seed < rounds(1500u); ++seed) {
        RandomJson random(seed);
        Arena arena;
        const std::string text = to_text(random_object(random, arena, 3));
        const auto full = parse(text, arena);
        ASSERT_TRUE(full.ok()) << text;
        for (int i = 0; i < 4; ++i) {
            const auto paths = random_paths(random);
            ASSERT_EQ(selected(text, paths), expected(*full, paths)) << "seed " << seed;
        }
    }
}

TEST(Select, DamageIsAnErrorOrAnotherValue) {
    const Selection all({MemberPath{}});
    for (uint64_t seed = 0; seed < rounds(1000u); ++seed) {
        RandomJson random(seed);
        Arena arena;
        std::string text = to_text(random_object(random, arena, 3));
        for (uint64_t n = random.below(4) + 1; n > 0; --n) {
            static const char kBytes[] = "{}[]\":,\\\0\x80\xffx1";
            if (random.chance(20)) {
                text.resize(random.below(text.size() + 1));
            } else if (!text.empty()) {
                text[random.below(text.size())] = kBytes[random.below(sizeof(kBytes) - 1)];
            }
        }
        const std::vector<char> exact(text.begin(), text.end());
        for (const Selection& selection : {Selection(random_paths(random)), all}) {
            auto value = parse_selected({exact.data(), exact.size()}, selection, arena);
            if (!value.ok()) {
                EXPECT_EQ(ended(value.error()), Ended::kInternal);
                continue;
            }
            // What it gives is well formed.
            auto again = parse(to_text(*value), arena, {.refuse_duplicate_names = false});
            EXPECT_TRUE(again.ok()) << text;
        }
    }
}

TEST(Select, DepthIsLimited) {
    std::string text;
    MemberPath path;
    for (int i = 0; i < 100'000; ++i) {
        text += R"({"a":)";
        path.push_back("a");
    }
    path.resize(2000);
    EXPECT_EQ(selected(text, {path}).substr(0, 6), "error:");
    EXPECT_EQ(selected(text, {{"a"}}).substr(0, 6), "error:");
    EXPECT_EQ(selected("", {{"a"}}).substr(0, 6), "error:");
    EXPECT_EQ(selected("[1]", {{"a"}}).substr(0, 6), "error:");
    EXPECT_EQ(selected("{", {{"a"}}).substr(0, 6), "error:");
}

TEST(Structure, AllImplementationsAgree) {
    using namespace detail;
    RandomJson random(7);
    for (int round = 0; round < rounds(3000); ++round) {
        constexpr size_t kCount = 4;
        char text[kCount * kBlockBytes];
        static const char kBytes[] = "{}[]\"\"\"\":::,\\abn1";
        for (char& c : text) c = kBytes[random.below(sizeof(kBytes) - 1)];
        text[0] = '{';
        WantedNames names;
        names.count = random.below(kWantedNamesMax + 1);
        for (size_t n = 0; n < names.count; ++n) {
            names.distance[n] = static_cast<uint8_t>(2 + random.below(kWantedNameBytesMax));
            names.last[n] = "abn\""[random.below(4)];
        }
        StructureState state[] = {StructureState(names), StructureState(names)};
        StructureBlock blocks[2][kCount];
        scan_structure_portable(text, kCount, names, state[0], blocks[0]);
        scan_structure(text, 1, names, state[1], blocks[1]);
        scan_structure(text + kBlockBytes, kCount - 1, names, state[1], blocks[1] + 1);
        for (size_t i = 0; i < kCount; ++i) {
            ASSERT_EQ(blocks[0][i].candidates, blocks[1][i].candidates);
            ASSERT_EQ(blocks[0][i].ended, blocks[1][i].ended);
            if (blocks[0][i].ended) break;
        }
    }
}

}  // namespace
}  // namespace orrery::json
