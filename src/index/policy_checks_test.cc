#include "index/policy_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ended_test_support.h"
#include "json/parse.h"

namespace orrery::index {
namespace {

using ::testing::HasSubstr;

IndexingPolicy policy(std::string_view text) {
    json::Arena arena;
    const auto value = json::parse(text, arena);
    EXPECT_TRUE(value.ok()) << text;
    auto parsed = parse_indexing_policy(*value);
    EXPECT_TRUE(parsed.ok()) << text;
    return *parsed;
}

Status check_path(const std::string& list, const std::string& path) {
    const std::string other = list == "includedPaths" ? "excludedPaths" : "includedPaths";
    return check_included_paths(policy(R"({")" + list + R"(":[{"path":")" + path + R"("}],")" +
                                       other + R"(":[{"path":"/*"}]})"));
}

TEST(PolicyChecksTest, SystemPropertiesCannotBeIncluded) {
    for (const std::string path :
         {"/_rid/?", "/_self/?", "/_etag/?", "/_attachments/?", "/_lsn/?", "/_rid/*",
          R"(/\"_etag\"/?)", "/_self/x/?", "/_rid/[]/?", "/_ts/x/?"}) {
        const Status refused = check_path("includedPaths", path);
        ASSERT_FALSE(refused.ok()) << path;
        EXPECT_EQ(ended(refused.error()), Ended::kBadRequest);
        EXPECT_THAT(refused.error().message, HasSubstr("of these only '_ts' is indexed"));
        EXPECT_TRUE(check_path("excludedPaths", path).ok()) << path;
    }
    for (const std::string path : {"/_ts/?", "/_ts/*", "/a/_rid/?", "/_rids/?", "/[]/?", "/id/?"})
        EXPECT_TRUE(check_path("includedPaths", path).ok()) << path;
    EXPECT_TRUE(check_included_paths(policy("{}")).ok());
    EXPECT_TRUE(check_included_paths(policy(R"({"indexingMode":"none"})")).ok());
}

TEST(PolicyChecksTest, ExclusionsByName) {
    const IndexingPolicy some =
        policy(R"({"includedPaths":[{"path":"/*"}],"excludedPaths":)"
               R"([{"path":"/\"a\"/?"},{"path":"/b/*"},{"path":"/b/c/?"},{"path":"/d/[]/?"}]})");
    const std::vector<PathStep> a = {{false, "a"}};
    const std::vector<PathStep> b = {{false, "b"}};
    const std::vector<PathStep> c = {{false, "b"}, {false, "c"}};
    ASSERT_NE(named_exclusion(some, a), nullptr);
    EXPECT_EQ(named_exclusion(some, a)->text, R"(/"a"/?)");
    EXPECT_TRUE(is_included_around(some, a));
    EXPECT_EQ(named_exclusion(some, b), nullptr);
    ASSERT_NE(named_exclusion(some, c), nullptr);
    EXPECT_FALSE(is_included_around(some, c));
    EXPECT_EQ(named_exclusion(some, {{false, "d"}}), nullptr);
}

}  // namespace
}  // namespace orrery::index
