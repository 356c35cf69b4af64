// How results, progress and the live view look.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/progress.h"
#include "cli/result_text.h"
#include "cli/text_layout.h"
#include "cli/top.h"
#include "json/parse.h"

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TextLayoutTest, CountsColumns) {
    EXPECT_EQ(column_count("abc"), 3u);
    EXPECT_EQ(column_count("é漢😀"), 5u);
    EXPECT_EQ(column_count("e\xCC\x81"), 1u);
    EXPECT_EQ(fit_columns("abcdef", 4), "abc…");
    EXPECT_EQ(fit_columns("漢字漢字", 5), "漢字…");
    EXPECT_EQ(fit_columns("abcd", 4), "abcd");
    EXPECT_EQ(fit_columns("a\x1b[2J\n", 9), "a·[2J·")
        << "nothing that moves the cursor gets through";
    EXPECT_EQ(fit_columns("\xff", 3), "\xff");
}

TEST(TextLayoutTest, TablesShrinkTheWidestColumn) {
    const std::string table = table_text({{"id", false}, {"n", true}, {"text", false}},
                                         {{"a", "1", std::string(50, 'x')}, {"bb", "10", "y"}}, 30);
    EXPECT_EQ(table,
              "id   n  text\n"
              "--  --  ----------------------\n"
              "a    1  xxxxxxxxxxxxxxxxxxxxx…\n"
              "bb  10  y\n");
}

std::vector<json::Value> rows_of(const char* text, json::Arena& arena) {
    const auto parsed = json::parse(text, arena);
    return {parsed->elements().begin(), parsed->elements().end()};
}

TEST(ResultTextTest, Formats) {
    json::Arena arena;
    const auto rows =
        rows_of(R"([{"id":"1","n":2,"_rid":"r"},{"id":"2","o":{"p":[1,2]}},"plain"])", arena);
    EXPECT_EQ(ResultWriter({.format = ResultFormat::kTable}).page(rows),
              "id  n  o            value\n"
              "--  -  -----------  -----\n"
              "1   2\n"
              "2      {\"p\":[1,2]}\n"
              "                    plain\n");
    EXPECT_THAT(
        ResultWriter({.format = ResultFormat::kTable, .system_properties = true}).page(rows),
        HasSubstr("_rid"));
    EXPECT_EQ(
        ResultWriter({.format = ResultFormat::kJsonLines}).page(rows),
        "{\"id\":\"1\",\"n\":2,\"_rid\":\"r\"}\n{\"id\":\"2\",\"o\":{\"p\":[1,2]}}\n\"plain\"\n");
    EXPECT_EQ(pretty_json(rows[1]), "{\n  \"id\": \"2\",\n  \"o\": {\n    \"p\": [1,2]\n  }\n}");
}

TEST(ResultTextTest, CsvHasItsHeaderOnce) {
    json::Arena arena;
    ResultWriter writer({.format = ResultFormat::kCsv});
    EXPECT_EQ(writer.page(rows_of(R"([{"a":1,"b":{"c":"x"}}])", arena)), "a,b.c\r\n1,x\r\n");
    EXPECT_EQ(writer.page(rows_of(R"([{"a":2}])", arena)), "2,\r\n");
    EXPECT_EQ(writer.page(rows_of(R"([{"d":"7"}])", arena)), "\r\na,b.c,d\r\n,,\"7\"\r\n");
}

TEST(ProgressTest, ShowsBarRateAndRest) {
    const std::string line = Progress::line(
        "orders.jsonl", {.items = 5000, .bytes = 5 << 20, .fraction = 0.25, .throttled = 3},
        2'000'000, 200);
    EXPECT_EQ(line,
              "orders.jsonl  [######..................]  25 %  5,000 items  2,500/s  2.5 MB/s  6.0 "
              "s left  3 throttled");
    EXPECT_THAT(Progress::line("x", {.items = 7}, 1'000'000, 200), HasSubstr("7 items  7/s"));
    EXPECT_EQ(column_count(Progress::line("orders.jsonl", {.items = 5000, .fraction = 0.5}, 1, 40)),
              40u);
    EXPECT_EQ(duration_text(125'000'000), "2:05");
    EXPECT_EQ(duration_text(3'605'000'000), "1:00:05");
    EXPECT_EQ(with_commas(1234567), "1,234,567");
    EXPECT_EQ(bytes_text(1536), "1.5 KB");
}

TopData top_data(size_t partitions) {
    TopData data;
    data.endpoint = "http://127.0.0.1:8081/";
    data.now = 1'700'000'000;
    data.containers = 1;
    data.operations = {{"read", 60, 100, 900}};
    for (size_t i = 0; i < partitions; ++i) {
        TopPartition partition;
        partition.container = "shop/orders";
        partition.id = std::to_string(i);
        partition.provisioned = 100;
        partition.charge_per_second = static_cast<double>(i);
        partition.bytes = static_cast<int64_t>(1000 - i);
        data.partitions.push_back(partition);
    }
    return data;
}

size_t lines_of(std::string_view text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
}

TEST(TopTextTest, OrdersAndFitsTheWindow) {
    const std::string plain = top_text(top_data(3), TopOrder::kLoad, 0, 0, TopStyle::kPlain);
    EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
    EXPECT_LT(plain.find("2 %"), plain.find("1 %"));
    EXPECT_THAT(plain, HasSubstr("read 60/min p99 0.90 ms"));
    const std::string by_storage =
        top_text(top_data(3), TopOrder::kStorage, 0, 0, TopStyle::kPlain);
    EXPECT_GT(by_storage.find("2 %"), by_storage.find("1 %"));
    for (const size_t height : {5u, 10u, 24u, 200u}) {
        const std::string screen =
            top_text(top_data(100), TopOrder::kLoad, 60, height, TopStyle::kTerminal);
        EXPECT_LE(lines_of(screen), height);
    }
    EXPECT_THAT(top_text(top_data(100), TopOrder::kLoad, 60, 20, TopStyle::kTerminal),
                HasSubstr("more lines"));
    EXPECT_THAT(top_text(top_data(0), TopOrder::kLoad, 60, 20, TopStyle::kTerminal),
                HasSubstr("There are no containers yet"));
    json::Arena arena;
    EXPECT_TRUE(json::parse(top_json(top_data(2)), arena).ok());
}

}  // namespace
}  // namespace orrery::cli
