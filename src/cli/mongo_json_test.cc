#include "cli/mongo_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;

std::string converted(const char* text) {
    json::Arena arena;
    const auto item = json::parse(text, arena);
    if (!item.ok()) return item.error().message;
    const auto plain = mongo_to_json(*item, arena);
    if (!plain.ok()) return plain.error().message;
    const auto named = mongo_id_to_id(*plain, arena);
    return named.ok() ? json::to_text(*named) : named.error().message;
}

TEST(MongoJsonTest, Ids) {
    EXPECT_EQ(converted(R"({"_id":{"$oid":"507f1f77bcf86cd799439011"},"a":1})"),
              R"({"id":"507f1f77bcf86cd799439011","a":1})");
    EXPECT_EQ(converted(R"({"_id":"x"})"), R"({"id":"x"})");
    EXPECT_EQ(converted(R"({"_id":{"$numberLong":"12"}})"), R"({"id":"12"})");
    EXPECT_EQ(converted(R"({"_id":{"$numberInt":"12"},"id":"12"})"), R"({"id":"12"})");
    EXPECT_EQ(converted(R"({"id":"x"})"), R"({"id":"x"})");
    EXPECT_THAT(converted(R"({"_id":{"a":1}})"), HasSubstr("--id-from"));
    EXPECT_THAT(converted(R"({"_id":"x","id":"y"})"), HasSubstr("--id-from"));
}

TEST(MongoJsonTest, Numbers) {
    EXPECT_EQ(
        converted(
            R"({"a":{"$numberInt":"5"},"b":{"$numberLong":"9007199254740993"},"c":{"$numberDouble":"1.5"}})"),
        R"({"a":5,"b":9007199254740993,"c":1.5})");
    EXPECT_EQ(converted(R"({"a":{"$numberDouble":"NaN"},"b":{"$numberDouble":"-Infinity"}})"),
              R"({"a":"NaN","b":"-Infinity"})");
    EXPECT_EQ(
        converted(
            R"({"a":{"$numberDecimal":"12.50"},"b":{"$numberDecimal":"0.1234567890123456789"}})"),
        R"({"a":12.50,"b":"0.1234567890123456789"})");
    EXPECT_THAT(converted(R"({"a":{"$numberLong":"x"}})"), HasSubstr("$numberLong"));
}

TEST(MongoJsonTest, Dates) {
    EXPECT_EQ(converted(R"({"a":{"$date":"2020-02-29T12:00:00Z"}})"),
              R"({"a":"2020-02-29T12:00:00Z"})");
    EXPECT_EQ(converted(R"({"a":{"$date":{"$numberLong":"1582977600123"}}})"),
              R"({"a":"2020-02-29T12:00:00.123Z"})");
    EXPECT_EQ(converted(R"({"a":{"$date":1582977600000}})"), R"({"a":"2020-02-29T12:00:00.000Z"})");
    EXPECT_EQ(converted(R"({"a":{"$date":{"$numberLong":"-1"}}})"),
              R"({"a":"1969-12-31T23:59:59.999Z"})");
}

TEST(MongoJsonTest, OtherTypes) {
    EXPECT_EQ(converted(R"({"a":{"$binary":{"base64":"AAEC","subType":"00"}}})"),
              R"({"a":"AAEC"})");
    EXPECT_EQ(converted(R"({"a":{"$binary":"AAEC","$type":"00"}})"), R"({"a":"AAEC"})");
    EXPECT_EQ(
        converted(R"({"a":{"$binary":{"base64":"AAECAwQFBgcICQoLDA0ODw==","subType":"04"}}})"),
        R"({"a":"00010203-0405-0607-0809-0a0b0c0d0e0f"})");
    EXPECT_EQ(
        converted(
            R"({"a":{"$regularExpression":{"pattern":"^x","options":"i"}},"b":{"$regex":"y","$options":""}})"),
        R"({"a":"/^x/i","b":"/y/"})");
    EXPECT_EQ(
        converted(
            R"({"a":{"$minKey":1},"b":{"$maxKey":1},"c":{"$undefined":true},"d":[{"$undefined":true},1]})"),
        R"({"a":"MinKey","b":"MaxKey","d":[null,1]})");
    EXPECT_EQ(
        converted(R"({"a":{"$timestamp":{"t":1,"i":2}},"b":{"$uuid":"x"},"c":{"$symbol":"s"}})"),
        R"({"a":{"t":1,"i":2},"b":"x","c":"s"})");
    EXPECT_EQ(converted(R"({"a":{"$ref":"c","$id":{"$oid":"5"}}})"),
              R"({"a":{"$ref":"c","$id":"5"}})");
    EXPECT_EQ(converted(R"({"a":{"b":[{"$oid":"5"}],"c":{}}})"), R"({"a":{"b":["5"],"c":{}}})");
}

}  // namespace
}  // namespace orrery::cli
