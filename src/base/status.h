#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace orrery {

/// What went wrong, in nobody's protocol. Each head has one table from these to its own answers;
/// one factory in errors.h, script_errors.h or throughput_errors.h makes each.
enum class Code : uint8_t {
    // The request is wrong (errors::is_bad_request() knows the last of them).
    kBadRequest,
    kBadJson,
    kNotSupported,
    kMissingProperty,
    kInvalidId,
    kInvalidTtl,
    kMissingPartitionKey,
    kInvalidPartitionKey,
    kInvalidContinuation,
    kForeignContinuation,
    kContinuationCut,
    kForeignFeedPosition,
    kFeedPositionElsewhere,
    kFeedPositionAhead,
    kFeedHistoryGone,
    kPartitionKeyMismatch,
    kContainerReplaced,
    kQueryCompile,
    kServerlessOffer,
    kTwoThroughputs,
    kOfferIsAutoscale,
    kOfferIsManual,
    kScriptSyntax,
    kScriptFailed,
    kFunctionFailed,
    kTriggerRunsBefore,
    kTriggerRunsAfter,
    // Only heads make these two: their protocol has such an operation or body, nothing here does.
    kOperationUnknown,
    kBodyFormUnknown,
    // It is not allowed, or there is no room.
    kUnauthorized,
    kForbidden,
    kOutsideTokenKey,
    kSharedDatabaseFull,
    kLogicalPartitionFull,
    kTooManyScripts,
    kEntityTooLarge,
    kBatchResponseTooLarge,
    kScriptMemory,
    kScriptAnswerTooLarge,
    kMemoryLimit,
    // What it names is not there, or not here.
    kNotFound,
    kResourceNotFound,
    kOwnerNotFound,
    kSessionNotAvailable,
    kRangeGone,
    kRangeSwitching,
    kTransactionGone,
    kCursorGone,
    kNotTheWriter,
    kRegionGone,
    // It does not fit what is there.
    kConflict,
    kUniqueKeyConflict,
    kSchemaExists,
    kPreconditionFailed,
    kPatchConditionFailed,
    kFailedDependency,
    kRetryWith,
    kWriteConflict,
    kScaleRunning,
    // Not now.
    kRateLimited,
    kMetadataRateLimited,
    kRequestTimeout,
    kScriptTimeout,
    kScriptsBusy,
    kScriptsStuck,
    kServiceUnavailable,
    // The server's own failures.
    kOutcomeUnknown,
    kInternal,
    kStorageReadOnly,
};
inline constexpr size_t kCodeCount = static_cast<size_t>(Code::kStorageReadOnly) + 1;

/// One mistake in the text of a query.
struct QueryProblem {
    /// Where it is, in UTF-16 code units, the end excluded.
    struct Place {
        size_t start = 0;
        size_t end = 0;
    };
    std::string code;  ///< like "SC2001", all digits, or empty for none
    std::string message;
    std::string hint;            ///< for a person; may be empty
    std::optional<Place> place;  ///< nullopt: the query as a whole
};

/// What a code alone does not say. A field that the code's factory does not fill keeps its default.
struct ErrorDetails {
    uint64_t limit = 0;          ///< which was passed: bytes, milliseconds or a count
    int64_t retry_after_ms = 0;  ///< > 0: the client may try again after so long
    int number = 0;              ///< that a script threw; of what kind the failure is, to its maker
    std::string subject;         ///< the value that is refused, or the id or name it is about
    std::string expected;        ///< instead of `subject`
    std::vector<QueryProblem> problems;
    std::string additional_info;  ///< for programs, in the words of whoever adds it
};

/// `message` is a text for a person.
struct Error {
    Code code = Code::kInternal;
    std::string message;
    ErrorDetails details = {};
};

/// Success, or an Error. One pointer wide; success costs nothing.
class [[nodiscard]] Status {
public:
    Status() = default;
    explicit Status(Error error) : error_(std::make_unique<Error>(std::move(error))) {}
    static Status ok_status() { return {}; }

    bool ok() const { return error_ == nullptr; }
    /// Precondition: !ok().
    const Error& error() const {
        DCHECK(error_ != nullptr);
        return *error_;
    }
    Error take_error() && {
        DCHECK(error_ != nullptr);
        return std::move(*error_);
    }
    /// A copy, for the rare case of one failure answering several requests.
    Status clone() const { return ok() ? Status() : Status(*error_); }

private:
    std::unique_ptr<Error> error_;
};

/// A value, or an Error.
template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
    Result(Status status) : status_(std::move(status)) { CHECK(!status_.ok()); }  // NOLINT
    Result(Error error) : status_(std::move(error)) {}                            // NOLINT

    bool ok() const { return value_.has_value(); }
    const Error& error() const { return status_.error(); }
    Status take_status() && { return std::move(status_); }
    const Status& status() const { return status_; }

    T& value() & {
        DCHECK(ok());
        return *value_;
    }
    const T& value() const& {
        DCHECK(ok());
        return *value_;
    }
    T&& value() && {
        DCHECK(ok());
        return std::move(*value_);
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

private:
    std::optional<T> value_;
    Status status_;
};

}  // namespace orrery

#define ORRERY_CONCAT_INNER(a, b) a##b
#define ORRERY_CONCAT(a, b) ORRERY_CONCAT_INNER(a, b)

/// TRY(auto x, expression): declares x from a Result, or returns its error.
#define TRY(declaration, expression)                                          \
    auto ORRERY_CONCAT(try_result_, __LINE__) = (expression);                 \
    if (!ORRERY_CONCAT(try_result_, __LINE__).ok()) [[unlikely]]              \
        return std::move(ORRERY_CONCAT(try_result_, __LINE__)).take_status(); \
    declaration = std::move(ORRERY_CONCAT(try_result_, __LINE__)).value()

/// TRY_STATUS(expression): returns the error of a Status, if it has one.
#define TRY_STATUS(expression)                                                         \
    do {                                                                               \
        if (::orrery::Status try_status = (expression); !try_status.ok()) [[unlikely]] \
            return try_status;                                                         \
    } while (false)
