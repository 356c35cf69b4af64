#include "heads/rest/request_headers.h"

#include <cstring>

#include <absl/container/flat_hash_map.h>

#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/answers.h"

namespace orrery::rest {
namespace {

constexpr size_t kNameBytesMax = 64;

constexpr std::array<std::string_view, static_cast<size_t>(HeaderName::kCount)> kNames = {
    "accept",
    "x-ms-activity-id",
    "a-im",
    "authorization",
    "x-ms-cosmos-offer-autopilot-settings",
    "x-ms-cosmos-batch-atomic",
    "x-ms-cosmos-batch-continue-on-error",
    "x-ms-cosmos-changefeed-wire-format-version",
    "x-ms-consistency-level",
    "content-encoding",
    "content-type",
    "x-ms-continuation",
    "x-ms-documentdb-responsecontinuationtokenlimitinkb",
    "x-ms-cosmos-correlated-activityid",
    "date",
    "x-ms-end-epk",
    "x-ms-documentdb-expiry-seconds",
    "x-orrery-explain",
    "x-orrery-explain-charge",
    "host",
    "x-orrery-housekeeping",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "x-ms-indexing-directive",
    "x-ms-cosmos-intended-collection-rid",
    "x-ms-cosmos-is-batch-request",
    "x-ms-documentdb-isquery",
    "x-ms-documentdb-query",
    "x-ms-cosmos-is-query-plan-request",
    "x-ms-documentdb-is-upsert",
    "x-ms-max-item-count",
    "x-ms-cosmos-migrate-offer-to-autopilot",
    "x-ms-cosmos-migrate-offer-to-manual-throughput",
    "x-ms-offer-throughput",
    "x-ms-documentdb-partitionkey",
    "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-cosmos-populateindexmetrics",
    "x-ms-cosmos-populateindexmetrics-v2",
    "x-ms-documentdb-populatepartitionstatistics",
    "x-ms-documentdb-populatequerymetrics",
    "x-ms-documentdb-populatequotainfo",
    "x-ms-documentdb-post-trigger-include",
    "x-ms-documentdb-pre-trigger-include",
    "prefer",
    "x-ms-cosmos-priority-level",
    "x-ms-read-key-type",
    "x-ms-documentdb-script-enable-logging",
    "x-ms-session-token",
    "x-ms-start-epk",
    "x-ms-cosmos-supported-query-features",
    "x-ms-cosmos-throughput-bucket",
    "traceparent",
    "x-ms-version",
    "x-ms-date",
};

const absl::flat_hash_map<std::string_view, HeaderName>& name_table() {
    static const auto* table = [] {
        auto* made = new absl::flat_hash_map<std::string_view, HeaderName>();
        for (size_t i = 0; i < kNames.size(); ++i)
            made->emplace(kNames[i], static_cast<HeaderName>(i));
        return made;
    }();
    return *table;
}

/// Lists by nature: a second line adds to the first one.
bool may_repeat(HeaderName name) {
    return name == HeaderName::kAccept || name == HeaderName::kPrefer;
}

/// A value that is no boolean must not silently decide what a request means.
constexpr std::array kBooleans = {
    HeaderName::kIsQuery,
    HeaderName::kIsQueryGo,
    HeaderName::kIsQueryPlan,
    HeaderName::kIsUpsert,
    HeaderName::kIsBatch,
    HeaderName::kBatchAtomic,
    HeaderName::kBatchContinueOnError,
    HeaderName::kMigrateToAutopilot,
    HeaderName::kMigrateToManual,
    HeaderName::kExplainCharge,
    HeaderName::kHousekeeping,
    HeaderName::kExplain,
    HeaderName::kPopulateIndexMetrics,
    HeaderName::kPopulateIndexMetricsV2,
    HeaderName::kPopulatePartitionStatistics,
    HeaderName::kPopulateQueryMetrics,
    HeaderName::kPopulateQuotaInfo,
    HeaderName::kScriptEnableLogging,
};

}  // namespace

RequestHeaders::RequestHeaders(const net::HttpRequest& request) {
    const auto& table = name_table();
    char lower[kNameBytesMax];
    for (const auto& header : request.headers) {
        if (header.name.size() > kNameBytesMax) continue;
        for (size_t i = 0; i < header.name.size(); ++i) {
            const char c = header.name[i];
            lower[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        }
        const auto found = table.find(std::string_view(lower, header.name.size()));
        if (found == table.end()) continue;
        auto& value = values_[static_cast<size_t>(found->second)];
        const auto given = header.value.data() == nullptr ? std::string_view("") : header.value;
        if (value.data() == nullptr) {
            value = given;
        } else if (value != given && !may_repeat(found->second)) {
            contradicted_ = found->second;
        }
    }
}

Result<bool> RequestHeaders::boolean(HeaderName name) const {
    const auto value = (*this)[name];
    if (value.empty() || equals_ignore_case(value, "false") || value == "0") return false;
    if (equals_ignore_case(value, "true") || value == "1") return true;
    return bad_header(header_text(name), value, "true or false");
}

Status RequestHeaders::check() const {
    if (contradicted_)
        return Status(errors::bad_request("The header '" +
                                          std::string(header_text(*contradicted_)) +
                                          "' was sent more than once, with different values."));
    for (const auto name : kBooleans)
        if (const auto value = boolean(name); !value.ok()) return value.status().clone();
    const auto encoding = (*this)[HeaderName::kContentEncoding];
    if (encoding.empty() || equals_ignore_case(encoding, "identity")) return {};
    Error error = errors::not_supported(
        "The content encoding '" + std::string(encoding) + "' of a request body",
        "Send the body as it is.");
    return Status(unsupported_media(std::move(error.message)));
}

bool RequestHeaders::prefers_minimal() const {
    std::string_view rest = (*this)[HeaderName::kPrefer];
    while (!rest.empty()) {
        const size_t end = rest.find_first_of(",;");
        std::string_view one = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        while (one.starts_with(' ')) one.remove_prefix(1);
        while (one.ends_with(' ')) one.remove_suffix(1);
        if (equals_ignore_case(one, "return=minimal")) return true;
    }
    return false;
}

std::string_view header_text(HeaderName name) {
    return kNames[static_cast<size_t>(name)];
}

std::string_view unquoted(std::string_view etag) {
    if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"')
        return etag.substr(1, etag.size() - 2);
    return etag;
}

}  // namespace orrery::rest
