#include "heads/rest/answers.h"

#include <fmt/format.h>

#include <array>

#include "base/encoding.h"
#include "base/errors.h"
#include "json/problems.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

struct Row {
    Code code;
    int status;
    int sub_status;
    BodyForm form;
    /// Instead of the error's own text, where REST says what to send: {0} stands for the subject,
    /// {1} for what is expected, {2} for the limit.
    std::string_view words = {};
};

/// In the order of the codes.
constexpr std::array kRows = {
    Row{Code::kBadRequest, 400, 0, BodyForm::kNested},
    Row{Code::kBadJson, 400, 0, BodyForm::kNested},
    Row{Code::kNotSupported, 400, 0, BodyForm::kNested},
    Row{Code::kMissingProperty, 400, 0, BodyForm::kNested},
    Row{Code::kInvalidId, 400, 0, BodyForm::kNested},
    Row{Code::kInvalidTtl, 400, 0, BodyForm::kNested},
    Row{Code::kMissingPartitionKey, 400, 0, BodyForm::kNested,
        "PartitionKey value must be supplied for this operation. Send the header "
        "x-ms-documentdb-partitionkey with a JSON array, for example [\"value\"]."},
    Row{Code::kInvalidPartitionKey, 400, 0, BodyForm::kNested,
        "The value '{0}' of header 'x-ms-documentdb-partitionkey' is invalid. Expected "
        "{1}."},
    Row{Code::kInvalidContinuation, 400, 0, BodyForm::kNested,
        "The value '{0}' of header 'x-ms-continuation' is invalid. Expected {1}."},
    Row{Code::kForeignContinuation, 400, 0, BodyForm::kNested,
        "The continuation token in x-ms-continuation is invalid: it was altered, or it "
        "belongs to another request. Start again without it."},
    Row{Code::kContinuationCut, 400, 0, BodyForm::kNested,
        "The continuation token was cut to the limit that the request gave "
        "(x-ms-documentdb-responsecontinuationtokenlimitinkb), and the item that it names "
        "has been deleted since. Start the query again."},
    Row{Code::kForeignFeedPosition, 400, 0, BodyForm::kNested,
        "The change feed position in If-None-Match is invalid: it was altered, or it "
        "belongs to another request. Send the etag of an answer to the same request, '*' "
        "for changes from now on, or nothing for all of them."},
    Row{Code::kFeedPositionElsewhere, 400, 0, BodyForm::kNested,
        "The change feed position in If-None-Match belongs to another part of the "
        "container: it does not say where to go on in the range that was asked for. Send "
        "the etag of an answer for this range or for one around it."},
    Row{Code::kFeedPositionAhead, 400, 0, BodyForm::kNested,
        "The change feed position {0} in If-None-Match is ahead of {1}: it belongs to "
        "another container or range."},
    Row{Code::kFeedHistoryGone, 400, 0, BodyForm::kNested,
        "The change feed position lies outside the container's retention window: versions "
        "and deletes after it are no longer kept. Start again from now ('If-None-Match: "
        "*')."},
    Row{Code::kPartitionKeyMismatch, 400, 1001, BodyForm::kNested},
    Row{Code::kContainerReplaced, 400, 1024, BodyForm::kNested},
    Row{Code::kQueryCompile, 400, 0, BodyForm::kQuery},
    Row{Code::kServerlessOffer, 400, 0, BodyForm::kNested},
    Row{Code::kTwoThroughputs, 400, 0, BodyForm::kNested,
        "Manual throughput (x-ms-offer-throughput) and autoscale settings "
        "(x-ms-cosmos-offer-autopilot-settings) exclude each other; send one of them."},
    Row{Code::kOfferIsAutoscale, 400, 0, BodyForm::kNested,
        "The offer is autoscale; send content.offerAutopilotSettings, or the header "
        "x-ms-cosmos-migrate-offer-to-manual-throughput to change its kind."},
    Row{Code::kOfferIsManual, 400, 0, BodyForm::kNested,
        "The offer is manual; send content.offerThroughput, or the header "
        "x-ms-cosmos-migrate-offer-to-autopilot to change its kind."},
    Row{Code::kScriptSyntax, 400, 0, BodyForm::kNested},
    Row{Code::kScriptFailed, 400, 0, BodyForm::kNested},
    Row{Code::kFunctionFailed, 400, 0, BodyForm::kNested},
    Row{Code::kTriggerRunsBefore, 400, 0, BodyForm::kNested,
        "The trigger '{0}' is a pre-trigger. Name it in the header "
        "x-ms-documentdb-pre-trigger-include."},
    Row{Code::kTriggerRunsAfter, 400, 0, BodyForm::kNested,
        "The trigger '{0}' is a post-trigger. Name it in the header "
        "x-ms-documentdb-post-trigger-include."},
    Row{Code::kOperationUnknown, 405, 0, BodyForm::kGateway},
    Row{Code::kBodyFormUnknown, 415, 0, BodyForm::kNested},
    Row{Code::kUnauthorized, 401, 0, BodyForm::kGateway},
    Row{Code::kForbidden, 403, 0, BodyForm::kGateway},
    Row{Code::kOutsideTokenKey, 403, 0, BodyForm::kGateway,
        "The resource token is limited to one partition key value; send it in the header "
        "x-ms-documentdb-partitionkey."},
    Row{Code::kSharedDatabaseFull, 403, 1010, BodyForm::kNested},
    Row{Code::kLogicalPartitionFull, 403, 1014, BodyForm::kNested},
    Row{Code::kTooManyScripts, 403, 0, BodyForm::kGateway},
    Row{Code::kEntityTooLarge, 413, 0, BodyForm::kNested},
    Row{Code::kBatchResponseTooLarge, 413, 3402, BodyForm::kNested},
    Row{Code::kScriptMemory, 413, 0, BodyForm::kNested},
    Row{Code::kScriptAnswerTooLarge, 413, 0, BodyForm::kNested},
    Row{Code::kMemoryLimit, 400, 0, BodyForm::kNested},
    Row{Code::kNotFound, 404, 0, BodyForm::kGateway},
    Row{Code::kResourceNotFound, 404, 0, BodyForm::kGateway},
    Row{Code::kOwnerNotFound, 404, 1003, BodyForm::kGateway},
    Row{Code::kSessionNotAvailable, 404, 1002, BodyForm::kNested},
    Row{Code::kRangeGone, 410, 1002, BodyForm::kNested},
    Row{Code::kRangeSwitching, 410, 1007, BodyForm::kNested},
    Row{Code::kTransactionGone, 400, 0, BodyForm::kNested},
    Row{Code::kCursorGone, 400, 0, BodyForm::kNested},
    Row{Code::kNotTheWriter, 403, 3, BodyForm::kNested},
    Row{Code::kRegionGone, 403, 1008, BodyForm::kNested},
    Row{Code::kConflict, 409, 0, BodyForm::kNested},
    Row{Code::kUniqueKeyConflict, 409, 0, BodyForm::kNested},
    Row{Code::kSchemaExists, 409, 0, BodyForm::kNested},
    Row{Code::kPreconditionFailed, 412, 0, BodyForm::kNested,
        "One of the specified pre-condition is not met. The etag given in If-Match is not "
        "the current one; read the resource again and retry."},
    Row{Code::kPatchConditionFailed, 412, 0, BodyForm::kNested},
    Row{Code::kFailedDependency, 424, 0, BodyForm::kNested},
    Row{Code::kRetryWith, 449, 0, BodyForm::kNested},
    Row{Code::kWriteConflict, 449, 0, BodyForm::kNested},
    Row{Code::kScaleRunning, 423, 0, BodyForm::kNested,
        "Another scale operation of this resource is still running: physical partitions "
        "are being split. Wait until x-ms-offer-replace-pending is false, or scale within "
        "what the present partitions give."},
    Row{Code::kRateLimited, 429, 3200, BodyForm::kNested},
    Row{Code::kMetadataRateLimited, 429, 3200, BodyForm::kNested},
    Row{Code::kRequestTimeout, 408, 0, BodyForm::kNested},
    Row{Code::kScriptTimeout, 408, 0, BodyForm::kNested},
    Row{Code::kScriptsBusy, 503, 0, BodyForm::kNested},
    Row{Code::kScriptsStuck, 503, 0, BodyForm::kNested,
        "{2} scripts ran beyond their time inside one call of a built-in function, which "
        "nothing can interrupt, and are still running. Until one of them has ended, no "
        "script is begun. Find the ones that were answered with 408 and give that call "
        "less to do."},
    Row{Code::kServiceUnavailable, 503, 0, BodyForm::kNested},
    Row{Code::kOutcomeUnknown, 408, 0, BodyForm::kNested},
    Row{Code::kInternal, 500, 0, BodyForm::kNested},
    Row{Code::kStorageReadOnly, 507, 0, BodyForm::kNested},
};
static_assert(kRows.size() == kCodeCount);
static_assert([] {
    for (size_t i = 0; i < kRows.size(); ++i)
        if (kRows[i].code != static_cast<Code>(i)) return false;
    return true;
}());

