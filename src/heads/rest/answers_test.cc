#include "heads/rest/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/errors.h"
#include "base/script_errors.h"
#include "base/throughput_errors.h"
#include "engine/outcome.h"
#include "json/parse.h"

namespace orrery::rest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Expected {
    Code code;
    int status;
    int sub_status;
    std::string_view name;
};

const Expected kExpected[] = {
    {Code::kBadRequest, 400, 0, "BadRequest"},
    {Code::kBadJson, 400, 0, "BadRequest"},
    {Code::kNotSupported, 400, 0, "BadRequest"},
    {Code::kMissingProperty, 400, 0, "BadRequest"},
    {Code::kInvalidId, 400, 0, "BadRequest"},
    {Code::kInvalidTtl, 400, 0, "BadRequest"},
    {Code::kMissingPartitionKey, 400, 0, "BadRequest"},
    {Code::kInvalidPartitionKey, 400, 0, "BadRequest"},
    {Code::kInvalidContinuation, 400, 0, "BadRequest"},
    {Code::kForeignContinuation, 400, 0, "BadRequest"},
    {Code::kContinuationCut, 400, 0, "BadRequest"},
    {Code::kForeignFeedPosition, 400, 0, "BadRequest"},
    {Code::kFeedPositionElsewhere, 400, 0, "BadRequest"},
    {Code::kFeedPositionAhead, 400, 0, "BadRequest"},
    {Code::kFeedHistoryGone, 400, 0, "BadRequest"},
    {Code::kPartitionKeyMismatch, 400, 1001, "BadRequest"},
    {Code::kContainerReplaced, 400, 1024, "BadRequest"},
    {Code::kQueryCompile, 400, 0, "BadRequest"},
    {Code::kServerlessOffer, 400, 0, "BadRequest"},
    {Code::kTwoThroughputs, 400, 0, "BadRequest"},
    {Code::kOfferIsAutoscale, 400, 0, "BadRequest"},
    {Code::kOfferIsManual, 400, 0, "BadRequest"},
    {Code::kScriptSyntax, 400, 0, "BadRequest"},
    {Code::kScriptFailed, 400, 0, "BadRequest"},
    {Code::kFunctionFailed, 400, 0, "BadRequest"},
    {Code::kTriggerRunsBefore, 400, 0, "BadRequest"},
    {Code::kTriggerRunsAfter, 400, 0, "BadRequest"},
    {Code::kOperationUnknown, 405, 0, "MethodNotAllowed"},
    {Code::kBodyFormUnknown, 415, 0, "UnsupportedMediaType"},
    {Code::kUnauthorized, 401, 0, "Unauthorized"},
    {Code::kForbidden, 403, 0, "Forbidden"},
    {Code::kOutsideTokenKey, 403, 0, "Forbidden"},
    {Code::kSharedDatabaseFull, 403, 1010, "Forbidden"},
    {Code::kLogicalPartitionFull, 403, 1014, "Forbidden"},
    {Code::kTooManyScripts, 403, 0, "Forbidden"},
    {Code::kEntityTooLarge, 413, 0, "RequestEntityTooLarge"},
    {Code::kBatchResponseTooLarge, 413, 3402, "RequestEntityTooLarge"},
    {Code::kScriptMemory, 413, 0, "RequestEntityTooLarge"},
    {Code::kScriptAnswerTooLarge, 413, 0, "RequestEntityTooLarge"},
    {Code::kMemoryLimit, 400, 0, "BadRequest"},
    {Code::kNotFound, 404, 0, "NotFound"},
    {Code::kResourceNotFound, 404, 0, "NotFound"},
    {Code::kOwnerNotFound, 404, 1003, "NotFound"},
    {Code::kSessionNotAvailable, 404, 1002, "NotFound"},
    {Code::kRangeGone, 410, 1002, "Gone"},
    {Code::kRangeSwitching, 410, 1007, "Gone"},
    {Code::kTransactionGone, 400, 0, "BadRequest"},
    {Code::kCursorGone, 400, 0, "BadRequest"},
    {Code::kNotTheWriter, 403, 3, "Forbidden"},
    {Code::kRegionGone, 403, 1008, "Forbidden"},
    {Code::kConflict, 409, 0, "Conflict"},
    {Code::kUniqueKeyConflict, 409, 0, "Conflict"},
    {Code::kSchemaExists, 409, 0, "Conflict"},
    {Code::kPreconditionFailed, 412, 0, "PreconditionFailed"},
    {Code::kPatchConditionFailed, 412, 0, "PreconditionFailed"},
    {Code::kFailedDependency, 424, 0, "FailedDependency"},
    {Code::kRetryWith, 449, 0, "RetryWith"},
    {Code::kWriteConflict, 449, 0, "RetryWith"},
    {Code::kScaleRunning, 423, 0, "Locked"},
    {Code::kRateLimited, 429, 3200, "TooManyRequests"},
    {Code::kMetadataRateLimited, 429, 3200, "TooManyRequests"},
    {Code::kRequestTimeout, 408, 0, "RequestTimeout"},
    {Code::kScriptTimeout, 408, 0, "RequestTimeout"},
    {Code::kScriptsBusy, 503, 0, "ServiceUnavailable"},
    {Code::kScriptsStuck, 503, 0, "ServiceUnavailable"},
    {Code::kServiceUnavailable, 503, 0, "ServiceUnavailable"},
    {Code::kOutcomeUnknown, 408, 0, "RequestTimeout"},
    {Code::kInternal, 500, 0, "InternalServerError"},
    {Code::kStorageReadOnly, 507, 0, "InsufficientStorage"},
};

