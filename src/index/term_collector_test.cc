#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/limits.h"
#include "base/rounds_test_support.h"
#include "index/terms.h"
#include "json/item.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::index {
namespace {

using json::Value;

constexpr SipKey kKey = {11, 22};

IndexingPolicy make_policy(std::string_view text) {
    json::Arena arena;
    auto value = json::parse(text, arena);
    CHECK(value.ok());
    auto policy = parse_indexing_policy(*value);
    EXPECT_TRUE(policy.ok()) << text << (policy.ok() ? "" : policy.error().message);
    CHECK(policy.ok());
    return *policy;
}

TermSet collect(TermCollector& collector, std::string_view item) {
    collector.reset();
    auto read = json::read_item(item, {}, &collector);
    EXPECT_TRUE(read.ok()) << item;
    return collector.take();
}
TermSet collect(std::string_view policy_text, std::string_view item) {
    const IndexingPolicy policy = make_policy(policy_text);
    TermCollector collector(policy, kKey);
    return collect(collector, item);
}

PathStep member(std::string name) {
    return {.any_element = false, .name = std::move(name)};
}
const PathStep kAny = {.any_element = true, .name = ""};

std::string entry(const std::vector<PathStep>& path, const Value& value) {
    std::string out;
    append_u64_be(out, path_hash(kKey, path));
    append_term(out, value);
    return out;
}
bool has(const TermSet& set, const std::vector<PathStep>& path, const Value& value) {
    const std::string bytes = entry(path, value);
    for (const TermSet::Entry& e : set.entries())
        if (set.bytes(e) == bytes) return true;
    return false;
}

constexpr const char* kItemA =
    R"({"id":"7","pk":"t1","tags":["x","y","x"],"dim":{"w":1,"h":1.0},"ok":true,"gone":null,"none":[],"sub":{}})";

TEST(TermCollector, WorkedExamples) {
    EXPECT_EQ(collect("{}", R"({"id":"1","pk":"a"})").pair_count(), 2U);  // 1
    EXPECT_EQ(collect("{}", R"({"id":"a"})").pair_count(), 1U);           // 2
    EXPECT_EQ(collect("{}", kItemA).pair_count(), 8U);                    // 3
    EXPECT_EQ(
        collect(R"({"includedPaths":[{"path":"/pk/?"}],"excludedPaths":[{"path":"/*"}]})", kItemA)
            .pair_count(),
        2U);                                                                    // 4
    EXPECT_EQ(collect(R"({"indexingMode":"none"})", kItemA).pair_count(), 0U);  // 4
    EXPECT_EQ(collect("{}", R"({"id":"o1","pk":"a","lines":[{"sku":"A","n":1},)"
                            R"({"sku":"B","n":1}],"m":[[1,2],[2]]})")
                  .pair_count(),
              7U);                                                                    // 5
    EXPECT_EQ(collect("{}", R"({"id":"é","pk":"a\"b","n":1.50})").pair_count(), 3U);  // 8
    EXPECT_EQ(collect("{}", R"({"id":"big","pk":"a","s":")" + std::string(2970, 'x') + R"("})")
                  .pair_count(),
              3U);  // 9
}

TEST(TermCollector, EntriesOfOneItem) {
    const TermSet set = collect("{}", kItemA);
    EXPECT_TRUE(has(set, {member("id")}, Value::string("7")));
    EXPECT_TRUE(has(set, {member("tags")}, Value::array({})));
    EXPECT_TRUE(has(set, {member("tags"), kAny}, Value::string("x")));
    EXPECT_TRUE(has(set, {member("tags"), kAny}, Value::string("y")));
    EXPECT_TRUE(has(set, {member("dim")}, Value::object({})));
    EXPECT_TRUE(has(set, {member("dim"), member("h")}, Value::integer(1)));
    EXPECT_TRUE(has(set, {member("ok")}, Value::boolean(true)));
    EXPECT_TRUE(has(set, {member("gone")}, Value::null()));
    EXPECT_TRUE(has(set, {member("none")}, Value::array({})));
    EXPECT_TRUE(has(set, {member("sub")}, Value::object({})));
    EXPECT_EQ(set.entries().size(), 8U + 4U);  // types of tags, dim, none, sub
    std::string_view last;
    for (const TermSet::Entry& e : set.entries()) {
        EXPECT_LT(last, set.bytes(e));
        last = set.bytes(e);
        EXPECT_FALSE(e.partial);
    }
}

TEST(TermCollector, ModeNoneHasNothing) {
    const TermSet set = collect(R"({"indexingMode":"none"})", kItemA);
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(set.pair_count(), 0U);
}

TEST(TermCollector, IdIsAlwaysThere) {
    for (const char* policy : {R"({"excludedPaths":[{"path":"/*"}]})",
                               R"({"excludedPaths":[{"path":"/id/?"},{"path":"/x/*"}]})",
                               R"({"excludedPaths":[{"path":"/*"},{"path":"/id/*"}]})"}) {
        const TermSet set = collect(policy, R"({"id":"7","x":{"id":"8"}})");
        EXPECT_TRUE(has(set, {member("id")}, Value::string("7"))) << policy;
        EXPECT_FALSE(has(set, {member("x"), member("id")}, Value::string("8"))) << policy;
        EXPECT_EQ(set.pair_count(), 1U);
    }
}

TEST(TermCollector, SystemPropertiesAreNotPosted) {
    const char* item = R"({"id":"7","_ts":5,"_etag":"x","_rid":"y","a":{"_ts":6}})";
    const TermSet set =
        collect(R"({"includedPaths":[{"path":"/*"},{"path":"/_ts/?"},{"path":"/_etag/?"}]})", item);
    // Not even as undefined: the partition posts `_ts` itself.
    EXPECT_EQ(set.entries().size(), 3U);
    EXPECT_TRUE(has(set, {member("a"), member("_ts")}, Value::integer(6)));
}

TEST(TermCollector, ExplicitPathsPostUndefined) {
    const IndexingPolicy policy =
        make_policy(R"({"includedPaths":[{"path":"/a/?"},{"path":"/b/c/?"},{"path":"/l/[]/x/?"}],)"
                    R"("excludedPaths":[{"path":"/*"}]})");
    TermCollector collector(policy, kKey);
    const std::vector<PathStep> a = {member("a")};
    const std::vector<PathStep> c = {member("b"), member("c")};
    const std::vector<PathStep> x = {member("l"), kAny, member("x")};

    TermSet set = collect(collector, R"({"id":"1"})");
    EXPECT_TRUE(has(set, a, Value()));
    EXPECT_TRUE(has(set, c, Value()));
    EXPECT_TRUE(has(set, x, Value()));
    EXPECT_EQ(set.entries().size(), 4U);
    EXPECT_EQ(set.pair_count(), 1U);  // undefined is not charged

    set = collect(collector, R"({"id":"1","a":5,"b":{"c":[]},"l":[{"y":1},{"x":null}]})");
    EXPECT_FALSE(has(set, a, Value()));
    EXPECT_FALSE(has(set, c, Value()));
    EXPECT_FALSE(has(set, x, Value()));
    EXPECT_TRUE(has(set, c, Value::array({})));
    EXPECT_FALSE(has(set, {member("b")}, Value::object({})));  // on the way, not included
    EXPECT_EQ(set.entries().size(), 4U);
    EXPECT_EQ(set.pair_count(), 3U);

    set = collect(collector, R"({"id":"1","b":5})");
    EXPECT_TRUE(has(set, c, Value()));
    EXPECT_FALSE(has(set, {member("b")}, Value::integer(5)));
}

TEST(TermCollector, EqualValuesCountOnce) {
    const TermSet set = collect("{}", R"({"id":"1","a":[1,1.0,1e0,"1",true,true,null,0,-0.0]})");
    EXPECT_EQ(set.pair_count(), 1U + 5U);
}

TEST(TermCollector, CutStringsCountByTheirWholeValue) {
    const std::string head(256, 'x');
    const auto item = [&](std::string_view first, std::string_view second) {
        return R"({"id":"1","a":[")" + head + std::string(first) + R"(",")" + head +
               std::string(second) + R"("]})";
    };
    TermSet set = collect("{}", item("1", "2"));
    EXPECT_EQ(set.entries().size(), 3U);  // id, the array's type, one term for both
    EXPECT_EQ(set.pair_count(), 3U);
    EXPECT_EQ(collect("{}", item("1", "1")).pair_count(), 2U);
    set = collect("{}", item("", "1"));  // whole and cut are two entries
    EXPECT_EQ(set.entries().size(), 4U);
    EXPECT_EQ(set.pair_count(), 3U);
}

TEST(TermCollector, PartialWins) {
    // 2^53 as double and 2^53 + 1 as integer share a term.
    const TermSet set = collect("{}", R"({"id":"1","a":[9007199254740992,9007199254740993]})");
    size_t partial = 0;
    for (const TermSet::Entry& e : set.entries()) partial += e.partial ? 1 : 0;
    EXPECT_EQ(partial, 1U);
    EXPECT_EQ(set.entries().size(), 3U);
    EXPECT_EQ(set.pair_count(), 2U);
}

TEST(TermCollector, SurvivesARefusedItem) {
    const IndexingPolicy policy = make_policy("{}");
    TermCollector collector(policy, kKey);
    EXPECT_FALSE(json::read_item(R"({"id":"1","a":{"b":[1,2)", {}, &collector).ok());
    collector.reset();
    EXPECT_EQ(collect(collector, kItemA).pair_count(), 8U);
    EXPECT_EQ(collect(collector, R"({"id":"1"})").entries().size(), 1U);
}

TEST(TermCollector, LargeItem) {
    std::string item = R"({"id":"1","a":[)";
    for (int i = 0; i < 300'000; ++i) item += std::to_string(i % 1000) + ",";
    item += "0]}";
    const IndexingPolicy policy = make_policy("{}");
    TermCollector collector(policy, kKey);
    EXPECT_EQ(collect(collector, item).pair_count(), 1001U);
    EXPECT_EQ(collect(collector, kItemA).pair_count(), 8U);
}

/// Names never seen before must not make a long-lived collector grow or slow down without end.
TEST(TermCollector, EverChangingNames) {
    const IndexingPolicy policy = make_policy("{}");
    TermCollector collector(policy, kKey);
    for (int i = 0; i < 2000; ++i) {
        std::string item = R"({"id":"1")";
        for (int j = 0; j < 10; ++j)
            item += ",\"n" + std::to_string(i) + "_" + std::to_string(j) + "\":{\"v\":1}";
        const TermSet set = collect(collector, item + "}");
        ASSERT_EQ(set.pair_count(), 11U);
        ASSERT_TRUE(
            has(set, {member("n" + std::to_string(i) + "_3"), member("v")}, Value::integer(1)));
    }
}

/// Applies a delta to a set of keys.
void apply_delta(const storage::IndexDelta& delta, std::map<std::string, bool>& keys) {
    for (const auto& e : delta.entries()) {
        const std::string key(delta.key(e));
        if (e.change == storage::IndexDelta::Change::kRemove) {
            EXPECT_EQ(keys.erase(key), 1U) << "removed what was not there";
        } else {
            const bool partial = e.change == storage::IndexDelta::Change::kAddPartial;
            EXPECT_TRUE(keys.emplace(key, partial).second) << "added what was there";
        }
    }
}

const storage::Docref kDocref("prefix-8", 42);

std::map<std::string, bool> keys_of(const TermSet& set) {
    std::map<std::string, bool> keys;
    for (const TermSet::Entry& e : set.entries()) {
        std::string key = storage::keys::partition(3);
        key.append(set.bytes(e)).append(kDocref.bytes());
        keys[key] = e.partial;
    }
    return keys;
}

TermChange change(const TermSet& before, const TermSet& after) {
    storage::IndexDelta delta;
    const TermChange result = append_changes(before, after, 3, kDocref, delta);
    std::map<std::string, bool> keys = keys_of(before);
    apply_delta(delta, keys);
    EXPECT_EQ(keys, keys_of(after));
    return result;
}

TEST(AppendChanges, CreateReplaceDelete) {
    const TermSet empty;
    const TermSet b31 =
        collect("{}", R"({"id":"u1","tenant":"acme","name":"Ann","age":31,"email":"a@b.c"})");
    const TermSet b32 =
        collect("{}", R"({"id":"u1","tenant":"acme","name":"Ann","age":32,"email":"a@b.c"})");
    TermChange result = change(empty, b31);
    EXPECT_EQ(result.pairs_added, 5U);
    EXPECT_EQ(result.pairs_removed, 0U);
    result = change(b31, b32);
    EXPECT_EQ(result.pairs_added, 1U);
    EXPECT_EQ(result.pairs_removed, 1U);
    result = change(b32, empty);
    EXPECT_EQ(result.pairs_added, 0U);
    EXPECT_EQ(result.pairs_removed, 5U);
    storage::IndexDelta delta;
    append_changes(b31, b31, 3, kDocref, delta);
    EXPECT_TRUE(delta.empty());
}

TEST(AppendChanges, TypesAndUndefinedAreNotCharged) {
    const char* policy = R"({"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]})";
    const TermSet missing = collect(policy, R"({"id":"1"})");
    const TermSet number = collect(policy, R"({"id":"1","a":1})");
    const TermSet array = collect(policy, R"({"id":"1","a":[]})");
    TermChange result = change(missing, number);
    EXPECT_EQ(result.pairs_added, 1U);
    EXPECT_EQ(result.pairs_removed, 0U);
    result = change(number, array);
    EXPECT_EQ(result.pairs_added, 0U);
    EXPECT_EQ(result.pairs_removed, 1U);
}

TEST(AppendChanges, CutStringsAndRoundedIntegers) {
    const std::string head(256, 'x');
    const auto with = [&](const std::string& value) {
        return collect("{}", R"({"id":"1","a":)" + value + "}");
    };
    // The same index entry, another pair.
    TermChange result = change(with('"' + head + "1\""), with('"' + head + "2\""));
    EXPECT_EQ(result.pairs_added, 1U);
    EXPECT_EQ(result.pairs_removed, 1U);
    result = change(with('"' + head + '"'), with('"' + head + "2\""));
    EXPECT_EQ(result.pairs_added, 1U);
    EXPECT_EQ(result.pairs_removed, 1U);
    // The same number to the order of values; the flag changes in the index.
    result = change(with("9007199254740993"), with("9007199254740992"));
    EXPECT_EQ(result.pairs_added, 0U);
    EXPECT_EQ(result.pairs_removed, 0U);
}

// --- A naive model against random items and policies -------------------------------------------

/// Decides each path by looking through all listed paths.
bool model_includes(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    int best = -1;
    bool included = false;
    const auto consider = [&](const std::vector<IndexPath>& list, bool include) {
        for (const IndexPath& listed : list) {
            const size_t depth = listed.steps.size();
            if (depth > path.size() || (!listed.subtree && depth != path.size())) continue;
            if (!std::equal(listed.steps.begin(), listed.steps.end(), path.begin())) continue;
            const int precision = static_cast<int>(2 * depth) + (listed.subtree ? 0 : 1);
            if (precision <= best) continue;
            best = precision;
            included = include;
        }
    };
    consider(policy.included, true);
    consider(policy.excluded, false);
    return included || path == std::vector<PathStep>{member("id")};
}

struct Model {
    const IndexingPolicy& policy;
    struct Flags {
        bool partial = false;
        bool charged = false;
    };
    std::map<std::string, Flags> entries;
    std::set<std::string> pairs;  ///< path and whole value
    std::set<std::string> paths;

    static std::string text_of(const std::vector<PathStep>& path) {
        std::string out;
        for (const PathStep& step : path)
            out += step.any_element ? "/e" : "/m" + std::to_string(step.name.size()) + step.name;
        return out;
    }
    void post(const std::vector<PathStep>& path, const Value& value, bool charged) {
        std::string term;
        const bool partial = append_term(term, value);
        std::string bytes;
        append_u64_be(bytes, path_hash(kKey, path));
        Flags& flags = entries[bytes + term];
        flags.partial |= partial;
        // Cut strings are counted by their values, not by their entry.
        flags.charged = charged && !(flags.partial && value.is_string());
        paths.insert(text_of(path));
        if (!charged) return;
        pairs.insert(text_of(path) + "=" +
                     (value.is_string() ? "s" + std::string(value.as_string()) : term));
    }
    void walk(std::vector<PathStep>& path, const Value& value) {
        if (!path.empty() && model_includes(policy, path)) post(path, value, value.is_scalar());
        if (value.is_array()) {
            path.push_back(kAny);
            for (const Value& element : value.elements()) walk(path, element);
            path.pop_back();
        } else if (value.is_object()) {
            for (const json::Member& m : value.members()) {
                path.push_back(member(std::string(m.name)));
                walk(path, m.value);
                path.pop_back();
            }
        }
    }
    void finish() {
        for (const IndexPath& listed : policy.included)
            if (!listed.subtree && !paths.contains(text_of(listed.steps)))
                post(listed.steps, Value(), false);
    }
};

class RandomItems {
public:
    explicit RandomItems(uint64_t seed) : random_(seed) {}

    std::string item() {
        return R"({"id":"i)" + std::to_string(random_() % 3) + "\"" + members(3, ",") + "}";
    }
    std::string policy() {
        std::set<std::string> used;
        std::string lists[2];
        const size_t root = random_() % 2;
        lists[root] = R"({"path":"/*"})";
        for (int i = 0; i < 6; ++i) {
            std::string path;
            const size_t depth = 1 + random_() % 3;
            for (size_t d = 0; d < depth; ++d)
                path += random_() % 4 == 0 && d > 0 ? "/[]" : "/\"" + name() + "\"";
            path += random_() % 2 == 0 ? "/?" : "/*";
            if (!used.insert(path).second) continue;
            std::string& list = lists[random_() % 2];
            if (!list.empty()) list += ",";
            list += "{\"path\":";
            json::write_string(list, path);
            list += "}";
        }
        return R"({"includedPaths":[)" + lists[0] + R"(],"excludedPaths":[)" + lists[1] + "]}";
    }

private:
    std::string name() {
        constexpr const char* kNames[] = {"a", "b", "c", "d-e", "[]", "", "id"};
        return kNames[random_() % std::size(kNames)];
    }
    std::string members(int depth, const char* first) {
        std::string out;
        std::set<std::string> used = {"id"};
        const size_t count = random_() % 6;
        for (size_t i = 0; i < count; ++i) {
            const std::string n = name();
            if (!used.insert(n).second) continue;
            out += (out.empty() ? std::string(first) : ",") + "\"" + n + "\":" + value(depth);
        }
        return out;
    }
    std::string value(int depth) {
        switch (random_() % (depth > 0 ? 10 : 7)) {
            case 0:
                return "null";
            case 1:
                return random_() % 2 == 0 ? "true" : "false";
            case 2:
                return std::to_string(random_() % 4);
            case 3:
                return std::to_string((int64_t{1} << 53) + static_cast<int64_t>(random_() % 3));
            case 4:
                return random_() % 2 == 0 ? "1.0" : "-0.5e1";
            case 5:
                return "\"" + std::string(1, static_cast<char>('a' + random_() % 3)) + "\"";
            case 6:
                return "\"" + std::string(255 + random_() % 3, 'x') +
                       std::string(1, static_cast<char>('a' + random_() % 3)) + "\"";
            case 7:
                return "{" + members(depth - 1, "") + "}";
            default: {
                std::string out = "[";
                const size_t count = random_() % 5;
                for (size_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + value(depth - 1);
                return out + "]";
            }
        }
    }

    std::mt19937_64 random_;
};

void expect_model(const IndexingPolicy& policy, std::string_view text, const TermSet& set) {
    json::Arena arena;
    auto value = json::parse(text, arena);
    ASSERT_TRUE(value.ok());
    Model model{.policy = policy, .entries = {}, .pairs = {}, .paths = {}};
    std::vector<PathStep> path;
    model.walk(path, *value);
    model.finish();
    ASSERT_EQ(set.entries().size(), model.entries.size()) << policy.json << "\n" << text;
    auto expected = model.entries.begin();
    for (const TermSet::Entry& e : set.entries()) {
        ASSERT_EQ(set.bytes(e), expected->first) << policy.json << "\n" << text;
        ASSERT_EQ(e.partial, expected->second.partial);
        ASSERT_EQ(e.charged, expected->second.charged);
        ++expected;
    }
    ASSERT_EQ(set.pair_count(), model.pairs.size()) << policy.json << "\n" << text;
}

TEST(TermCollector, EqualsNaiveModel) {
    RandomItems random(4711);
    for (int i = 0; i < rounds(300); ++i) {
        const IndexingPolicy policy = make_policy(random.policy());
        TermCollector collector(policy, kKey);
        TermSet before;
        for (int j = 0; j < 30; ++j) {
            const std::string text = random.item();
            TermSet set = collect(collector, text);
            expect_model(policy, text, set);
            if (HasFatalFailure()) return;
            const TermChange result = change(before, set);
            EXPECT_EQ(static_cast<int64_t>(result.pairs_added) - result.pairs_removed,
                      static_cast<int64_t>(set.pair_count()) - before.pair_count());
            before = std::move(set);
        }
    }
}

}  // namespace
}  // namespace orrery::index
