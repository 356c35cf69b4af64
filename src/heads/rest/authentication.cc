#include "heads/rest/authentication.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/authorization_token.h"

namespace orrery::rest {
namespace {

std::string payload(std::string_view method, std::string_view type, std::string_view link,
                    std::string_view x_date, std::string_view date) {
    std::string text(method.size() + type.size() + link.size() + x_date.size() + date.size() + 5,
                     '\n');
    char* at = text.data();
    const auto append_lower = [&](std::string_view part) {
        for (const char c : part) *at++ = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        ++at;
    };
    append_lower(method);
    append_lower(type);
    at = std::copy(link.begin(), link.end(), at) + 1;
    append_lower(x_date);
    append_lower(date);
    return text;
}

/// Clients send many requests within one second, so the last date is kept.
std::optional<int64_t> seconds_of(std::string_view date) {
    struct Kept {
        std::string date;
        int64_t seconds = 0;
    };
    thread_local Kept kept;
    if (kept.date == date && !date.empty()) return kept.seconds;
    const auto seconds = parse_http_date(date);
    if (seconds) kept = {std::string(date), *seconds};
    return seconds;
}

Status check_master(engine::Session& session, std::string_view method, const Route& route,
                    const RequestHeaders& headers, std::string_view signature) {
    const auto x_date = headers[HeaderName::kXDate];
    const auto plain_date = x_date.empty() ? headers[HeaderName::kDate] : std::string_view();
    if (x_date.empty() && plain_date.empty())
        return Status(errors::unauthorized(
            "The request has neither an 'x-ms-date' nor a 'date' header; one of them is part of "
            "what is signed."));
    const auto seconds = seconds_of(x_date.empty() ? plain_date : x_date);
    if (!seconds)
        return Status(errors::unauthorized(
            "The date header is not in the form 'Thu, 27 Apr 2017 00:51:12 GMT' and cannot be "
            "verified."));
    const auto signed_as = [&](const std::string& text) {
        return session.sign_in({text, signature, *seconds});
    };
    const std::string first = payload(method, route.type_segment, route.link, x_date, plain_date);
    TRY(bool known, signed_as(first));
    if (!known) {
        // Clients sign the link by names; requests made by rid sign the last rid in lower case.
        const std::string rid_link =
            route.ids.empty() ? std::string() : to_lower_ascii(route.ids.back());
        TRY(known, signed_as(payload(method, route.type_segment, rid_link, x_date, plain_date)));
    }
    if (!known && route.type == ResourceType::kPartitionKeyDelete) {
        TRY(known, signed_as(payload(method, "partitionkey", route.link, x_date, plain_date)));
    }
    if (known) return {};
    std::string shown = first;
    for (size_t at = 0; (at = shown.find('\n', at)) != std::string::npos; at += 2)
        shown.replace(at, 1, "\\n");
    return Status(errors::unauthorized(
        "The input authorization token can't serve the request. The wrong key is being used or the "
        "expected payload "
        "is not built as per the protocol. The following payload was used: '" +
        shown + "'"));
}

}  // namespace

Status authenticate(engine::Session& session, std::string_view method, const Route& route,
                    const RequestHeaders& headers) {
    const auto header = headers[HeaderName::kAuthorization];
    if (header.empty())
        return Status(errors::unauthorized(
            "Required Header authorization is missing. Ensure a valid Authorization token is "
            "passed."));
    const auto token = parse_authorization(header);
    if (!token || token->version != "1.0")
        return Status(errors::unauthorized(
            "The authorization header is not of the form 'type=…&ver=1.0&sig=…' "
            "(percent-encoded)."));
    if (token->type == "master")
        return check_master(session, method, route, headers, token->signature);
    if (token->type == "resource") return session.sign_in_with_token(token->text);
    return Status(errors::unauthorized(
        "Authorization of type '" + token->type +
        "' is not offered by this server. Use an account key or a resource token."));
}

}  // namespace orrery::rest
