#include "index/policy.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/ended_test_support.h"
#include "base/limits.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::index {
namespace {

class PolicyTest : public ::testing::Test {
protected:
    Result<IndexingPolicy> parse(std::string_view text) {
        auto value = json::parse(text, arena_);
        EXPECT_TRUE(value.ok()) << text;
        return parse_indexing_policy(value.ok() ? *value : json::Value());
    }
    IndexingPolicy policy(std::string_view text) {
        auto parsed = parse(text);
        EXPECT_TRUE(parsed.ok()) << text << "\n" << (parsed.ok() ? "" : parsed.error().message);
        return parsed.ok() ? *parsed : IndexingPolicy();
    }
    /// The answer's text for a policy given as text.
    std::string answer(std::string_view text) { return policy(text).json; }
    std::string refusal(std::string_view text) {
        auto parsed = parse(text);
        if (parsed.ok()) return "";
        EXPECT_EQ(ended(parsed.error()), Ended::kBadRequest);
        EXPECT_TRUE(is_valid_utf8(parsed.error().message));
        return parsed.error().message;
    }
    /// A policy that includes /* and one more path.
    static std::string with_path(std::string_view path) {
        std::string text = R"({"includedPaths":[{"path":"/*"},{"path":)";
        json::write_string(text, path);
        return text + "}]}";
    }

    json::Arena arena_;
};

PathStep member(std::string name) {
    return {.any_element = false, .name = std::move(name)};
}
const PathStep kAny = {.any_element = true, .name = ""};
using Steps = std::vector<PathStep>;

constexpr std::string_view kDefault =
    R"({"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]})";

TEST_F(PolicyTest, Default) {
    auto parsed = parse_indexing_policy(json::Value());
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->json, kDefault);
    EXPECT_EQ(parsed->mode, IndexingMode::kConsistent);
    EXPECT_TRUE(parsed->automatic);
    for (const char* same :
         {"null", "{}", R"({"indexingMode":"Consistent"})", R"({"automatic":true})",
          R"({"includedPaths":[],"excludedPaths":[]})", R"({"includedPaths":[{"path":"/*"}]})",
          R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[]})",
          R"({"includedPaths":null,"excludedPaths":null,"automatic":null,"indexingMode":null})",
          R"({"excludedPaths":[{"path":"/\"_etag\"/?"}]})",
          R"({"includedPaths":[{"path":"/*","indexes":[{"kind":"Range","dataType":"Number"}]}]})",
          R"({"compositeIndexes":[],"spatialIndexes":[],"vectorIndexes":[],"fullTextIndexes":[]})"})
        EXPECT_EQ(answer(same), kDefault) << same;
    EXPECT_EQ(answer(kDefault), kDefault);
}

TEST_F(PolicyTest, FillsIn) {
    EXPECT_EQ(
        answer(R"({"excludedPaths":[{"path":"/*"}]})"),
        R"({"indexingMode":"consistent","automatic":true,"includedPaths":[],"excludedPaths":[{"path":"/*"},{"path":"/\"_etag\"/?"}]})");
    EXPECT_EQ(
        answer(R"({"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]})"),
        R"({"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"},{"path":"/\"_etag\"/?"}]})");
    // A list that names _etag is left alone.
    EXPECT_EQ(
        answer(R"({"includedPaths":[{"path":"/*"},{"path":"/_etag/?"}]})"),
        R"({"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"},{"path":"/_etag/?"}],"excludedPaths":[]})");
    EXPECT_EQ(
        answer(R"({"automatic":false,"excludedPaths":[{"path":"/_etag/*"}]})"),
        R"({"indexingMode":"consistent","automatic":false,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/_etag/*"}]})");
}

TEST_F(PolicyTest, ModeNone) {
    constexpr std::string_view kNone =
        R"({"indexingMode":"none","automatic":false,"includedPaths":[],"excludedPaths":[]})";
    EXPECT_EQ(answer(R"({"indexingMode":"none"})"), kNone);
    EXPECT_EQ(answer(R"({"indexingMode":"None","automatic":false})"), kNone);
    EXPECT_EQ(answer(kNone), kNone);
    EXPECT_EQ(
        answer(
            R"({"indexingMode":"none","automatic":false,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]})"),
        R"({"indexingMode":"none","automatic":false,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]})");
    EXPECT_NE(refusal(R"({"indexingMode":"none","includedPaths":[{"path":"/a/?"}]})").find("/a/?"),
              std::string::npos);
    EXPECT_NE(refusal(R"({"indexingMode":"none","excludedPaths":[{"path":"/a/*"}]})").find("/a/*"),
              std::string::npos);
    const IndexingPolicy none = policy(R"({"indexingMode":"none"})");
    EXPECT_FALSE(path_is_indexed(none, {member("id")}));
    EXPECT_FALSE(path_is_indexed(none, {member("_ts")}));
}

TEST_F(PolicyTest, PathGrammar) {
    const auto steps = [&](std::string_view path) { return policy(with_path(path)).included[1]; };
    EXPECT_EQ(steps("/a/?").steps, Steps({member("a")}));
    EXPECT_FALSE(steps("/a/?").subtree);
    EXPECT_TRUE(steps("/a/*").subtree);
    EXPECT_EQ(steps("/a/b_1/C/*").steps, Steps({member("a"), member("b_1"), member("C")}));
    EXPECT_EQ(steps("/a/[]/b/?").steps, Steps({member("a"), kAny, member("b")}));
    EXPECT_EQ(steps("/a/[]/?").steps, Steps({member("a"), kAny}));
    EXPECT_EQ(steps("/a/[]/[]/*").steps, Steps({member("a"), kAny, kAny}));
    EXPECT_EQ(steps(R"(/"x-y"/?)").steps, Steps({member("x-y")}));
    EXPECT_EQ(steps(R"(/"[]"/"a/b"/"?"/?)").steps,
              Steps({member("[]"), member("a/b"), member("?")}));
    EXPECT_EQ(steps(R"(/"a\"b\\c"/?)").steps, Steps({member(R"(a"b\c)")}));
    EXPECT_EQ(steps(R"(/"é"/?)").steps, Steps({member("é")}));
    EXPECT_EQ(steps(R"(/""/?)").steps, Steps({member("")}));
    EXPECT_EQ(steps(R"(/"x-y"/?)").text, R"(/"x-y"/?)");

    for (const char* path :
         {"",         "a",          "*",           "?",       "a/?",    "/",
          "//?",      "/?",         "/a",          "/a/",     "/a/b",   "/a/?/b",
          "/a/*/b",   "/a/?/",      "/a/**",       "/a?",     "/a*",    "/x-y/?",
          "/a b/?",   "/é/?",       "/a/[0]/?",    "/a[]/?",  "/[/?",   "/a/[]",
          R"(/"a/?)", R"(/"a"b/?)", R"(/"a\n"/?)", R"(/"a\)", "/'a'/?", "/a.b/?"}) {
        const std::string message = refusal(with_path(path));
        EXPECT_NE(message.find("'" + std::string(path) + "'"), std::string::npos)
            << path << ": " << message;
    }
    std::string deep;
    for (uint32_t i = 0; i < limits::kNestingDepthMax; ++i) deep += "/a";
    EXPECT_EQ(steps(deep + "/?").steps.size(), limits::kNestingDepthMax);
    EXPECT_NE(refusal(with_path(deep + "/a/?")), "");
}

TEST_F(PolicyTest, Refusals) {
    for (const char* text :
         {"[]", "5", R"("consistent")", R"({"indexingMode":"lazy"})", R"({"indexingMode":"x"})",
          R"({"indexingMode":5})", R"({"automatic":"true"})", R"({"includedPaths":{}})",
          R"({"includedPaths":["/*"]})", R"({"includedPaths":[{}]})",
          R"({"includedPaths":[{"path":5}]})", R"({"includedPaths":[{"path":"/*","x":1}]})",
          R"({"includedPaths":[{"path":"/*","indexes":5}]})",
          R"({"excludedPaths":[{"path":"/a/?","indexes":[]}]})", R"({"mode":"consistent"})"})
        EXPECT_NE(refusal(text), "") << text;
    // /* in exactly one list; every other path at most once.
    EXPECT_NE(refusal(R"({"includedPaths":[{"path":"/a/?"}]})").find("'/*'"), std::string::npos);
    EXPECT_NE(refusal(R"({"includedPaths":[],"excludedPaths":[{"path":"/a/?"}]})").find("'/*'"),
              std::string::npos);
    EXPECT_NE(refusal(R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/*"}]})")
                  .find("'/*' is both"),
              std::string::npos);
    EXPECT_NE(refusal(R"({"includedPaths":[{"path":"/*"},{"path":"/a/?"},{"path":"/\"a\"/?"}]})")
                  .find("twice"),
              std::string::npos);
    EXPECT_NE(refusal(R"({"excludedPaths":[{"path":"/a/?"},{"path":"/a/?"}]})").find("'/a/?'"),
              std::string::npos);
    EXPECT_NE(
        refusal(
            R"({"includedPaths":[{"path":"/*"},{"path":"/a/?"}],"excludedPaths":[{"path":"/\"a\"/?"}]})")
            .find("both"),
        std::string::npos);
    // The same steps as scalar and as subtree are two paths; so are a[] and a member named [].
    EXPECT_EQ(refusal(R"({"includedPaths":[{"path":"/*"},{"path":"/a/?"},{"path":"/a/[]/?"},)"
                      R"({"path":"/a/\"[]\"/?"}],"excludedPaths":[{"path":"/a/*"}]})"),
              "");
}

TEST_F(PolicyTest, OtherIndexesAreRefusedByName) {
    const auto unsupported = [&](const std::string& text, const char* name) {
        const std::string message = refusal(text);
        EXPECT_NE(message.find("not supported"), std::string::npos) << message;
        EXPECT_NE(message.find(name), std::string::npos) << message;
    };
    unsupported(R"({"compositeIndexes":[[{"path":"/a/[]/x"},{"path":"/b"}]]})", "/a/[]/x");
    unsupported(R"({"compositeIndexes":[[{"path":"/_etag"},{"path":"/b"}]]})", "/_etag");
    unsupported(R"({"compositeIndexes":[[{"path":"/b"},{"path":"/_ts/x"}]]})", "/_ts/x");
    unsupported(R"({"vectorIndexes":[{"path":"/v","type":"flat"}]})", "vector");
    unsupported(R"({"fullTextIndexes":[{"path":"/t"}]})", "full-text");
    unsupported(with_path("/events/[]/{name, category}/?"), "/events/[]/{name, category}/?");
}

TEST_F(PolicyTest, Composites) {
    const IndexingPolicy p = policy(
        R"({"compositeIndexes":[[{"path":"/name"},{"path":"/a/\"x-y\"","order":"Descending"}],)"
        R"([{"path":"/a/?","order":"ascending"},{"path":"/_ts","order":"descending"}]]})");
    ASSERT_EQ(p.composites.size(), 2U);
    EXPECT_EQ(p.composites[0].members[0].steps, Steps({member("name")}));
    EXPECT_FALSE(p.composites[0].members[0].descending);
    EXPECT_EQ(p.composites[0].members[1].steps, Steps({member("a"), member("x-y")}));
    EXPECT_TRUE(p.composites[0].members[1].descending);
    EXPECT_EQ(p.composites[1].members[0].steps, Steps({member("a")}));
    EXPECT_TRUE(has_composite(p, p.composites[1]));
    CompositeIndex other = p.composites[1];
    other.members[0].descending = true;
    EXPECT_FALSE(has_composite(p, other));
    constexpr std::string_view kAnswered =
        R"("excludedPaths":[{"path":"/\"_etag\"/?"}],"compositeIndexes":[[{"path":"/name","order":"ascending"},)"
        R"({"path":"/a/\"x-y\"","order":"descending"}],[{"path":"/a/?","order":"ascending"},)"
        R"({"path":"/_ts","order":"descending"}]]})";
    EXPECT_TRUE(p.json.ends_with(kAnswered)) << p.json;
    EXPECT_EQ(answer(p.json), p.json);
    // A composite does not make its paths indexed, nor the other way round.
    EXPECT_FALSE(path_is_indexed(
        policy(
            R"({"excludedPaths":[{"path":"/*"}],"compositeIndexes":[[{"path":"/a"},{"path":"/b"}]]})"),
        {member("a")}));

    const auto composites = [&](std::string_view list) {
        return refusal(R"({"compositeIndexes":)" + std::string(list) + "}");
    };
    for (const char* bad :
         {R"({})", R"([{}])", R"([[]])", R"([[{"path":"/a"}]])", R"([["/a","/b"]])",
          R"([[{"path":"/a"},{"path":5}]])", R"([[{"path":"/a"},{"path":"/b","order":"up"}]])",
          R"([[{"path":"/a"},{"path":"/b","order":1}]])", R"([[{"path":"/a"},{"path":"/b/*"}]])",
          R"([[{"path":"/a"},{"path":"/b","kind":"x"}]])", R"([[{"path":"/a"},{"path":"b"}]])",
          R"([[{"path":"/a"},{"path":"/"}]])", R"([[{"path":"/a"},{"path":"/?"}]])",
          R"([[{"path":"/a"},{"path":"/\"a\"","order":"descending"}]])",
          R"([[{"path":"/a"},{"path":"/b"}],[{"path":"/a/?"},{"path":"/b","order":"ascending"}]])"})
        EXPECT_NE(composites(bad), "") << bad;
    EXPECT_NE(
        refusal(R"({"indexingMode":"none","compositeIndexes":[[{"path":"/a"},{"path":"/b"}]]})"),
        "");
    // 8 paths each, 100 in all.
    const auto many = [](const std::vector<uint32_t>& sizes) {
        std::string list = "[";
        uint32_t number = 0;
        for (const uint32_t size : sizes) {
            list += list.size() == 1 ? "[" : ",[";
            for (uint32_t i = 0; i < size; ++i) {
                list += i == 0 ? "" : ",";
                list += R"({"path":"/p)" + std::to_string(number++) + R"("})";
            }
            list += "]";
        }
        return list + "]";
    };
    EXPECT_EQ(composites(many({limits::kCompositePathsMax})), "");
    EXPECT_NE(composites(many({limits::kCompositePathsMax + 1})), "");
    std::vector<uint32_t> full(limits::kCompositePathsTotalMax / 4, 4);
    EXPECT_EQ(composites(many(full)), "");
    full.push_back(2);
    EXPECT_NE(composites(many(full)), "");
}

TEST_F(PolicyTest, SortedPaths) {
    const IndexingPolicy p = policy(
        R"({"includedPaths":[{"path":"/*"},{"path":"/e/?"}],"excludedPaths":[{"path":"/x/*"}]})");
    const IndexingPolicy sorted = with_sorted_paths(p, {{member("a"), member("b")},
                                                        {member("x"), member("y")},
                                                        {member("_ts")},
                                                        {member("l"), kAny},
                                                        {member("e")},
                                                        {member("a"), member("b")},
                                                        {}});
    EXPECT_EQ(sorted.sorted, std::vector<Steps>({{member("a"), member("b")}, {member("e")}}));
    EXPECT_EQ(sorted.json, p.json);
    EXPECT_TRUE(path_posts_undefined(sorted, {member("a"), member("b")}));
    EXPECT_TRUE(path_posts_undefined(sorted, {member("e")}));
    EXPECT_FALSE(path_posts_undefined(sorted, {member("a")}));
    EXPECT_FALSE(path_posts_undefined(sorted, {member("x"), member("y")}));
    EXPECT_FALSE(path_posts_undefined(p, {member("a"), member("b")}));
    EXPECT_TRUE(path_is_indexed(sorted, {member("a"), member("b"), member("c")}));
    EXPECT_FALSE(path_posts_undefined(with_sorted_paths(sorted, {}), {member("a"), member("b")}));
}

TEST_F(PolicyTest, PathTexts) {
    for (const Steps& steps : {Steps{member("a")}, Steps{member("a"), member("x-y")},
                               Steps{member(R"(q"\)"), kAny, member("")}, Steps{member("[]")}}) {
        EXPECT_EQ(parse_path_text(path_text(steps)).value(), steps) << path_text(steps);
    }
    EXPECT_EQ(path_text({member("a"), kAny, member("b")}), R"(/"a"/[]/"b")");
    EXPECT_FALSE(parse_path_text("a").ok());
}

TEST_F(PolicyTest, NumberOfPaths) {
    const auto many = [](const char* list, uint32_t count, const char* first) {
        std::string text = std::string("{\"") + list + "\":[{\"path\":\"" + first + "\"}";
        for (uint32_t i = 1; i < count; ++i)
            text += ",{\"path\":\"/p" + std::to_string(i) + "/?\"}";
        return text + "]}";
    };
    for (const char* list : {"includedPaths", "excludedPaths"}) {
        EXPECT_EQ(refusal(many(list, limits::kIndexPathsMax, "/*")), "");
        EXPECT_NE(refusal(many(list, limits::kIndexPathsMax + 1, "/*")).find(list),
                  std::string::npos);
    }
    // All of them are found again.
    const IndexingPolicy all = policy(many("excludedPaths", limits::kIndexPathsMax, "/q/?"));
    for (uint32_t i = 1; i < limits::kIndexPathsMax; ++i)
        EXPECT_FALSE(path_is_indexed(all, {member("p" + std::to_string(i))}));
    EXPECT_TRUE(path_is_indexed(all, {member("p0")}));
}

TEST_F(PolicyTest, Precedence) {
    const IndexingPolicy p = policy(
        R"({"includedPaths":[{"path":"/*"},{"path":"/a/b/?"},{"path":"/a/c/d/*"},{"path":"/s/?"},{"path":"/l/[]/in/?"}],)"
        R"("excludedPaths":[{"path":"/a/*"},{"path":"/a/c/d/e/?"},{"path":"/s/*"},{"path":"/t/?"},{"path":"/l/[]/*"},{"path":"/id/?"}]})");
    const auto indexed = [&](const Steps& path) { return path_is_indexed(p, path); };
    EXPECT_TRUE(indexed({member("x")}));
    EXPECT_TRUE(indexed({member("x"), kAny, member("y")}));
    EXPECT_FALSE(indexed({member("a")}));  // a subtree begins with its own root
    EXPECT_FALSE(indexed({member("a"), member("x")}));
    EXPECT_TRUE(indexed({member("a"), member("b")}));
    EXPECT_FALSE(indexed({member("a"), member("b"), member("x")}));
    EXPECT_FALSE(indexed({member("a"), member("c")}));
    EXPECT_TRUE(indexed({member("a"), member("c"), member("d")}));
    EXPECT_TRUE(indexed({member("a"), member("c"), member("d"), member("x")}));
    EXPECT_FALSE(indexed({member("a"), member("c"), member("d"), member("e")}));
    EXPECT_TRUE(indexed({member("a"), member("c"), member("d"), member("e"), member("f")}));
    EXPECT_TRUE(indexed({member("s")}));  // /? beats /*
    EXPECT_FALSE(indexed({member("s"), member("x")}));
    EXPECT_FALSE(indexed({member("t")}));
    EXPECT_TRUE(indexed({member("t"), member("x")}));
    EXPECT_TRUE(indexed({member("l")}));
    EXPECT_FALSE(indexed({member("l"), kAny}));
    EXPECT_TRUE(indexed({member("l"), kAny, member("in")}));
    EXPECT_FALSE(indexed({member("l"), kAny, member("out")}));
    EXPECT_TRUE(indexed({member("l"), member("[]")}));  // a name, not an element
    EXPECT_TRUE(indexed({member("id")}));               // always
    EXPECT_TRUE(indexed({member("_ts")}));
    EXPECT_FALSE(indexed({member("_etag")}));
    EXPECT_FALSE(indexed({member("_rid")}));
    EXPECT_FALSE(indexed({}));

    EXPECT_TRUE(path_posts_undefined(p, {member("a"), member("b")}));
    EXPECT_TRUE(path_posts_undefined(p, {member("s")}));
    EXPECT_TRUE(path_posts_undefined(p, {member("l"), kAny, member("in")}));
    EXPECT_FALSE(path_posts_undefined(p, {member("x")}));
    EXPECT_FALSE(path_posts_undefined(p, {member("t")}));
    EXPECT_FALSE(path_posts_undefined(p, {member("a"), member("c"), member("d")}));
}

TEST_F(PolicyTest, Directive) {
    using enum ItemIndexing;
    const IndexingPolicy automatic = policy("{}");
    EXPECT_TRUE(item_is_indexed(automatic, kDefault));
    EXPECT_TRUE(item_is_indexed(automatic, kInclude));
    EXPECT_FALSE(item_is_indexed(automatic, kExclude));
    const IndexingPolicy manual = policy(R"({"automatic":false})");
    EXPECT_FALSE(item_is_indexed(manual, kDefault));
    EXPECT_TRUE(item_is_indexed(manual, kInclude));
    EXPECT_FALSE(item_is_indexed(manual, kExclude));
    const IndexingPolicy none = policy(R"({"indexingMode":"none","automatic":true})");
    for (const ItemIndexing directive : {kDefault, kInclude, kExclude})
        EXPECT_FALSE(item_is_indexed(none, directive));
}

}  // namespace
}  // namespace orrery::index
