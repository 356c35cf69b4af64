#include "heads/rest/hybrid_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/answers.h"
#include "heads/rest/hybrid_row_test_support.h"

namespace orrery::rest::hybrid_row {
namespace {

using testing::HasSubstr;
using namespace testing_support;  // NOLINT

constexpr size_t kMax = 100;

void expect_refused(const std::string& body, std::string_view why) {
    const auto read = read_operations(body, kMax);
    ASSERT_FALSE(read.ok()) << why;
    EXPECT_EQ(status_of(read.error()), 400);
    EXPECT_THAT(read.error().message, HasSubstr(std::string(why)));
}

/// A row with the head of an operation, presence and two numbers, then `rest`.
std::string row_with(std::string_view presence, std::string_view rest) {
    return from_hex("81 7054e17f " + std::string(presence) + "00000000 02000000" +
                    std::string(rest));
}

TEST(HybridRow, GoldenRequest) {
    // What is read points into it.
    const std::string body = from_hex(
        "81f0d8ff7f010a000000 81f1d8ff7f28000000f80cece0 817054e17f 47 00000000 02000000 "
        "05 5b2261225d 13 7b226964223a2231222c22706b223a2261227d");
    const auto read = read_operations(body, kMax);
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(read->size(), 1u);
    const Operation& operation = read->front();
    EXPECT_EQ(operation.operation_type, 0);
    EXPECT_EQ(operation.resource_type, kDocumentResource);
    EXPECT_EQ(operation.partition_key, R"(["a"])");
    EXPECT_EQ(operation.resource_body, R"({"id":"1","pk":"a"})");
    EXPECT_FALSE(operation.id || operation.effective_partition_key || operation.binary_id ||
                 operation.if_match || operation.if_none_match || operation.indexing_directive ||
                 operation.time_to_live_seconds || operation.minimal_return);
}

TEST(HybridRow, GoldenResult) {
    std::string out;
    append_segment(out);
    append_result(out, {.status = 201,
                        .sub_status = 0,
                        .etag = "\"e1\"",
                        .body = R"({"id":"1"})",
                        .retry_after_ms = 0,
                        .request_charge = 6.5});
    EXPECT_EQ(out,
              from_hex("81f0d8ff7f010a000000 81f1d8ff7f280000005b2c59c3 817154e17f 0f c9000000 "
                       "00000000 04 22653122 0a 7b226964223a2231227d 10 06 0000000000001a40"));
    out.clear();
    append_result(
        out, {.status = 429, .sub_status = 3200, .etag = {}, .body = {}, .retry_after_ms = 258});
    EXPECT_EQ(out.substr(13),
              from_hex("817154e17f 03 ad010000 800c0000 0b 05 02010000 10 06 0000000000000000"));
}

/// Every sparse field, by number; the bytes by hand.
TEST(HybridRow, GoldenSparseFields) {
    const std::string row = row_with("17",
                                     "03 5b315d 01 78"          // partition key "[1]", id "x"
                                     "14 08 07 4578636c756465"  // indexingDirective "Exclude"
                                     "14 09 04 22653122"        // ifMatch "\"e1\""
                                     "14 0a 01 2a"              // ifNoneMatch "*"
                                     "07 0b ffffffff"           // timeToLiveInSeconds -1
                                     "03 0c");                  // minimalReturnPreference true
    const std::string body = segment() + record(row);
    const auto read = read_operations(body, kMax);
    ASSERT_TRUE(read.ok()) << read.error().message;
    const Operation& operation = read->front();
    EXPECT_EQ(operation.partition_key, "[1]");
    EXPECT_EQ(operation.id, "x");
    EXPECT_EQ(operation.indexing_directive, "Exclude");
    EXPECT_EQ(operation.if_match, "\"e1\"");
    EXPECT_EQ(operation.if_none_match, "*");
    EXPECT_EQ(operation.time_to_live_seconds, -1);
    EXPECT_EQ(operation.minimal_return, true);
}

TEST(HybridRow, FieldsByNameAndNulls) {
    // ifMatch by its name: 12 columns + 1 + 7 letters; then a null and a false.
    const std::string row = row_with("03", "14 14 69664d61746368 01 65  01 08  02 0c");
    const std::string body = segment() + record(row);
    const auto read = read_operations(body, kMax);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->front().if_match, "e");
    EXPECT_FALSE(read->front().indexing_directive);
    EXPECT_EQ(read->front().minimal_return, false);
}

TEST(HybridRow, RoundTrips) {
    const std::string large(200'000, 'x');
    std::vector<Operation> operations;
    for (int bits = 0; bits < 64; ++bits) {
        Operation operation;
        operation.operation_type = bits % 6;
        if ((bits & 1) != 0) operation.partition_key = R"(["é",{}])";
        if ((bits & 2) != 0) operation.id = "日本";
        if ((bits & 4) != 0) operation.resource_body = large;
        if ((bits & 8) != 0) operation.if_match = "";
        if ((bits & 16) != 0) operation.minimal_return = (bits & 1) != 0;
        if ((bits & 32) != 0) operation.binary_id = std::string_view("\0\xFF", 2);
        operations.push_back(operation);
    }
    const std::string body = request(operations);
    const auto read = read_operations(body, kMax);
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(read->size(), operations.size());
    for (size_t i = 0; i < operations.size(); ++i)
        EXPECT_EQ(operation_row((*read)[i]), operation_row(operations[i])) << i;

    std::string out;
    append_segment(out);
    const std::string json = "{\"v\":\"" + large + "\"}";
    append_result(out, {.status = 200, .etag = "\"e\"", .body = json, .request_charge = 1.24});
    append_result(out, {.status = 424, .etag = {}, .body = {}});
    append_result(out,
                  {.status = 429, .sub_status = 3200, .etag = {}, .body = {}, .retry_after_ms = 7});
    const auto results = read_answer(out);
    ASSERT_TRUE(results);
    ASSERT_EQ(results->size(), 3u);
    EXPECT_EQ((*results)[0].body, json);
    EXPECT_EQ((*results)[0].request_charge, 1.24);
    EXPECT_EQ((*results)[1].status, 424);
    EXPECT_EQ((*results)[2].retry_after_ms, 7u);
    EXPECT_EQ((*results)[2].sub_status, 3200);
}

/// A stream may be cut into segments, and a segment may carry texts.
TEST(HybridRow, SeveralSegments) {
    const std::string row = operation_row({.operation_type = 2, .id = "a"});
    const std::string commented = from_hex("81 f0d8ff7f 01 0f000000 14 02 02 6869");
    const std::string body = commented + record(row) + segment() + record(row);
    const auto read = read_operations(body, kMax);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->size(), 2u);
}

TEST(HybridRow, MoreOperationsThanAllowed) {
    const std::vector<Operation> operations(101, Operation{.operation_type = 2, .id = "a"});
    expect_refused(request(operations), "101, at most 100");
    EXPECT_TRUE(read_operations(request({operations.begin(), operations.end() - 1}), kMax).ok());
    EXPECT_TRUE(read_operations(segment(), kMax)->empty());
}

TEST(HybridRow, EveryTruncationIsRefused) {
    const std::string body = request({{.operation_type = 0,
                                       .resource_type = 2,
                                       .partition_key = "[1]",
                                       .id = "i",
                                       .resource_body = "{}",
                                       .if_match = "e",
                                       .time_to_live_seconds = 5}});
    for (size_t length = 0; length < body.size(); ++length) {
        const auto read = read_operations(body.substr(0, length), kMax);
        if (length == segment().size()) {
            EXPECT_TRUE(read.ok() && read->empty());
        } else {
            EXPECT_FALSE(read.ok()) << length;
        }
    }
    // The same inside a record whose length and checksum are right.
    const std::string row = body.substr(segment().size() + 13);
    for (size_t length = 0; length < row.size(); ++length) {
        const auto read = read_operations(segment() + record(row.substr(0, length)), kMax);
        // Sparse fields may be left out; everything else must be there.
        EXPECT_TRUE(!read.ok() || row.substr(length).find('{') == std::string::npos) << length;
    }
}

TEST(HybridRow, HostileLengthsAndTypes) {
    expect_refused(from_hex("81 f0d8ff7f 01 ffffffff"), "not inside the body");
    expect_refused(from_hex("81 f0d8ff7f 01 09000000"), "not inside the body");
    expect_refused(from_hex("81 f0d8ff7f 00 0a000000"), "no length");
    expect_refused(from_hex("81 f1d8ff7f 00000000 00000000"), "does not begin with a Segment row");
    expect_refused(segment() + from_hex("81 f1d8ff7f ffffffff 00000000"), "beyond the body's end");
    expect_refused(segment() + from_hex("81 7054e17f"), "expected a Record row");
    expect_refused(segment() + from_hex("82 f1d8ff7f"), "does not begin with 81");
    std::string damaged = request({{.operation_type = 0, .id = "i"}});
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    expect_refused(damaged, "checksum");
    const auto refuse_row = [](const std::string& row, std::string_view why) {
        expect_refused(segment() + record(row), why);
    };
    refuse_row(from_hex("81 7154e17f 03 00000000 02000000"), "no BatchOperation row");
    refuse_row(row_with("83", ""), "columns that the schema does not");
    refuse_row(row_with("43", "ffffffffffffffffff01"), "beyond the record's end");
    refuse_row(row_with("43", "ffffffffffffffffffffff"), "beyond the record's end");
    refuse_row(row_with("13", "02 c328"), "not UTF-8");
    refuse_row(row_with("03", "14 09 02 c328"), "no UTF-8 text");
    refuse_row(row_with("03", "14 09 7f 61"), "no UTF-8 text");
    refuse_row(row_with("03", "07 09 00000000"), "'ifMatch' has a value of type 7");
    refuse_row(row_with("03", "14 0c 00"), "'minimalReturnPreference' has a value of type 20");
    refuse_row(row_with("03", "0b 0b 00000000"), "'timeToLiveInSeconds' has a value of type 11");
    refuse_row(row_with("03", "14 05 01 61"), "'id' is no sparse field");
    refuse_row(row_with("03", "14 11 6e6f7065 01 61"), "'nope' is no sparse field");
    refuse_row(row_with("03", "14 00 01 61"), "no path");
    refuse_row(row_with("03", "14 0d 01 61"), "no path");
    refuse_row(row_with("03", "14 ffffffffffffffffff01 61"), "no path");
    refuse_row(row_with("03", "07 0b 0000"), "ends inside a number");
}

}  // namespace
}  // namespace orrery::rest::hybrid_row