TEST(AnswersTest, EveryCode) {
    std::set<Code> seen;
    for (const Expected& expected : kExpected) {
        seen.insert(expected.code);
        const Error error{expected.code, "text", {}};
        const ErrorAnswer answer = answer_to(error);
        EXPECT_EQ(answer.status, expected.status) << static_cast<int>(expected.code);
        EXPECT_EQ(answer.sub_status, expected.sub_status) << static_cast<int>(expected.code);
        EXPECT_EQ(code_name(answer.status), expected.name) << static_cast<int>(expected.code);
        EXPECT_EQ(status_of(error), expected.status);
        // Metrics and recordings show what the client was told.
        EXPECT_EQ(engine::outcome::of(expected.code), expected.status)
            << static_cast<int>(expected.code);
    }
    EXPECT_EQ(seen.size(), kCodeCount);
}

TEST(AnswersTest, AScriptsNumberIsTheSubStatus) {
    EXPECT_EQ(answer_to(errors::script_failed("x", "", 404)).sub_status, 404);
    EXPECT_EQ(answer_to(errors::script_failed("x", "", 65'536)).sub_status, 0);
}

/// Where REST has a place for what is missing or wrong, its texts name it.
TEST(AnswersTest, TextsNameHeaders) {
    const auto text = [](const Error& error) { return answer_to(error).message; };
    EXPECT_EQ(text(errors::missing_partition_key()),
              "PartitionKey value must be supplied for this operation. Send the header "
              "x-ms-documentdb-partitionkey with a JSON array, for example [\"value\"].");
    EXPECT_EQ(text(errors::invalid_partition_key("{0}", "{} or []")),
              "The value '{0}' of header 'x-ms-documentdb-partitionkey' is invalid. Expected {} or "
              "[].");
    EXPECT_EQ(text(errors::invalid_continuation("?")),
              "The value '?' of header 'x-ms-continuation' is invalid. Expected a value from an "
              "earlier answer.");
    EXPECT_EQ(text(errors::feed_position_ahead("9", "0", 5)),
              "The change feed position 9 in If-None-Match is ahead of partition key range '0', "
              "whose last change has number 5: it belongs to another container or range.");
    EXPECT_EQ(text(errors::trigger_runs_before("t")),
              "The trigger 't' is a pre-trigger. Name it in the header "
              "x-ms-documentdb-pre-trigger-include.");
    EXPECT_THAT(text(errors::precondition_failed()), HasSubstr("etag given in If-Match is not"));
    EXPECT_THAT(text(errors::scripts_stuck(3)), StartsWith("3 scripts ran"));
    EXPECT_THAT(text(errors::scale_running()), HasSubstr("x-ms-offer-replace-pending"));
}

TEST(ErrorBodyTest, OrdinaryErrorsNestTheirText) {
    EXPECT_EQ(
        error_body(errors::conflict(), "2f1c", "/dbs/d/colls/c/docs"),
        R"({"code":"Conflict","message":"Message: {\"Errors\":[\"Resource with specified id or name already )"
        R"(exists.\"]}\r\nActivityId: 2f1c, Request URI: /dbs/d/colls/c/docs, RequestStats: , SDK: )" +
            std::string(server_name()) + "\"}");
}

TEST(ErrorBodyTest, TooLargeIsWhatTheBulkClientsLookFor) {
    EXPECT_THAT(
        error_body(errors::entity_too_large(1), "a", "/"),
        HasSubstr(R"("message":"Message: {\"Errors\":[\"Request size is too large\"]}\r\n)"));
}

TEST(ErrorBodyTest, GatewayErrorsArePlain) {
    EXPECT_EQ(
        error_body(errors::not_found(), "2f1c", "/x"),
        R"({"code":"NotFound","message":"Entity with the specified id does not exist in the system.\r\n)"
        R"(ActivityId: 2f1c, )" +
            std::string(server_name()) + "\"}");
}

TEST(ErrorBodyTest, QueryErrorsKeepTheirJson) {
    EXPECT_EQ(
        error_body(errors::query_compile({{"SC1001", "x", "", std::nullopt}}), "2f1c", "/x"),
        R"({"code":"BadRequest","message":"Message: {\"errors\":[{\"severity\":\"Error\",\"code\":\"SC1001\",\"message\":\"x\"}]})"
        R"(\r\nActivityId: 2f1c, )" +
            std::string(server_name()) + "\"}");
}

/// Tools cut the text between "Message: " and the line break and parse it.
TEST(ErrorBodyTest, NestedTextIsOneJsonTextWhateverItQuotes) {
    for (const std::string text :
         {"plain", "quote \" backslash \\ newline \n tab \t", "bell \a", "é 😀",
          "bytes \xFF\xC3 end", "Message: {\"Errors\":[]}\r\nActivityId: x"}) {
        const std::string body = error_body(errors::bad_request(text), "2f1c", "/dbs");
        json::Arena arena;
        const auto parsed = json::parse(body, arena);
        ASSERT_TRUE(parsed.ok()) << body;
        const std::string message(parsed->member("message").as_string());
        ASSERT_THAT(message, StartsWith("Message: "));
        const size_t end = message.find("\r\nActivityId");
        const std::string nested = message.substr(9, end - 9);
        const auto inner = json::parse(nested, arena);
        ASSERT_TRUE(inner.ok()) << nested;
        EXPECT_EQ(inner->member("Errors").elements().size(), 1u);
        EXPECT_THAT(nested, Not(HasSubstr("\n")));
    }
}

TEST(ErrorBodyTest, AdditionalInfo) {
    Error error = errors::bad_request("x");
    error.details.additional_info = R"({"a":1})";
    EXPECT_THAT(error_body(error, "a", "/"), HasSubstr(R"(,"additionalErrorInfo":"{\"a\":1}"})"));
}

TEST(ErrorBodyTest, RefusalsOfTheListenerHaveTheNamesOfTheirStatus) {
    for (const auto& [status, name] :
         std::vector<std::pair<int, std::string_view>>{{408, "RequestTimeout"},
                                                       {411, "LengthRequired"},
                                                       {414, "RequestUriTooLong"},
                                                       {431, "RequestHeaderFieldsTooLarge"},
                                                       {501, "NotImplemented"},
                                                       {505, "HttpVersionNotSupported"}}) {
        ErrorAnswer error;
        error.status = status;
        EXPECT_THAT(error_body(error, "a", "/"),
                    StartsWith("{\"code\":\"" + std::string(name) + "\","));
    }
}

}  // namespace
}  // namespace orrery::rest
