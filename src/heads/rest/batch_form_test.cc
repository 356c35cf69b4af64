// Batches in .NET's binary form, through the whole head.
#include "heads/rest/batch_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/hybrid_row_test_support.h"
#include "heads/rest/rest_test_support.h"

namespace orrery::rest {
namespace {

using hybrid_row::Operation;
using hybrid_row::testing_support::read_answer;
using hybrid_row::testing_support::ReadResult;
using hybrid_row::testing_support::request;
using testing::HasSubstr;
using testing_support::Headers;
using testing_support::Reply;
using testing_support::TestServer;

constexpr int32_t kCreate = 0, kPatch = 1, kRead = 2, kDelete = 4, kReplace = 5, kUpsert = 20;

class BinaryBatchTest : public testing::Test {
protected:
    BinaryBatchTest() {
        EXPECT_EQ(server_.send("POST", "/dbs", {}, R"({"id":"d"})").status, 201);
        EXPECT_EQ(
            server_
                .send("POST", "/dbs/d/colls", {{"x-ms-offer-throughput", "12000"}},
                      R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})")
                .status,
            201);
    }
    Reply atomic(const std::vector<Operation>& operations) {
        return server_.send("POST", "/dbs/d/colls/c/docs",
                            {{"x-ms-cosmos-is-batch-request", "True"},
                             {"x-ms-cosmos-batch-atomic", "True"},
                             {"x-ms-documentdb-partitionkey", R"(["a"])"}},
                            request(operations));
    }
    Reply bulk(const std::vector<Operation>& operations, Headers headers = {}) {
        headers.emplace_back("x-ms-cosmos-is-batch-request", "True");
        headers.emplace_back("x-ms-cosmos-batch-atomic", "False");
        headers.emplace_back("x-ms-cosmos-batch-continue-on-error", "True");
        return server_.send("POST", "/dbs/d/colls/c/docs", std::move(headers), request(operations));
    }
    static std::vector<ReadResult> results(const Reply& reply) {
        auto read = read_answer(reply.body);
        EXPECT_TRUE(read) << reply.status << " " << reply.body;
        return read ? *read : std::vector<ReadResult>();
    }
    static std::vector<int> statuses(const Reply& reply) {
        std::vector<int> all;
        for (const auto& result : results(reply)) all.push_back(result.status);
        return all;
    }
    TestServer server_;
};

TEST_F(BinaryBatchTest, AllOperationsAndTheirAnswers) {
    const Reply reply = atomic({
        {.operation_type = kCreate,
         .resource_type = 2,
         .resource_body = R"({"id":"1","pk":"a","n":1})"},
        {.operation_type = kUpsert, .resource_body = R"({"id":"2","pk":"a"})"},
        {.operation_type = kRead, .id = "1"},
        {.operation_type = kPatch,
         .id = "1",
         .resource_body =
             R"({"operations":[{"op":"incr","path":"/n","value":2}],"condition":"from c where c.n = 1"})"},
        {.operation_type = kReplace,
         .id = "2",
         .resource_body = R"({"id":"2","pk":"a","r":true})",
         .minimal_return = true},
        {.operation_type = kDelete, .id = "2"},
    });
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("content-type"), "application/octet-stream");
    const auto all = results(reply);
    ASSERT_EQ(statuses(reply), (std::vector<int>{201, 201, 200, 200, 200, 204}));
    EXPECT_THAT(all[0].body, HasSubstr(R"("n":1)"));
    EXPECT_THAT(all[3].body, HasSubstr(R"("n":3)"));
    EXPECT_TRUE(all[4].body.empty());
    EXPECT_TRUE(all[5].body.empty());
    EXPECT_THAT(all[0].etag, testing::MatchesRegex("\"[0-9a-f-]+\""));
    EXPECT_THAT(all[0].body, HasSubstr("\"_etag\":\"\\" + all[0].etag.substr(0, 20)));
    double sum = 0;
    for (const auto& result : all) sum += result.request_charge;
    EXPECT_NEAR(sum, std::stod(reply.header("x-ms-request-charge")), 0.04);
    // The same items as through JSON.
    const Reply read = server_.send("GET", "/dbs/d/colls/c/docs/1",
                                    {{"x-ms-documentdb-partitionkey", R"(["a"])"}});
    EXPECT_THAT(read.body, HasSubstr(R"("n":3)"));
}

