// Metrics: Prometheus text at /metrics, JSON for the browser under /_orrery/.
#include <charconv>

#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/handlers.h"
#include "heads/rest/own_endpoints.h"

namespace orrery::rest {
namespace {

/// A whole number from the target's query part, within limits; `fallback` when it is absent.
Result<int64_t> number_parameter(const Call& call, std::string_view name, int64_t fallback,
                                 int64_t min, int64_t max) {
    const auto text = target_parameter(call.request().target, name);
    if (!text) return fallback;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size() || value < min || value > max)
        return errors::bad_request("The parameter '" + std::string(name) +
                                   "' must be a whole number from " + std::to_string(min) + " to " +
                                   std::to_string(max) + ".");
    return value;
}

void reply_page(const CallPtr& call, std::string body) {
    reply(call, Answer{}, std::move(body));
}

constexpr std::string_view kBearer = "Bearer ";

/// Prometheus cannot sign requests, but it can send a key.
bool bears_account_key(Call& call) {
    const auto header = call.headers[HeaderName::kAuthorization];
    if (!header.starts_with(kBearer)) return false;
    return call.session.sign_in_with_key(call.door.account_id(), header.substr(kBearer.size()));
}

}  // namespace

std::optional<std::string> target_parameter(std::string_view target, std::string_view name) {
    const size_t mark = target.find('?');
    if (mark == std::string_view::npos) return std::nullopt;
    std::string_view rest = target.substr(mark + 1);
    rest = rest.substr(0, rest.find('#'));
    while (!rest.empty()) {
        const size_t end = rest.find('&');
        const auto pair = rest.substr(0, end);
        const size_t equal = pair.find('=');
        if (pair.substr(0, equal) == name)
            return percent_decode(equal == std::string_view::npos ? std::string_view()
                                                                  : pair.substr(equal + 1));
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    return std::nullopt;
}

void handle_prometheus(const CallPtr& call, bool open) {
    if (!is_read(*call))
        return reply_error(call, method_not_allowed(call->request().method, "/metrics"));
    if (!open && !bears_account_key(*call))
        return reply_error(
            call,
            errors::unauthorized(
                "Metrics of a server that others can reach need an account key (a read-only one is "
                "enough) in the header 'Authorization: Bearer <key>'."));
    on_worker(call, [call]() -> Status {
        auto& response = call->response();
        response.status = 200;
        response.add_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
        response.body = call->pages->prometheus();
        net::HttpExchange::send(std::move(call->exchange));
        return {};
    });
}

void handle_account_metrics(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY(const int64_t minutes,
            number_parameter(*call, "minutes", 60, 1, lab::Pages::kMinutesMax));
        reply_page(call, call->pages->account_json(minutes));
        return {};
    });
}

void handle_container_metrics(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY(const auto container, named_container(*call));
        TRY(const int64_t minutes,
            number_parameter(*call, "minutes", 60, 1, lab::Pages::kMinutesMax));
        TRY(const int64_t seconds,
            number_parameter(*call, "seconds", 60, 0, lab::Pages::kSecondsMax));
        TRY(auto page, call->pages->container_json(*container, minutes, seconds));
        reply_page(call, std::move(page));
        return {};
    });
}

void handle_top_keys(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY(const auto container, named_container(*call));
        TRY(const int64_t hours, number_parameter(*call, "hours", 24, 1, 24));
        TRY(const int64_t count,
            number_parameter(*call, "count", 20, 1, static_cast<int64_t>(lab::Pages::kTopMax)));
        const auto by = target_parameter(call->request().target, "by").value_or("charge");
        if (by != "charge" && by != "storage")
            return Status(errors::bad_request("The parameter 'by' must be 'charge' or 'storage'."));
        const auto order =
            by == "charge" ? lab::Pages::TopBy::kCharge : lab::Pages::TopBy::kStorage;
        TRY(auto page, call->pages->top_json(*container, order, hours, static_cast<size_t>(count)));
        reply_page(call, std::move(page));
        return {};
    });
}

}  // namespace orrery::rest
