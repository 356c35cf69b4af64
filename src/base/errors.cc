#include "base/errors.h"
#include "base/throughput_errors.h"

#include <fmt/format.h>

namespace orrery::errors {
namespace {

Error make(int http_status, int sub, std::string message, ErrorForm form = ErrorForm::kNested) {
    Error error;
    error.http_status = http_status;
    error.sub_status = sub;
    error.message = std::move(message);
    error.form = form;
    return error;
}

}  // namespace

std::string_view code_name(int http_status) {
    switch (http_status) {
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

Error bad_request(std::string message) {
    return make(400, 0, std::move(message));
}

Error bad_json(std::string_view what, uint64_t offset) {
    return make(400, 0,
                fmt::format("The input content is not valid JSON: {} at byte {}.", what, offset));
}

Error bad_header(std::string_view name, std::string_view value, std::string_view expected) {
    return make(400, 0,
                fmt::format("The value '{}' of header '{}' is invalid. Expected {}.", value, name,
                            expected));
}

Error not_supported(std::string_view feature, std::string_view advice) {
    return make(
        400, 0,
        fmt::format(
            "{} is not supported by this server version and was refused rather than ignored. {}",
            feature, advice));
}

Error missing_property(std::string_view name) {
    return make(
        400, 0,
        fmt::format(
            "The input content is invalid because the required properties - '{}; ' - are missing",
            name));
}

Error invalid_id(std::string_view why) {
    return make(400, 0, fmt::format("The id is invalid: {}.", why));
}

Error invalid_ttl(std::string_view value) {
    constexpr size_t kShownBytesMax = 64;
    return make(400, 0,
                fmt::format("The input ttl '{}' is invalid. Ensure to provide a nonzero positive "
                            "integer value. -1 is "
                            "also a valid value and means never.",
                            value.size() > kShownBytesMax ? std::string_view("(too long to show)")
                                                          : value));
}

Error missing_partition_key() {
    return make(400, 0,
                "PartitionKey value must be supplied for this operation. Send the header "
                "x-ms-documentdb-partitionkey with a JSON array, for example [\"value\"].");
}

Error serverless_offer() {
    return make(400, 0,
                "Reading, replacing or giving throughput (offers) is not supported for serverless "
                "accounts: every "
                "container gives up to 5,000 RU/s per physical partition.");
}

Error partition_key_mismatch() {
    return make(
        400, sub_status::kPartitionKeyMismatch,
        "PartitionKey extracted from document doesn't match the one specified in the header");
}

Error collection_rid_mismatch() {
    return make(400, sub_status::kCollectionRidMismatch,
                "The container that the request was made for has been deleted and created again. "
                "Refresh the container and retry.");
}

Error query_compile(std::string nested_json) {
    return make(400, 0, std::move(nested_json), ErrorForm::kQuery);
}

Error unauthorized(std::string message) {
    return make(401, 0, std::move(message), ErrorForm::kGateway);
}

Error forbidden(std::string message) {
    return make(403, 0, std::move(message), ErrorForm::kGateway);
}

Error shared_database_full(std::string message) {
    return make(403, sub_status::kSharedDatabaseQuota, std::move(message));
}

Error logical_partition_full(std::string message) {
    return make(403, sub_status::kPartitionFull, std::move(message));
}

Error not_found() {
    return make(404, 0, "Entity with the specified id does not exist in the system.",
                ErrorForm::kGateway);
}

Error resource_not_found(std::string_view what) {
    return make(404, 0, fmt::format("Resource Not Found. {}", what), ErrorForm::kGateway);
}

Error owner_not_found(std::string_view what) {
    return make(404, sub_status::kOwnerNotFound,
                fmt::format("Owner resource does not exist. {}", what), ErrorForm::kGateway);
}

Error session_not_available() {
    return make(404, sub_status::kSessionNotAvailable,
                "The read session is not available for the input session token.");
}

Error method_not_allowed(std::string_view method, std::string_view resource) {
    return make(405, 0, fmt::format("The method {} is not allowed on {}.", method, resource),
                ErrorForm::kGateway);
}

Error request_timeout(std::string message) {
    return make(408, 0, std::move(message));
}

Error conflict() {
    return make(409, 0, "Resource with specified id or name already exists.");
}

Error unique_key_conflict() {
    return make(409, 0, "Resource with specified id, name, or unique index already exists.");
}

Error range_gone(std::string_view range_id) {
    return make(
        410, sub_status::kRangeGone,
        fmt::format(
            "The partition key range '{}' is not served here any more. Refresh the partition key "
            "ranges and retry.",
            range_id));
}

Error range_switching(std::string_view range_id) {
    return make(
        410, sub_status::kSplitRunning,
        fmt::format(
            "A split or merge of the partition key range '{}' is being completed. Refresh the "
            "partition key ranges and retry.",
            range_id));
}

Error precondition_failed() {
    return make(412, 0,
                "One of the specified pre-condition is not met. The etag given in If-Match is not "
                "the current one; read the resource again and retry.");
}

Error patch_condition_failed() {
    return make(412, 0,
                "One of the specified pre-condition is not met. The patch condition is not true.");
}

Error entity_too_large(uint64_t) {
    return make(413, 0, "Request size is too large");
}

Error batch_response_too_large() {
    return make(413, sub_status::kBatchResponseTooLarge,
                "The batch response is too large. Send fewer operations.");
}

Error scale_running() {
    return make(423, 0,
                "Another scale operation of this resource is still running: physical partitions "
                "are being split. Wait "
                "until x-ms-offer-replace-pending is false, or scale within what the present "
                "partitions give.");
}

Error failed_dependency() {
    return make(424, 0,
                "Another operation of the transactional batch failed; nothing was applied.");
}

Error request_rate_too_large(int64_t retry_after_ms) {
    Error error =
        make(429, sub_status::kRequestRateTooLarge,
             "Request rate is large. More Request Units may be needed, so no changes were made.");
    error.retry_after_ms = retry_after_ms;
    return error;
}

Error metadata_rate_too_large(int64_t retry_after_ms) {
    Error error = make(429, sub_status::kRequestRateTooLarge,
                       "The request did not complete due to a high rate of metadata requests.");
    error.retry_after_ms = retry_after_ms;
    return error;
}

Error retry_with() {
    return make(449, 0,
                "Conflicting request to resource has been attempted. Retry to avoid conflicts.");
}

Error internal(std::string message) {
    return make(500, 0, std::move(message));
}

Error service_unavailable(std::string message) {
    return make(503, 0, std::move(message));
}

Error storage_read_only(std::string_view why) {
    return make(507, 0, fmt::format("The server accepts no writes: {}", why));
}

}  // namespace orrery::errors
