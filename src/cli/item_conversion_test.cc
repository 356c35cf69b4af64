#include "cli/item_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<PreparedItem> convert(const std::string& text, ConversionOptions options = {}) {
    ContainerInfo container;
    container.key_paths = {{"pk"}};
    Record record;
    record.text = text;
    record.line = 12;
    return ItemConverter(container, std::move(options), std::nullopt).convert(record);
}

TEST(ItemConversionTest, KeepsItemsAsTheyAre) {
    const auto item = convert(R"( {"pk": 1.0, "id":"x", "n": 1.50} )");
    ASSERT_TRUE(item.ok());
    EXPECT_EQ(item->text, R"({"pk":1.0,"id":"x","n":1.50})");
    EXPECT_EQ(item->id, "x");
    EXPECT_EQ(item->partition_key, "[1]");
}

TEST(ItemConversionTest, IdsFromElsewhere) {
    EXPECT_EQ(convert(R"({"a":{"b":5},"pk":"k"})", {.id_from = "a.b"})->text,
              R"({"id":"5","a":{"b":5},"pk":"k"})");
    EXPECT_EQ(convert(R"({"id":7,"pk":"k"})", {.id_from = "id"})->text, R"({"id":"7","pk":"k"})");
    EXPECT_EQ(convert(R"({"pk":"k"})", {.generate_ids = true})->id.size(), 36u);
    EXPECT_EQ(convert(R"({"id":"own","pk":"k"})", {.generate_ids = true})->id, "own");
    EXPECT_EQ(
        convert(R"({"_id":{"$oid":"ab"},"pk":{"$numberInt":"4"}})", {.mongo = true})->partition_key,
        "[4]");
    EXPECT_EQ(convert(R"({"_id":{"$oid":"ab"},"id":"c"})", {.mongo = true, .id_from = "_id"})->text,
              R"({"id":"ab","_id":"ab"})");
}

TEST(ItemConversionTest, ErrorsNameLineAndRemedy) {
    const auto message = [](const std::string& text, ConversionOptions options = {}) {
        return convert(text, std::move(options)).error().message;
    };
    EXPECT_THAT(message("[1]"), StartsWith("Line 12: "));
    EXPECT_THAT(message("{"), StartsWith("Line 12: "));
    EXPECT_THAT(message("{}"), HasSubstr("--generate-ids"));
    EXPECT_THAT(message(R"({"id":5})"), HasSubstr("--id-from id"));
    EXPECT_THAT(message(R"({"id":null})"), HasSubstr("must be a string"));
    EXPECT_THAT(message(R"({"_id":"5"})"), HasSubstr("--format mongo"));
    EXPECT_THAT(message(R"({"id":"a/b"})"), HasSubstr("Line 12"));
    EXPECT_THAT(message(R"({"id":"5"})", {.id_from = "none"}), HasSubstr("'none'"));
    EXPECT_THAT(message(R"({"id":"1","x":")" + std::string(3 << 20, 'x') + "\"}"),
                HasSubstr("2 MB"));
}

}  // namespace
}  // namespace orrery::cli
