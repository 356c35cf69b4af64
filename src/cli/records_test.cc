#include "cli/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <vector>

namespace orrery::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RecordsTest : public ::testing::Test {
protected:
    void SetUp() override {
        path_ = ::testing::TempDir() + "records_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    void TearDown() override { std::remove(path_.c_str()); }

    std::unique_ptr<Source> source(const std::string& text) {
        std::ofstream(path_, std::ios::binary) << text;
        auto opened = Source::open(path_);
        EXPECT_TRUE(opened.ok());
        return std::move(*opened);
    }
    static std::vector<std::string> all(RecordReader& reader, std::string* error = nullptr) {
        std::vector<std::string> out;
        Record record;
        while (true) {
            const auto any = reader.next(record);
            if (!any.ok()) {
                if (error != nullptr) *error = any.error().message;
                return out;
            }
            if (!*any) return out;
            out.push_back(record.text);
        }
    }
    std::vector<std::string> json(const std::string& text, std::string* error = nullptr) {
        const auto opened = source(text);
        return all(*json_records(*opened), error);
    }
    std::string path_;
};

TEST_F(RecordsTest, JsonArraysAndSequences) {
    EXPECT_THAT(json(R"([{"a":"]}"},{"b":[1,{}]}  , 3 ,"x\"y"])"),
                ElementsAre(R"({"a":"]}"})", R"({"b":[1,{}]})", "3", R"("x\"y")"));
    EXPECT_THAT(json("{\"a\":1}\n\n {\"b\":2}{\"c\":3}\n"),
                ElementsAre("{\"a\":1}", "{\"b\":2}", "{\"c\":3}"));
    EXPECT_THAT(json("\xEF\xBB\xBF[1]"), ElementsAre("1"));
    EXPECT_THAT(json("[]"), ElementsAre());
    EXPECT_THAT(json(""), ElementsAre());
}

TEST_F(RecordsTest, JsonDamageNamesTheLine) {
    std::string error;
    EXPECT_THAT(json("[{\"a\":1},\n{\"b\":2", &error), ElementsAre("{\"a\":1}"));
    EXPECT_THAT(error, HasSubstr("Line 2"));
    json("[1 2]", &error);
    EXPECT_THAT(error, HasSubstr("comma is missing"));
    json("[1,\n2", &error);
    EXPECT_THAT(error, HasSubstr("not closed"));
    json("[1] 2", &error);
    EXPECT_THAT(error, HasSubstr("after the end"));
    json("}", &error);
    EXPECT_THAT(error, HasSubstr("not opened"));
    json("{} , {}", &error);
    EXPECT_THAT(error, HasSubstr("in no array"));
}

TEST_F(RecordsTest, ReadsAcrossPieces) {
    std::string text = "[";
    std::vector<std::string> expected;
    for (int i = 0; i < 20'000; ++i) {
        expected.push_back("{\"n\":" + std::to_string(i) + ",\"text\":\"" +
                           std::string(static_cast<size_t>(i % 97), 'y') + "\"}");
        text += (i == 0 ? "" : ",\n") + expected.back();
    }
    EXPECT_EQ(json(text + "]"), expected);
}

TEST_F(RecordsTest, ResumesAfterARecord) {
    for (const char* text :
         {"[{\"a\":1},\n{\"b\":2},\n{\"c\":3}]", "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"}) {
        const auto first = source(text);
        const auto reader = json_records(*first);
        Record record;
        ASSERT_TRUE(*reader->next(record));
        const Record seen = record;
        const auto again = source(text);
        const auto resumed = json_records(*again);
        ASSERT_TRUE(resumed->resume(seen.end_offset, seen.end_line).ok());
        ASSERT_TRUE(*resumed->next(record));
        EXPECT_EQ(record.text, "{\"b\":2}");
        EXPECT_EQ(record.line, 2u);
        EXPECT_THAT(all(*resumed), ElementsAre("{\"c\":3}"));
    }
}

TEST_F(RecordsTest, CsvRecordsSpanLinesInQuotes) {
    const auto opened = source(
        "\xEF\xBB\xBF"
        "a,b\r\n1,\"two\nlines \"\"quoted\"\"\"\r\n\r\n3,4");
    const auto reader = csv_records(*opened);
    EXPECT_THAT(all(*reader), ElementsAre("a,b", "1,\"two\nlines \"\"quoted\"\"\"", "3,4"));
}

TEST_F(RecordsTest, CsvQuoteThatStaysOpenIsRefused) {
    const auto opened = source("a\n\"never closed\n");
    std::string error;
    all(*csv_records(*opened), &error);
    EXPECT_THAT(error, HasSubstr("Line 2"));
}

TEST_F(RecordsTest, LinesAreTakenOneByOne) {
    const auto opened = source("{\"a\":1\n\n  \n{\"b\":2}\r\n");
    EXPECT_THAT(all(*line_records(*opened)), ElementsAre("{\"a\":1", "{\"b\":2}"));
}

TEST_F(RecordsTest, TooLargeARecordIsRefused) {
    std::string error;
    json("{\"a\":\"" + std::string(RecordReader::kRecordBytesMax, 'x') + "\"}", &error);
    EXPECT_THAT(error, HasSubstr("larger than 16 MB"));
}

TEST_F(RecordsTest, MissingFilesAndFoldersAreNamed) {
    EXPECT_THAT(Source::open("/nowhere/at.all").error().message, HasSubstr("/nowhere/at.all"));
    EXPECT_THAT(Source::open("/tmp").error().message, HasSubstr("folder"));
}

}  // namespace
}  // namespace orrery::cli