const Row& row_of(const Error& error) {
    return kRows[static_cast<size_t>(error.code)];
}

void append(std::string& out, std::initializer_list<std::string_view> parts) {
    for (const auto part : parts) out += part;
}

std::string message_of(const Error& error, const Row& row) {
    if (row.words.empty()) return json::error_text(error);
    return fmt::format(fmt::runtime(row.words), error.details.subject, error.details.expected,
                       error.details.limit);
}

}  // namespace

int status_of(const Error& error) {
    return row_of(error).status;
}

int sub_status_of(const Error& error) {
    return error.code == Code::kScriptFailed ? error.details.number : row_of(error).sub_status;
}

ErrorAnswer answer_to(const Error& error) {
    const Row& row = row_of(error);
    return {row.status,
            sub_status_of(error),
            row.form,
            message_of(error, row),
            error.details.retry_after_ms,
            error.details.additional_info};
}

std::string_view code_name(int status) {
    switch (status) {
        case 304:
            return "NotModified";
        case 400:
            return "BadRequest";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "NotFound";
        case 405:
            return "MethodNotAllowed";
        case 408:
            return "RequestTimeout";
        case 409:
            return "Conflict";
        case 410:
            return "Gone";
        case 411:
            return "LengthRequired";
        case 412:
            return "PreconditionFailed";
        case 413:
            return "RequestEntityTooLarge";
        case 414:
            return "RequestUriTooLong";
        case 415:
            return "UnsupportedMediaType";
        case 423:
            return "Locked";
        case 424:
            return "FailedDependency";
        case 429:
            return "TooManyRequests";
        case 431:
            return "RequestHeaderFieldsTooLarge";
        case 449:
            return "RetryWith";
        case 501:
            return "NotImplemented";
        case 503:
            return "ServiceUnavailable";
        case 505:
            return "HttpVersionNotSupported";
        case 507:
            return "InsufficientStorage";
        default:
            return "InternalServerError";
    }
}

