#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace orrery {

/// How the message of an error is laid out in the protocol's error body.
enum class ErrorForm : uint8_t {
    kNested,   ///< ordinary refusals of the engine: {"Errors":["text"]}
    kGateway,  ///< refusals of the front door (authorization, headers, missing item): plain text
    kQuery,    ///< `message` is already the JSON text {"errors":[{...}]} of a query compile error
};

/// What went wrong, in the protocol's terms. Created only by the factories in errors.h.
struct Error {
    int http_status = 500;
    int sub_status = 0;
    std::string message;
    ErrorForm form = ErrorForm::kNested;
    int64_t retry_after_ms = 0;   ///< > 0: the client may try again after so long (429, 503)
    std::string additional_info;  ///< `additionalErrorInfo` member, empty if none
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
