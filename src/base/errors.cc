#include "base/errors.h"
#include "base/throughput_errors.h"

#include <fmt/format.h>

namespace orrery::errors {
namespace {

Error make(Code code, std::string message) {
    return {code, std::move(message), {}};
}

/// `text` names `subject` where it has {}.
Error about(Code code, std::string_view subject, fmt::format_string<std::string_view&> text) {
    Error error = make(code, fmt::format(text, subject));
    error.details.subject = subject;
    return error;
}

}  // namespace

Error bad_request(std::string message) {
    return make(Code::kBadRequest, std::move(message));
}

Error bad_json(std::string_view what, uint64_t offset) {
    return make(Code::kBadJson,
                fmt::format("The input content is not valid JSON: {} at byte {}.", what, offset));
}

Error not_supported(std::string_view feature, std::string_view advice) {
    return make(
        Code::kNotSupported,
        fmt::format(
            "{} is not supported by this server version and was refused rather than ignored. {}",
            feature, advice));
}

Error missing_property(std::string_view name) {
    return make(
        Code::kMissingProperty,
        fmt::format(
            "The input content is invalid because the required properties - '{}; ' - are missing",
            name));
}

Error invalid_id(std::string_view why) {
    return make(Code::kInvalidId, fmt::format("The id is invalid: {}.", why));
}

Error invalid_ttl(std::string_view value) {
    constexpr size_t kShownBytesMax = 64;
    return make(Code::kInvalidTtl,
                fmt::format("The input ttl '{}' is invalid. Ensure to provide a nonzero positive "
                            "integer value. -1 is "
                            "also a valid value and means never.",
                            value.size() > kShownBytesMax ? std::string_view("(too long to show)")
                                                          : value));
}

Error missing_partition_key() {
    return make(Code::kMissingPartitionKey,
                "PartitionKey value must be supplied for this operation.");
}

Error invalid_partition_key(std::string_view value, std::string_view expected) {
    Error error =
        make(Code::kInvalidPartitionKey,
             fmt::format("The partition key '{}' is invalid. Expected {}.", value, expected));
    error.details.subject = value;
    error.details.expected = expected;
    return error;
}

Error invalid_continuation(std::string_view value) {
    constexpr std::string_view kExpected = "a value from an earlier answer";
    Error error =
        make(Code::kInvalidContinuation,
             fmt::format("The continuation '{}' is invalid. Expected {}.", value, kExpected));
    error.details.subject = value;
    error.details.expected = kExpected;
    return error;
}

Error foreign_continuation() {
    return make(Code::kForeignContinuation,
                "The continuation token is invalid: it was altered, or it belongs to another "
                "request. Start again without it.");
}

Error continuation_cut() {
    return make(Code::kContinuationCut,
                "The continuation token was cut to the limit that the request gave, and the item "
                "that it names has been deleted since. Start the query again.");
}

Error foreign_feed_position() {
    return make(Code::kForeignFeedPosition,
                "The change feed position is invalid: it was altered, or it belongs to another "
                "request.");
}

Error feed_position_elsewhere() {
    return make(Code::kFeedPositionElsewhere,
                "The change feed position belongs to another part of the container: it does not "
                "say where to go on in the range that was asked for.");
}

Error feed_position_ahead(std::string_view position, std::string_view range_id, uint64_t last) {
    std::string range =
        fmt::format("partition key range '{}', whose last change has number {}", range_id, last);
    Error error = make(Code::kFeedPositionAhead,
                       fmt::format("The change feed position {} is ahead of {}: it belongs to "
                                   "another container or range.",
                                   position, range));
    error.details.subject = position;
    error.details.expected = std::move(range);
    return error;
}

Error feed_history_gone() {
    return make(Code::kFeedHistoryGone,
                "The change feed position lies outside the container's retention window: versions "
                "and deletes after it are no longer kept. Start again from now.");
}

Error two_throughputs() {
    return make(Code::kTwoThroughputs,
                "Manual throughput and autoscale settings exclude each other; send one of them.");
}

Error offer_is_autoscale() {
    return make(
        Code::kOfferIsAutoscale,
        "The offer is autoscale. Send autoscale settings, or ask for a change of its kind.");
}

Error offer_is_manual() {
    return make(Code::kOfferIsManual,
                "The offer is manual. Send manual throughput, or ask for a change of its kind.");
}

Error serverless_offer() {
    return make(Code::kServerlessOffer,
                "Reading, replacing or giving throughput (offers) is not supported for serverless "
                "accounts: every "
                "container gives up to 5,000 RU/s per physical partition.");
}

Error partition_key_mismatch() {
    return make(
        Code::kPartitionKeyMismatch,
        "PartitionKey extracted from document doesn't match the one specified in the header");
}

Error collection_rid_mismatch() {
    return make(Code::kContainerReplaced,
                "The container that the request was made for has been deleted and created again. "
                "Refresh the container and retry.");
}

Error query_compile(std::vector<QueryProblem> problems) {
    DCHECK(!problems.empty());
    std::string message;
    for (const QueryProblem& problem : problems) {
        if (!message.empty()) message += ' ';
        message += problem.message;
    }
    Error error = make(Code::kQueryCompile, std::move(message));
    error.details.problems = std::move(problems);
    return error;
}

Error unauthorized(std::string message) {
    return make(Code::kUnauthorized, std::move(message));
}

Error forbidden(std::string message) {
    return make(Code::kForbidden, std::move(message));
}

Error outside_token_key() {
    return make(Code::kOutsideTokenKey,
                "The resource token is limited to one partition key value; send it.");
}

Error shared_database_full(std::string message) {
    return make(Code::kSharedDatabaseFull, std::move(message));
}

Error logical_partition_full(std::string message) {
    return make(Code::kLogicalPartitionFull, std::move(message));
}

Error not_found() {
    return make(Code::kNotFound, "Entity with the specified id does not exist in the system.");
}

Error resource_not_found(std::string_view what) {
    return make(Code::kResourceNotFound, fmt::format("Resource Not Found. {}", what));
}

Error owner_not_found(std::string_view what) {
    Error error =
        make(Code::kOwnerNotFound, fmt::format("Owner resource does not exist. {}", what));
    error.details.subject = what;
    return error;
}

Error session_not_available() {
    return make(Code::kSessionNotAvailable,
                "The read session is not available for the input session token.");
}

Error request_timeout(std::string message) {
    return make(Code::kRequestTimeout, std::move(message));
}

Error conflict() {
    return make(Code::kConflict, "Resource with specified id or name already exists.");
}

Error unique_key_conflict() {
    return make(Code::kUniqueKeyConflict,
                "Resource with specified id, name, or unique index already exists.");
}

Error range_gone(std::string_view range_id) {
    return about(
        Code::kRangeGone, range_id,
        "The partition key range '{}' is not served here any more. Refresh the partition key "
        "ranges and retry.");
}

Error range_switching(std::string_view range_id) {
    return about(Code::kRangeSwitching, range_id,
                 "A split or merge of the partition key range '{}' is being completed. Refresh the "
                 "partition key ranges and retry.");
}

Error precondition_failed() {
    return make(Code::kPreconditionFailed,
                "One of the specified pre-condition is not met. The etag given is not the "
                "current one; read the resource again and retry.");
}

Error patch_condition_failed() {
    return make(Code::kPatchConditionFailed,
                "One of the specified pre-condition is not met. The patch condition is not true.");
}

Error entity_too_large(uint64_t limit_bytes) {
    Error error = make(Code::kEntityTooLarge, "Request size is too large");
    error.details.limit = limit_bytes;
    return error;
}

Error batch_response_too_large() {
    return make(Code::kBatchResponseTooLarge,
                "The batch response is too large. Send fewer operations.");
}

Error scale_running() {
    return make(Code::kScaleRunning,
                "Another scale operation of this resource is still running: physical partitions "
                "are being split. Wait "
                "until it has ended, or scale within what the present "
                "partitions give.");
}

Error failed_dependency() {
    return make(Code::kFailedDependency,
                "Another operation of the transactional batch failed; nothing was applied.");
}

Error request_rate_too_large(int64_t retry_after_ms) {
    Error error =
        make(Code::kRateLimited,
             "Request rate is large. More Request Units may be needed, so no changes were made.");
    error.details.retry_after_ms = retry_after_ms;
    return error;
}

Error metadata_rate_too_large(int64_t retry_after_ms) {
    Error error = make(Code::kMetadataRateLimited,
                       "The request did not complete due to a high rate of metadata requests.");
    error.details.retry_after_ms = retry_after_ms;
    return error;
}

Error retry_with() {
    return make(Code::kRetryWith,
                "Conflicting request to resource has been attempted. Retry to avoid conflicts.");
}

Error memory_limit(uint64_t limit_bytes) {
    Error error = make(Code::kMemoryLimit,
                       fmt::format("The request needs more memory than the {} MB that one may "
                                   "have. Ask for less at a time.",
                                   limit_bytes >> 20));
    error.details.limit = limit_bytes;
    return error;
}

Error transaction_gone(std::string_view id) {
    return about(Code::kTransactionGone, id,
                 "The transaction '{}' has ended; nothing that it did and did not commit was kept. "
                 "Begin another one.");
}

Error cursor_gone(std::string_view id) {
    return about(Code::kCursorGone, id, "The cursor '{}' has ended. Run the query again.");
}

Error not_the_writer(std::string_view region) {
    return about(Code::kNotTheWriter, region,
                 "The region '{}' accepts no writes. Send them to the region that writes.");
}

Error region_gone(std::string_view region) {
    return about(Code::kRegionGone, region,
                 "The region '{}' does not belong to the account any more. Read the account's "
                 "regions again.");
}

Error schema_exists(std::string_view name) {
    return about(Code::kSchemaExists, name, "'{}' exists already.");
}

Error write_conflict() {
    return make(Code::kWriteConflict,
                "Another transaction wrote the same item first. Nothing was applied; begin again.");
}

Error outcome_unknown() {
    return make(Code::kOutcomeUnknown,
                "Whether the write was carried out is not known. Read before you write again.");
}

Error internal(std::string message) {
    return make(Code::kInternal, std::move(message));
}

Error service_unavailable(std::string message) {
    return make(Code::kServiceUnavailable, std::move(message));
}

Error storage_read_only(std::string_view why) {
    return make(Code::kStorageReadOnly, fmt::format("The server accepts no writes: {}", why));
}

bool is_bad_request(Code code) {
    return code <= Code::kTriggerRunsAfter;
}

bool is_absence(Code code) {
    return code == Code::kNotFound || code == Code::kResourceNotFound ||
           code == Code::kOwnerNotFound || code == Code::kSessionNotAvailable;
}

bool is_duplicate(Code code) {
    return code == Code::kConflict || code == Code::kUniqueKeyConflict ||
           code == Code::kSchemaExists;
}

bool is_rate_limit(Code code) {
    return code == Code::kRateLimited || code == Code::kMetadataRateLimited;
}

bool is_server_failure(Code code) {
    return code == Code::kInternal || code == Code::kStorageReadOnly ||
           code == Code::kServiceUnavailable || code == Code::kScriptsBusy ||
           code == Code::kScriptsStuck;
}

}  // namespace orrery::errors
