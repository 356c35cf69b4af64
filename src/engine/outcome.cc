#include "engine/outcome.h"

#include "base/errors.h"

namespace orrery::engine::outcome {
namespace {

constexpr uint16_t kNotModified = 304;
constexpr uint16_t kBadRequest = 400;
constexpr uint16_t kPreconditionFailed = 412;
constexpr uint16_t kRateLimited = 429;
constexpr uint16_t kRetryWith = 449;

}  // namespace

uint16_t of(Code code) {
    if (errors::is_bad_request(code)) return kBadRequest;
    if (errors::is_absence(code)) return 404;
    if (errors::is_duplicate(code)) return 409;
    if (errors::is_rate_limit(code)) return kRateLimited;
    switch (code) {
        case Code::kTransactionGone:
        case Code::kCursorGone:
        case Code::kMemoryLimit:
            return kBadRequest;
        case Code::kUnauthorized:
            return 401;
        case Code::kForbidden:
        case Code::kOutsideTokenKey:
        case Code::kSharedDatabaseFull:
        case Code::kLogicalPartitionFull:
        case Code::kTooManyScripts:
        case Code::kNotTheWriter:
        case Code::kRegionGone:
            return 403;
        case Code::kOperationUnknown:
            return 405;
        case Code::kRequestTimeout:
        case Code::kScriptTimeout:
        case Code::kOutcomeUnknown:
            return 408;
        case Code::kRangeGone:
        case Code::kRangeSwitching:
            return 410;
        case Code::kPreconditionFailed:
        case Code::kPatchConditionFailed:
            return kPreconditionFailed;
        case Code::kEntityTooLarge:
        case Code::kBatchResponseTooLarge:
        case Code::kScriptMemory:
        case Code::kScriptAnswerTooLarge:
            return 413;
        case Code::kBodyFormUnknown:
            return 415;
        case Code::kScaleRunning:
            return 423;
        case Code::kFailedDependency:
            return 424;
        case Code::kRetryWith:
        case Code::kWriteConflict:
            return kRetryWith;
        case Code::kScriptsBusy:
        case Code::kScriptsStuck:
        case Code::kServiceUnavailable:
            return 503;
        case Code::kStorageReadOnly:
            return 507;
        default:
            return 500;
    }
}

bool is_success(uint16_t outcome) {
    return outcome < kNotModified;
}

bool is_failure(uint16_t outcome) {
    return outcome >= kBadRequest;
}

bool is_rate_limit(uint16_t outcome) {
    return outcome == kRateLimited;
}

bool is_lost_race(uint16_t outcome) {
    return outcome == kPreconditionFailed || outcome == kRetryWith;
}

}  // namespace orrery::engine::outcome
