#pragma once

#include <ostream>
#include <string_view>

#include "base/errors.h"
#include "base/status.h"

namespace orrery {

/// How something ended, as tests ask for it: codes that callers treat alike are one.
enum class Ended {
    kOk,
    kCreated,
    kRemoved,
    kNotModified,
    kBadRequest,
    kUnauthorized,
    kForbidden,
    kDatabaseFull,
    kPartitionFull,
    kTooLarge,
    kNotFound,
    kOwnerNotFound,
    kRangeGone,
    kRangeSwitching,
    kConflict,
    kPrecondition,
    kDependency,
    kRetry,
    kThrottled,
    kTimeout,
    kUnavailable,
    kInternal,
    kReadOnly,
    kOther,
};

inline Ended ended(const Error& error) {
    if (errors::is_bad_request(error.code)) return Ended::kBadRequest;
    if (errors::is_duplicate(error.code)) return Ended::kConflict;
    if (errors::is_rate_limit(error.code)) return Ended::kThrottled;
    switch (error.code) {
        case Code::kUnauthorized:
            return Ended::kUnauthorized;
        case Code::kForbidden:
        case Code::kOutsideTokenKey:
        case Code::kTooManyScripts:
            return Ended::kForbidden;
        case Code::kSharedDatabaseFull:
            return Ended::kDatabaseFull;
        case Code::kLogicalPartitionFull:
            return Ended::kPartitionFull;
        case Code::kEntityTooLarge:
        case Code::kBatchResponseTooLarge:
        case Code::kScriptMemory:
        case Code::kScriptAnswerTooLarge:
            return Ended::kTooLarge;
        case Code::kNotFound:
        case Code::kResourceNotFound:
            return Ended::kNotFound;
        case Code::kOwnerNotFound:
            return Ended::kOwnerNotFound;
        case Code::kRangeGone:
            return Ended::kRangeGone;
        case Code::kRangeSwitching:
            return Ended::kRangeSwitching;
        case Code::kPreconditionFailed:
        case Code::kPatchConditionFailed:
            return Ended::kPrecondition;
        case Code::kFailedDependency:
            return Ended::kDependency;
        case Code::kRetryWith:
            return Ended::kRetry;
        case Code::kRequestTimeout:
        case Code::kScriptTimeout:
            return Ended::kTimeout;
        case Code::kServiceUnavailable:
        case Code::kScriptsBusy:
        case Code::kScriptsStuck:
            return Ended::kUnavailable;
        case Code::kInternal:
            return Ended::kInternal;
        case Code::kStorageReadOnly:
            return Ended::kReadOnly;
        default:
            return Ended::kOther;
    }
}

/// Of a Status or a Result.
template <typename T>
Ended ended(const T& result) {
    return result.ok() ? Ended::kOk : ended(result.error());
}

inline std::ostream& operator<<(std::ostream& out, Ended how) {
    static constexpr std::string_view kNames[] = {
        "ok",          "created",         "removed",   "not modified",
        "bad request", "unauthorized",    "forbidden", "database full",
        "full",        "too large",       "not found", "owner not found",
        "range gone",  "range switching", "conflict",  "precondition failed",
        "dependency",  "retry",           "throttled", "timeout",
        "unavailable", "internal",        "read-only", "other"};
    return out << kNames[static_cast<size_t>(how)];
}

}  // namespace orrery
