#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "net/http.h"

namespace orrery::rest {

/// Request headers that mean something to this server.
enum class HeaderName : uint8_t {
    kAccept,
    kActivityId,
    kAIm,
    kAuthorization,
    kAutopilotSettings,
    kBatchAtomic,
    kBatchContinueOnError,
    kChangeFeedFormat,
    kConsistencyLevel,
    kContentEncoding,
    kContentType,
    kContinuation,
    kContinuationLimitKb,
    kCorrelatedActivity,
    kDate,
    kEndEpk,
    kExpirySeconds,
    kExplain,
    kExplainCharge,
    kHost,
    kHousekeeping,
    kIfMatch,
    kIfModifiedSince,
    kIfNoneMatch,
    kIndexingDirective,
    kIntendedCollectionRid,
    kIsBatch,
    kIsQuery,
    kIsQueryGo,
    kIsQueryPlan,
    kIsUpsert,
    kMaxItemCount,
    kMigrateToAutopilot,
    kMigrateToManual,
    kOfferThroughput,
    kPartitionKey,
    kPartitionKeyRangeId,
    kPopulateIndexMetrics,
    kPopulateIndexMetricsV2,
    kPopulatePartitionStatistics,
    kPopulateQueryMetrics,
    kPopulateQuotaInfo,
    kPostTriggerInclude,
    kPreTriggerInclude,
    kPrefer,
    kPriorityLevel,
    kReadKeyType,
    kScriptEnableLogging,
    kSessionToken,
    kStartEpk,
    kSupportedQueryFeatures,
    kThroughputBucket,
    kTraceParent,
    kVersion,
    kXDate,
    kCount,
};

/// The values of the known headers of one request. Borrows the request.
class RequestHeaders {
public:
    explicit RequestHeaders(const net::HttpRequest& request);

    /// Empty view when absent.
    std::string_view operator[](HeaderName name) const {
        return values_[static_cast<size_t>(name)];
    }
    bool has(HeaderName name) const { return (*this)[name].data() != nullptr; }
    /// "true", "True", "1", …; false when absent. 400 for anything that is no boolean.
    Result<bool> boolean(HeaderName name) const;
    /// The same where check() has seen to it that it is a boolean.
    bool says_true(HeaderName name) const {
        const auto value = boolean(name);
        return value.ok() && *value;
    }

    /// What holds for every request: no header twice with different values (a proxy may have judged
    /// by the other one), booleans that are booleans, a body that is not compressed.
    Status check() const;
    /// `Prefer: return=minimal`, alone or among other preferences.
    bool prefers_minimal() const;

private:
    std::array<std::string_view, static_cast<size_t>(HeaderName::kCount)> values_{};
    std::optional<HeaderName> contradicted_;  ///< sent twice with different values
};

/// The protocol's spelling.
std::string_view header_text(HeaderName name);

/// Etag of If-Match / If-None-Match without its quotes; "*" stays.
std::string_view unquoted(std::string_view etag);

}  // namespace orrery::rest