std::string_view server_name() {
    return "orrery/0.1.0";
}

std::string error_body(const ErrorAnswer& error, std::string_view activity_id,
                       std::string_view target) {
    // Messages may quote header values, which are bytes of any kind; a JSON body is UTF-8.
    if (!is_valid_utf8(error.message)) {
        ErrorAnswer clean = error;
        for (char& c : clean.message)
            if (static_cast<unsigned char>(c) >= 0x80) c = '?';
        return error_body(clean, activity_id, target);
    }
    std::string message;
    switch (error.form) {
        case BodyForm::kNested:
            message = "Message: {\"Errors\":[";
            json::write_string(message, error.message);
            message += "]}\r\nActivityId: ";
            append(message, {activity_id, ", Request URI: ", target,
                             ", RequestStats: , SDK: ", server_name()});
            break;
        case BodyForm::kQuery:
            append(message, {"Message: ", error.message, "\r\nActivityId: ", activity_id, ", ",
                             server_name()});
            break;
        case BodyForm::kGateway:
            append(message, {error.message, "\r\nActivityId: ", activity_id, ", ", server_name()});
            break;
    }
    std::string body = "{\"code\":";
    json::write_string(body, code_name(error.status));
    body += ",\"message\":";
    json::write_string(body, message);
    if (!error.additional_info.empty()) {
        body += ",\"additionalErrorInfo\":";
        json::write_string(body, error.additional_info);
    }
    body += "}";
    return body;
}

std::string error_body(const Error& error, std::string_view activity_id, std::string_view target) {
    return error_body(answer_to(error), activity_id, target);
}

Error bad_header(std::string_view name, std::string_view value, std::string_view expected) {
    return errors::bad_request(fmt::format("The value '{}' of header '{}' is invalid. Expected {}.",
                                           value, name, expected));
}

Error method_not_allowed(std::string_view method, std::string_view resource) {
    return {Code::kOperationUnknown,
            fmt::format("The method {} is not allowed on {}.", method, resource),
            {}};
}

Error unsupported_media(std::string message) {
    return {Code::kBodyFormUnknown, std::move(message), {}};
}

}  // namespace orrery::rest
