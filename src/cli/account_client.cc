#include "cli/account_client.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/random.h"
#include "cli/interrupt.h"

namespace orrery::cli {
namespace {

constexpr int64_t kBackoffFirstMs = 50;
constexpr int64_t kBackoffMaxMs = 5'000;
constexpr int kSplitRunning = 1007;
constexpr int kMigrationRunning = 1008;

void append_segment(Resource& resource, std::string_view kind, std::string_view id) {
    if (!resource.link.empty()) resource.link += '/';
    resource.link.append(kind).append("/").append(id);
    resource.path.append("/").append(kind).append("/").append(percent_encode(id));
    resource.type = kind;
}

Resource feed_of(Resource parent, std::string_view kind) {
    parent.path.append("/").append(kind);
    parent.type = kind;
    return parent;
}

std::string sign(std::string_view key, std::string_view text) {
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &size);
    return base64_encode({reinterpret_cast<const char*>(out), size});
}

/// Errors for which a second attempt at the same range may help.
bool passes_by_itself(const HttpAnswer& answer) {
    if (answer.status == 429 || answer.status == 449 || answer.status == 503 ||
        answer.status == 408)
        return true;
    return answer.status == 410 &&
           (answer.sub_status() == kSplitRunning || answer.sub_status() == kMigrationRunning);
}

bool passes_by_itself(const Error& error, bool reached) {
    return reached &&
           (is_no_answer(error, NoAnswer::kUnreachable) || is_no_answer(error, NoAnswer::kLost));
}

}  // namespace

Resource account_resource() {
    return {"", "", "/"};
}
Resource database_feed() {
    return {"dbs", "", "/dbs"};
}
Resource database_resource(std::string_view database) {
    Resource out;
    append_segment(out, "dbs", database);
    return out;
}
Resource container_feed(std::string_view database) {
    return feed_of(database_resource(database), "colls");
}
Resource container_resource(std::string_view database, std::string_view container) {
    Resource out = database_resource(database);
    append_segment(out, "colls", container);
    return out;
}
Resource item_feed(std::string_view database, std::string_view container) {
    return feed_of(container_resource(database, container), "docs");
}
Resource item_resource(std::string_view database, std::string_view container, std::string_view id) {
    Resource out = container_resource(database, container);
    append_segment(out, "docs", id);
    return out;
}
Resource range_feed(std::string_view database, std::string_view container) {
    return feed_of(container_resource(database, container), "pkranges");
}
Resource own_resource(const std::vector<std::string>& segments, std::string_view query) {
    Resource out{"_orrery", "", "/_orrery"};
    for (const std::string& segment : segments) {
        if (!out.link.empty()) out.link += '/';
        out.link += segment;
        out.path.append("/").append(percent_encode(segment));
    }
    if (!query.empty()) out.path.append("?").append(query);
    return out;
}

Result<ContainerName> parse_container_name(std::string_view text) {
    const size_t slash = text.find('/');
    if (slash == 0 || slash == std::string_view::npos || slash + 1 == text.size() ||
        text.find('/', slash + 1) != std::string_view::npos)
        return errors::bad_request(fmt::format(
            "'{}' names no container. Write DATABASE/CONTAINER, for example shop/orders.", text));
    return ContainerName{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

Result<AccountClient::Shared> AccountClient::share(const ConnectionSettings& settings,
                                                   RetryLimits retries, Traffic* traffic) {
    Shared shared;
    shared.settings = settings;
    if (settings.endpoint.tls) {
        TRY(shared.trust, TlsTrust::create(settings));
    }
    shared.retries = retries;
    shared.traffic = traffic;
    return shared;
}

AccountClient::AccountClient(Shared shared)
    : shared_(std::move(shared)),
      connection_(shared_.settings.endpoint, shared_.trust, shared_.settings.insecure) {}

Headers AccountClient::signed_headers(const Request& request) {
    const std::string date = format_http_date(clock_.wall_seconds());
    const std::string text =
        fmt::format("{}\n{}\n{}\n{}\n\n", to_lower_ascii(request.method), request.resource.type,
                    request.resource.link, to_lower_ascii(date));
    Headers headers = {{"x-ms-date", date},
                       {"x-ms-version", "2020-07-15"},
                       {"user-agent", "orrery-cli"},
                       {"authorization", "type%3Dmaster%26ver%3D1.0%26sig%3D" +
                                             percent_encode(sign(shared_.settings.key, text))}};
    headers.insert(headers.end(), request.headers.begin(), request.headers.end());
    return headers;
}

Result<HttpAnswer> AccountClient::send_once(const Request& request) {
    auto answer = connection_.exchange(request.method, request.resource.path,
                                       signed_headers(request), request.body);
    reached_ = reached_ || answer.ok();
    if (answer.ok() && shared_.traffic != nullptr) {
        shared_.traffic->requests += 1;
        if (answer->status == 429) shared_.traffic->throttled += 1;
        shared_.traffic->charge_hundredths +=
            static_cast<uint64_t>(std::llround(answer->charge() * 100));
    }
    return answer;
}

Result<HttpAnswer> AccountClient::send(const Request& request, bool* lost_before) {
    const int64_t give_up_us = clock_.monotonic_us() + shared_.retries.patience_ms * 1000;
    int64_t backoff_ms = kBackoffFirstMs;
    while (true) {
        auto answer = send_once(request);
        if (answer.ok() ? !passes_by_itself(*answer) : !passes_by_itself(answer.error(), reached_))
            return answer;
        if (!answer.ok() && is_no_answer(answer.error(), NoAnswer::kLost) && lost_before != nullptr)
            *lost_before = true;
        int64_t pause_ms = answer.ok() ? answer->retry_after_ms() : 0;
        if (pause_ms <= 0) {
            // Add randomness, so that connections that failed together do not retry together.
            pause_ms = backoff_ms / 2 +
                       static_cast<int64_t>(random_u64() % static_cast<uint64_t>(backoff_ms));
            backoff_ms = std::min(backoff_ms * 2, kBackoffMaxMs);
        }
        if (clock_.monotonic_us() + pause_ms * 1000 > give_up_us) return answer;
        if (shared_.traffic != nullptr) shared_.traffic->retried += 1;
        wait_ms(pause_ms);
        if (interrupted()) return answer;
    }
}

Result<HttpAnswer> AccountClient::call(const Request& request) {
    auto answer = send(request);
    if (answer.ok() && answer->status >= 400) return answer_error(*answer);
    return answer;
}

}  // namespace orrery::cli
