#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

/// The one place that knows how REST says what the engine's codes say.
namespace orrery::rest {

/// How the text of an error is laid out in its body.
enum class BodyForm : uint8_t {
    kNested,   ///< ordinary refusals of the engine: {"Errors":["text"]}
    kGateway,  ///< refusals of the front door (authorization, headers, missing item): plain text
    kQuery,    ///< the text is the JSON {"errors":[{...}]} already
};

/// An error as it is answered.
struct ErrorAnswer {
    int status = 500;
    int sub_status = 0;
    BodyForm form = BodyForm::kNested;
    std::string message;
    int64_t retry_after_ms = 0;   ///< > 0: the client may try again after so long
    std::string additional_info;  ///< `additionalErrorInfo` member, empty if none
};
ErrorAnswer answer_to(const Error& error);

/// Status and sub-status alone.
int status_of(const Error& error);
int sub_status_of(const Error& error);

/// The `code` member of an error body: "BadRequest", "NotFound", …
std::string_view code_name(int status);

/// The JSON of an error, as every SDK expects it.
std::string error_body(const ErrorAnswer& error, std::string_view activity_id,
                       std::string_view target);
std::string error_body(const Error& error, std::string_view activity_id, std::string_view target);

/// "version name" of this server in error texts.
std::string_view server_name();

// Errors that only this head makes.
Error bad_header(std::string_view name, std::string_view value, std::string_view expected);
Error method_not_allowed(std::string_view method, std::string_view resource);
Error unsupported_media(std::string message);

}  // namespace orrery::rest
