#include "cli/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CsvSplitTest, Rfc4180) {
    EXPECT_THAT(split_csv("a,b,,d", ',')->texts, ElementsAre("a", "b", "", "d"));
    EXPECT_THAT(split_csv("\"a,\"\"b\"\"\",c,", ',')->texts, ElementsAre("a,\"b\"", "c", ""));
    EXPECT_THAT(split_csv("a\tb", '\t')->texts, ElementsAre("a", "b"));
    EXPECT_THAT(split_csv("\"\"", ',')->quoted, ElementsAre(true));
    EXPECT_FALSE(split_csv("\"a\"b,c", ',').ok());
    EXPECT_FALSE(split_csv("a\"b", ',').ok());
    EXPECT_FALSE(split_csv("\"open", ',').ok());
}

std::string convert(const std::string& header, const std::string& record, CsvOptions options = {}) {
    const auto names = split_csv(header, options.delimiter);
    auto converter = CsvConverter::create(names->texts, options);
    if (!converter.ok()) return converter.error().message;
    const auto item = converter->convert(record);
    return item.ok() ? *item : item.error().message;
}

TEST(CsvConvertTest, InfersTypes) {
    EXPECT_EQ(convert("id,a,b,c,d,e,f", "7,7,-1.5e3,true,null,007,x y"),
              R"({"id":"7","a":7,"b":-1.5e3,"c":true,"d":null,"e":"007","f":"x y"})");
    EXPECT_EQ(convert("a,b", "\"7\",\"[1,2]\""), R"({"a":"7","b":[1,2]})");
    EXPECT_EQ(convert("a", "12345678901234567890"), R"({"a":"12345678901234567890"})");
    EXPECT_EQ(convert("a", "+5"), R"({"a":"+5"})");
    CsvOptions quoted;
    quoted.infer_quoted = true;
    EXPECT_EQ(convert("a", "\"7\"", quoted), R"({"a":7})");
    CsvOptions text;
    text.default_type = CsvType::kText;
    EXPECT_EQ(convert("a,b", "7,true", text), R"({"a":"7","b":"true"})");
}

TEST(CsvConvertTest, ColumnTypes) {
    CsvOptions options;
    ASSERT_TRUE(add_column_type("zip:text", options).ok());
    ASSERT_TRUE(add_column_type("n:number", options).ok());
    ASSERT_TRUE(add_column_type("yes:boolean", options).ok());
    ASSERT_TRUE(add_column_type("j:json", options).ok());
    EXPECT_EQ(convert("zip,n,yes,j", "12345,1.50,1,\"{\"\"a\"\":1}\"", options),
              R"({"zip":"12345","n":1.50,"yes":true,"j":{"a":1}})");
    EXPECT_THAT(convert("zip,n,yes,j", "1,x,1,1", options),
                HasSubstr("column 'n': 'x' is no number"));
    EXPECT_THAT(convert("zip,n,yes,j", "1,1,maybe,1", options),
                HasSubstr("neither true nor false"));
    EXPECT_THAT(convert("zip,n,yes", "1,1,1", options), HasSubstr("--column names 'j'"));
    EXPECT_FALSE(add_column_type("zip:colour", options).ok());
    EXPECT_FALSE(add_column_type("zip", options).ok());
}

TEST(CsvConvertTest, DotsNest) {
    EXPECT_EQ(convert("a.x,b,a.y", "1,2,3"), R"({"a":{"x":1,"y":3},"b":2})");
    EXPECT_EQ(convert("a.x,b", ",2"), R"({"b":2})");
    EXPECT_EQ(convert("a\\.x", "1"), R"({"a.x":1})");
    EXPECT_EQ(convert("a,a.x", "1,"), R"({"a":1})");
    EXPECT_EQ(convert("a,a.x", ",2"), R"({"a":{"x":2}})");
    EXPECT_THAT(convert("a,a.x", "1,2"), HasSubstr("'a' has a value"));
    CsvOptions flat;
    flat.nested = false;
    EXPECT_EQ(convert("a.x", "1", flat), R"({"a.x":1})");
}

TEST(CsvConvertTest, EmptyFields) {
    EXPECT_EQ(convert("a,b", ",\"\""), R"({"b":""})");
    CsvOptions null;
    null.empty = CsvOptions::Empty::kNull;
    EXPECT_EQ(convert("a,b", ",1", null), R"({"a":null,"b":1})");
    CsvOptions text;
    text.empty = CsvOptions::Empty::kText;
    EXPECT_EQ(convert("a,b", ",1", text), R"({"a":"","b":1})");
}

TEST(CsvConvertTest, SaysWhatIsWrong) {
    EXPECT_THAT(convert("a,b", "1"), HasSubstr("--delimiter"));
    EXPECT_THAT(convert("a,b", "1,2,3"), HasSubstr("3 fields where the header line has 2"));
    EXPECT_THAT(convert("a,a", "1,2"), HasSubstr("twice"));
    EXPECT_THAT(convert("a,,b", "1,2,3"), HasSubstr("Column 2 has no name"));
    EXPECT_THAT(convert("a", "\xff"), HasSubstr("not UTF-8"));
}

/// What is written is read back as the same item.
TEST(CsvConvertTest, RoundTrip) {
    for (const char* text :
         {R"({"id":"1","n":1.50,"s":"7","t":"true","u":"","v":"a,b\n\"c\"","w":null,"x":false})",
          R"({"id":"2","o":{"p":{"q":[1,"two",{"three":3}]},"r":"x"},"e":{},"l":[]})",
          R"({"id":"3","a.b":1,"c\\d":"é","big":123456789012345678})"}) {
        json::Arena arena;
        const auto item = json::parse(text, arena);
        ASSERT_TRUE(item.ok());
        std::string header;
        std::string record;
        for (const auto& [name, value] : flatten(*item)) {
            if (!header.empty()) {
                header += ',';
                record += ',';
            }
            append_csv_field(header, name, ',');
            append_csv_value(record, value, ',');
        }
        if (std::string_view(text).find("big") == std::string_view::npos)
            EXPECT_EQ(convert(header, record), json::to_text(*item));
        else
            EXPECT_THAT(convert(header, record), HasSubstr("\"123456789012345678\""))
                << "more digits than a double keeps stay text";
    }
}

}  // namespace
}  // namespace orrery::cli
