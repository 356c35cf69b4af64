#include <gtest/gtest.h>

#include "base/check.h"
#include "lab/item_samples.h"
#include "lab/query_shape.h"
#include "query/query.h"

namespace orrery::lab {
namespace {

TEST(QueryShape, ConstantsAreNoPartOfIt) {
    EXPECT_EQ(normalized_query("select  *\nfrom c where c.a=1 and c.b  = 'x'"),
              "SELECT * FROM c WHERE c.a = ? AND c.b = ?");
    EXPECT_EQ(normalized_query("SELECT c.id FROM c WHERE c.a IN (1, 2,3) AND c[\"b c\"] = @p"),
              "SELECT c.id FROM c WHERE c.a IN (?) AND c[\"b c\"] = @p");
    EXPECT_EQ(normalized_query("SELECT VALUE COUNT(1) FROM c"), "SELECT VALUE COUNT(?) FROM c");
    EXPECT_EQ(normalized_query("SELECT * FROM c WHERE c.ok = true AND c.n = -5"),
              "SELECT * FROM c WHERE c.ok = ? AND c.n = - ?");
    EXPECT_EQ(normalized_query(""), "");
    EXPECT_LE(normalized_query(std::string(100'000, 'x')).size(), 110'000u);
}

TEST(QueryShape, HashesOfTextsThatDifferInConstantsAreOne) {
    const uint64_t one = shape_hash("SELECT * FROM c WHERE c.a = 1 AND c.b IN ('x', 'y')");
    EXPECT_EQ(one, shape_hash("SELECT *  FROM c\nWHERE c.a=25.5e3 AND c.b IN (\"it's\")"));
    EXPECT_EQ(one, shape_hash("SELECT * FROM c WHERE c.a = 1 AND c.b IN ('a\\'b', 'y', 'z')"));
    EXPECT_NE(one, shape_hash("SELECT * FROM c WHERE c.a1 = 1 AND c.b IN ('x')"));
    EXPECT_NE(shape_hash("SELECT c[\"a\"] FROM c"), shape_hash("SELECT c[\"b\"] FROM c"));
    EXPECT_NE(shape_hash("SELECT ab FROM c"), shape_hash("SELECT a b FROM c"));
    EXPECT_NE(shape_hash(""), 0u);
    EXPECT_NE(shape_hash("'unclosed \\"), 0u);
}

QueryShape shape(const std::string& text) {
    const auto compiled = query::compile(text);
    CHECK(compiled.ok());
    return shape_of(**compiled);
}

TEST(QueryShape, PathsByUse) {
    const QueryShape one = shape(
        "SELECT c.id, c.a.b FROM c WHERE c.pk = 'x' AND (c.n > 5 OR c.m = 1) ORDER BY c.t DESC");
    EXPECT_EQ(one.equality_paths, (std::vector<std::string>{"/pk"}));
    EXPECT_EQ(one.filter_paths, (std::vector<std::string>{"/pk", "/n", "/m"}));
    EXPECT_EQ(one.order_paths, (std::vector<std::string>{"/t DESC"}));
    EXPECT_EQ(one.projected_paths, (std::vector<std::string>{"/id", "/a/b"}));
    EXPECT_FALSE(one.returns_items);
    EXPECT_TRUE(shape("SELECT * FROM c").returns_items);
    EXPECT_TRUE(shape("SELECT VALUE COUNT(1) FROM c WHERE c.a = @a").aggregates);
}

TEST(QueryShape, FunctionsThatNoIndexServes) {
    EXPECT_EQ(shape("SELECT * FROM c WHERE lower(c.name) = 'x'").scan_functions,
              (std::vector<std::string>{"LOWER"}));
    EXPECT_TRUE(shape("SELECT * FROM c WHERE STARTSWITH(c.name, 'x')").scan_functions.empty());
    EXPECT_TRUE(shape("SELECT * FROM c WHERE c.name = UPPER('x')").scan_functions.empty());
    EXPECT_EQ(
        shape("SELECT VALUE c FROM c JOIN t IN c.tags WHERE UPPER(t.name) = 'X'").scan_functions,
        (std::vector<std::string>{"UPPER"}));
}

TEST(ItemSamples, LooksOfIdsTimesAndBlobs) {
    EXPECT_TRUE(is_random_id("3f2504e0-4f89-11d3-9a0c-0305e82c3301"));
    EXPECT_TRUE(is_random_id("4f8a91b3c9d07e22ab31"));
    EXPECT_FALSE(is_random_id("customer-0000000001"));
    EXPECT_FALSE(is_random_id("ann@example.com"));
    EXPECT_TRUE(is_time_like(json::Value::string("2024-05-06T07:08:09Z")));
    EXPECT_TRUE(is_time_like(json::Value::number(1.7e9)));
    EXPECT_FALSE(is_time_like(json::Value::number(42)));
    EXPECT_FALSE(is_time_like(json::Value::string("2024 was good")));
    std::string blob;
    for (int i = 0; i < 2000; ++i) blob += "aB3/x9Qz"[i % 8];
    EXPECT_TRUE(is_base64_like(blob));
    EXPECT_FALSE(is_base64_like(std::string(5000, 'a')));
    EXPECT_FALSE(is_base64_like("plain words with blanks " + std::string(5000, 'a')));
}

TEST(ItemSamples, SpaceIsBounded) {
    ItemSamples samples;
    for (uint64_t i = 0; i < 3000; ++i) {
        const std::string text = R"({"id":")" + std::to_string(i) + R"(","p)" + std::to_string(i) +
                                 R"(":1,"v":)" + std::to_string(i) + "}";
        samples.add({i + 1, 1'700'000'000, "[\"k\"]", std::to_string(i), text, false}, {"/pk"});
    }
    EXPECT_LE(samples.paths().size(), ItemSamples::kPathsMax);
    for (const auto& path : samples.paths())
        if (path.path == "/v") {
            EXPECT_NEAR(static_cast<double>(path.distinct), 3000, 30);  // beyond what is kept
        }
    samples.add({1, 0, "", "", "not json", false}, {});
    EXPECT_EQ(samples.count(), 3000u);
}

TEST(ItemSamples, LongArraysAreMeasuredByTheirBeginning) {
    std::string text = R"({"id":"1","rows":[)";
    for (int i = 0; i < 20'000; ++i)
        text += std::string(i == 0 ? "" : ",") +
                R"({"n":12345,"text":"forty bytes of text, more or less"})";
    text += "]}";
    ItemSamples samples;
    samples.add({1, 100, "[\"a\"]", "1", text, false}, {"/id"});
    for (const auto& path : samples.paths()) {
        if (path.path != "/rows") continue;
        ASSERT_TRUE(path.array.has_value());
        EXPECT_EQ(path.array->max, 20'000);
        EXPECT_NEAR(path.mean_bytes, static_cast<double>(text.size()),
                    static_cast<double>(text.size()) / 10);
        return;
    }
    FAIL() << "no path /rows";
}

TEST(ItemSamples, ChangesFromVersionToVersion) {
    ItemSamples samples;
    const std::string large(10'000, 'x');
    for (int i = 0; i < 5; ++i)
        samples.add(
            {7, 1'700'000'000 + i, "[\"a\"]", "p",
             R"({"id":"p","bio":")" + large + R"(","seen":)" + std::to_string(i) + "}", i > 0},
            {});
    HotItem item;
    item.key = "[\"a\"]";
    item.id = "p";
    samples.describe_item(item);
    EXPECT_GT(item.bytes, 10'000);
    EXPECT_LT(item.changed_share, 0.01);
    EXPECT_EQ(item.changed_paths, (std::vector<std::string>{"/seen"}));
    EXPECT_EQ(samples.use().updates, 4);
}

TEST(SizeHistogram, Quantiles) {
    SizeHistogram sizes;
    EXPECT_EQ(sizes.quantile(0.5), 0);
    for (uint64_t i = 1; i <= 1000; ++i) sizes.add(i);
    EXPECT_GE(sizes.quantile(0.5), 500);
    EXPECT_LE(sizes.quantile(0.5), 1000);
    EXPECT_EQ(sizes.quantile(1), 1000);
    EXPECT_EQ(sizes.at_most(1023), 1000u);
    EXPECT_EQ(sizes.at_most(511), 511u);
}

}  // namespace
}  // namespace orrery::lab