TEST_F(BinaryBatchTest, FailureIsMixedStatusInTheSameForm) {
    const Reply reply =
        atomic({{.operation_type = kCreate, .resource_body = R"({"id":"1","pk":"a"})"},
                {.operation_type = kRead, .id = "none"},
                {.operation_type = kCreate, .resource_body = R"({"id":"3","pk":"a"})"}});
    EXPECT_EQ(reply.status, 207);
    EXPECT_EQ(statuses(reply), (std::vector<int>{424, 404, 424}));
    const Reply stale =
        atomic({{.operation_type = kCreate, .resource_body = R"({"id":"1","pk":"a"})"},
                {.operation_type = kDelete, .id = "1", .if_match = "\"no\""}});
    EXPECT_EQ(statuses(stale), (std::vector<int>{424, 412}));
    const Reply bad = atomic({{.operation_type = kCreate, .resource_body = "{\"id\":"}});
    EXPECT_EQ(statuses(bad), (std::vector<int>{400}));
}

TEST_F(BinaryBatchTest, BulkOverRanges) {
    std::vector<Operation> operations;
    std::vector<std::string> bodies, keys;
    for (int i = 0; i < 20; ++i) {
        keys.push_back("[\"k" + std::to_string(i) + "\"]");
        bodies.push_back(R"({"id":"i","pk":"k)" + std::to_string(i) + "\"}");
    }
    for (size_t i = 0; i < bodies.size(); ++i)
        operations.push_back(
            {.operation_type = kCreate, .partition_key = keys[i], .resource_body = bodies[i]});
    const Reply first = bulk(operations);
    EXPECT_EQ(first.status, 200);
    EXPECT_EQ(statuses(first), std::vector<int>(20, 201));
    EXPECT_EQ(bulk(operations).status, 207);
    EXPECT_EQ(statuses(bulk(operations)), std::vector<int>(20, 409));
    // A range that does not hold a key says so operation by operation.
    const auto routed = results(bulk(operations, {{"x-ms-documentdb-partitionkeyrangeid", "0"}}));
    int gone = 0;
    for (const auto& result : routed)
        if (result.status == 410 && result.sub_status == 1002) ++gone;
    EXPECT_GT(gone, 0);
    EXPECT_LT(gone, 20);
}

TEST_F(BinaryBatchTest, WhatIsNotOfferedIsRefusedByName) {
    const auto refused = [&](const Operation& operation, std::string_view why) {
        const Reply reply = atomic({operation});
        EXPECT_EQ(reply.status, 400);
        EXPECT_EQ(reply.header("content-type"), "application/json");
        EXPECT_THAT(reply.body, HasSubstr(std::string(why)));
    };
    refused({.operation_type = kRead, .id = "1", .time_to_live_seconds = 5}, "timeToLiveInSeconds");
    refused({.operation_type = kRead, .effective_partition_key = "x", .id = "1"},
            "effectivePartitionKey");
    refused({.operation_type = kRead, .id = "1", .binary_id = "x"}, "binaryId");
    refused({.operation_type = 3, .id = "1"}, "'operationType' is '3'");
    refused({.id = "1"}, "'operationType' is missing");
    refused({.operation_type = kRead, .resource_type = 1, .id = "1"}, "'resourceType' is 1");
    refused({.operation_type = kCreate}, "'resourceBody'");
    refused({.operation_type = kDelete}, "'id' is required for Delete");
    refused({.operation_type = kDelete, .id = "1", .if_none_match = "*"}, "If-None-Match");
    refused({.operation_type = kRead, .id = "1", .indexing_directive = "x"}, "x");
    EXPECT_EQ(atomic({}).status, 400);
}

}  // namespace
}  // namespace orrery::rest
